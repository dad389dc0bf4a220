"""Tables in files: which type their numbers get, which columns a model needs, and how errors name them."""

import contextlib
import os
import subprocess

import numpy as np
import pandas
import polars
import pytest

import manymeans

TIMES = "t,x\n" + "".join(f"{1700000000 + 60 * (i % 4)}.123,{i % 3}\n" for i in range(40))


@pytest.fixture
def table(tmp_path):
    """Text, an index and two columns of three groups."""
    random = np.random.default_rng(3)
    path = tmp_path / "table.csv"
    rows = [(i, "w", *(10.0 * (i % 3) + random.normal(size=2)).round(3)) for i in range(300)]
    path.write_text("id,word,x,y\n" + "".join(f"{i},{w},{x},{y}\n" for i, w, x, y in rows))
    return path


def test_text_keeps_what_separates_rows(tmp_path):
    path = tmp_path / "ts.csv"
    path.write_text(TIMES)
    data = manymeans.read(path)
    assert data.points.dtype == np.float64
    assert len(np.unique(data.points[:, 0])) == 4
    assert len(np.unique(data.points[:, 0].astype(np.float32))) < 4
    assert manymeans.fit(data, 4, init="first").best().inertia < 30
    assert manymeans.read(path, columns=["x"]).points.dtype == np.float32
    assert manymeans.read(path, dtype="float32").points.dtype == np.float32


@pytest.mark.parametrize("kind", [np.int32, np.uint32, np.int64, np.uint64])
def test_wide_integers_of_files(tmp_path, kind):
    path = tmp_path / "i.npy"
    for values, dtype in ([1700000000, 1700000060], np.float64), ([1, 2], np.float32):
        np.save(path, np.array(values, dtype=kind)[:, None])
        assert manymeans.read(path).points.dtype == dtype
        assert manymeans.read(path).points.ravel().tolist() == values


def test_arrays_keep_their_type():
    points = np.array([[1700000000.0], [1700000060.0]])
    result = manymeans.fit(points, 2, init="first")
    assert result.best().cluster_centers.tolist() == points.tolist()
    assert manymeans.KMeans(2, init=points).fit(points).cluster_centers_.dtype == np.float64
    assert manymeans.KMeans(2, init=points).fit(points.astype(np.float32)).cluster_centers_.dtype == np.float32
    assert manymeans.KMeans(2).fit(points.astype(np.int64)).cluster_centers_.dtype == np.float64


def test_models_know_their_columns(table, tmp_path, program):
    result = manymeans.fit(manymeans.read(table, columns=["y", "x"]), 3, seed=1)
    expected = result.best().labels
    result.save(tmp_path / "m.npz")
    subprocess.run(
        [program, "predict", tmp_path / "m.npz", table, "--labels", tmp_path / "l.npy", "--quiet"], check=True
    )
    assert (np.load(tmp_path / "l.npy") == expected).all()
    loaded = manymeans.FitResult.load(tmp_path / "m.npz")
    again = manymeans.read(table, like=loaded)
    assert again.column_names == ["y", "x"]
    assert (loaded.predict(again) == expected).all()
    everything = manymeans.read(table, numeric_only=True)
    assert everything.column_names == ["id", "x", "y"]
    assert (loaded.predict(everything) == expected).all()
    with pytest.raises(manymeans.BadDataError, match="has no column 'y'"):
        loaded.predict(manymeans.read(table, columns=["id", "x"]))


def test_a_name_of_several_columns_tells_none(tmp_path):
    path = tmp_path / "twice.csv"
    path.write_text("a,a\n1,2\n3,4\n9,9\n")
    result = manymeans.fit(manymeans.read(path), 2, seed=1)
    assert (result.predict(manymeans.read(path)) == result.best().labels).all()
    path.write_text("a,b\n1,2\n3,4\n9,9\n")
    with pytest.raises(manymeans.BadDataError, match="no single column 'a'"):
        result.predict(manymeans.read(path))
    with pytest.raises(manymeans.BadDataError, match="share one"):
        manymeans.read(path, like=result)


def test_models_of_the_program(table, tmp_path, program):
    for how in (["--numeric-only"], ["--columns", "3-4"]):
        command = [
            program,
            "fit",
            table,
            "-k",
            "3",
            *how,
            "--model",
            tmp_path / "m.npz",
            "--labels",
            tmp_path / "l.npy",
        ]
        subprocess.run([*command, "--quiet"], check=True, capture_output=True)
        loaded = manymeans.FitResult.load(tmp_path / "m.npz")
        assert (loaded.predict(manymeans.read(table, like=loaded)) == np.load(tmp_path / "l.npy")).all()


