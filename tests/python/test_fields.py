"""Parquet and Arrow files that pyarrow reads for us: the same points as the program's, which has Arrow C++ here."""

import decimal
import importlib
import os
import shutil
import struct
import subprocess
import sys

import numpy as np
import pandas
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest

import manymeans

PROGRAM = os.environ.get("MANYMEANS_PROGRAM") or shutil.which("manymeans")

if importlib.import_module("manymeans._fields")._is_built_in("parquet"):
    pytest.skip("the library reads these files itself", allow_module_level=True)


def by_program(path, *flags):
    """What the program reads; None where it has no Arrow C++, its message where it fails."""
    out = path.with_suffix(".found.npy")
    done = subprocess.run([PROGRAM, "convert", "--quiet", path, out, *flags], capture_output=True, text=True)
    if "this build of manymeans cannot" in done.stderr:
        return None
    return done.stderr if done.returncode else np.load(out)


def same(path, flags, **options):
    found = manymeans.read(path, **options).points
    expected = by_program(path, *flags)
    if expected is not None:
        assert not isinstance(expected, str), expected
        assert found.dtype == expected.dtype
        assert found.tobytes() == expected.tobytes()
    return found


@pytest.fixture
def table():
    rng = np.random.default_rng(3)
    vectors = rng.standard_normal((50, 4)).astype(np.float32)
    return pyarrow.table(
        {
            "id": np.arange(50),
            "f4": vectors[:, 0],
            "f8": vectors[:, 1].astype(float) / 3,
            "u1": rng.integers(0, 200, 50).astype(np.uint8),
            "long": np.arange(50) + 2**40,
            "flag": np.arange(50) % 3 == 0,
            "money": pyarrow.array([decimal.Decimal(i) / 100 for i in range(50)], pyarrow.decimal128(9, 2)),
            "exact": pyarrow.array([decimal.Decimal(10**12 + i) / 1000 for i in range(50)], pyarrow.decimal128(20, 3)),
            "coded": pyarrow.array([7.5, 1.25] * 25).dictionary_encode(),
            "name": [f"n{i}" for i in range(50)],
            "embedding": pyarrow.array(list(vectors), pyarrow.list_(pyarrow.float32())),
            "fixed": pyarrow.FixedSizeListArray.from_arrays(vectors.ravel(), 4),
        }
    )


@pytest.fixture(params=["a.parquet", "a.feather", "a.arrow"])
def path(request, tmp_path, table):
    path = tmp_path / request.param
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path, row_group_size=17)
    elif path.suffix == ".feather":
        pyarrow.feather.write_feather(table, path, chunksize=17)
    else:
        with pyarrow.ipc.new_stream(path, table.schema) as stream:
            stream.write_table(table, max_chunksize=17)
    return path


CHOICES = ["f4", "f8", "u1", "id", "long", "flag", "money", "exact", "coded", "embedding", "fixed", "f4,f8", "u1,flag",
           "id,flag", "long,f4", "embedding,u1", "2-4", "id-u1", "f8,f4"]  # fmt: skip


@pytest.mark.parametrize("columns", CHOICES)
def test_columns_and_types(path, columns):
    same(path, ["--columns", columns], columns=columns)


def test_names_source_and_warning(path):
    with pytest.warns(UserWarning, match="left out: column 'name'"):
        points = manymeans.read(path, numeric_only=True, exclude=["id", "fixed"], weights="u1")
    assert points.column_names[-5:] == ["coded", *(f"embedding[{i}]" for i in (1, 2, 3, 4))]
    assert points.source.count == 12 and points.source.numbers == [2, 3, 5, 6, 7, 8, 9, 11]
    assert points.weights.dtype == np.float64 and len(points.weights) == 50
    with pytest.warns(UserWarning, match="left out"):
        same(path, ["--numeric-only", "--exclude", "id,fixed"], numeric_only=True, exclude=["id", "fixed"])


