"""Files that other libraries wrote, and what they find in ours.

Mostly by the program: the extension module under test cannot hold a second copy of Arrow beside pyarrow's.
"""

import bz2
import gzip
import json
import lzma
import os
import shutil
import subprocess

import h5py
import numpy as np
import pandas
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest

import manymeans

PROGRAM = os.environ.get("MANYMEANS_PROGRAM") or shutil.which("manymeans")


needs_arrow = pytest.mark.usefixtures("arrow")
needs_hdf5 = pytest.mark.usefixtures("hdf5")


def convert(*arguments):
    """What the program says when it fails."""
    done = subprocess.run([PROGRAM, "convert", "--quiet", *map(str, arguments)], capture_output=True, text=True)
    return done.stderr if done.returncode else ""


def points_of(path, *flags):
    """The points that the program finds, by way of a .npy."""
    out = path.with_suffix(".found.npy")
    assert convert(path, out, *flags) == ""
    return np.load(out)


@pytest.fixture(scope="module")
def vectors():
    return np.random.default_rng(1).standard_normal((5000, 24)).astype(np.float32)


@pytest.fixture(scope="module")
def table(vectors):
    """Ids, an embedding, a category."""
    return pyarrow.table(
        {
            "id": np.arange(len(vectors)),
            "embedding": pyarrow.FixedSizeListArray.from_arrays(vectors.ravel(), vectors.shape[1]),
            "lists": pyarrow.array(list(vectors), pyarrow.list_(pyarrow.float32())),
            "kind": pandas.Categorical(np.where(vectors[:, 0] > 0, "a", "b")),
        }
    )


def expect_vectors(path, vectors):
    for column in ("embedding", "lists"):
        for threads in ("1", "3"):
            found = points_of(path, "--columns", column, "--threads", threads)
            assert found.dtype == np.float32
            assert found.tobytes() == vectors.tobytes()
    numbers = points_of(path, "--numeric-only")
    assert numbers.shape == (len(vectors), 1 + 24 + 24)
    assert (numbers[:, 0] == np.arange(len(vectors))).all()
    assert "column 4 ('kind')" in convert(path, path.with_suffix(".npy"))


@needs_arrow
@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd", "lz4", "brotli"])
@pytest.mark.parametrize("version", ["1.0", "2.6"])
def test_parquet(tmp_path, table, vectors, compression, version):
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(table, path, compression=compression, version=version, row_group_size=1234)
    expect_vectors(path, vectors)


@needs_arrow
@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_feather(tmp_path, table, vectors, compression):
    path = tmp_path / "a.feather"
    pyarrow.feather.write_feather(table, path, compression=compression, chunksize=999)
    expect_vectors(path, vectors)


@needs_arrow
def test_arrow_stream(tmp_path, table, vectors):
    path = tmp_path / "a.arrow"
    with pyarrow.ipc.new_stream(path, table.schema) as stream:
        stream.write_table(table, max_chunksize=999)
    expect_vectors(path, vectors)


@needs_arrow
@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_frames_of_pandas(tmp_path, vectors, ending):
    path = tmp_path / f"a.{ending}"
    frame = pandas.DataFrame(vectors, columns=[f"x{j}" for j in range(vectors.shape[1])])
    getattr(frame, f"to_{ending}")(path)
    assert points_of(path).tobytes() == vectors.tobytes()
    frame.loc[4321, "x7"] = None  # NaN, which pandas writes as null
    getattr(frame, f"to_{ending}")(path)
    assert "row 4322, column 8 ('x7'): the value is missing" in convert(path, tmp_path / "no.npy")


@needs_arrow
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "uint8", "int8"])
def test_what_pyarrow_finds(tmp_path, dtype):
    X = (np.random.default_rng(2).standard_normal((3000, 5)) * 20).astype(dtype)
    np.save(tmp_path / "x.npy", X)
    for ending, read in (
        ("parquet", pyarrow.parquet.read_table),
        ("feather", pyarrow.feather.read_table),
        ("arrow", lambda path: pyarrow.ipc.open_file(path).read_all()),
    ):
        assert convert(tmp_path / "x.npy", tmp_path / f"x.{ending}") == ""
        found = read(tmp_path / f"x.{ending}")
        found.validate(full=True)
        assert found.column_names == ["c1", "c2", "c3", "c4", "c5"]
        assert (np.stack([column.to_numpy() for column in found.columns], axis=1) == X).all()
        assert {str(field.type).replace("halffloat", "float16") for field in found.schema} <= {
            dtype,
            {"float32": "float", "float64": "double"}.get(dtype),
        }