def test_data_frames_by_name(table):
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(table)
    result = manymeans.fit(frame[["x", "y"]], 3, seed=1)
    assert (result.predict(frame[["y", "id", "x"]]) == result.best().labels).all()
    assert (result.predict(frame[["x", "y"]].to_numpy()) == result.best().labels).all()


def frames():
    """What makes a frame of a dict of columns."""
    makers = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}
    return [pytest.param(name, maker, id=name) for name, maker in makers.items()]


@pytest.mark.parametrize(("library", "maker"), frames())
def test_frames_may_hold_text_beside_the_columns_of_the_fit(library, maker):
    make = getattr(pytest.importorskip(library), maker)
    rng = np.random.default_rng(1)
    x, y = (rng.normal(size=60).astype(np.float32) + 9 * (np.arange(60) % 3 == part) for part in (0, 1))
    text = [f"row {i}" for i in range(60)]
    result = manymeans.fit(make({"x": x, "y": y}), 3, seed=1)
    expected = result.best().labels
    wide = make({"city": text, "y": y, "n": np.arange(60), "x": x})
    assert (result.predict(wide) == expected).all()
    assert (result.predict(make({"column_names": text, "columns": x, "y": y, "x": x})) == expected).all()
    labels, distances = manymeans.predict(result, wide, distances=True)
    assert (labels == expected).all()
    assert (distances == manymeans.predict(result, make({"x": x, "y": y}), distances=True)[1]).all()
    assert (
        manymeans.consensus(result, 3, wide).labels == manymeans.consensus(result, 3, make({"x": x, "y": y})).labels
    ).all()
    assert manymeans.report(result, wide) == manymeans.report(result, make({"x": x, "y": y}))
    # Never a silent wrong answer: a column that is missing, or that holds text itself.
    with pytest.raises(
        manymeans.BadDataError, match="has no column 'x'; the model was fitted to the columns x, y, X has"
    ):
        result.predict(make({"city": text, "y": y}))
    with pytest.raises(manymeans.BadDataError, match="text|string|str|Utf8"):
        result.predict(make({"x": text, "y": y, "city": text}))
    with pytest.raises(manymeans.BadDataError):
        result.predict(make({"a": x, "b": y, "city": text}))


@pytest.mark.parametrize(("library", "maker"), frames())
def test_frames_of_other_names_are_no_points_of_the_fit(library, maker):
    make = getattr(pytest.importorskip(library), maker)
    result = manymeans.fit(make({"x": [1.0, 2, 9, 8], "y": [1.0, 2, 9, 8]}), 2, seed=1)
    other = make({"a": [1.0, 2, 9, 8], "b": [1.0, 2, 9, 8]})
    wanted = "has no column 'x'; the model was fitted to the columns x, y, X has a, b"
    for use in (
        result.predict,
        lambda X: manymeans.predict(result, X),
        lambda X: manymeans.report(result, X),
        lambda X: manymeans.consensus(result, 2, X),
    ):
        with pytest.raises(manymeans.BadDataError, match=wanted):
            use(other)
    with pytest.raises(manymeans.BadDataError, match="has no column 'y'.*X has x, b"):
        result.predict(make({"x": [1.0], "b": [1.0]}))
    with pytest.raises(ValueError, match="Feature names unseen at fit time:\n- a\n- b"):
        manymeans.KMeans(2).fit(make({"x": [1.0, 2, 9], "y": [1.0, 2, 9]})).predict(other)


def test_columns_that_are_only_numbered_are_taken_by_place():
    pandas = pytest.importorskip("pandas")
    points = np.float32([[1, 1], [2, 2], [9, 9], [8, 8]])
    named, numbered = pandas.DataFrame(points, columns=["x", "y"]), pandas.DataFrame(points)
    expected = manymeans.fit(points, 2, seed=1).best().labels
    for fitted in named, numbered, points:
        result = manymeans.fit(fitted, 2, seed=1)
        for X in named if fitted is named else numbered, numbered, points:
            assert (result.predict(X) == expected).all()
    assert (manymeans.fit(numbered, 2, seed=1).predict(named) == expected).all()


