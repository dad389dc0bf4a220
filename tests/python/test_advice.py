"""What errors and warnings recommend exists for the function that was called, and works when it is followed."""

import inspect
import re
import warnings

import numpy as np
import pandas
import pytest
import sklearn.preprocessing  # noqa: F401  (some messages name it)

import manymeans

RANDOM = np.random.default_rng(0)
GOOD = "x,y\n" + "".join(f"{i % 3}.5,{i % 5 * 7}\n" for i in range(40))
# What is wrong in a file, and with which values of the parameters of `read` it is right.
FILES = {
    "text": (
        "x,y,word\n" + "".join(f"{i % 3}.5,{i % 5},w{i % 2}\n" for i in range(40)),
        {"exclude": "word", "columns": "x,y"},
    ),
    "a gap": ("x,y,z\n1,2,3\n4,,6\n7,8,9\n1,2,4\n", {"exclude": "y", "columns": "x,z", "missing": "mean"}),
    "a date": ("x,d\n1,2024-01-02\n2,2024-01-03\n5,2024-01-04\n", {"exclude": "d", "columns": "x"}),
    "semicolons and commas": ("x;y\n1,5;2,5\n3,5;4,5\n7,5;1,5\n", {"decimal": ","}),
    "an index": (
        "user_id,x\n" + "".join(f"{i},{i % 3}.5\n" for i in range(40)),
        {"exclude": "user_id", "columns": "x", "id": "user_id"},
    ),
    "one large column": (
        "x,y\n" + "".join(f"{i % 7 * 1000},{i % 3}\n" for i in range(40)),
        {"columns": "y", "exclude": "x"},
    ),
}


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    path = tmp_path_factory.mktemp("fit") / "good.csv"
    path.write_text(GOOD)
    return manymeans.fit(manymeans.read(path), 2)


def uses(result):
    """Functions that take the name of a file as X."""
    return {
        "fit": (manymeans.fit, lambda X, **own: manymeans.fit(X, 2, **own)),
        "search": (manymeans.search, lambda X, **own: manymeans.search(X, 2, rounds=1, **own)),
        "kmeans_plusplus": (manymeans.kmeans_plusplus, lambda X: manymeans.kmeans_plusplus(X, 2)),
        "choose_k": (manymeans.choose_k, lambda X: manymeans.choose_k(X, [2], models=1, references=0, bootstraps=0)),
        "predict": (manymeans.predict, lambda X: manymeans.predict(np.zeros((1, _width(X))), X)),
    }


def _width(X):
    return X.points.shape[1] if isinstance(X, manymeans.Dataset) else 2