@needs_hdf5
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "uint8", "int8"])
def test_hdf5(tmp_path, dtype):
    X = (np.random.default_rng(3).standard_normal((3000, 5)) * 20).astype(dtype)
    np.save(tmp_path / "x.npy", X)
    assert convert(tmp_path / "x.npy", tmp_path / "x.h5") == ""
    with h5py.File(tmp_path / "x.h5") as file:
        assert list(file) == ["points"]
        assert file["points"].dtype == dtype
        assert (file["points"][:] == X).all()
    with h5py.File(tmp_path / "y.h5", "w") as file:
        file.create_dataset("group/packed", data=X, compression="gzip", shuffle=True, chunks=(100, 3))
        file["plain"] = X
    for name in ("group/packed", "plain"):
        assert manymeans.read(f"{tmp_path}/y.h5:/{name}").points.tobytes() == X.tobytes()
    with pytest.raises(FileNotFoundError):
        manymeans.read(tmp_path / "z.h5:/plain")


@pytest.fixture
def linked(tmp_path):
    """A file whose datasets lie elsewhere, each another way; their values are 0 to 7, its own are 7."""
    numbers = np.arange(8.0).reshape(4, 2)
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["pad"], other["y"], other["g/z"] = np.zeros(1000), numbers, numbers
    numbers.tofile(tmp_path / "raw")
    virtual = h5py.VirtualLayout((4, 2), "f8")
    virtual[:] = h5py.VirtualSource("other.h5", "y", (4, 2))
    grows = h5py.VirtualLayout((4, 2), "f8", maxshape=(None, 2))
    all_rows = np.s_[: h5py.h5s.UNLIMITED, :]
    grows[all_rows] = h5py.VirtualSource("other.h5", "y", (4, 2), maxshape=(None, 2))[all_rows]
    within = h5py.VirtualLayout((4, 2), "f8")
    within[:] = h5py.VirtualSource(".", "own", (4, 2))
    with h5py.File(tmp_path / "l.h5", "w") as file:
        file["own"] = np.full((4, 2), 7.0)
        file["soft"] = h5py.SoftLink("/own")
        file["link"] = h5py.ExternalLink("other.h5", "/y")
        file["group"] = h5py.ExternalLink("other.h5", "/g")
        file["soft to link"] = h5py.SoftLink("/link")
        file["loop"] = h5py.SoftLink("/loop")
        file["dangling"] = h5py.SoftLink("/nothing")
        file.create_dataset("raw", (4, 2), "f8", external=[(tmp_path / "raw", 0, 64)])
        file.create_dataset("passwd", (10, 2), "u1", external=[("/etc/passwd", 0, 20)])
        for name, layout in (("virtual", virtual), ("grows", grows), ("within", within)):
            file.create_virtual_dataset(name, layout)
        file.create_dataset("reference", data=[file["own"].ref], dtype=h5py.ref_dtype)
        file.create_dataset("region", data=[file["own"].regionref[0:2]], dtype=h5py.regionref_dtype)
        file.create_dataset("lzf", data=numbers, chunks=(2, 2), compression="lzf")  # no filter of the library's own
    return tmp_path / "l.h5"


@needs_hdf5
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("link", "'link' is behind a link to 'other.h5:/y' of another file, which is not followed"),
        ("/group/z", "behind a link to 'other.h5:/g'"),
        ("soft to link", "behind a link to 'other.h5:/y'"),
        ("raw", "external storage"),
        ("passwd", "external storage"),
        ("virtual", "virtual dataset"),
        ("grows", "virtual dataset"),
        ("within", "virtual dataset"),
        ("lzf", "packed by filter 32000"),
        ("reference", "no plain numbers"),
        ("region", "no plain numbers"),
        ("loop", "no dataset 'loop'"),
        ("dangling", "no dataset 'dangling'"),
        ("own/x", "no dataset 'own/x'"),
    ],
)
def test_hdf5_names_no_other_file(linked, name, words, monkeypatch):
    monkeypatch.chdir(linked.parent)
    assert words in convert(f"{linked}:{name}", linked.parent / "x.npy")
    with pytest.raises((manymeans.BadDataError, manymeans.UsageError), match=words):
        manymeans.read(f"{linked}:{name}")
    if "h5py" in convert(f"{linked}:{name}", linked.parent / "x.npy"):  # what the message says to do
        with h5py.File(linked) as file, h5py.File("copy.h5", "w") as copy:
            expected = file[name][()]
            copy["x"] = expected
        assert (manymeans.read("copy.h5:x").points == expected).all()


