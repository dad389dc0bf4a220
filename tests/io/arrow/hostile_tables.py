"""Writes tables of everything that fields can hold into a folder, for the readers of them to agree on."""

import datetime
import decimal
import pathlib
import sys

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

WHEN = datetime.datetime(2024, 2, 29, 12, 30, 1, 5)
INTEGERS = [pa.uint8(), pa.int8(), pa.uint16(), pa.int16(), pa.uint32(), pa.int32(), pa.uint64(), pa.int64()]


def numbers():
    columns = {str(type): pa.array([1, 0, 100, None, 7], type) for type in INTEGERS}
    columns["half"] = pa.array([0.5, 1.5, float("nan"), None, -0.0], pa.float16())
    columns["float"] = pa.array([0.1, float("inf"), -0.0, None, 1e-40], pa.float32())
    columns["double"] = pa.array([0.1, 1e300, -0.0, None, 5e-324], pa.float64())
    columns["bool"] = pa.array([True, False, True, None, False])
    columns["wide"] = pa.array([2**63 - 1, -(2**63), 2**53 + 1, None, 0], pa.int64())
    columns["unsigned"] = pa.array([2**64 - 1, 0, 2**53 + 1, None, 16777217], pa.uint64())
    columns["no nulls"] = pa.array([1, 2, 3, 4, 16777217], pa.int64())
    digits = [decimal.Decimal(text) for text in ("1.50", "-0.01", "123456789.99", "0.10")]
    columns["decimal"] = pa.array([*digits, None], pa.decimal128(20, 2))
    columns["decimal of 256"] = pa.array([*digits, None], pa.decimal256(50, 10))
    columns["tiny decimal"] = pa.array([decimal.Decimal("1e-12"), *digits[:3], None], pa.decimal128(38, 15))
    columns["coded"] = pa.array([30.5, 10.25, None, 10.25, 30.5]).dictionary_encode()
    columns["coded integers"] = pa.array([2**40, 1, None, 1, 2**40]).dictionary_encode()
    columns["codes"] = pa.DictionaryArray.from_arrays(
        pa.array([1, 0, 1, 0, 1], pa.int8()), pa.array([7, 8], pa.int16())
    )
    return pa.table(columns)


def text():
    columns = {
        "string": pa.array(["a", "", None, "ünïcode", "12"]),
        "large": pa.array(["a", "b", None, "two words", "2024-02-29"], pa.large_string()),
        "binary": pa.array([b"a", b"\xff\x00", None, b"", b"b"]),
        "fixed": pa.array([b"ab", b"cd", None, b"\xff\xfe", b"ab"], pa.binary(2)),
        "coded": pa.array(["x", "y", None, "x", "y"]).dictionary_encode(),
        "nothing": pa.nulls(5),
        "date": pa.array([WHEN.date(), None, WHEN.date(), WHEN.date(), WHEN.date()]),
        "time": pa.array([WHEN.time(), None, WHEN.time(), WHEN.time(), WHEN.time()]),
        "when": pa.array([WHEN, None, WHEN, WHEN, WHEN], pa.timestamp("us")),
        "where": pa.array([WHEN, None, WHEN, WHEN, WHEN], pa.timestamp("ms", tz="UTC")),
        "elsewhere": pa.array([WHEN, None, WHEN, WHEN, WHEN], pa.timestamp("ns", tz="Europe/Paris")),
        "how long": pa.array([1, None, 2, 3, 4], pa.duration("s")),
        "structure": pa.array(
            [{"a": 1.5, "b": "x"}, None, {"a": None, "b": ""}, {"a": 2, "b": "y"}, {"a": 0, "b": "z"}]
        ),
        "map": pa.array([[("k", 1)], None, [], [("l", 2)], [("m", None)]], pa.map_(pa.string(), pa.int64())),
        "texts": pa.array([["a"], None, [], ["b", None], ["c"]]),
        "nested": pa.array([[[1.0]], None, [], [[2.0, 3.0]], [None]]),
        "number": pa.array([1.5, 2.5, 3.5, 4.5, 5.5]),
    }
    return pa.table(columns)


