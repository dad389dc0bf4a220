"""scikit-learn's own tests of its k-means estimators, run on ours."""

import importlib.util
import os
import subprocess
import sys
from xml.etree import ElementTree

import pytest

#: Files of tests, and what of them fails on purpose: name (without parameters) and why.
SUITES: dict[str, dict[str, str]] = {
    "sklearn.cluster.tests.test_k_means": {},
    "sklearn.cluster.tests.test_bisect_k_means": {},
}

#: Puts manymeans' classes where the suite looks for scikit-learn's. What it asks of a private method of scikit-learn,
#: the initial centres by weight, the library itself answers.
RUN = """
import sys
import numpy as np
import pytest
import sklearn.cluster
import sklearn.cluster._kmeans
import manymeans
from manymeans import _manymeans
from manymeans._seeds import seed_of


class KMeans(manymeans.KMeans):
    def _init_centroids(self, X, x_squared_norms, init, random_state, sample_weight, n_centroids):
        options = {"k": [n_centroids], "init": init, "seed": seed_of(random_state)}
        return _manymeans.initialise(X, False, sample_weight, options)[0]


sklearn.cluster.KMeans = sklearn.cluster._kmeans.KMeans = KMeans
sklearn.cluster.MiniBatchKMeans = sklearn.cluster._kmeans.MiniBatchKMeans = manymeans.MiniBatchKMeans
sklearn.cluster.BisectingKMeans = manymeans.BisectingKMeans
sys.exit(pytest.main(sys.argv[1:]))
"""


def suite_file(suite):
    try:
        found = importlib.util.find_spec(suite)
    except ModuleNotFoundError:
        found = None
    return None if found is None else found.origin


@pytest.mark.parametrize("suite", SUITES)
def test_the_suite_of_scikit_learn(suite, tmp_path):
    if suite_file(suite) is None:
        pytest.skip("this scikit-learn was installed without its tests")
    report = tmp_path / "report.xml"
    arguments = ["-p", "no:cacheprovider", "--rootdir", str(tmp_path), f"--junitxml={report}", suite_file(suite)]
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=300,
        env=os.environ | {"PYTHONWARNINGS": "ignore", "SKLEARN_RUN_FLOAT32_TESTS": "1"},
    )  # fmt: skip
    assert report.exists(), done.stdout + done.stderr
    cases = ElementTree.parse(report).findall(".//testcase")
    failed = {case.get("name").split("[")[0] for case in cases if case.findall("failure") or case.findall("error")}
    skipped = [case.get("name") for case in cases if case.findall("skipped")]
    assert len(cases) > (150 if suite.endswith("test_k_means") else 15) and not skipped, done.stdout
    assert failed == set(SUITES[suite]), done.stdout
