"""Tables with text, gaps and ids: what `read` makes of them beside pandas, and that models remember it."""

import warnings

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import manymeans

TABLE = """customer_id,name,city,age,income
1001,Ann,Paris,31,1000
1002,Bob,Rome,,3000
1003,Cy,NA,50,n/a
1004,"Dee, X",Paris,40,2000.5
1005,Eve,Rome,28,1800
"""


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "customers.csv"
    file.write_text(TABLE)
    return file


def test_is_what_pandas_makes_of_it(path):
    found = manymeans.read(path, exclude="name", id="customer_id", missing="mean", categories="onehot", dtype="float64")
    frame = pandas.read_csv(path).drop(columns=["customer_id", "name"])
    wanted = pandas.get_dummies(frame, columns=["city"], prefix_sep="=", dtype=float).fillna(
        frame.mean(numeric_only=True)
    )
    assert sorted(found.column_names) == sorted(wanted.columns)
    np.testing.assert_allclose(found.points, wanted[found.column_names].to_numpy(), rtol=1e-15)
    assert found.ids == ["1001", "1002", "1003", "1004", "1005"]
    assert "gaps were filled" in found.warnings[0]


def test_dropped_rows_and_their_lines(path):
    found = manymeans.read(path, columns=["age", "income"], missing="drop")
    assert found.dropped.tolist() == [1, 2]
    assert found.points.tolist() == [[31, 1000], [40, 2000.5], [28, 1800]]
    path.write_text("x,y\n1,2\n,3\n4,inf\n")
    found = manymeans.read(path, missing="drop")
    with pytest.raises(manymeans.BadDataError, match=r"row 2 \(line 4\), column 'y'"):
        manymeans.fit(found, 1)


def test_a_saved_model_remembers(path, tmp_path):
    table = manymeans.read(path, exclude=["name", "customer_id"], missing="median", categories="onehot")
    result = manymeans.fit(table, 2)
    result.save(tmp_path / "model.npz")
    loaded = manymeans.FitResult.load(tmp_path / "model.npz")
    loaded.save(tmp_path / "again.npz")
    for model in (result, loaded, manymeans.FitResult.load(tmp_path / "again.npz")):
        np.testing.assert_array_equal(manymeans.read(path, like=model).points, table.points)
    (tmp_path / "more.csv").write_text("income,age,city,more\n,30,Bern,1\n")
    more = manymeans.read(tmp_path / "more.csv", like=loaded)
    assert more.points.tolist() == [[0, 0, 30, np.float32(1900.25)]]
    assert "not seen" in more.warnings[1]


def test_decimal_commas(path, tmp_path):
    path.write_text("Preis;Menge\n1.234,5;2\n-0,25;3\n")
    table = manymeans.read(path, decimal=",")
    assert table.points.tolist() == [[1234.5, 2], [-0.25, 3]]
    np.testing.assert_array_equal(manymeans.read(path, like=manymeans.fit(table, 1)).points, table.points)


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"missing": "middle"}, "missing"), ({"missing": float("nan")}, "missing"), ({"missing": [1]}, "missing"),
        ({"categories": 1}, "categories"), ({"decimal": ";"}, "decimal"), ({"most_categories": 0}, "most_categories"),
        ({"id": "nobody"}, "id"), ({"exclude": ["nobody"]}, "exclude"), ({"exclude": "1-5"}, "exclude"),
    ],
)  # fmt: skip
def test_what_is_no_rule(path, wrong, name):
    with pytest.raises(manymeans.UsageError, match=rf"^\[{name}\]"):
        manymeans.read(path, **wrong)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"missing": "mean"}, "column 'name': 'Ann' is not a number"),
        ({"exclude": "name", "categories": "onehot"}, "column 'age': there is no value"),
        (
            {"missing": 0, "categories": "onehot", "most_categories": 4},
            "column 'name' has more than 4 different texts",
        ),
    ],
)
def test_what_no_rule_provides_for(path, rules, message):
    with pytest.raises(manymeans.BadDataError, match=message):
        manymeans.read(path, **rules)


