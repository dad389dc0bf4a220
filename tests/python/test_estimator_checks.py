"""scikit-learn's own checks of estimators."""

import warnings

import pytest
import sklearn.cluster
import sklearn.linear_model
from sklearn.utils._test_common.instance_generator import PER_ESTIMATOR_XFAIL_CHECKS
from sklearn.utils.estimator_checks import check_estimator

import manymeans

#: Ours, and the one of scikit-learn that may fail and skip as much.
CASES = {
    "KMeans": (manymeans.KMeans(), sklearn.cluster.KMeans()),
    "EnsembleKMeans": (manymeans.EnsembleKMeans(), sklearn.cluster.KMeans()),
    "BisectingKMeans": (manymeans.BisectingKMeans(), sklearn.cluster.BisectingKMeans()),
    "MiniBatchKMeans": (manymeans.MiniBatchKMeans(), sklearn.cluster.MiniBatchKMeans()),
}


def outcomes(estimator, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, expected_failed_checks=expected, on_fail=None, on_skip=None)
    return {
        status: {result["check_name"]: result["exception"] for result in results if result["status"] == status}
        for status in ("passed", "failed", "skipped", "xfail")
    }


@pytest.mark.parametrize("name", CASES)
def test_checks_of_scikit_learn(name):
    ours, theirs = CASES[name]
    expected = PER_ESTIMATOR_XFAIL_CHECKS.get(type(theirs), {})
    found, sklearns_own = outcomes(ours, expected), outcomes(theirs, expected)
    assert not found["failed"]
    assert set(found["skipped"]) <= set(sklearns_own["skipped"])
    assert set(found["xfail"]) <= set(sklearns_own["xfail"])
    assert len(found["passed"]) >= len(sklearns_own["passed"])


def test_checks_of_scikit_learn_for_regressors():
    # They fit 30 features to 15 rows: more coefficients than rows are refused, as the message says.
    expected = dict.fromkeys(
        (f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")), "15 rows of 30 features"
    )
    found = outcomes(manymeans.RegressionClustering(), expected)
    assert not found["failed"]
    assert set(found["xfail"]) == set(expected)
    assert set(found["skipped"]) <= set(outcomes(sklearn.linear_model.LinearRegression(), {})["skipped"])


def test_checks_of_scikit_learn_for_trees():
    expected = PER_ESTIMATOR_XFAIL_CHECKS[sklearn.cluster.KMeans]
    found = outcomes(manymeans.HierarchicalKMeans(), expected)
    assert not found["failed"]
    assert set(found["skipped"]) <= {"check_array_api_input"}


@pytest.mark.parametrize(
    "estimator",  # one block divides any number of features, and few rows have two codes
    [manymeans.ProductQuantizer(1, 2), manymeans.ResidualQuantizer(1, 2), manymeans.ResidualQuantizer(2, 2)],
)
def test_checks_of_scikit_learn_for_codebooks(estimator):
    expected = PER_ESTIMATOR_XFAIL_CHECKS[sklearn.cluster.KMeans]  # a row of weight 2 is drawn otherwise than two rows
    found = outcomes(estimator, expected)
    assert not found["failed"]
    assert set(found["skipped"]) <= {"check_array_api_input"}