def test_frames_may_hold_text_beside_columns_of_lists():
    pandas = pytest.importorskip("pandas")
    lists = [[float(i % 2), float(i)] for i in range(20)]
    result = manymeans.fit(pandas.DataFrame({"e": lists, "x": np.arange(20.0)}), 2, seed=1)
    assert result.column_names == ["e[1]", "e[2]", "x"]
    wide = pandas.DataFrame({"x": np.arange(20.0), "city": "Rome", "e": lists})
    assert (result.predict(wide) == result.best().labels).all()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_series_is_no_frame(library):
    library = pytest.importorskip(library)
    result = manymeans.fit(library.DataFrame({"x": [1.0, 2, 9], "y": [1.0, 2, 9]}), 2, seed=1)
    for use in (result.predict, lambda series: manymeans.predict(result, series)):
        with pytest.raises(manymeans.BadDataError):
            use(library.Series("x", [1.0, 2, 9]) if library.__name__ == "polars" else library.Series([1.0, 2, 9]))


def test_names_that_stand_twice_in_a_frame():
    pandas = pytest.importorskip("pandas")
    result = manymeans.fit(pandas.DataFrame({"x": [1.0, 2, 9], "y": [1.0, 2, 9]}), 2, seed=1)
    twice = pandas.DataFrame([[1.0, 2, 3, "a"]], columns=["x", "x", "y", "city"])
    with pytest.raises(manymeans.BadDataError, match="no single column 'x'"):
        result.predict(twice)


@pytest.mark.parametrize(("library", "maker"), frames())
def test_estimators_ask_for_the_columns_of_the_fit_as_scikit_learn_does(library, maker):
    make = getattr(pytest.importorskip(library), maker)
    columns = {"x": [1.0, 2, 9, 8], "y": [1.0, 2, 9, 8]}
    wide = make(columns | {"city": ["a", "b", "c", "d"]})
    model = manymeans.KMeans(2, random_state=1).fit(make(columns))
    for frame in (wide, make(columns | {"city": [1, 2, 3, 4]})):
        with pytest.raises(ValueError, match="Feature names unseen at fit time:\n- city"):
            model.predict(frame)
    with pytest.raises(ValueError, match="city"):
        manymeans.KMeans(2).fit(wide)
    assert (model.result_.predict(wide) == model.labels_).all()


def test_errors_name_row_line_and_column(tmp_path):
    path = tmp_path / "hole.csv"
    path.write_text("a,b,c\n1,2,3\n4,nan,6\n")
    with pytest.raises(manymeans.BadDataError, match=r"row 1 \(line 3\), column 'b' is NaN"):
        manymeans.fit(manymeans.read(path, columns=["c", "b"]), 1)
    path.write_text("a,b,c\n1,2,3\n4,,6\n")
    with pytest.raises(manymeans.BadDataError, match=r"row 1 \(line 3\), column 'b': the field is empty"):
        manymeans.read(path)
    pandas = pytest.importorskip("pandas")
    with pytest.raises(manymeans.BadDataError, match=r"row 1, column 'b' is NaN"):
        manymeans.fit(pandas.read_csv(path), 1)
    points = np.array([[1.0, 2.0], [3.0, np.nan]])
    with pytest.raises(manymeans.BadDataError, match="row 1, column 1 is NaN"):
        manymeans.fit(points, 1)


def test_columns_that_decide_alone(table):
    with pytest.warns(UserWarning, match=r"column 'id' only counts the rows") as caught:
        result = manymeans.fit(manymeans.read(table, numeric_only=True), 3, seed=1)
    assert any("column 'id' holds 98.2 % of the variance" in str(one.message) for one in caught), caught[0].message
    assert [text.split(" ")[1] for text in result.warnings] == ["'id'", "'id'"]
    assert manymeans.fit(manymeans.read(table, columns=["x", "y"]), 3, seed=1).warnings == []


@pytest.mark.parametrize(("library", "maker"), frames())
def test_frames_are_warned_of_as_files_are(library, maker):
    make = getattr(pytest.importorskip(library), maker)
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 40))
    found = manymeans.fit(make({"n": np.arange(40), "user_id": rng.permutation(40) / 8, "x": x, "y": y}), 3).warnings
    assert [text.split(";")[0] for text in found[:2]] == [
        "column 'n' only counts the rows (0, 1, 2, ...), and groups them by their place",
        "column 'user_id' is named like an id, and ids do not describe rows",
    ]
    with pytest.warns(UserWarning, match=r"column 'x' holds more than 99.9 % of the variance") as caught:
        found = manymeans.fit(make({"x": 1e4 * x, "y": y}), 3).warnings
    assert found == [str(caught[0].message)]
    assert found[0].endswith('scale the columns (scale="standard"), or leave it out (exclude=)')
    days = np.array([20240101 + 100 * month + day for month in range(5) for day in range(8)])
    found = manymeans.fit(make({"day": days, "x": x, "y": y}), 3).warnings
    assert found[0].endswith("where a month ends; leave it out: exclude=, or make numbers of days of it")
    assert manymeans.fit(make({"x": x, "y": y}), 3).warnings == []


