"""Messages of the library as users of Python see them: parameters, rows from 0, columns by name."""

import pickle
import re
import unicodedata

import numpy as np
import pandas
import pytest

import manymeans
from manymeans import EnsembleKMeans, KMeans
from manymeans._errors import exception_of, warn
from manymeans._wording import in_python, printable

WORDS = {
    "[points] row 3, column 2 is NaN": "[X] row 2, column 1 is NaN",
    "[initial prototypes] row 1, column 1 is inf": "[init] row 0, column 0 is inf",
    "[weights] row 3 has weight -1": "[sample_weight] row 2 has weight -1",
    "[weights] 'w' is a column of a.csv": "[weights] 'w' is a column of a.csv",
    "[a.csv] row 2 (line 3), column 2 ('b'): 'row 9 --missing' is no number": (
        "[a.csv] row 1 (line 3), column 'b': 'row 9 --missing' is no number"
    ),
    "[--id row 3.npy] row 2, column 4: 7": "[--id row 3.npy] row 1, column 4 (from 1): 7",
    "[parts] nobody has answered for row 5, counted from 0": "[parts] nobody has answered for row 5, counted from 0",
    "[weights] of the shards from rows 1 and 201 on": "[sample_weight] of the shards from rows 0 and 200 on",
    "[rank 1] BadDataError: [X] row 2": "[rank 1] BadDataError: [X] row 2",
    "[rank 1] [points] row 2": "[rank 1] [X] row 1",
    "column 1 ('id') only counts: --exclude, or --id": "column 'id' only counts: exclude=, or id=",
    "fill it with --missing mean, median or a number": 'fill it with missing="mean", missing="median" or a number',
    "all that hold text with --numeric-only": "all that hold text with numeric_only=True",
    "are read with --decimal ,": 'are read with decimal=","',
    "OpenCL's headers; use --backend cpu": 'OpenCL\'s headers; use backend="cpu"',
    "with --most-categories, or --missing 0": "with most_categories=, or missing=0",
    "pack it again without --long, or with --long=27": "pack it again without --long, or with --long=27",
    "there is no such file; --shard reads all files of a pattern": "there is no such file; one file is read",
    "less with fewer threads, or strategy data": (
        'less with fewer threads, or manymeans.fit(X, k, strategy="data")'
    ),
    "say 'manymeans fit --model'": "say 'manymeans fit --model'",
}  # fmt: skip


@pytest.mark.parametrize("text", WORDS)
def test_words(text):
    assert in_python(text) == WORDS[text]


UNSEEN = "\x00\x1b\r\x7f\x9b\xad\u061c\u200b\u200d\u200e\u2028\u202a\u202e\u2060\u2066\u2069\ufe0f\ufeff\U000e0041"


def test_what_nobody_sees_is_escaped():
    for character in UNSEEN:
        assert printable(f"a{character}b").isascii()
    for character in "\n\tä中🙂ع":
        assert printable(character) == character
    bidirectional = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI", "BN"}
    for code in range(0x110000):
        if unicodedata.bidirectional(chr(code)) in bidirectional or unicodedata.category(chr(code)) in ("Zl", "Zp"):
            assert printable(chr(code)) != chr(code), hex(code)


def test_no_message_brings_it_to_a_terminal(tmp_path):
    name = "a\u202eb\x1b[31m\u200b"
    shown = re.escape(r"a\u202eb\x1b[31m\u200b")
    (tmp_path / f"{name}.csv").write_text(f"{name},c\n1,x\n")
    for use in (
        lambda: manymeans.read(tmp_path / f"{name}.csv"),
        lambda: manymeans.read(tmp_path / f"{name}.csv", columns=[f"{name}?"]),
        lambda: manymeans.fit(pandas.DataFrame({name: ["x"], "c": [1.0]}), 1),
    ):
        with pytest.raises(manymeans.Error, match=shown) as caught:
            use()
        assert str(caught.value).isprintable()
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with pytest.warns(UserWarning, match=shown):
        warn(name)
    assert re.search(shown, str(exception_of(3, f"[{name}] is damaged")))


TABLES = {
    "a gap": ("a,b\n1,2\n3,\n", {}, r"row 1 \(line 3\), column 'b': .* missing=, .* exclude="),
    "text": ("a,b\n1,x\n", {}, r"row 0 \(line 2\), column 'b': 'x' is not a number; .* numeric_only=True.*onehot"),
    "no names": ("1,2\n3,x\n", {}, r"row 1 \(line 2\), column 2 \(from 1\): 'x'"),
    "a filled gap": ("a,b\n1,2\nx,\n", {"missing": 0}, r"column 'a': 'x' is not a number; .*categories=\"onehot\""),
    "a date": ("a,b\n1,2024-01-02\n", {}, r"looks like a date.* exclude="),
    "commas": ("a;b\n1;2,5\n", {}, r'decimal=","'),
}