def test_dtype(path):
    for dtype in ("float32", "float64"):
        same(path, ["--columns", "f8,u1", "--dtype", dtype], columns="f8,u1", dtype=dtype)
    assert same(path, ["--columns", "u1", "--dtype", "float16"], columns="u1", dtype="float16").dtype == np.float16
    with pytest.raises(manymeans.BadDataError, match="row 0, column 0.*not exact in uint8"):
        manymeans.read(path, columns="f8", dtype="uint8")


def test_fit_predict_and_model(path, tmp_path):
    result = manymeans.fit(manymeans.read(path, columns="f4,u1"), 3, seed=1)
    assert result.column_names == ["f4", "u1"]
    labels = manymeans.predict(result, path)
    assert (labels == result.models[0].labels).all()
    result.save(tmp_path / "m.npz")
    done = subprocess.run(
        [PROGRAM, "predict", tmp_path / "m.npz", path, "--labels", tmp_path / "l.npy", "--quiet"],
        capture_output=True, text=True,
    )  # fmt: skip
    if "this build" not in done.stderr:
        assert done.stderr == "" and (np.load(tmp_path / "l.npy") == labels).all()
    embeddings = manymeans.read(path, columns="embedding")
    assert manymeans.fit(embeddings, 3, seed=1).column_names == [f"embedding[{i}]" for i in (1, 2, 3, 4)]


def test_name_of_a_file(tmp_path):
    X = np.random.default_rng(1).standard_normal((60, 3)).astype(np.float32)
    pandas.DataFrame(X, columns=["a", "b", "c"]).to_parquet(tmp_path / "x.parquet")
    np.save(tmp_path / "x.npy", X)
    expected = manymeans.fit(tmp_path / "x.npy", 4, seed=2)
    assert manymeans.fit(tmp_path / "x.parquet", 4, seed=2).digest == expected.digest
    assert manymeans.fit(str(tmp_path / "x.parquet"), 4, seed=2).digest == expected.digest


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, r"column 10 \('name'\) \(string\) holds no numbers.*numeric_only=True"),
        ({"columns": "name", "numeric_only": True}, "no column is left"),
        ({"columns": "nothing"}, "nothing"),
        ({"columns": "f4", "missing": "mean"}, r"\[missing\].*Arrow C\+\+"),
        ({"categories": "onehot"}, r"\[categories\].*Arrow C\+\+"),
        ({"id": "id"}, r"\[id\] is not for"),
        ({"columns": "f4", "dtype": "bfloat16"}, "bfloat16"),
    ],
)
def test_what_is_wrong_with_the_options(path, options, words):
    with pytest.raises((manymeans.BadDataError, manymeans.UsageError), match=words):
        manymeans.read(path, **options)


def write(table, path):
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        with pyarrow.ipc.new_file(path, table.schema) as file:
            file.write_table(table)


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_extension_types(tmp_path, name):
    path = tmp_path / name
    small = pyarrow.array([0, 1, 2, -1], pyarrow.int8())
    truth = pyarrow.ExtensionArray.from_storage(pyarrow.bool8(), small)
    write(pyarrow.table({"a": truth, "b": [1.0, 2.0, 3.0, 4.0]}), path)
    assert same(path, []).tolist() == [[0, 1], [1, 2], [1, 3], [1, 4]]
    assert same(path, ["--columns", "a"], columns="a").dtype == np.float32
    assert manymeans.read(path, columns="b", weights="a").weights.tolist() == [0, 1, 1, 1]
    opaque = pyarrow.ExtensionArray.from_storage(pyarrow.opaque(pyarrow.int8(), "mood", "somebody"), small)
    write(pyarrow.table({"a": opaque, "b": [1.0, 2.0, 3.0, 4.0]}), path)
    with pytest.raises(manymeans.BadDataError, match=r"column 1 \('a'\) \(extension<arrow.opaque"):
        manymeans.read(path)
    unknown = pyarrow.field("a", pyarrow.int8(), metadata={"ARROW:extension:name": "somebody.mood"})
    write(pyarrow.table([small], schema=pyarrow.schema([unknown])), path)
    with pytest.raises(manymeans.BadDataError, match=r"column 1 \('a'\) \(extension<somebody.mood>\) holds no numbers"):
        manymeans.read(path)
    assert "extension<somebody.mood>" in (by_program(path) or "extension<somebody.mood>")