@pytest.fixture
def people():
    random = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "who": [f"p{i}" for i in range(60)],
            "age": random.normal(40, 9, 60),
            "town": random.choice(["a", "b", "c, d; e"], 60),
            "member": random.random(60) < 0.5,
        }
    )
    frame.loc[3, "age"] = np.nan
    return frame


RULES = {"categories": "onehot", "missing": "mean", "id": "who"}


@pytest.mark.filterwarnings("ignore:gaps were filled")
@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frames_are_read_as_their_files_are(kind, people, tmp_path):
    frame = {"pandas": lambda X: X, "polars": polars.from_pandas, "pyarrow": pyarrow.Table.from_pandas}[kind](people)
    people.to_csv(tmp_path / "t.csv", index=False)
    expected = manymeans.read(tmp_path / "t.csv", dtype="float64", **RULES)
    found = manymeans.read(frame, **RULES)
    assert found.points.dtype == np.float64 and np.array_equal(found.points, expected.points)
    assert (found.column_names, found.ids, found.warnings) == (expected.column_names, expected.ids, expected.warnings)
    assert found.column_names == ["age", "town=a", "town=b", "town=c, d; e", "member"]
    result = manymeans.fit(found, 3)
    assert result.digest == manymeans.fit(expected, 3).digest
    result.save(tmp_path / "m.npz")
    for model in result, manymeans.FitResult.load(tmp_path / "m.npz"):
        assert np.array_equal(model.predict(frame), result.best().labels)
        assert np.array_equal(manymeans.predict(model, frame), result.best().labels)
    assert result.summary(frame)["size"].tolist() == result.best().counts.tolist()
    other = people.iloc[::-1].assign(town="elsewhere", age=None)[
        ["member", "town", "age"]
    ]  # filled with the fit's mean
    assert len(result.predict(other)) == 60


def test_messages_about_frames(people):
    cases = {
        r"^\[X\] row 0, column 'who': 'p0' is not a number.*categories=\"onehot\"": {},
        r"^\[X\] row 3, column 'age': the field is empty; fill gaps with missing=": {"exclude": "who,town"},
        r"^\[columns\] there is no column 'x'": {"columns": "x"},
    }
    for words, options in cases.items():
        with pytest.raises(manymeans.Error, match=words) as caught:
            manymeans.read(people, **options)
        assert "line" not in str(caught.value) and "csv" not in str(caught.value)
    with pytest.warns(UserWarning, match=r"column 'who'.*column 'town'.*left out|left out.*'who'") as caught:
        assert manymeans.read(people, numeric_only=True, missing=0).column_names == ["age", "member"]
    assert "csv" not in str(caught[0].message)


@pytest.mark.parametrize("kind", ["pandas.DataFrame", "polars.DataFrame", "pyarrow.table"])
@pytest.mark.parametrize("column", [[1.5, 2, None, 4, None], [1, None, 3, 4, None], [True, None, False, True, None]])
def test_gaps_of_a_frame_of_one_column_are_rows(kind, column):
    library, maker = kind.split(".")
    frame = getattr(pytest.importorskip(library), maker)({"x": column})
    with pytest.raises(manymeans.BadDataError, match="row [12], column 'x'"):
        manymeans.read(frame)
    with pytest.warns(UserWarning, match="2 of 5 rows have gaps"):
        found = manymeans.read(frame, missing="drop")
    assert len(found.points) == 3
    assert found.dropped[1] == 4
    assert found.points[-1, 0] == column[3]


def test_frames_of_lists_are_refused(people):
    lists = [[1.5, 2.5]] * 60
    for frame in polars.DataFrame({"a": lists}), pyarrow.table({"a": lists}), people[["age"]].assign(a=lists):
        with pytest.raises(manymeans.BadDataError, match=r"^\[X\]"):
            manymeans.read(frame, missing="drop")