@needs_hdf5
def test_hdf5_within_the_file(linked):
    assert (manymeans.read(f"{linked}:soft").points == 7).all()
    with h5py.File(linked.parent / "links.h5", "w") as file:
        file["link"] = h5py.ExternalLink("other.h5", "/y")
    assert "0 datasets in it, and links are not counted" in convert(linked.parent / "links.h5", linked.parent / "x.npy")
    with open(linked.parent / "other.h5", "rb") as other:  # a pipe, too: the library opens no file
        done = subprocess.run(
            [PROGRAM, "convert", "--quiet", "-", linked.parent / "x.npy", "--format", "hdf5", "--columns", "1"],
            stdin=other,
            capture_output=True,
            text=True,
        )
    assert "3 datasets in it" in done.stderr


@needs_arrow
@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_gaps_and_text_in_tables_of_arrow(tmp_path, ending):
    text = "id,city,age,income\n1,Paris,31,1000\n2,Rome,,3000\n3,,50,\n4,Paris,40,2000.5\n"
    (tmp_path / "table.csv").write_text(text)
    frame = pandas.read_csv(tmp_path / "table.csv")
    file = tmp_path / f"table.{ending}"
    frame.to_parquet(file) if ending == "parquet" else frame.to_feather(file)
    rules = ("--exclude", "id", "--missing", "median", "--categories", "onehot", "--dtype", "float32")
    np.testing.assert_array_equal(points_of(file, *rules), points_of(tmp_path / "table.csv", *rules))
    assert "column 2 ('city'): 'Paris' is not a number" in convert(file, tmp_path / "x.npy", "--missing", "0")
    assert "column 3 ('age'): there is no value" in convert(file, tmp_path / "x.npy", "--categories", "onehot")
    frame["when"] = pandas.to_datetime("2024-02-29")
    frame.to_parquet(tmp_path / "dates.parquet")
    assert "looks like a date" in convert(tmp_path / "dates.parquet", tmp_path / "x.npy", *rules)


@needs_arrow
@pytest.mark.parametrize("stream", [False, True])
def test_text_that_lies_outside_of_a_table_of_arrow(tmp_path, stream):
    table = pyarrow.table({"x": [1.0, 2.0, 3.0], "city": ["Rome", "Oslo", "Bern"]})
    path = tmp_path / "a.arrow"
    with (pyarrow.ipc.new_stream if stream else pyarrow.ipc.new_file)(path, table.schema) as writer:
        writer.write_table(table)
    ends = np.array([0, 4, 8, 12], np.int32)
    assert ends.tobytes() in path.read_bytes()
    for wrong in ([0, 10**9, 8, 12], [0, -4, 8, 12], [0, 8, 4, 12]):
        bad = tmp_path / "bad.arrow"
        bad.write_bytes(path.read_bytes().replace(ends.tobytes(), np.array(wrong, np.int32).tobytes()))
        assert "bad.arrow" in convert(bad, tmp_path / "x.npy", "--categories", "onehot")
    assert points_of(path, "--categories", "onehot").shape == (3, 4)


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)])
def test_packed_text(tmp_path, ending, pack):
    path = tmp_path / f"points.csv{ending}"
    path.write_bytes(pack(b"a,b\n1,2\n") + pack(b"3,4\n"))
    assert manymeans.read(path).points.tolist() == [[1, 2], [3, 4]]
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(manymeans.BadDataError, match="ends in the middle"):
        manymeans.read(path)


def fitted(path, *flags):
    """What the program says when a fit of three clusters fails."""
    done = subprocess.run(
        [PROGRAM, "fit", path, "-k", "3", "--seed", "1", "--quiet", *map(str, flags)], capture_output=True, text=True
    )
    return done.stderr if done.returncode else ""


@pytest.fixture
def typed():
    """Columns of many types, with nulls in those that no fit looks at."""
    rng = np.random.default_rng(5)
    return pyarrow.table(
        {
            "x": pyarrow.array(rng.normal(size=60), pyarrow.float64()),
            "y": pyarrow.array(rng.integers(0, 9, 60), pyarrow.int16()),
            "when": pyarrow.array(np.arange(60) * 1000, pyarrow.timestamp("ms", tz="UTC")),
            "name": pyarrow.array([None if i % 7 == 0 else f"n{i}" for i in range(60)], pyarrow.large_string()),
            "kind": pyarrow.array([["a", "b"][i % 2] for i in range(60)]).dictionary_encode(),
            "lists": pyarrow.array([[float(i)] * (i % 4) for i in range(60)], pyarrow.list_(pyarrow.float32())),
            "cluster": pyarrow.array([True, False] * 30),
        }
    )


