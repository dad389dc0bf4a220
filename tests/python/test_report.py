"""report() and what notebooks show."""

import pickle
import re
import subprocess

import numpy as np
import pytest

import manymeans
from manymeans import EnsembleKMeans, FitResult, KMeans, UsageError


@pytest.fixture(scope="module")
def points():
    random = np.random.default_rng(5)
    return random.normal(size=(300, 3)) + 6 * (np.arange(300) % 4)[:, None]


@pytest.fixture(scope="module")
def choice(points):
    return manymeans.choose_k(points, range(2, 6), models=3, references=3, sample=50)


def headings(page):
    return re.findall(r"<h2>(.*?)</h2>", page)


def test_a_fit_has_its_parts(points, tmp_path):
    result = manymeans.fit(points, 4, models=3)
    page = manymeans.report(result, points, tmp_path / "page.html", title="<b>four</b>")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    assert page.startswith("<!doctype html>")
    assert len(page) < 2_000_000
    assert "&lt;b&gt;four" in page
    assert result.digest in page
    assert result.best().digest in page
    assert {"Silhouettes", "What sets clusters apart", "Agreement of the models", "Centroids"} <= set(headings(page))


def test_the_program_writes_the_same_page(points, tmp_path, program):
    np.save(tmp_path / "points.npy", points)
    options = ["-k", "4", "--models", "3", "--seed", "2", "--quiet", "--report", tmp_path / "page.html"]
    subprocess.run([program, "fit", tmp_path / "points.npy", *options], check=True)
    result = manymeans.fit(points, 4, models=3, seed=2)
    page = manymeans.report(result, points, title=str(tmp_path / "points.npy"))
    theirs = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert theirs.split("<h2>Run")[0] == page.split("<h2>Run")[0]


def test_a_choice_shows_its_k(points, choice):
    page = manymeans.report(choice, points)
    assert f"Recommended: <strong>k = {choice.k}</strong>" in page
    assert {"Criteria against k", "Tree of the clusters over k"} <= set(headings(page))
    assert choice.result.best(choice.k).digest in page
    assert "best model of k = 3" in manymeans.report(choice, points, k=3)
    assert pickle.loads(pickle.dumps(choice)).k == choice.k


def test_searches_estimators_and_weights(points):
    assert "Search" in headings(manymeans.report(manymeans.search(points, 8, rounds=3), points))
    weights = np.arange(1.0, 301.0)
    kmeans = KMeans(4, random_state=0).fit(points, sample_weight=weights)
    assert "share of the weight" in manymeans.report(kmeans, points, sample_weight=weights)
    ensemble = EnsembleKMeans([3, 4], random_state=0).fit(points)
    assert "best model of k = 4" in manymeans.report(ensemble, points, k=4)


def test_a_model_file_gets_its_labels_of_the_points(points, tmp_path):
    result = manymeans.fit(points, 4)
    result.save(tmp_path / "m.npz")
    loaded = FitResult.load(tmp_path / "m.npz")
    assert "The points were not given" in manymeans.report(loaded)
    page = manymeans.report(loaded, points)
    assert result.digest in page
    assert "Silhouettes" in headings(page)


def test_notebooks_get_a_part(points, choice):
    for result in (manymeans.fit(points, [3, 4]), choice):
        part = result._repr_html_()
        assert part.startswith("<style>")
        assert "<body" not in part
        assert "Sizes of the clusters" in part


def test_what_does_not_belong_together(points):
    result = manymeans.fit(points, 3)
    with pytest.raises(UsageError, match="299 rows"):
        manymeans.report(result, points[:-1])
    with pytest.raises(UsageError, match="result"):
        manymeans.report("page.html")
    with pytest.raises(UsageError, match="there are models for k = 3"):
        manymeans.report(result, k=5)
    with pytest.raises(manymeans.UnavailableError):
        manymeans.report(result, points, "/nowhere/page.html")
