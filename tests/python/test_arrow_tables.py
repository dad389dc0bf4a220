"""Tables of Arrow whose parts do not fit together: an error, and no byte is read that is not theirs."""

import ctypes
import struct

import numpy as np
import pandas
import pyarrow
import pytest

import manymeans
from manymeans import KMeans


class Struct(ctypes.Structure):
    """ArrowSchema or ArrowArray of the C data interface, made of a capsule."""

    @classmethod
    def of(cls, capsule, name):
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        return cls.from_address(get(capsule, name))


class Schema(Struct):
    pass


class Array(Struct):
    pass


Schema._fields_ = [
    ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p), ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64), ("children", ctypes.POINTER(ctypes.POINTER(Schema))),
    ("dictionary", ctypes.c_void_p), ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p),
]  # fmt: skip
Array._fields_ = [
    ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(Array))), ("dictionary", ctypes.c_void_p),
    ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p),
]  # fmt: skip


class Producer:
    """A table that is no pyarrow's; `change` gets its structs, `schema` and `array`."""

    def __init__(self, table, change=lambda schema, array: None):
        own = pyarrow.record_batch(table.to_pydict(), schema=table.schema)  # whose buffers may be changed
        self.capsules = own.__arrow_c_array__()
        schema, array = self.capsules
        change(Schema.of(schema, b"arrow_schema"), Array.of(array, b"arrow_array"))

    def __arrow_c_array__(self, requested_schema=None):
        return self.capsules


class Stream:
    def __init__(self, capsule):
        self.capsule = capsule

    def __arrow_c_stream__(self, requested_schema=None):
        return self.capsule


def column(array):
    return array.children[0].contents


NUMBERS = pyarrow.record_batch({"x": [1.0, 2.0, 3.0, 4.0], "y": [5.0, 6.0, 7.0, 8.0]})
LISTS = pyarrow.record_batch({"x": pyarrow.array([[1.0, 2.0], [3.0, 4.0]])})
LARGE = pyarrow.record_batch({"x": pyarrow.array([[1.0, 2.0], [3.0, 4.0]], pyarrow.large_list(pyarrow.float32()))})
FIXED = pyarrow.record_batch({"x": pyarrow.array([[1.0, 2.0], [3.0, 4.0]], pyarrow.list_(pyarrow.float32(), 2))})


def set_(what, name, value):
    setattr(what, name, value)


def set_offset(array, place, value, type):
    ctypes.cast(column(array).buffers[1], ctypes.POINTER(type))[place] = value


@pytest.mark.parametrize(
    ("table", "change", "words"),
    [
        (NUMBERS, lambda s, a: set_(column(a), "length", 3), "'x'.*has 3 values, the table needs 4"),
        (NUMBERS, lambda s, a: set_(a, "length", 1000), "has 4 values, the table needs 1000"),
        (NUMBERS, lambda s, a: set_(a, "length", -4), "length -4"),
        (NUMBERS, lambda s, a: set_(a, "offset", 1), "has 4 values, the table needs 5"),
        (NUMBERS, lambda s, a: set_(a, "offset", 2**63 - 1), "overflow"),
        (NUMBERS, lambda s, a: set_(column(a), "offset", -1), "offset -1"),
        (NUMBERS, lambda s, a: set_(a, "n_children", 1), "schema has 2 children, its array 1"),
        (NUMBERS, lambda s, a: set_(s, "n_children", -2), "-2 children"),
        (NUMBERS, lambda s, a: set_(column(a), "n_buffers", 1), "'x'.*lacks buffers"),
        (NUMBERS, lambda s, a: column(a).buffers.__setitem__(1, None), "'x'.*lacks buffers"),
        (NUMBERS, lambda s, a: set_(column(a), "null_count", 2), "'x'.*2 nulls and does not say where"),
        (NUMBERS, lambda s, a: set_(column(a), "release", None), "'x'.*was released"),
        (NUMBERS, lambda s, a: set_(s.children[0].contents, "format", None), "has no format"),
        (LISTS, lambda s, a: set_offset(a, 1, 10**6, ctypes.c_int32), "row 0 is a list from 0 to 1000000 of 4"),
        (LISTS, lambda s, a: set_offset(a, 0, -2, ctypes.c_int32), "row 0 is a list from -2 to 2"),
        (LARGE, lambda s, a: set_offset(a, 2, 2**62, ctypes.c_int64), "row 1 is a list from 2 to 4611686018427387904"),
        (LISTS, lambda s, a: set_(column(column(a)), "length", 3), "row 1 is a list from 2 to 4 of 3 values"),
        (LISTS, lambda s, a: set_(s.children[0].contents, "n_children", 0), "does not have one child"),
        (FIXED, lambda s, a: set_(column(column(a)), "length", 3), "lists of 2 numbers have 3 values, too few"),
        (FIXED, lambda s, a: set_(s.children[0].contents, "format", b"+w:3"), "lists of 3 numbers have 4 values"),
        (FIXED, lambda s, a: set_(s.children[0].contents, "format", b"+w:-3"), "lists are empty"),
        (FIXED, lambda s, a: set_(s.children[0].contents, "format", b"+w:9999999999999999999"), "longer than"),
    ],
)  # fmt: skip
def test_structs_that_do_not_fit(table, change, words):
    manymeans.fit(Producer(table), 1)
    for fit in (KMeans(1).fit, lambda X: manymeans.fit(X, 1)):
        with pytest.raises(manymeans.BadDataError, match=words):
            fit(Producer(table, change))


