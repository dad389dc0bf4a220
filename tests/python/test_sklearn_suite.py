"""scikit-learn's own tests of KMeans, run on manymeans.KMeans."""

import importlib.util
import os
import subprocess
import sys
from xml.etree import ElementTree

import pytest

SUITE = "sklearn.cluster.tests.test_k_means"

#: Tests that manymeans.KMeans fails on purpose: name (without parameters) and why.
EXCEPTIONS: dict[str, str] = {}

#: Puts manymeans' class where the suite looks for scikit-learn's. What it asks of a private method of scikit-learn, the
#: initial centres by weight, the library itself answers.
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
sys.exit(pytest.main(sys.argv[1:]))
"""


def suite_file():
    try:
        found = importlib.util.find_spec(SUITE)
    except ModuleNotFoundError:
        found = None
    return None if found is None else found.origin


@pytest.mark.skipif(suite_file() is None, reason="this scikit-learn was installed without its tests")
def test_the_suite_of_scikit_learn(tmp_path):
    report = tmp_path / "report.xml"
    arguments = ["-p", "no:cacheprovider", "--rootdir", str(tmp_path), f"--junitxml={report}", suite_file()]
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=300,
        env=os.environ | {"PYTHONWARNINGS": "ignore", "SKLEARN_RUN_FLOAT32_TESTS": "1"},
    )  # fmt: skip
    assert report.exists(), done.stdout + done.stderr
    cases = ElementTree.parse(report).findall(".//testcase")
    failed = {case.get("name").split("[")[0] for case in cases if case.findall("failure") or case.findall("error")}
    skipped = [case.get("name") for case in cases if case.findall("skipped")]
    assert len(cases) > 150 and not skipped, done.stdout
    assert failed == set(EXCEPTIONS), done.stdout
