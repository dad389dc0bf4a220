"""report() and what notebooks show."""

import pickle
import re
import subprocess

import numpy as np
import pandas
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import manymeans
from manymeans import EnsembleKMeans, FitResult, KMeans, RegressionClustering, UsageError


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
    assert {"Silhouettes", "What sets clusters apart", "Agreement of the models", "All centroids"} <= set(
        headings(page)
    )


def test_the_program_writes_the_same_page(points, tmp_path, program):
    np.save(tmp_path / "points.npy", points)
    options = ["-k", "4", "--models", "3", "--seed", "2", "--quiet", "--report", tmp_path / "page.html"]
    subprocess.run([program, "fit", tmp_path / "points.npy", *options], check=True)
    result = manymeans.fit(points, 4, models=3, seed=2)
    page = manymeans.report(result, points, title=str(tmp_path / "points.npy"))
    theirs = (tmp_path / "page.html").read_text(encoding="utf-8")
    one, two = (re.sub("typical rows: .*", "", each.split("<h2>Run")[0]) for each in (theirs, page))
    assert one == two  # but for rows, which the program numbers from 1


def test_linear_models_have_the_page_of_the_program(points, tmp_path, program):
    frame = pandas.DataFrame({"age": points[:, 0], "size": points[:, 1], "cost": 3 * points[:, 0] + points[:, 2]})
    frame["kind"] = np.where(points[:, 2] > 8, "far", "near")
    frame.to_csv(tmp_path / "t.csv", index=False)
    command = [program, "regress", tmp_path / "t.csv", "--target", "cost", "-k", "2", "--models", "4", "--seed", "3"]
    options = ["--degree", "2", "--profile", "kind", "--quiet", "--report", tmp_path / "page.html"]
    subprocess.run([*command, *options], check=True)
    lines = RegressionClustering(2, n_init=4, random_state=3, degree=2).fit(frame[["age", "size"]], frame["cost"])
    page = manymeans.report(lines, frame[["age", "size"]], profile=frame[["kind"]], title=str(tmp_path / "t.csv"))
    theirs = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.split("<details>")[0] == theirs.split("<details>")[0]
    assert headings(page)[:3] == ["Cards of the clusters", "Sizes of the clusters", "Linear models"]
    assert page.count("<p>cost = ") == 2
    assert ">kind=far</td>" in page
    ours, others = (
        dict(re.findall(r'<tr><td class="l">(\w+)</td><td class="l">([^<]*)</td>', text.split("All options")[1]))
        for text in (page, theirs)
    )
    assert {name: ours[name] for name in ("swaps", "ridge", "intercept", "degree", "products", "stop")} == {
        "swaps": "10", "ridge": "0", "intercept": "true", "degree": "2", "products": "true", "stop": "strict"
    }  # fmt: skip
    assert ours.keys() == others.keys() and "min_size" not in ours
    lines.save(tmp_path / "m.npz")
    loaded = RegressionClustering.load(tmp_path / "m.npz")
    assert "<p>cost = " in manymeans.report(loaded) and ">swaps</td>" in manymeans.report(loaded)
    with pytest.raises(UsageError, match=r"^\[profile\] needs the labels of the fit"):
        manymeans.report(loaded, frame[["age", "size"]], profile=frame[["kind"]])


def test_it_begins_with_the_answer(points):
    frame = pandas.DataFrame(points, columns=["age", "income", "size"], index=[f"row-{i}" for i in range(300)])
    kinds = {"kind": np.where(points[:, 0] > 8, "far", "near"), "rank": np.arange(300.0)}
    result = manymeans.fit(frame, 4)
    page = manymeans.report(result, frame, profile=kinds)
    assert "<h1>4 clusters</h1>" in page
    order = [page.index(text) for text in ("<h1>", "<ul", "<h2>Cards", "<h2>Sizes", "<details", "<h2>Run")]
    assert order == sorted(order)
    for card in manymeans.cards(result, frame, profile=kinds):
        assert f"<strong>Cluster {card.cluster}</strong>: {100 * card.share:.1f} % of the rows: " in page
        assert f"typical rows: {', '.join(card.typical)}</p>" in page
        for name, here, mean, sd in card.columns:
            assert f">{name}</td><td>{here:.6g}</td><td>{mean:.6g}</td><td>{sd:+.1f} sd</td>" in page
        for name, here, mean, z, far in card.profile:
            shown = [f"{100 * x:.1f} %" if "=" in name else f"{x:.6g}" for x in (here, mean)]
            assert f">{name}</td><td>{shown[0]}</td><td>{shown[1]}</td><td>{far}, z {z:+.1f}" in page


@pytest.mark.parametrize("made_of", ["frame", "array", "mixed"])
def test_a_pipeline_is_shown_in_the_units_of_its_columns(points, made_of):
    frame = pandas.DataFrame(points * [1, 1000, 5] + 50, columns=["age", "income", "size"])
    X = frame.to_numpy() if made_of == "array" else frame
    steps = [StandardScaler()]
    if made_of == "mixed":
        X = frame.assign(city=np.where(frame["age"] > 60, "Rome", "Oslo"))
        X.loc[3, "age"] = np.nan
        numbers = make_pipeline(SimpleImputer(), StandardScaler())
        steps = [make_column_transformer((OneHotEncoder(), ["city"]), (numbers, list(frame)))]
    pipeline = make_pipeline(*steps, KMeans(4, random_state=0)).fit(X)
    page = manymeans.report(pipeline, X)
    table = manymeans.summary(pipeline, X)
    for name in ["x1" if made_of == "array" else "income", "x2" if made_of == "array" else "size"]:
        values = table["size (center)" if name == "size" else name]
        shown = [float(text) for text in re.findall(f">{name}</td><td>(.*?)</td>", page)]
        assert len(shown) == 4
        np.testing.assert_allclose(sorted(shown), sorted(values), rtol=1e-5)
    assert "in scaled units" in page
    assert (">city_Rome</td>" in page) == (made_of == "mixed")
    assert "3 clusters" in manymeans.report(make_pipeline(StandardScaler(), KMeans(3)).fit(points), points)
    with pytest.raises(UsageError, match="is StandardScaler; .* a Pipeline, or"):
        manymeans.report(make_pipeline(StandardScaler()), points)


def test_other_files_than_html_are_refused(points, tmp_path):
    with pytest.raises(UsageError, match=r"\[path\] must name a file that ends in .html, found '"):
        manymeans.report(manymeans.fit(points, 2), points, tmp_path / "x.pdf")
    assert not (tmp_path / "x.pdf").exists()
    with pytest.raises(UsageError, match=r"\[profile\] has columns of the rows of X"):
        manymeans.report(manymeans.fit(points, 2), profile={"a": np.arange(300)})


def test_a_choice_shows_its_k(points, choice):
    page = manymeans.report(choice, points)
    assert f"Recommended: <strong>k = {choice.k}</strong>" in page
    unclear = manymeans.report(choice._replace(status="unclear", answer="no clear k"), points)
    assert "The answer: <strong>no clear k</strong>" in unclear
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