def test_the_bitmap_counts_and_not_the_number_of_nulls():
    table = pyarrow.record_batch({"x": pyarrow.array([1.0] * 20 + [None] + [2.0] * 20)})
    with pytest.raises(manymeans.BadDataError, match="row 20 is null"):
        manymeans.fit(Producer(table, lambda s, a: set_(column(a), "null_count", 0)), 1)


def test_capsules_are_used_once():
    once = Producer(NUMBERS)
    assert manymeans.fit(once, 1).digest == manymeans.fit(NUMBERS, 1).digest
    with pytest.raises(manymeans.BadDataError, match="'arrow_schema' was used before"):
        manymeans.fit(once, 1)
    stream = Stream(pyarrow.table(NUMBERS).__arrow_c_stream__())
    assert manymeans.fit(stream, 1).digest == manymeans.fit(NUMBERS, 1).digest
    with pytest.raises(manymeans.BadDataError, match="'arrow_array_stream' was used before"):
        manymeans.fit(stream, 1)
    with pytest.raises(manymeans.BadDataError, match="a capsule 'arrow_array_stream' is needed"):
        manymeans.fit(Stream(NUMBERS.__arrow_c_array__()[0]), 1)


def test_numbers_that_are_not_aligned():
    data = pyarrow.py_buffer(b"." + np.arange(6.0).tobytes())
    array = pyarrow.Array.from_buffers(pyarrow.float64(), 6, [None, data.slice(1)])
    expected = manymeans.fit(np.arange(6.0).reshape(-1, 1), 2).digest
    assert manymeans.fit(pyarrow.table({"x": array}), 2).digest == expected


def longer_than_its_bytes():
    """A table that pyarrow reads as 1,000 rows, of which 37 are there."""
    table = pyarrow.table({"x": np.arange(37.0)})
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    wrong = sink.getvalue().to_pybytes().replace(struct.pack("<q", 37), struct.pack("<q", 1000))
    found = pyarrow.ipc.open_stream(wrong).read_all()
    assert len(found) == 1000
    return found


def wrong_lists():
    offsets = pyarrow.py_buffer(np.array([0, 10**6, 4], np.int32))
    return pyarrow.ListArray.from_buffers(pyarrow.list_(pyarrow.float64()), 2, [None, offsets], children=[
        pyarrow.array([1.0, 2.0, 3.0, 4.0])])  # fmt: skip


def wrong_codes():
    return pyarrow.DictionaryArray.from_arrays(np.array([0, 10**6, 1], np.int32), pyarrow.array([1, 2]), safe=False)


def frame(array):
    return pandas.DataFrame({"x": pandas.arrays.ArrowExtensionArray(pyarrow.chunked_array([array]))})


