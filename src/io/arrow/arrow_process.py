"""The program that manymeans built without Arrow C++ starts to read and write Parquet and Arrow files by pyarrow.

It gets requests on standard input, and answers each of them on standard output. A message has the number of bytes and
the number of items that follow. An item is its length, its bytes, and zeros up to a multiple of eight. All numbers are
64-bit and little-endian. A request is its name and its arguments; an answer begins with ok, bad or memory.
"""

import sys

sys.path[:] = [path for path in sys.path if path]  # nothing from the folder in which manymeans happens to run

import io
import itertools
import mmap
import os
import select
import struct
import threading

GREETING = "manymeans fields 1"
INPUT = 3  # the descriptor of the file that is read
LEAST_VERSION = 17
BATCH_BYTES = 8 << 20

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.ipc
    import pyarrow.parquet
except Exception as error:
    pa, why_not = None, (f"{error}" or type(error).__name__).split("\n")[0]
else:
    why_not = "" if int(pa.__version__.split(".")[0]) >= LEAST_VERSION else f"pyarrow {pa.__version__} is too old"


# --- Messages
def receive(stream):
    """Give the items of the next request; the end of the program that asks is the end of this one."""

    def exactly(size):
        data = stream.read(size)
        if len(data) < size:
            raise SystemExit(0)
        return memoryview(data)

    size, count = struct.unpack("<qq", exactly(16))
    body, at, items = exactly(size), 0, []
    for _ in range(count):
        (length,) = struct.unpack_from("<q", body, at)
        items.append(body[at + 8 : at + 8 + length])
        at += 8 + (length + 7) // 8 * 8
    return items


def bytes_of(item):
    if isinstance(item, int):
        return struct.pack("<q", item)
    return item.encode("utf-8", "surrogateescape") if isinstance(item, str) else memoryview(item).cast("B")


