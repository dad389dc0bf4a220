"""Inside scikit-learn's tools: pipelines, searches, data frames, metadata routing."""

import numpy as np
import pandas
import polars
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manymeans import EnsembleKMeans, KMeans

KINDS = pytest.mark.parametrize("kind", [KMeans, EnsembleKMeans])


@pytest.fixture(scope="module")
def iris():
    return load_iris(as_frame=True)


@KINDS
def test_pipeline(kind, iris):
    pipeline = make_pipeline(StandardScaler(), kind(6, random_state=0), LogisticRegression(max_iter=1000))
    assert pipeline.fit(iris.data, iris.target).score(iris.data, iris.target) > 0.8
    assert pipeline[:-1].get_feature_names_out().tolist() == [f"{kind.__name__.lower()}{j}" for j in range(6)]


@KINDS
def test_grid_search(kind, iris):
    search = GridSearchCV(kind(random_state=0), {"n_clusters": [2, 3, 4]}, n_jobs=2, cv=3).fit(iris.data)
    assert search.best_params_ == {"n_clusters": 4}
    assert search.best_estimator_.labels_.shape == (150,)


@KINDS
def test_cross_val_score(kind, iris):
    scores = cross_val_score(kind(3, random_state=0), iris.data, cv=3)
    assert scores.shape == (3,) and (scores < 0).all()


@KINDS
def test_clone_and_parameters(kind):
    estimator = kind(5, init=np.eye(5), callback=print, time_limit=3.0, random_state=4)
    copy = clone(estimator)
    assert copy is not estimator
    assert {name for name, value in copy.get_params().items() if value is not None} == {
        name for name, value in estimator.get_params().items() if value is not None
    }
    assert copy.set_params(n_clusters=7).n_clusters == 7
    assert "random_state=4" in repr(estimator)


@KINDS
def test_data_frames_in_and_out(kind, iris):
    fitted = kind(3, random_state=0).set_output(transform="pandas").fit(iris.data)
    assert fitted.feature_names_in_.tolist() == iris.data.columns.tolist()
    out = fitted.transform(iris.data)
    assert isinstance(out, pandas.DataFrame) and out.index.equals(iris.data.index)
    assert out.columns.tolist() == fitted.get_feature_names_out().tolist()
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(iris.data[iris.data.columns[::-1]])
    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(kind(3, random_state=0).fit_transform(iris.data), pandas.DataFrame)
    with sklearn.config_context(transform_output="polars"):
        assert isinstance(kind(3, random_state=0).fit_transform(iris.data), polars.DataFrame)


def test_columns_of_other_models(iris):
    ensemble = EnsembleKMeans([2, 5], random_state=0, criterion="inertia").set_output(transform="pandas")
    ensemble.fit(iris.data)
    for k, columns in ((2, 2), (5, 5), (None, 5)):
        out = ensemble.transform(iris.data, k=k)
        assert out.columns.tolist() == [f"ensemblekmeans{j}" for j in range(columns)]
        np.testing.assert_array_equal(out.to_numpy().argmin(axis=1), ensemble.predict(iris.data, k=k))
    assert len(ensemble.get_feature_names_out()) == 5


@KINDS
def test_polars(kind, iris):
    frame = polars.from_pandas(iris.data)
    fitted = kind(3, random_state=0).fit(frame)
    assert fitted.feature_names_in_.tolist() == iris.data.columns.tolist()
    assert fitted.answer_ == kind(3, random_state=0).fit(iris.data).answer_
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame.select(frame.columns[::-1]))


@KINDS
def test_metadata_routing(kind, iris):
    weights = np.random.default_rng(0).uniform(0.5, 2, 150)
    direct = make_pipeline(StandardScaler()).fit_transform(iris.data)
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = kind(3, random_state=0).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), estimator)
        pipeline.fit(iris.data, sample_weight=weights)
        score = pipeline.score(iris.data, sample_weight=weights)
    expected = kind(3, random_state=0).fit(direct, sample_weight=weights)
    assert pipeline[-1].answer_ == expected.answer_
    assert score == expected.score(direct, sample_weight=weights)


def test_random_states(iris):
    assert KMeans(3, random_state=5).fit(iris.data).answer_ == KMeans(3, random_state=5).fit(iris.data).answer_
    generator = np.random.RandomState(0)
    first, second = (KMeans(3, random_state=generator).fit(iris.data).result_.models[0].seed for _ in range(2))
    assert first != second
    np.random.seed(3)
    one = KMeans(3).fit(iris.data).answer_
    np.random.seed(3)
    assert KMeans(3).fit(iris.data).answer_ == one


def test_weights_of_one_are_no_weights(iris):
    assert KMeans(3, random_state=0).fit(iris.data, sample_weight=np.ones(150)).answer_ == (
        KMeans(3, random_state=0).fit(iris.data).answer_
    )