@needs_arrow
@pytest.mark.parametrize("ending", ["parquet", "arrow", "feather"])
def test_append_keeps_types(tmp_path, typed, ending):
    path = tmp_path / "in.parquet"
    pyarrow.parquet.write_table(typed, path, row_group_size=25)
    if ending == "feather":
        path = tmp_path / "in.feather"
        pyarrow.feather.write_feather(typed, path, chunksize=25)
    out, labels = tmp_path / f"out.{ending}", tmp_path / "labels.npy"
    assert fitted(path, "--columns", "x,y", "--append", out, "--append-distances", "--labels", labels) == ""
    found = pyarrow.parquet.read_table(out) if ending == "parquet" else pyarrow.feather.read_table(out)
    found.validate(full=True)
    assert found.column_names == [*typed.column_names, "cluster_2", "distance"]
    assert found.select(range(7)).equals(typed)
    assert found["cluster_2"].type == pyarrow.int32()
    assert found["cluster_2"].to_pylist() == np.load(labels).tolist()
    assert min(found["distance"].to_pylist()) >= 0


@needs_arrow
def test_append_where_rows_were_left_out(tmp_path):
    x = [None if i % 5 == 2 else float(i // 20) for i in range(60)]
    path, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"x": x}), path, row_group_size=7)
    assert fitted(path, "--missing", "drop", "--append", out) == ""
    found = pyarrow.parquet.read_table(out)
    assert found["x"].to_pylist() == x
    assert [row is None for row in found["cluster"].to_pylist()] == [row is None for row in x]


@needs_arrow
def test_append_text_as_parquet(tmp_path):
    path, out = tmp_path / "in.csv", tmp_path / "out.parquet"
    path.write_bytes(
        b"# made by hand\nid;zip;name;x;y;gap;only\n"
        b'9007199254740993;01067;"a; ""b""";1,5;1;NA;\n-2;99999;\xc3\xa9;2;0;3;\n3;4;;1.000,25;2;;\n'
    )
    flags = ("--columns", "x,y", "--decimal", ",")
    assert fitted(path, *flags, "--append", out) == ""
    found = pyarrow.parquet.read_table(out)
    assert found.drop(["cluster"]).to_pydict() == {
        "id": [9007199254740993, -2, 3],
        "zip": ["01067", "99999", "4"],
        "name": ['a; "b"', "\u00e9", None],
        "x": [1.5, 2.0, 1000.25],
        "y": [1, 0, 2],
        "gap": [None, 3, None],
        "only": [None, None, None],
    }
    assert [str(found[name].type) for name in ("id", "zip", "x", "y")] == ["int64", "string", "double", "int64"]
    path.write_bytes(b"x,y,name\n1,2,\xe9\n2,3,b\n5,6,c\n")
    assert fitted(path, "--columns", "x,y", "--append", out) == ""
    assert pyarrow.parquet.read_table(out)["name"].to_pylist() == [b"\xe9", b"b", b"c"]


def test_append_what_cannot_be(tmp_path, typed):
    path = tmp_path / "in.parquet"
    pyarrow.parquet.write_table(typed, path)
    said = fitted(path, "--columns", "x,y", "--append", tmp_path / "out.csv")
    assert "a .parquet, .arrow or .feather file is right" in said or "this build of manymeans cannot" in said
    (tmp_path / "in.csv").write_text("1,2\n3,4\n5,7\n")
    said = fitted(tmp_path / "in.csv", "--append", tmp_path / "out.parquet")
    assert said == "" or "use .npy or .csv" in said
    assert (tmp_path / "out.parquet").exists() == (said == "")
    assert not (tmp_path / "out.csv").exists()


@needs_arrow
def test_describe_any_table(tmp_path, typed):
    path = tmp_path / "in.parquet"
    pyarrow.parquet.write_table(typed, path)
    done = subprocess.run([PROGRAM, "describe", path, "--json"], check=True, capture_output=True)
    columns = {column["name"]: column for column in json.loads(done.stdout)["columns"]}
    assert columns["when"]["dates"] == columns["when"]["text"] == 60
    assert columns["when"]["first_date"].startswith("1970-01-01 00:00:00")
    assert columns["when"]["last_date"].startswith("1970-01-01 00:00:59")
    assert (columns["name"]["empty"], columns["name"]["text"], columns["kind"]["distinct"]) == (9, 51, 2)