def test_numbers_of_frames_are_kept(people):
    ages = people[["age"]].dropna()
    assert np.array_equal(manymeans.read(ages).points, ages)
    narrow = manymeans.read(ages.astype("f4")).points
    assert narrow.dtype == np.float32 and np.array_equal(narrow, ages.astype("f4"))
    assert manymeans.fit(ages, 2).digest == manymeans.fit(manymeans.read(ages), 2).digest


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fit", [manymeans.fit, lambda X, k, **more: manymeans.search(X, k, rounds=1, **more)])
def test_fit_prepares_tables(fit, people, tmp_path):
    people.to_csv(tmp_path / "t.csv", index=False)
    rules = {"exclude": "who", "categories": "onehot", "missing": "median"}
    expected = fit(manymeans.read(people, **rules), 3)
    for X in people, polars.from_pandas(people), tmp_path / "t.csv":
        result = fit(X, 3, **rules)
        assert result.column_names == expected.column_names
        assert np.array_equal(result.predict(X), result.best().labels)
        assert result.summary()["size"].tolist() == result.best().counts.tolist()
    assert fit(people, 3, **rules).digest == expected.digest
    dropped = fit(people, 2, numeric_only=True, missing="drop")
    assert dropped.best().counts.sum() == 59 and np.array_equal(dropped.predict(people), dropped.best().labels)


def test_rules_without_a_table(people):
    X = people[["age"]].fillna(40).to_numpy()
    for name, value in {"exclude": [1], "numeric_only": True, "missing": 0, "categories": "drop"}.items():
        for what in (lambda **more: manymeans.fit(X, 2, **more), lambda **more: manymeans.search(X, 2, **more),
                     lambda **more: manymeans.fit(X, 2, groups=[0, 30, 60], **more)):  # fmt: skip
            with pytest.raises(manymeans.UsageError, match=rf"^\[{name}\] is not for .*; leave it out"):
                what(**{name: value})
    with pytest.raises(manymeans.UsageError, match=r"^\[missing\]"):
        manymeans.fit(people, 2, missing="mode")
    with pytest.raises(
        manymeans.BadDataError, match=r"'town': 'b' is not a number; leave the column out with exclude="
    ):
        manymeans.fit(people, 2, exclude="who")


@pytest.mark.parametrize("maker", ["pandas.DataFrame", "polars.DataFrame", "path"])
def test_weights_of_rows_that_are_dropped(maker, tmp_path):
    columns = {"x": [1.0, 2, float("nan"), 9, 10, 11], "y": [1.0, float("nan"), 3, 4, 5, 6]}
    weights = np.array([1.0, 50, 60, 2, 3, 4])
    frame = pandas.DataFrame(columns, index=list("abcdef"))
    X = frame
    if maker == "path":
        X = tmp_path / "t.csv"
        frame.to_csv(X, index=False)
    elif maker != "pandas.DataFrame":
        X = polars.DataFrame(columns)
    expected = manymeans.fit(frame.dropna(), 2, sample_weight=weights[[0, 3, 4, 5]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read = manymeans.read(X, missing="drop", dtype="float64")
        result = manymeans.fit(X, 2, sample_weight=weights, missing="drop")
        assert result.best().inertia == pytest.approx(expected.best().inertia)
        for X_again in (None, X, read):
            found = result.summary(*(() if X_again is None else (X_again, weights)))
            assert found["share"].tolist() == expected.summary()["share"].tolist()
        assert "What sets clusters apart" in manymeans.report(result, X, sample_weight=weights)
        for given in (weights, weights[[0, 3, 4, 5]]):
            assert manymeans.fit(read, 2, sample_weight=given).digest == expected.digest
        if maker == "pandas.DataFrame":
            with pytest.raises(manymeans.BadDataError, match="in another order"):
                manymeans.fit(X, 2, sample_weight=pandas.Series(weights, index=list("fedcba")), missing="drop")
    with pytest.raises(manymeans.BadDataError, match="one weight for each of the 4 rows"):
        manymeans.fit(X, 2, sample_weight=weights[:5], missing="drop")