def test_arrays_are_warned_of_by_numbers_from_0():
    points = np.random.default_rng(1).normal(size=(40, 3)) * [1, 1e4, 1]
    with pytest.warns(UserWarning, match=r"column 1 holds more than 99.9 % of the variance"):
        assert len(manymeans.fit(points, 3).warnings) == 1
    assert manymeans.fit(np.float16([[1, 2], [3, 4], [5, 7]]), 2).warnings == []


@pytest.mark.parametrize("weights", ["word", 3, "gap", 2])
def test_weights_that_are_no_numbers_get_advice_for_weights(tmp_path, weights):
    path = tmp_path / "x.csv"
    path.write_text("x,gap,word,w\n1,2,a,1\n2,,b,2\n3,4,c,1\n")
    with pytest.raises(manymeans.BadDataError, match="weights need .*: name another column, or a file$"):
        manymeans.read(path, columns="x", weights=weights)
    assert list(manymeans.read(path, columns="x", weights="w").weights) == [1, 2, 1]


def test_weights_of_a_file_are_those_of_the_fit(tmp_path):
    path = tmp_path / "w.csv"
    path.write_text("x,w\n0,1\n1,0\n10,1\n11,0\n20,5\n")
    data = manymeans.read(path, weights="w")
    fits = [manymeans.fit(data, 2), manymeans.fit(data.points, 2, sample_weight=data.weights)]
    assert fits[0].digest == fits[1].digest
    assert sorted(fits[0].best().weights) == [1, 6]
    assert sorted(manymeans.fit(data, 2, sample_weight=np.ones(5)).best().weights) == [2, 3]
    assert set(manymeans.kmeans_plusplus(data, 3)[1]) == {0, 2, 4}


def test_one_column_needs_no_list(table):
    assert manymeans.read(table, columns="x").column_names == ["x"]
    assert manymeans.read(table, columns=3).column_names == ["x"]
    with pytest.raises(manymeans.UsageError, match="no column 'xy'"):
        manymeans.read(table, columns="xy")
    with pytest.raises(manymeans.UsageError, match=r"\[like\] is 3; a FitResult is right"):
        manymeans.read(table, like=3)


@pytest.mark.parametrize("estimator", [manymeans.KMeans, manymeans.EnsembleKMeans])
def test_files_and_what_was_read_are_no_points(estimator, table):
    for path in table, str(table), bytes(table):  # manymeans.fit reads them
        with pytest.raises(manymeans.BadDataError, match=r"X is .*manymeans.read gives those of a file"):
            estimator(2).fit(path)
    with pytest.raises(manymeans.BadDataError, match=r"X is a Dataset; X.points are right here"):
        estimator(2).fit(manymeans.read(table, columns=["x", "y"]))


def test_frames_with_missing_values_and_text():
    frame = pandas.DataFrame({"a": [1.0, 2.0, 3.0], "b": pandas.array([1, None, 3], dtype="Int64")})
    for fit in (lambda X: manymeans.fit(X, 1)), manymeans.KMeans(1).fit:
        with pytest.raises(manymeans.BadDataError, match=r"row 1, column 'b' is NaN"):
            fit(frame)
    assert manymeans.fit(frame.fillna(2), 1).best().inertia == 4
    with pytest.raises(manymeans.BadDataError, match="holds text, 'w' in row 0, column 'word'"):
        manymeans.fit(frame.fillna(2).assign(word="w"), 1)
    text = frame.fillna(2).assign(word=["v", "w", "w"])
    for fit, how in (
        (lambda X: manymeans.fit(X, 1), r'numbers; categories="onehot" makes'),
        (manymeans.KMeans(1).fit, r'manymeans.read\(X, categories="onehot"\).points makes'),
    ):
        with pytest.raises(manymeans.BadDataError, match=how):
            fit(text)
        fit(manymeans.read(text, categories="onehot").points)
        with pytest.warns(UserWarning, match="columns that hold text were left out"):
            fit(manymeans.read(text, numeric_only=True).points)