def send(stream, items):
    parts = [bytes_of(item) for item in items]
    stream.write(struct.pack("<qq", sum(8 + (len(part) + 7) // 8 * 8 for part in parts), len(parts)))
    for part in parts:
        stream.write(struct.pack("<q", len(part)))
        stream.write(part)
        stream.write(bytes(-len(part) % 8))
    stream.flush()


def number(item):
    return struct.unpack("<q", item)[0]


def numbers(item):
    return list(struct.unpack(f"<{len(item) // 8}q", item))


def text(item):
    return bytes(item).decode("utf-8", "surrogateescape")


# --- What fields are
PLAIN = ("halffloat", "float", "double", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))


TRUTH, TENSOR = "arrow.bool8", "arrow.fixed_shape_tensor"


def extension_name(type):
    return type.extension_name if isinstance(type, pa.BaseExtensionType) else ""


def storage(type):
    while isinstance(type, pa.BaseExtensionType):
        type = type.storage_type
    return type


def is_list(type):
    return pa.types.is_list(type) or pa.types.is_large_list(type) or pa.types.is_fixed_size_list(type)


def number_type(type):
    """Give the type of the numbers in a field, lists, dictionaries and extensions undone."""
    if extension_name(type) == TRUTH:
        return pa.bool_()
    type = storage(type)
    return number_type(type.value_type) if is_list(type) or pa.types.is_dictionary(type) else type


def is_number(type):
    return str(type) in (*PLAIN, "bool") or pa.types.is_decimal128(type) or pa.types.is_decimal256(type)


def is_understood(type, inside=False):
    """Return false for other extension types: their numbers may be codes, or in a unit that only the type tells."""
    name = extension_name(type)
    if name == TRUTH:
        return not inside
    if name not in ("", TENSOR):
        return False
    type = storage(type)
    return is_understood(type.value_type, True) if is_list(type) or pa.types.is_dictionary(type) else True


def kind_of(type):
    if not is_understood(type):
        return "other"
    stored = storage(type)
    items = stored.value_type if is_list(stored) else stored
    inner = storage(items)
    while pa.types.is_dictionary(inner):
        inner = storage(inner.value_type)
    if is_list(inner) or not is_number(number_type(items)):
        return "other"
    if not is_list(stored):
        return "number"
    return "fixed" if pa.types.is_fixed_size_list(stored) else "list"


def unknown_extension(field):
    """Give the extension type that only the metadata name, since this pyarrow does not know it."""
    name = (field.metadata or {}).get(b"ARROW:extension:name", b"").decode("utf-8", "surrogateescape")
    return "" if name == TENSOR else name


def kind_in(field):
    return "other" if unknown_extension(field) else kind_of(field.type)


def describe(schema):
    for field in schema:
        kind, unknown = kind_in(field), unknown_extension(field)
        type = f"extension<{unknown}>" if unknown else str(field.type)
        yield from (field.name, type, kind, str(number_type(field.type)))
        yield storage(field.type).list_size if kind == "fixed" else 1


# --- Cells of fields, as the program reads them
def plain(array):
    while isinstance(array, pa.ExtensionArray):
        array = array.storage
    if not pa.types.is_dictionary(array.type):
        return array
    return plain(array.dictionary_decode())


def values_of(array, width):
    """Give the bytes of values that are `width` bytes each."""
    buffer = array.buffers()[1]
    return b"" if buffer is None else buffer.slice(array.offset * width, len(array) * width)


def validity_of(array):
    """Give a byte for each value, 0 for null; nothing where none is."""
    return values_of(array.is_valid().cast(pa.uint8()), 1) if array.null_count else b""


def shown(array):
    """Give values that are no numbers as text; to the letter what Arrow C++ makes of them."""
    types, type = pa.types, array.type
    if types.is_string(type) or types.is_large_string(type) or types.is_string_view(type):
        return array
    if types.is_timestamp(type) and type.tz is not None:
        array = array.cast(pa.timestamp(type.unit, "UTC"))
    if (types.is_temporal(type) and not types.is_interval(type)) or types.is_null(type):
        return array.cast(pa.string())
    is_view = getattr(types, "is_binary_view", lambda type: False)
    if types.is_binary(type) or types.is_large_binary(type) or types.is_fixed_size_binary(type) or is_view(type):
        return array.cast(pa.large_binary())
    return pa.array([str(pc.scalar(value)) if value.is_valid else None for value in array], pa.large_string())


def text_cells(array, tag):
    array = array.cast(pa.large_binary())
    _, offsets, data = array.buffers()
    if not len(array):
        return [tag, b"", bytes(8), b""]
    offsets = offsets.slice(array.offset * 8, (len(array) + 1) * 8)
    first, last = struct.unpack_from("<q", offsets)[0], struct.unpack_from("<q", offsets, len(array) * 8)[0]
    return [tag, validity_of(array), offsets, b"" if data is None else data.slice(first, last - first)]


def number_cells(array):
    is_truth, array = extension_name(array.type) == TRUTH, plain(array)
    if is_truth:
        array = pc.not_equal(array, 0)
    if pa.types.is_decimal(array.type):
        return text_cells(array.cast(pa.string()), "digits")
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.uint8())
    return [str(array.type), validity_of(array), values_of(array, array.type.bit_width // 8)]


def list_cells(array):
    array = plain(array)
    if pa.types.is_fixed_size_list(array.type):
        size = array.type.list_size
        lengths = pa.array([size] * len(array), pa.int64())
        items = array.values.slice(array.offset * size, len(array) * size)
    else:
        offsets = array.offsets.cast(pa.int64())
        lengths = pc.subtract(offsets[1:], offsets[:-1])
        first, last = (offsets[0].as_py(), offsets[-1].as_py()) if len(array) else (0, 0)
        items = array.values.slice(first, last - first)
    return ["list", validity_of(array), values_of(lengths, 8), *number_cells(items)]


def cells_of(array, field):
    kind = kind_in(field)
    if kind == "other":
        return text_cells(shown(plain(array)), "text")
    return number_cells(array) if kind == "number" else list_cells(array)


def check(array):
    """Look for codes that a dictionary lacks, and for lists that lie outside of their values."""
    if kind_of(array.type) != "other" or pa.types.is_dictionary(array.type):
        array.validate(full=True)


def size_of(array):
    return array.indices.nbytes if pa.types.is_dictionary(array.type) else array.nbytes


def in_small_parts(batches):
    for batch in batches:
        for column in batch.columns:
            check(column)
        size = sum(size_of(column) for column in batch.columns)
        rows = max(1, BATCH_BYTES * batch.num_rows // max(1, size))
        yield from (batch.slice(first, rows) for first in range(0, batch.num_rows, rows))


# --- Files that are read
class ParquetSource:
    def __init__(self, data):
        options = {"arrow_extensions_enabled": False}  # as Arrow C++ has it by default
        try:
            self.file = pyarrow.parquet.ParquetFile(pa.BufferReader(data), pre_buffer=False, **options)
        except TypeError:  # an older version, which never looks for them
            self.file = pyarrow.parquet.ParquetFile(pa.BufferReader(data), pre_buffer=False)
        self.schema = self.file.schema_arrow
        self.leaves, end = [], 0
        for field in self.schema:
            first, end = end, end + self._leaves(field.type)
            self.leaves.append(range(first, end))
        if end != self.file.metadata.num_columns:
            raise ValueError("it holds a type whose columns are not known")

    def _leaves(self, type):
        """Give the columns of the file below a field of this type."""
        type = storage(type)
        if pa.types.is_map(type):
            return self._leaves(type.key_type) + self._leaves(type.item_type)
        if pa.types.is_struct(type):
            return sum(self._leaves(type.field(place).type) for place in range(type.num_fields))
        return self._leaves(type.value_type) if is_list(type) else 1

    def _columns(self, fields):
        if not all(self.leaves[field] for field in fields):
            raise ValueError("a structure has no members")
        return [leaf for field in fields for leaf in self.leaves[field]]

    def piece_rows(self, fields):
        groups = [self.file.metadata.row_group(place) for place in range(self.file.metadata.num_row_groups)]
        columns = self._columns(fields)
        if any(group.column(leaf).num_values < group.num_rows for group in groups for leaf in columns):
            raise ValueError("a column has too few values")
        return [group.num_rows for group in groups]

    def batches(self, piece, fields):
        group, columns = self.file.metadata.row_group(piece), self._columns(fields)
        size = sum(group.column(leaf).total_uncompressed_size for leaf in columns)
        row = max(size // max(1, group.num_rows), 8 * len(columns))
        return self.file.reader.iter_batches(max(1, BATCH_BYTES // row), [piece], column_indices=columns)

    def table(self, piece):
        return self.file.reader.read_row_group(piece)


class BatchSource:
    """Record batches of an Arrow file, or of a stream."""

    def __init__(self, data, stream):
        self.data, self.open = data, pyarrow.ipc.open_stream if stream else pyarrow.ipc.open_file
        self.held = None if not stream else []
        self.schema = self._reader(None).schema

    def _reader(self, fields):
        return self.open(pa.BufferReader(self.data), options=pyarrow.ipc.IpcReadOptions(included_fields=fields))

    def piece_rows(self, fields):
        if self.held is not None:  # there is no directory of them
            self.held = list(self._reader(fields))
            return [batch.num_rows for batch in self.held]
        reader = self._reader(fields[:1])
        return [reader.get_batch(place).num_rows for place in range(reader.num_record_batches)]

    def batches(self, piece, fields):
        batch = self.held[piece] if self.held is not None else self._reader(fields).get_batch(piece)
        batch.validate(full=True)
        yield batch

    def table(self, piece):
        return pa.Table.from_batches(list(self.batches(piece, None)))


def open_source(format):
    data = pa.py_buffer(mmap.mmap(INPUT, 0, access=mmap.ACCESS_READ))
    return ParquetSource(data) if format == "parquet" else BatchSource(data, format == "stream")


# --- Files that are written
class Produced(io.RawIOBase):
    """Keeps what pyarrow writes until it is taken."""

    def __init__(self):
        super().__init__()
        self.parts, self.size = [], 0

    def writable(self):
        return True

    def write(self, data):
        self.parts.append(bytes(data))
        self.size += len(self.parts[-1])
        return len(self.parts[-1])

    def tell(self):
        return self.size

    def take(self):
        parts, self.parts = self.parts, []
        return b"".join(parts)


class Target:
    def __init__(self, format, schema, is_new):
        self.schema, self.produced, self.is_parquet = schema, Produced(), format == "parquet"
        if self.is_parquet:
            # Measured numbers rarely repeat; dictionaries of them cost time and save nothing.
            options = {"use_dictionary": False, "store_schema": False} if is_new else {"store_schema": True}
            compression = "snappy" if pa.Codec.is_available("snappy") else "none"
            self.writer = pyarrow.parquet.ParquetWriter(self.produced, schema, compression=compression, **options)
        else:
            options = pyarrow.ipc.IpcWriteOptions(use_threads=False, unify_dictionaries=True)
            self.writer = pyarrow.ipc.new_file(self.produced, schema, options=options)

    def write(self, table):
        if table.num_rows == 0:
            return
        if self.is_parquet:
            self.writer.write_table(table, row_group_size=table.num_rows)
        else:
            self.writer.write_table(table)


def fields_in(items):
    """Give the fields that a request names: name, type (of lists: "float[128]"), and whether it may hold nulls."""
    types = [pa.int8(), pa.uint8(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64(), pa.binary()]
    named = {str(type): type for type in (*types, pa.string(), pa.float16(), pa.float32(), pa.float64())}

    def type_of(name):
        plain, _, length = name.partition("[")
        return pa.list_(pa.field("element", named[plain], False), int(length[:-1])) if length else named[plain]

    return [
        pa.field(text(items[at]), type_of(text(items[at + 1])), number(items[at + 2]) != 0)
        for at in range(0, len(items), 3)
    ]


def column_of(type, rows, items):
    """Give the next column of a request: validity, values, and, of text, its bytes."""
    if is_list(type):
        return pa.FixedSizeListArray.from_arrays(column_of(type.value_type, rows * type.list_size, items), type=type)
    valid, values = next(items), pa.py_buffer(next(items))
    bits = None
    if len(valid):
        bits = pa.Array.from_buffers(pa.uint8(), rows, [None, pa.py_buffer(valid)]).cast(pa.bool_()).buffers()[1]
    if not (pa.types.is_string(type) or pa.types.is_binary(type)):
        return pa.Array.from_buffers(type, rows, [bits, values])
    return pa.Array.from_buffers(pa.large_binary(), rows, [bits, values, pa.py_buffer(next(items))]).cast(type)


# --- Requests
class Child:
    """One method for each request."""

    def __init__(self):
        self.source, self.target, self.taken, self.started = None, None, None, {}

    def open(self, format, threads):
        pa.set_cpu_count(max(1, number(threads)))
        self.source = open_source(text(format))
        return [len(self.source.schema), *describe(self.source.schema)]

    def rows(self, fields):
        return self.source.piece_rows(numbers(fields))

    def start(self, reader, piece, fields):
        self.started[number(reader)] = in_small_parts(self.source.batches(number(piece), numbers(fields)))
        return []

    def next(self, reader):
        batch = next(self.started[number(reader)], None)
        if batch is None:
            del self.started[number(reader)]
            return []
        return [batch.num_rows, *itertools.chain.from_iterable(map(cells_of, batch.columns, batch.schema))]

    def create(self, format, *fields):
        self.target = Target(text(format), pa.schema(fields_in(fields)), is_new=True)
        return []

    def extend(self, format, *fields):
        schema = self.source.schema if self.source else pa.schema([])
        schema = pa.schema([*schema, *fields_in(fields)], metadata=schema.metadata)
        self.target = Target(text(format), schema, is_new=False)
        return []

    def take(self, piece):
        self.taken = self.source.table(number(piece))
        return [self.taken.num_rows]

    def write(self, rows, *items):
        rows, items = number(rows), iter(items)
        columns, self.taken = [] if self.taken is None else list(self.taken.columns), None
        for field in list(self.target.schema)[len(columns) :]:
            columns.append(column_of(field.type, rows, items))
        self.target.write(pa.Table.from_arrays(columns, schema=self.target.schema))
        return [self.target.produced.take()]

    def close(self):
        self.target.writer.close()
        return [self.target.produced.take()]


def end_with_the_program():
    """Wait until the program that asks is gone, in whatever way. End then, also in the midst of an answer."""
    poll = select.poll()
    poll.register(0, select.POLLRDHUP)
    poll.poll()
    os._exit(0)


def serve(requests, replies):
    send(replies, [GREETING, why_not, "" if pa is None else pa.__version__])
    child = Child()
    while not why_not:
        name, *arguments = receive(requests)
        try:
            answer = ["ok", *getattr(child, text(name))(*arguments)]
        except MemoryError:
            answer = ["memory"]
        except Exception as error:
            outcome = "bad" if text(name) in ("open", "rows", "start", "next", "take") else "unwritten"
            answer = [outcome, f"{error}" or type(error).__name__]
        send(replies, answer)


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what others print is no answer
    threading.Thread(target=end_with_the_program, daemon=True).start()
    try:
        serve(sys.stdin.buffer, answers)
    except BrokenPipeError:  # the program is gone
        os._exit(0)