@pytest.mark.parametrize("what", TABLES)
def test_errors_of_read(what, tmp_path):
    text, options, words = TABLES[what]
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(manymeans.BadDataError, match=words) as caught:
        manymeans.read(tmp_path / "t.csv", **options)
    assert "--" not in str(caught.value).replace(str(tmp_path), "")


def test_values_of_arrays_and_frames():
    X = np.arange(8.0).reshape(4, 2)
    X[2, 1] = np.inf
    frame = pandas.DataFrame(X, columns=["age", "income"])
    for fit in (lambda X: manymeans.fit(X, 2)), KMeans(2).fit, EnsembleKMeans([1, 2]).fit:
        with pytest.raises(ValueError, match=r"^\[X\] row 2, column 1 is inf"):
            fit(X)
        with pytest.raises(ValueError, match=r"^\[X\] row 2, column 'income' is inf"):
            fit(frame)
    with pytest.raises(ValueError, match=r"^\[X\] row 2, column 1 is inf"):
        manymeans.kmeans_plusplus(X, 2)
    with pytest.raises(ValueError, match=r"^\[sample_weight\] row 3 has weight -1"):
        KMeans(2).fit(np.eye(4), sample_weight=[1, 1, 1, -1])
    with pytest.raises(ValueError, match=r"^\[init\] row 0, column 1 is nan"):
        manymeans.fit(np.eye(4), 1, init=[[0, np.nan, 0, 0]])


def test_names_of_files_in_the_place_of_points(tmp_path):
    (tmp_path / "t.csv").write_text("name,x,y\n" + "".join(f"n{i},{i % 3}.5,{i % 5}\n" for i in range(60)))
    (tmp_path / "xy.csv").write_text("y,x\n" + "".join(f"{i % 5},{i % 3}.5\n" for i in range(60)))
    read = manymeans.read(tmp_path / "xy.csv")
    for path in tmp_path / "xy.csv", str(tmp_path / "xy.csv"), bytes(tmp_path / "xy.csv"):
        result = manymeans.fit(path, 3, seed=1)
        assert result.digest == manymeans.fit(read, 3, seed=1).digest
        assert result.column_names == ["y", "x"]
        assert manymeans.kmeans_plusplus(path, 2)[1].tolist() == manymeans.kmeans_plusplus(read, 2)[1].tolist()
    more = tmp_path / "t.csv"  # the columns of the fit by their names
    assert (manymeans.predict(result, more) == result.best().labels).all()
    assert (result.predict(str(more)) == result.best().labels).all()
    with pytest.raises(FileNotFoundError):
        manymeans.fit(tmp_path / "none.csv", 3)
    with pytest.raises(manymeans.BadDataError, match=r"column 'name': 'n0' is not a number"):
        manymeans.fit(more, 3)
    with pytest.raises(manymeans.UsageError, match="is the file of the points"):
        result.save(tmp_path / "xy.csv")


def test_texts_where_lists_are_meant(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b,"c,d"\n1,2,3\n4,5,6\n')
    assert manymeans.read(path, columns="b, a").column_names == ["b", "a"]
    assert manymeans.read(path, columns="1-2").column_names == ["a", "b"]
    assert manymeans.read(path, columns=["c,d"]).column_names == ["c,d"]
    assert manymeans.read(path, exclude="a,b").column_names == ["c,d"]
    for wrong in (b"a", 1.5, None):
        with pytest.raises(manymeans.UsageError, match=r"^\[columns\] is"):
            manymeans.read(path, columns=wrong)
    X = np.arange(12.0).reshape(6, 2)
    assert [model.k for model in EnsembleKMeans("2,3").fit(X).models_] == [2, 3]
    assert [model.k for model in EnsembleKMeans("2..3").fit(X).models_] == [2, 3]
    with pytest.raises(manymeans.BadDataError, match=r"^\[sample_weight\] is 'w'; a weight for each row"):
        manymeans.fit(X, 2, sample_weight="w")
    with pytest.raises(manymeans.UsageError, match=r"stop"):
        manymeans.fit(X, 2, stop=["tol", "strict"])


def test_read_warns(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("name,x,y\nAnn,1,\nBob,3,4\n")
    with pytest.warns(UserWarning, match="'name'") as caught:
        table = manymeans.read(path, numeric_only=True, missing="mean")
    assert [str(one.message) for one in caught] == table.warnings
    assert all(one.filename == __file__ for one in caught)
    assert not re.search(r"--|column \d", " ".join(table.warnings))