X = np.arange(8.0).reshape(4, 2)
ROUTES = {
    "fit": lambda wrong: manymeans.fit(wrong, 1),
    "estimator": lambda wrong: KMeans(1).fit(wrong),
    "predict": lambda wrong: KMeans(1).fit(X[:, :1]).predict(wrong),
    "frame": lambda wrong: manymeans.fit(wrong.to_pandas(types_mapper=pandas.ArrowDtype), 1),
    "frame of an estimator": lambda wrong: KMeans(1).fit(wrong.to_pandas(types_mapper=pandas.ArrowDtype)),
    "batch": lambda wrong: manymeans.fit(wrong.to_batches()[0], 1),
    "reader": lambda wrong: manymeans.fit(wrong.to_reader(), 1),
    "shard": manymeans.Shard,
    "weights": lambda wrong: manymeans.fit(X, 1, sample_weight=wrong["x"]),
    "weights of an estimator": lambda wrong: KMeans(1).fit(X, sample_weight=wrong["x"]),
    "weights of a frame": lambda wrong: manymeans.fit(X, 1, sample_weight=frame(wrong["x"].chunk(0))["x"]),
    "centres": lambda wrong: KMeans(1, init=wrong).fit(X),
    "target": lambda wrong: manymeans.RegressionClustering(1).fit(X, wrong["x"]),
    "labels": lambda wrong: manymeans.compare(wrong["x"], [0] * 1000),
    "list": lambda wrong: manymeans.fit([wrong["x"].chunk(0)] * 3, 1),
    "multiply": lambda wrong: manymeans.multiply(np.ones((1000, 2)), wrong),
}


@pytest.mark.parametrize("route", ROUTES)
def test_pyarrow_tables_are_checked(route):
    with pytest.raises(manymeans.BadDataError, match="no valid table of Arrow"):
        ROUTES[route](longer_than_its_bytes())


@pytest.mark.parametrize("make", [wrong_lists, wrong_codes])
def test_pyarrow_lists_and_codes_are_checked(make):
    for wrong in (pyarrow.table({"x": make()}), make(), pyarrow.chunked_array([make()]), frame(make())):
        for fit in (KMeans(1).fit, lambda given: manymeans.fit(given, 1)):
            with pytest.raises(manymeans.BadDataError, match="no valid table of Arrow"):
                fit(wrong)


def test_extension_types():
    small = pyarrow.array([0, 1, 2, -1], pyarrow.int8())
    truth = pyarrow.ExtensionArray.from_storage(pyarrow.bool8(), small)
    for table in (pyarrow.table({"a": truth}), pyarrow.chunked_array([truth])):
        assert manymeans.fit(table, 1).best().cluster_centers.tolist() == [[0.75]]
    opaque = pyarrow.ExtensionArray.from_storage(pyarrow.opaque(pyarrow.int8(), "mood", "somebody"), small)
    lists = pyarrow.ListArray.from_arrays(pyarrow.array([0, 2, 4], pyarrow.int32()), opaque)
    for column in (opaque, lists):
        with pytest.raises(manymeans.BadDataError, match="'a'.*the extension type 'arrow.opaque'"):
            manymeans.fit(pyarrow.table({"a": column}), 1)


class ArrayWithoutDevice:
    """An array of pyarrow 25 or older: DLPack's methods are there, and texts, booleans and gaps have no device."""

    def __init__(self, values):
        self.values = pyarrow.array(values)

    def __dlpack__(self, **options):
        raise pyarrow.ArrowTypeError("DataType is not compatible with DLPack spec")

    __dlpack_device__ = __dlpack__

    def __arrow_c_array__(self, requested_schema=None):
        return self.values.__arrow_c_array__(requested_schema)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values)


def test_arrays_without_a_device():
    assert manymeans.compare(ArrayWithoutDevice(["x", "y", "x"]), [0, 1, 0]).adjusted_rand == 1
    points = np.random.default_rng(1).normal(size=(40, 2))
    weights = [bool(i % 3) for i in range(40)]
    expected = KMeans(3, random_state=0).fit(points, sample_weight=np.array(weights))
    found = KMeans(3, random_state=0).fit(points, sample_weight=ArrayWithoutDevice(weights))
    assert found.result_.digest == expected.result_.digest
    with pytest.raises(manymeans.BadDataError, match="sample_weight"):
        KMeans(3).fit(points, sample_weight=ArrayWithoutDevice([None] * 40))