def test_no_output_is_the_file_of_the_points(tmp_path):
    path, link = tmp_path / "x.npy", tmp_path / "link"
    np.save(path, np.arange(20.0).reshape(10, 2))
    link.symlink_to(path)
    before, data = path.read_bytes(), manymeans.read(path)
    for X in data, np.load(path, mmap_mode="r"):
        for name in path, link, tmp_path / "." / "x.npy":
            with pytest.raises(manymeans.UsageError, match=r"\[checkpoint\] .* is the file of the points"):
                manymeans.fit(X, 2, checkpoint=name)
    with pytest.raises(manymeans.UsageError, match=r"\[path\] .* is the file of the points"):
        manymeans.fit(data, 2).save(link)
    assert path.read_bytes() == before
    manymeans.fit(data, 2, checkpoint=tmp_path / "c").save(tmp_path / "m.npz")


@pytest.fixture
def inputs(tmp_path, monkeypatch):
    """Files that fits read, with all their names; they must not change."""
    monkeypatch.chdir(tmp_path)
    rows = np.arange(40.0).reshape(20, 2)
    np.save("x.npy", rows)
    np.save("w.npy", np.ones(20))
    np.save("start.npy", rows[:2])
    (tmp_path / "x.csv").write_text("".join(f"{a},{b}\n" for a, b in rows))
    (tmp_path / "start.csv").write_text("0,1\n2,3\n")
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for name in files:
        (tmp_path / f"soft-{name}").symlink_to(name)
        (tmp_path / f"hard-{name}").hardlink_to(name)
    yield lambda name: (name, tmp_path / name, tmp_path / f"soft-{name}", f"hard-{name}", f"../{tmp_path.name}/{name}")
    assert files == {name: (tmp_path / name).read_bytes() for name in files}


def test_no_output_is_an_input(inputs, tmp_path):
    mapped = {name: np.load(f"{name}.npy", mmap_mode="r") for name in ("x", "w", "start")}
    fits = [
        ("x.npy", lambda **more: manymeans.fit("x.npy", 2, **more)),
        ("x.npy", lambda **more: manymeans.fit(tmp_path / "x.npy", 2, **more)),
        ("x.csv", lambda **more: manymeans.fit(b"soft-x.csv", 2, **more)),
        ("x.npy", lambda **more: manymeans.search("x.npy", 2, rounds=1, **more)),
        ("x.npy", lambda **more: manymeans.fit(mapped["x"][:, ::-1][:, ::-1], 2, **more)),
        ("x.npy", lambda **more: manymeans.fit(np.asarray(mapped["x"])[3:], 2, **more)),
        ("w.npy", lambda **more: manymeans.fit("x.csv", 2, sample_weight=mapped["w"], **more)),
        ("w.npy", lambda **more: manymeans.fit(manymeans.read("x.csv", weights=b"w.npy"), 2, **more)),
        ("w.npy", lambda **more: manymeans.fit(manymeans.read("x.csv", weights="w.npy"), 2, **more)),
        ("start.npy", lambda **more: manymeans.fit("x.csv", 2, init=mapped["start"], **more)),
    ]
    for name, fit in fits:
        result = fit()
        page = manymeans.report(result)
        for path in inputs(name):
            for resume in False, True:
                with pytest.raises(manymeans.UsageError, match=r"\[checkpoint\] .* is the file of"):
                    fit(checkpoint=path, resume=resume)
            with pytest.raises(manymeans.UsageError, match=r"\[path\] .* is the file of"):
                result.save(path)
            with pytest.raises(manymeans.UsageError, match=r"\[path\] .* is the file of"):
                manymeans.report(result, path=path)
        assert manymeans.report(result) == page