def test_weights_of_a_text_file(tmp_path):
    write(pyarrow.table({"x": [1.0, 2.0, 4.0]}), tmp_path / "a.parquet")
    pandas.Series([2, 1, 3]).to_csv(tmp_path / "w.csv", index=False)
    assert manymeans.read(tmp_path / "a.parquet", weights=tmp_path / "w.csv").weights.tolist() == [2, 1, 3]


def test_what_is_wrong_with_the_file(tmp_path):
    gap = pyarrow.table({"x": [1.0, None], "v": [[1.0, 2.0], [3.0]]})
    pyarrow.parquet.write_table(gap, tmp_path / "gap.parquet")
    with pytest.raises(manymeans.BadDataError, match="gap.parquet.*column 'x', row 1 is null"):
        manymeans.read(tmp_path / "gap.parquet", columns="x")
    with pytest.raises(manymeans.BadDataError, match="gap.parquet.*column 'v', row 1 is a list of 1"):
        manymeans.read(tmp_path / "gap.parquet", columns="v")
    whole = (tmp_path / "gap.parquet").read_bytes()
    for name, content in (("a.parquet", whole[:-9]), ("b.parquet", b"PAR1"), ("c.arrow", whole), ("d.feather", b"x")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(manymeans.BadDataError, match=f"{name}.*pyarrow cannot read this file"):
            manymeans.read(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        manymeans.read(tmp_path / "none.parquet")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("f8", pyarrow.array([1.5, 2.5, 3.5, 4.5])),
        ("lists", pyarrow.array([[1.5, 2.5]] * 4)),
        ("large", pyarrow.array([[1.5, 2.5]] * 4, pyarrow.large_list(pyarrow.float64()))),
        ("coded", pyarrow.array([7.5, 1.25] * 2).dictionary_encode()),
    ],
)
@pytest.mark.parametrize("kind", ["file", "stream"])
def test_integers_that_lie(tmp_path, name, values, kind):
    """Every integer of the file, one by one, is made larger: values are as they were, or there is an error."""
    table = pyarrow.table({name: values})
    path = tmp_path / "a.arrow"
    with getattr(pyarrow.ipc, f"new_{kind}")(path, table.schema) as writer:
        writer.write_table(table)
    whole, expected = path.read_bytes(), manymeans.read(path).points
    refused = 0
    for size in (4, 8):
        for at in range(8, len(whole) - size, 4):
            number = int.from_bytes(whole[at : at + size], "little")
            if not 0 < number < 2**20:
                continue
            path.write_bytes(whole[:at] + (number + 1000).to_bytes(size, "little") + whole[at + size :])
            try:
                found = manymeans.read(path).points
            except manymeans.Error:
                refused += 1
            else:
                assert found.shape[0] <= len(expected)
    # Two integers: a length, and that of its batch.
    path.write_bytes(whole.replace(struct.pack("<q", 4), struct.pack("<q", 1000)))
    with pytest.raises(manymeans.BadDataError, match="pyarrow cannot read this file"):
        manymeans.read(path)
    assert refused > 4


def test_without_pyarrow(tmp_path, monkeypatch):
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(manymeans.UnavailableError, match="pip install pyarrow"):
        manymeans.read(tmp_path / "a.parquet")


@pytest.mark.usefixtures("arrow")
def test_names_of_other_encodings_are_bytes_in_parquet(program, tmp_path):
    for text, expected in ((b"K\xf6ln", b"K\xf6ln"), ("Köln".encode(), "Köln")):
        (tmp_path / "latin.csv").write_bytes(b"g,x\n" + text + b",1\nBonn,2\n")
        subprocess.run([program, "fit", "latin.csv", "--group-by", "g", "-k", "1", "--labels", "l.parquet", "--quiet"],
                       check=True, cwd=tmp_path)  # fmt: skip
        assert pyarrow.parquet.read_table(tmp_path / "l.parquet")["g"].to_pylist()[0] == expected