def messages(call):
    """What a call says, errors and warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call()
            texts = []
        except manymeans.Error as error:
            texts = [str(error)]
    return texts + [str(one.message) for one in caught]


def check_names(text, function):
    """Every parameter and function that a text names is there."""
    text = re.sub(r"(?<!\w)'[^']*'|^\[[^\]]*\]", "", text)
    for called, given in re.findall(r"manymeans\.(\w+)\(([^)]*)\)", text):
        for name in re.findall(r"(\w+)=", given):
            assert name in inspect.signature(getattr(manymeans, called)).parameters, text
            assert called != "read" or name not in inspect.signature(function).parameters, text
    rest = re.sub(r"manymeans\.\w+\([^)]*\)", "", text)
    for name in re.findall(r"(?<![\w.(])(\w+)=", rest):
        assert name in inspect.signature(function).parameters, text
    for path in re.findall(r"\b((?:manymeans|sklearn|numpy|pandas)(?:\.\w+)+)", text):
        place = {"manymeans": manymeans, "sklearn": sklearn, "numpy": np, "pandas": pandas}[path.split(".")[0]]
        for name in path.split(".")[1:]:
            place = getattr(place, name)
    assert "--" not in text, text


@pytest.mark.parametrize("what", FILES)
@pytest.mark.parametrize("use", ["fit", "search", "kmeans_plusplus", "choose_k", "predict"])
def test_files(use, what, result, tmp_path):
    (text, right), (function, call) = FILES[what], uses(result)[use]
    path = tmp_path / "t.csv"
    path.write_text(text)
    said = messages(lambda: call(path))
    assert said or use != "fit"
    for message in said:
        check_names(message, function)
        for name, value in re.findall(r'manymeans\.read\(path, (\w+)=(True|"[^"]*"|\.\.\.)', message):
            value = {"True": True, "...": right.get(name)}.get(value, value.strip('"'))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call(manymeans.read(path, **{name: value}))  # an error is advice that fails
        own = re.sub(r"manymeans\.read\([^)]*\)", "", message)
        for name, value in re.findall(r'(?<![\w.])(exclude|numeric_only|missing|categories)=(True|"[^"]*")?', own):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call(path, **{name: {"True": True, "": right.get(name)}.get(value, value.strip('"'))})


@pytest.mark.parametrize("what", ["text", "a gap", "a date"])
def test_files_for_a_model(what, result, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(FILES[what][0].replace("word", "y2"))
    calls = {
        manymeans.FitResult.predict: result.predict,
        manymeans.FitResult.summary: result.summary,
        manymeans.summary: lambda path: manymeans.summary(result, path),
        manymeans.cards: lambda path: manymeans.cards(result, path),
        manymeans.report: lambda path: manymeans.report(result, path),
        manymeans.consensus: lambda path: manymeans.consensus(result, 2, path),
        manymeans.criteria: lambda path: manymeans.criteria(path, [0] * 40),
    }
    for function, call in calls.items():
        for message in messages(lambda call=call: call(path)):
            check_names(message, function)


MODEL_FILES = {
    "text": GOOD.replace("1.5,7", "1.5,a"),
    "only text": "x,y\n" + "".join(f"{i % 3}.5,w{i % 5}\n" for i in range(40)),
    "a gap": GOOD + "1.5,\n",
    "a date": GOOD + "1.5,2024-01-02\n",
}


@pytest.mark.parametrize("what", MODEL_FILES)
def test_no_advice_takes_a_column_from_a_model(what, result, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(MODEL_FILES[what])
    calls = (
        lambda: manymeans.read(path, like=result),
        lambda: manymeans.predict(result, path),
        lambda: manymeans.summary(result, path),
        lambda: manymeans.consensus(result, 2, path),
        lambda: manymeans.report(result, path),
    )
    for call in calls:
        [message] = messages(call)
        assert not re.search("exclude|columns=|numeric_only|categories", message), message
        assert ("missing=" in message) == (what == "a gap")
    if what == "a gap":  # the advice works
        assert manymeans.predict(result, manymeans.read(path, like=result, missing="mean")).shape == (41,)


def test_several_k():
    X = RANDOM.normal(size=(30, 2))
    several, ensemble = manymeans.fit(X, [2, 3]), manymeans.EnsembleKMeans([2, 3]).fit(X)
    for call in (
        several.summary,
        lambda: several.predict(X),
        ensemble.summary,
        lambda: ensemble.transform(X),
        lambda: manymeans.cards(several),
        lambda: manymeans.summary(ensemble),
    ):
        (said,) = messages(call)
        check_names(said, manymeans.summary)
        assert "k = 2, 3" in said


def test_a_file_in_the_place_of_a_model(result, tmp_path):
    path = tmp_path / "m.npz"
    result.save(path)
    X = np.array([[0.5, 7.0], [2.5, 0.0]])
    for model in (str(path), path, "t.csv", manymeans.KMeans(2).fit(X)):
        for points in (X, "none.csv", path):
            [message] = messages(lambda model=model, points=points: manymeans.predict(model, points, 2))
            assert message.startswith("[model] is ") and "column" not in message
            assert "FitResult.load" in message
    assert manymeans.predict(manymeans.FitResult.load(path), X).shape == (2,)


@pytest.mark.parametrize("maker", ["pandas.DataFrame", "polars.DataFrame", "pyarrow.table"])
def test_text_in_frames_becomes_numbers_as_errors_say(maker):
    library, name = maker.split(".")
    X = getattr(pytest.importorskip(library), name)({"x": [1.0, 2, 3, 4], "t": ["a", "b", "a", "b"]})
    [message] = messages(lambda: manymeans.fit(X, 2))
    assert message.endswith(
        '; categories="onehot" makes columns of 0 and 1 of texts, and numeric_only=True in its place leaves them out'
    )
    assert manymeans.fit(X, 2, categories="onehot").column_names == ["x", "t=a", "t=b"]
    for fit in (lambda X: manymeans.choose_k(X, [2], models=1, references=0, bootstraps=0), manymeans.KMeans(2).fit):
        [message] = messages(lambda fit=fit: fit(X))
        advice = re.search(r"manymeans\.read\(X, [^)]*\)\.points", message)[0]
        fit(eval(advice, {"manymeans": manymeans, "X": X}))
        assert message.endswith("numeric_only=True in its place leaves them out")
        fit(manymeans.read(X, numeric_only=True).points)


@pytest.mark.parametrize("maker", ["pandas.DataFrame", "polars.DataFrame", "pyarrow.table"])
def test_frames_of_a_fit_need_no_read(maker):
    library, name = maker.split(".")
    make = getattr(pytest.importorskip(library), name)
    X = make(
        {"user_id": list(range(40)), "x": [i % 7 * 1000.0 for i in range(40)], "y": [float("nan")] + [1.0, 2, 3] * 13}
    )
    [message] = messages(lambda: manymeans.fit(X, 2))
    assert "manymeans.read" not in message and 'missing="drop"' in message
    for missing in re.findall(r'missing="?(\w+)', message):
        said = messages(lambda missing=missing: manymeans.fit(X, 2, missing=missing))
        assert any("by their place; leave it out: exclude=" in one for one in said)
        for one in said:
            check_names(one, manymeans.fit)
    assert not any("exclude" in one for one in messages(lambda: manymeans.KMeans(2).fit(X)))


COLUMNS = {
    "dates": pandas.Series(pandas.date_range("2020", periods=6)),
    "objects of dates": pandas.Series(pandas.date_range("2020", periods=6).date),
    "durations": pandas.Series(pandas.to_timedelta(range(6), unit="h")),
    "periods": pandas.Series(pandas.period_range("2020", periods=6, freq="M")),
    "objects of periods": pandas.Series(pandas.period_range("2020", periods=6, freq="M"), dtype=object),
    "intervals": pandas.Series(pandas.interval_range(0, 6)),
}


@pytest.mark.parametrize("what", COLUMNS)
def test_columns_become_numbers_as_errors_say(what):
    column = COLUMNS[what]
    for fit in (lambda X: manymeans.fit(X, 2), manymeans.KMeans(2).fit):
        [message] = messages(lambda fit=fit: fit(pandas.DataFrame({"c": column, "x": range(6)})))
        advice = re.search(r"numbers are needed, as (pandas\..*)$", message)[1]
        fit(pandas.DataFrame({"c": eval(advice, {"pandas": pandas, "column": column}), "x": range(6)}))


@pytest.mark.parametrize("shape", [(4, 3, 2), (4, 5, 3), (2, 3, 4, 5)])
def test_arrays_become_matrices_as_errors_say(shape):
    for X in (RANDOM.random(shape), (RANDOM.random(shape) * 255).astype(np.uint8)):
        [message] = messages(lambda X=X: manymeans.search(X, 2, rounds=1))  # fit() takes three dimensions
        advice = re.search(r"X\.reshape\([-\d, ]+\)", message)[0]
        manymeans.fit(eval(advice, {"X": X}), 2)


X = RANDOM.random((20, 2))
OTHERS = {
    "masked": (manymeans.fit, lambda: manymeans.fit(np.ma.masked_greater(X, 0.5), 2)),
    "weights by name": (manymeans.fit, lambda: manymeans.fit(X, 2, sample_weight="w")),
    "too many clusters": (manymeans.fit, lambda: manymeans.fit(X, 30)),
    "an unknown backend": (manymeans.fit, lambda: manymeans.fit(X, 2, backend="tpu")),
    "an unknown stop rule": (manymeans.fit, lambda: manymeans.fit(X, 2, stop="soon")),
    "sizes that cannot be": (manymeans.fit, lambda: manymeans.fit(X, 5, min_size=10)),
    "little memory": (manymeans.fit, lambda: manymeans.fit(RANDOM.random((2000, 50)), 2, memory=1000)),
    "little memory for many models": (
        manymeans.fit,
        lambda: manymeans.fit(RANDOM.random((2000, 5)), 300, models=9, memory=1000),
    ),
    "resume without a file": (manymeans.fit, lambda: manymeans.fit(X, 2, resume=True)),
    "a column that decides": (manymeans.fit, lambda: manymeans.fit(X * [1, 1e5], 2)),
    "several k": (manymeans.predict, lambda: manymeans.predict(manymeans.fit(X, [2, 3]), X)),
    "consensus of another k": (
        manymeans.consensus,
        lambda: manymeans.consensus(manymeans.fit(X, [2, 3]), 4, method="matched"),
    ),
    "consensus without labels": (manymeans.consensus, lambda: manymeans.consensus([], 4)),
    "a path for an estimator": (manymeans.KMeans, lambda: manymeans.KMeans(2).fit("t.csv")),
    "a frame with gaps": (manymeans.KMeans, lambda: manymeans.KMeans(2).fit(pandas.DataFrame({"a": [1, None]}))),
    "an ensemble of several k": (manymeans.EnsembleKMeans, lambda: manymeans.EnsembleKMeans([2, 3]).fit_predict(X)),
    "criteria of half labels": (manymeans.criteria, lambda: manymeans.criteria(X, [0.5] * 20)),
    "few distinct rows": (manymeans.KMeans, lambda: manymeans.KMeans(3).fit(np.zeros((5, 1)))),
    "weights too small": (manymeans.fit, lambda: manymeans.fit(X, 2, sample_weight=[1e-300] + [1] * 19)),
}


@pytest.mark.parametrize("what", OTHERS)
def test_others(what):
    function, call = OTHERS[what]
    said = messages(call)
    assert said
    for message in said:
        check_names(message, function)