COMMANDS = {
    "fit x.csv -k 2 --weights w.npy --init start.csv": "--model .npz --labels .csv --append .csv --summary .json "
    "--report .html --checkpoint .npz",
    "search x.csv -k 2 --weights w.npy --init start.csv": "--model .npz --labels .csv --append .csv --checkpoint .npz",
    "regress x.csv --target 2 -k 2 --weights w.npy": "--model .npz --labels .csv --checkpoint .npz",
    "choose x.csv -k 2": "--model .npz --labels .csv --report .html",
    "predict model.npz x.csv": "--labels .csv --distances .csv --append .csv --predictions .csv",
    "consensus model.npz x.csv --clusters 2": "--labels .csv --agreement .csv",
    "convert x.csv": " .npy",
    "multiply x.csv start.csv": "--output .npy",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_no_output_of_the_program_is_an_input(command, inputs, program, tmp_path):
    manymeans.fit("x.csv", 2).save("model.npz")
    words = COMMANDS[command].split()
    options = [words[i : i + 2] for i in range(0, len(words), 2)] if len(words) > 1 else [["", words[0]]]
    model = (tmp_path / "model.npz").read_bytes()
    for name in {word for word in command.split() if "." in word}:
        for option, ending in options:
            links = [f"soft{ending}", str(tmp_path / f"hard{ending}"), f"../{tmp_path.name}/chain{ending}"]
            for link in links:
                (tmp_path / link).unlink(missing_ok=True)
            os.symlink(name, links[0])
            os.link(name, links[1])
            os.symlink(links[0], links[2])
            for link in links:
                given = [program, *command.split(), *([option] if option else []), link]
                done = subprocess.run(given, capture_output=True, text=True, check=False)
                assert done.returncode == 2, (given, done.stderr)
                assert f"would overwrite the input '{name}'" in done.stderr, given
    assert (tmp_path / "model.npz").read_bytes() == model


def test_no_output_of_an_estimator_is_an_input(inputs):
    X, w = np.load("x.npy", mmap_mode="r"), np.load("w.npy", mmap_mode="r")
    for model in manymeans.KMeans(2), manymeans.EnsembleKMeans(2), manymeans.RegressionClustering(2):
        model.fit(X, X[:, 0] if isinstance(model, manymeans.RegressionClustering) else None, sample_weight=w)
        for name in "x.npy", "w.npy":
            for path in inputs(name):
                with pytest.raises(manymeans.UsageError, match=r"\[path\] .* is the file of"):
                    model.save(path)
    choice = manymeans.choose_k("x.npy", [2, 3], references=0, bootstraps=0)
    for path in inputs("x.npy"):
        with pytest.raises(manymeans.UsageError, match=r"\[path\] .* is the file of"):
            choice.result.save(path)
    result = manymeans.fit(np.arange(40.0).reshape(20, 2), 2)
    for path in inputs("x.csv"):
        with pytest.raises(manymeans.UsageError, match=r"\[path\] .* is the file of"):
            manymeans.report(result, "x.csv", path=path)


@pytest.mark.parametrize("call", [manymeans.fit, lambda *given, **more: manymeans.search(*given, rounds=1, **more)])
def test_a_checkpoint_replaces_no_other_file(call, inputs, tmp_path):
    X = np.arange(40.0).reshape(20, 2)
    manymeans.fit(X, 2).save("model.npz")
    (tmp_path / "text").write_text("mine")
    (tmp_path / "empty").touch()
    (tmp_path / "folder").mkdir()
    os.mkfifo("pipe")
    for name in "model.npz", "text", "empty", "x.npy", "hard-w.npy", "soft-x.csv":
        before = (tmp_path / name).read_bytes()
        with pytest.raises(manymeans.UsageError, match=rf"\[{name}\] is there and is no whole checkpoint"):
            call(X, 2, checkpoint=name)
        with pytest.raises(manymeans.BadDataError, match=name):
            call(X, 2, checkpoint=name, resume=True)
        assert (tmp_path / name).read_bytes() == before
    for name in "pipe", "/dev/null", "folder", "text/c", "missing/c":
        for resume in False, True:
            with pytest.raises((manymeans.UsageError, manymeans.UnavailableError), match=name):
                call(X, 2, checkpoint=name, resume=resume)
    digest = call(X, 2, checkpoint="run.ckpt").digest
    for resume in False, True:
        assert call(X, 2, checkpoint="run.ckpt", resume=resume).digest == digest


def test_two_fits_do_not_share_a_checkpoint(tmp_path):
    X, path, problems = np.random.default_rng(0).random((500, 3)), tmp_path / "run.ckpt", []

    def begin_another(progress):
        for resume in False, True:
            try:
                manymeans.fit(X, 9, seed=1, checkpoint=path, resume=resume)
            except manymeans.UsageError as error:
                problems.append(str(error))

    with pytest.raises(manymeans.UsageError, match="another fit has this checkpoint"):  # it was not first to write
        manymeans.fit(X, 9, tol=0, callback=begin_another, checkpoint=path)
    path.unlink()
    problems.clear()
    whole = manymeans.fit(X, 9, tol=0)
    stopped = manymeans.fit(X, 9, tol=0, callback=lambda progress: progress.iteration < 2, checkpoint=path)
    assert stopped.interrupted
    went_on = manymeans.fit(X, 9, tol=0, callback=begin_another, checkpoint=path, resume=True)
    assert went_on.digest == whole.digest
    assert problems
    assert all("another fit has this checkpoint" in text for text in problems)


def test_models_that_predict_cannot_use(table):
    X = np.arange(6.0).reshape(3, 2)
    for model in table, manymeans.KMeans(2, random_state=0).fit(X):
        with pytest.raises(manymeans.UsageError, match=r"\[model\] is .*; a FitResult is right"):
            manymeans.predict(model, X)


NUMBERED = "0,1,2\n0.5,1.5,2.5\n0.25,1.75,2.5\n8.5,9.5,7.5\n8.25,9.5,7.25\n"


def test_header(tmp_path):
    path = tmp_path / "numbered.csv"
    path.write_text(NUMBERED)
    with pytest.warns(UserWarning, match='names of columns, though some of them are numbers; header="no" takes it'):
        assert manymeans.read(path).column_names == ["0", "1", "2"]
    assert manymeans.read(path, header="yes").points.shape == (4, 3)
    assert manymeans.read(path, header="no").points.shape == (5, 3)
    path.write_text("12,305\n1.5,2.5\n0.25,1.5\n2.5,3.5\n")
    with pytest.warns(UserWarning, match='taken as a row, though it may hold .*; header="yes" takes it as names'):
        assert manymeans.read(path).points.shape == (4, 2)
    with pytest.raises(manymeans.UsageError, match=r"\[header\] is True"):
        manymeans.read(path, header=True)
    np.save(tmp_path / "a.npy", np.ones((2, 2)))
    with pytest.raises(manymeans.UsageError, match="no text table"):
        manymeans.read(tmp_path / "a.npy", header="no")


@pytest.mark.parametrize("columns", [["a", "b"], [0, 1], ["2019", "2020"]])
def test_what_pandas_writes_is_read(tmp_path, columns):
    frame = pandas.DataFrame(np.random.default_rng(1).normal(size=(30, 2)), columns=columns)
    for index in (False, True):
        frame.to_csv(tmp_path / "frame.csv", index=index)
        with pytest.warns(UserWarning) if index or columns != ["a", "b"] else contextlib.nullcontext():
            data = manymeans.read(tmp_path / "frame.csv")
            manymeans.fit(data, 2)
        assert data.points.shape == (30, 2 + index)
        assert data.column_names[index:] == [str(name) for name in columns]


def test_decimal_commas_in_quotes(tmp_path):
    path = tmp_path / "quoted.csv"
    path.write_text('a,b\n"52,5",3\n"1.001,5","2,25"\n')
    assert manymeans.read(path, decimal=",").points.tolist() == [[52.5, 3], [1001.5, 2.25]]


def _given(frame, folder):
    """Initial centres in all forms that have names."""
    import polars
    import pyarrow

    frame.to_csv(folder / "start.csv", index=False)
    manymeans.fit(frame, len(frame), init="first", max_iter=0).save(folder / "start.npz")
    return {
        "pandas": frame,
        "polars": polars.DataFrame({name: frame[name].to_numpy() for name in frame.columns}),
        "pyarrow": pyarrow.table({name: frame[name].to_numpy() for name in frame.columns}),
        "dataset": manymeans.read(folder / "start.csv", dtype="float64"),
        "path": folder / "start.csv",
        "name": str(folder / "start.csv"),
        "model": folder / "start.npz",
        "result": manymeans.FitResult.load(folder / "start.npz"),
    }


def test_initial_centres_by_name(tmp_path):
    X = pandas.DataFrame(np.random.default_rng(2).normal(size=(60, 2)) * [1, 9], columns=["x", "y"])
    start = X.iloc[:3]
    wanted = manymeans.fit(X, 3, init=start.to_numpy()).digest
    turned = start.assign(more=1.5)[["y", "more", "x"]]
    for form, init in _given(turned, tmp_path).items():
        assert manymeans.fit(X, 3, init=init).digest == wanted, form
        assert manymeans.search(X, 3, rounds=1, init=init).digest, form
    expected_answer = manymeans.KMeans(3, init=start.to_numpy()).fit(X).answer_
    for form, init in list(_given(turned, tmp_path).items())[:3]:
        assert manymeans.KMeans(3, init=init).fit(X).answer_ == expected_answer, form
        assert manymeans.EnsembleKMeans(3, init=init, models_per_k=1).fit(X).answer_ == wanted, form
        centers = manymeans.MiniBatchKMeans(3, init=init, random_state=1).fit(X).cluster_centers_
        expected = manymeans.MiniBatchKMeans(3, init=start.to_numpy(), random_state=1).fit(X).cluster_centers_
        assert (centers == expected).all(), form
    called = manymeans.KMeans(3, init=lambda *_, **__: turned).fit(X)
    assert called.answer_ == manymeans.KMeans(3, init=lambda *_, **__: start.to_numpy()).fit(X).answer_
    others = start.rename(columns={"x": "z"})
    for init in _given(others, tmp_path).values():
        with pytest.raises(manymeans.BadDataError, match="init has no column 'x'; X has the columns x, y, init"):
            manymeans.fit(X, 3, init=init)
    with pytest.raises(manymeans.BadDataError, match="init has no column 'x'"):
        manymeans.KMeans(3, init=others).fit(X)
    # Without names on one side, by place.
    assert manymeans.fit(X.to_numpy(), 3, init=start).digest == wanted
    assert manymeans.fit(X, 3, init=pandas.DataFrame(start.to_numpy())).digest == wanted


def test_initial_linear_models_by_name():
    random = np.random.default_rng(3)
    X = pandas.DataFrame(random.normal(size=(80, 2)), columns=["x", "y"])
    y = np.where(random.random(80) < 0.5, X["x"] + 1, 5 - 2 * X["y"])
    models = np.array([[1.0, 0, 1], [0, -2, 5]])
    wanted = manymeans.RegressionClustering(2, init=models).fit(X, y).answer_
    turned = pandas.DataFrame(models, columns=["x", "y", "intercept"])[["intercept", "y", "x"]]
    assert manymeans.RegressionClustering(2, init=turned).fit(X, y).answer_ == wanted
    with pytest.raises(manymeans.BadDataError, match="init has no"):
        manymeans.RegressionClustering(2, init=turned.rename(columns={"x": "z"})).fit(X, y)


def test_predict_says_first_that_a_path_is_no_model(tmp_path):
    (tmp_path / "text.csv").write_text("name,x\na,1\nb,2\n")
    with pytest.raises(manymeans.UsageError, match=r"\[model\] is 'm.npz'; a FitResult is right \(FitResult.load"):
        manymeans.predict("m.npz", tmp_path / "text.csv")


FITTERS = {
    "fit": lambda X: manymeans.fit(X, 2),
    "KMeans": manymeans.KMeans(2).fit,
    "MiniBatchKMeans": manymeans.MiniBatchKMeans(2).fit,
    "EnsembleKMeans": manymeans.EnsembleKMeans([2]).fit,
}


@pytest.mark.parametrize("fit", FITTERS.values(), ids=FITTERS)
def test_tables_without_values(fit):
    with pytest.raises(manymeans.BadDataError, match=r"give X\.collect\(\)"):
        fit(polars.DataFrame({"a": [1.0, 2.0, 3.0]}).lazy())


def test_tables_of_libraries_that_are_too_old():
    class Old:  # a table of pyarrow 13, which has no interface
        columns = ()

    Old.__module__ = "pyarrow.lib"
    with pytest.raises(manymeans.BadDataError, match=r"use pyarrow 14 or newer, or give X\.to_pandas\(\)"):
        manymeans.KMeans(2).fit(Old())


class Array:
    """An array of a library that says nothing of its types but to NumPy."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return self.values if dtype is None else self.values.astype(dtype)


@pytest.mark.parametrize("fit", FITTERS.values(), ids=FITTERS)
@pytest.mark.parametrize("kind", ["U1", "S1", "M8[D]", "m8[s]", "c8"])
def test_what_numpy_would_make_numbers_of(fit, kind):
    values = np.array([[1, 2], [3, 4], [5, 6]]).astype("i8").astype(kind)
    for given in (Array(values), values.tolist()):
        with pytest.raises(manymeans.BadDataError, match="X"):
            fit(given)
    assert manymeans.fit(Array(np.eye(3)), 2).digest == manymeans.fit(np.eye(3), 2).digest
    assert (
        manymeans.KMeans(2, random_state=0).fit(Array(np.eye(3))).answer_
        == manymeans.KMeans(2, random_state=0).fit(np.eye(3)).answer_
    )