def lists():
    pairs = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0], [9.0, 10.0]]
    flat = pa.array([value for pair in pairs for value in pair])
    columns = {
        "list": pa.array(pairs),
        "large": pa.array(pairs, pa.large_list(pa.float32())),
        "fixed": pa.FixedSizeListArray.from_arrays(flat.cast(pa.float16()), 2),
        "integers": pa.array([[2**40, 1]] * 5, pa.list_(pa.int64())),
        "decimals": pa.array([[decimal.Decimal("0.1"), decimal.Decimal("2.5")]] * 5, pa.list_(pa.decimal128(5, 2))),
        "bools": pa.array([[True, False]] * 5),
        "null row": pa.array([*pairs[:3], None, pairs[4]]),
        "null item": pa.array([*pairs[:3], [1.0, None], pairs[4]]),
        "first null": pa.array([None, *pairs[1:]]),
        "ragged": pa.array([*pairs[:3], [1.0], pairs[4]]),
        "empty": pa.array([[]] * 5, pa.list_(pa.float64())),
        "fixed null": pa.array([*pairs[:3], None, pairs[4]], pa.list_(pa.float64(), 2)),
    }
    return pa.table(columns)


def extensions():
    small = pa.array([0, 1, 2, None, -1], pa.int8())
    columns = {
        "truth": pa.ExtensionArray.from_storage(pa.bool8(), small),
        "opaque": pa.ExtensionArray.from_storage(pa.opaque(pa.int8(), "mood", "somebody"), small),
        "number": pa.array([1.5, 2.5, 3.5, 4.5, 5.5]),
        "unknown": small,
    }
    unknown = pa.field("unknown", pa.int8(), metadata={"ARROW:extension:name": "somebody.mood"})
    fields = [pa.field(name, column.type) for name, column in columns.items()]
    return pa.table(list(columns.values()), schema=pa.schema([*fields[:-1], unknown]))


def main():
    folder = pathlib.Path(sys.argv[1])
    coded = pa.array([[1.0, 2.0]] * 3, pa.list_(pa.float64()))
    coded_lists = pa.ListArray.from_arrays(coded.offsets, coded.values.dictionary_encode())
    names = [pa.array([1.0, 2.0]), pa.array([3.0, 4.0]), pa.array([5, 6]), pa.array(["a", "b"]), pa.array([0.5, 1.0])]
    tables = {
        "numbers": numbers(),
        "text": text(),
        "lists": lists(),
        "names": pa.Table.from_arrays(names, ["x", "x", "a.b", "ä\n", "a"]),
        "dotted": pa.table({"a": pa.array([{"b": 1.0}, {"b": 2.0}]), "a.b": pa.array([3.0, 4.0])}),
        "empty": numbers().slice(0, 0),
        "sliced": numbers().slice(1, 3),
        "many": pa.table({"x": pa.array(range(100_000), pa.int32()), "y": pa.array([0.1] * 100_000)}),
        "extensions": extensions(),
        "tensor": pa.table({"t": pa.FixedShapeTensorArray.from_numpy_ndarray(_cubes())}),
    }
    for name, table in tables.items():
        for ending, options in (("parquet", {"row_group_size": 2}), ("feather", {"chunksize": 2})):
            if name == "many":
                options = {key: 30_000 for key in options}
            write = pa.parquet.write_table if ending == "parquet" else pa.feather.write_feather
            write(table, folder / f"{name}.{ending}", **options)
        with pa.ipc.new_stream(folder / f"{name}.arrow", table.schema) as stream:
            stream.write_table(table, max_chunksize=max(2, len(table) // 3))
    codes = pa.array([0, 1, 0], pa.int8())
    of_arrow_alone = {
        "coded_lists": coded_lists,
        "lists_in_a_dictionary": pa.DictionaryArray.from_arrays(codes, pa.array([[1.0, 2.0], [3.0, 4.0]])),
        "null_in_a_dictionary": pa.DictionaryArray.from_arrays(codes, pa.array(["a", None])),
        "months": pa.array([(1, 2, 3), None, (0, 0, 1)], pa.month_day_nano_interval()),
    }
    for name, column in of_arrow_alone.items():
        with pa.ipc.new_file(folder / f"{name}.feather", pa.schema([("l", column.type)])) as file:
            file.write_table(pa.table({"l": column}))
    with pa.ipc.new_file(folder / "no_columns.feather", pa.schema([])) as file:
        file.write_table(pa.table({}))


def _cubes():
    import numpy as np

    return np.arange(24, dtype=np.float32).reshape(3, 2, 4)


main()
