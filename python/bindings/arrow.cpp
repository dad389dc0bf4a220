#include "arrow.h"

#include <manymeans/error.h>

#include "arrow_abi.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

namespace manymeans::python {
namespace nb = nanobind;
namespace {

Error bad(const std::string& column, const std::string& what) {
  return Error(ErrorCode::kBadData, column.empty() ? "Arrow data" : "Arrow column '" + column + "'", what);
}

// A table: its schema and its chunks, released together.
struct Table {
  ArrowSchema schema{};
  std::vector<ArrowArray> chunks;
  Table() = default;
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  ~Table() {
    for (ArrowArray& chunk : chunks) {
      if (chunk.release != nullptr) chunk.release(&chunk);
    }
    if (schema.release != nullptr) schema.release(&schema);
  }
};

template <class T>
T* pointer_in(nb::handle capsule, const char* name) {
  void* pointer = PyCapsule_GetPointer(capsule.ptr(), name);
  if (pointer == nullptr) throw nb::python_error();
  return static_cast<T*>(pointer);
}

// Moves a struct out of its capsule, as the interface has it.
template <class T>
T take(T* from) {
  T result = *from;
  from->release = nullptr;
  return result;
}

void read_stream(nb::handle object, Table& table) {
  const nb::object capsule = object.attr("__arrow_c_stream__")();
  auto* stream = pointer_in<ArrowArrayStream>(capsule, "arrow_array_stream");
  const auto check = [&](int code) {
    if (code == 0) return;
    const char* message = stream->get_last_error(stream);
    throw bad("", message != nullptr ? message : std::strerror(code));
  };
  check(stream->get_schema(stream, &table.schema));
  for (;;) {
    ArrowArray chunk{};
    check(stream->get_next(stream, &chunk));
    if (chunk.release == nullptr) return;
    table.chunks.push_back(chunk);
  }
}

void read_array(nb::handle object, Table& table) {
  const nb::object pair = object.attr("__arrow_c_array__")();
  table.schema = take(pointer_in<ArrowSchema>(nb::object(pair[0]), "arrow_schema"));
  table.chunks.push_back(take(pointer_in<ArrowArray>(nb::object(pair[1]), "arrow_array")));
}

enum class Number : uint8_t { kF16, kF32, kF64, kU8, kI8, kU16, kI16, kU32, kI32, kU64, kI64 };

size_t bytes_of(Number number) {
  constexpr size_t kBytes[] = {2, 4, 8, 1, 1, 2, 2, 4, 4, 8, 8};
  return kBytes[static_cast<size_t>(number)];
}

// How the numbers of a row lie together.
enum class Lists : uint8_t { kNone, kFixed, kList, kLargeList };

Lists lists_of(std::string_view format) {
  if (format.starts_with("+w:")) return Lists::kFixed;
  if (format == "+l") return Lists::kList;
  return format == "+L" ? Lists::kLargeList : Lists::kNone;
}

// What a column of such a format holds, in words.
std::string what_is(const ArrowSchema& schema) {
  const std::string_view format = schema.format;
  if (schema.dictionary != nullptr) return "codes of a dictionary";
  if (format == "u" || format == "U" || format == "vu") return "text";
  if (format.starts_with("t")) return "dates or times";
  if (format == "b") return "true and false";
  if (format.starts_with("d:")) return "decimals";
  if (lists_of(format) != Lists::kNone) return "lists of lists";
  return "values of the Arrow format '" + std::string(format) + "'";
}

// The formats of the interface: "e" float16, "f" float32, "g" float64, "CcSsIiLl" integers.
Number number_of(const ArrowSchema& schema, const std::string& column) {
  constexpr std::string_view kFormats = "efgCcSsIiLl";
  const std::string_view format = schema.format;
  const size_t at = format.size() == 1 && schema.dictionary == nullptr ? kFormats.find(format) : std::string_view::npos;
  if (at == std::string_view::npos) {
    throw bad(column, "it holds " + what_is(schema) +
                          "; floating-point numbers or integers are right: leave it out, or make "
                          "numbers of it");
  }
  return static_cast<Number>(at);
}

// The library's own types; others are converted.
std::optional<DataType> in_place_type(Number number) {
  switch (number) {
    case Number::kF16: return DataType::kFloat16;
    case Number::kF32: return DataType::kFloat32;
    case Number::kF64: return DataType::kFloat64;
    case Number::kU8: return DataType::kUInt8;
    case Number::kI8: return DataType::kInt8;
    default: return std::nullopt;
  }
}

bool fits_float32(Number number) {
  return number == Number::kF16 || number == Number::kF32 || number == Number::kU8 || number == Number::kI8 ||
         number == Number::kU16 || number == Number::kI16;
}

// The first null among these values; -1: there is none.
int64_t first_null(const ArrowArray& array, int64_t first, int64_t length) {
  if (array.null_count == 0 || array.n_buffers < 1 || array.buffers[0] == nullptr) return -1;
  const auto* valid = static_cast<const uint8_t*>(array.buffers[0]);
  for (int64_t i = 0; i < length; ++i) {
    const int64_t bit = first + i;
    if ((valid[bit / 8] >> (bit % 8) & 1) == 0) return i;
  }
  return -1;
}

// Rows are counted from 1 here; what Python says counts them from 0.
Error bad_row(const std::string& column, int64_t row, const std::string& what) {
  return bad(column, "row " + std::to_string(row + 1) + " " + what);
}

void check_no_nulls(const ArrowArray& array, int64_t first, int64_t length, int64_t row, const std::string& column) {
  const int64_t found = first_null(array, first, length);
  if (found >= 0) throw bad_row(column, row + found, "is null; fill in or drop missing values");
}

// Values of one column in one chunk: `width` numbers a row, rows one after the other.
struct Piece {
  const std::byte* data = nullptr;
  int64_t rows = 0;
};

struct Column {
  std::string name;
  Number number = Number::kF64;
  Lists lists = Lists::kNone;
  int64_t width = 1;          // numbers a row; 0: the first list will say it
  int64_t rows = 0;           // in the pieces so far
  std::vector<Piece> pieces;  // one a chunk
};

Column describe(const ArrowSchema& schema) {
  Column column;
  column.name = schema.name != nullptr ? schema.name : "";
  column.lists = lists_of(schema.format);
  column.number = number_of(column.lists == Lists::kNone ? schema : *schema.children[0], column.name);
  if (column.lists == Lists::kFixed) column.width = std::strtoll(schema.format + 3, nullptr, 10);
  if (column.lists == Lists::kList || column.lists == Lists::kLargeList) column.width = 0;
  return column;
}

// Where the values of rows [first, first + rows) of lists begin; all have the same length, and lie one after the other.
template <class Offset>
int64_t begin_of_lists(Column& column, const ArrowArray& array, int64_t first, int64_t rows) {
  const auto* offsets = static_cast<const Offset*>(array.buffers[1]) + first;
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t length = static_cast<int64_t>(offsets[i + 1]) - static_cast<int64_t>(offsets[i]);
    if (column.width == 0 && column.rows == 0 && i == 0) column.width = length;
    if (length != column.width) {
      throw bad_row(column.name, column.rows + i,
                    "is a list of " + std::to_string(length) + " numbers, those before it have " +
                        std::to_string(column.width) + "; every row needs as many");
    }
  }
  return static_cast<int64_t>(offsets[0]);
}

// Where the numbers of these rows begin in the values of their lists.
int64_t begin_of(Column& column, const ArrowArray& array, int64_t first, int64_t rows) {
  switch (column.lists) {
    case Lists::kList: return begin_of_lists<int32_t>(column, array, first, rows);
    case Lists::kLargeList: return begin_of_lists<int64_t>(column, array, first, rows);
    default: return first * column.width;
  }
}

// Adds rows [first, first + rows) of an array that describe() has seen.
void add_piece(Column& column, const ArrowArray& array, int64_t first, int64_t rows) {
  if (rows == 0) return;
  first += array.offset;
  check_no_nulls(array, first, rows, column.rows, column.name);
  const ArrowArray* values = &array;
  int64_t begin = first;
  if (column.lists != Lists::kNone) {
    values = array.children[0];
    begin = begin_of(column, array, first, rows) + values->offset;
    if (column.width < 1) throw bad(column.name, "its lists are empty; at least one number a row is right");
    const int64_t null = first_null(*values, begin, rows * column.width);
    if (null >= 0) {
      throw bad_row(column.name, column.rows + null / column.width,
                    "has a null in its list, as value " + std::to_string(null % column.width + 1) +
                        "; fill in or drop missing values");
    }
  }
  const auto* data = static_cast<const std::byte*>(values->buffers[1]);
  column.pieces.push_back({data + static_cast<size_t>(begin) * bytes_of(column.number), rows});
  column.rows += rows;
}

std::vector<Column> columns_of(const Table& table) {
  std::vector<Column> columns;
  const bool is_table = std::string_view(table.schema.format) == "+s";
  const int64_t count = is_table ? table.schema.n_children : 1;
  for (int64_t j = 0; j < count; ++j) {
    const ArrowSchema& schema = is_table ? *table.schema.children[j] : table.schema;
    Column column = describe(schema);
    for (const ArrowArray& chunk : table.chunks) {
      if (is_table) {
        check_no_nulls(chunk, chunk.offset, chunk.length, column.rows, "");
        add_piece(column, *chunk.children[j], chunk.offset, chunk.length);
      } else {
        add_piece(column, chunk, 0, chunk.length);
      }
    }
    columns.push_back(std::move(column));
  }
  if (columns.empty()) throw bad("", "the table has no columns");
  return columns;
}

float from_half(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits >> 15) << 31, exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (exponent == 0) {
    const float value = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -value : value;
  }
  const uint32_t widened = sign | (exponent == 31 ? 255U : exponent + 112) << 23 | fraction << 13;
  float value = 0;
  std::memcpy(&value, &widened, sizeof value);
  return value;
}

template <class From, class To>
void convert(const std::byte* from, int64_t rows, int64_t width, To* to, int64_t stride) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      From value;
      std::memcpy(&value, from + static_cast<size_t>(i * width + j) * sizeof value, sizeof value);
      to[i * stride + j] = static_cast<To>(value);
    }
  }
}

template <class To>
void convert_halves(const std::byte* from, int64_t rows, int64_t width, To* to, int64_t stride) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      uint16_t bits = 0;
      std::memcpy(&bits, from + static_cast<size_t>(i * width + j) * 2, 2);
      to[i * stride + j] = from_half(bits);
    }
  }
}

template <class To>
void convert_piece(const Column& column, const Piece& piece, To* to, int64_t stride) {
  const auto run = [&](auto sample) {
    convert<decltype(sample), To>(piece.data, piece.rows, column.width, to, stride);
  };
  switch (column.number) {
    case Number::kF16: return convert_halves(piece.data, piece.rows, column.width, to, stride);
    case Number::kF32: return run(float{});
    case Number::kF64: return run(double{});
    case Number::kU8: return run(uint8_t{});
    case Number::kI8: return run(int8_t{});
    case Number::kU16: return run(uint16_t{});
    case Number::kI16: return run(int16_t{});
    case Number::kU32: return run(uint32_t{});
    case Number::kI32: return run(int32_t{});
    case Number::kU64: return run(uint64_t{});
    case Number::kI64: return run(int64_t{});
  }
}

template <class To>
void copy_all(const std::vector<Column>& columns, To* to, int64_t stride) {
  int64_t first_column = 0;
  for (const Column& column : columns) {
    To* row = to + first_column;
    for (const Piece& piece : column.pieces) {
      convert_piece(column, piece, row, stride);
      row += piece.rows * stride;
    }
    first_column += column.width;
  }
}

// The only piece that holds rows, if there is but one.
const Piece* single_piece(const Column& column) {
  const Piece* found = nullptr;
  for (const Piece& piece : column.pieces) {
    if (found != nullptr) return nullptr;
    found = &piece;
  }
  return found;
}

}  // namespace

ArrowPoints arrow_points(nb::handle object) {
  const auto table = std::make_shared<Table>();
  if (nb::hasattr(object, "__arrow_c_stream__")) {
    read_stream(object, *table);
  } else {
    read_array(object, *table);
  }
  const std::vector<Column> columns = columns_of(*table);
  const int64_t rows = columns[0].rows;
  int64_t width = 0;
  ArrowPoints result;
  bool lists = false;
  for (const Column& column : columns) {
    width += column.width;
    lists |= column.lists != Lists::kNone;
    result.column_names.push_back(column.name);
  }
  if (lists) result.column_names.clear();
  const Piece* single = columns.size() == 1 ? single_piece(columns[0]) : nullptr;
  const std::optional<DataType> type = in_place_type(columns[0].number);
  if (single != nullptr && type) {
    result.view = {single->data, rows, width, *type};
    result.owner = table;
    return result;
  }
  const bool narrow = std::ranges::all_of(columns, [](const Column& column) { return fits_float32(column.number); });
  const auto matrix = std::make_shared<Matrix>(rows, width, narrow ? DataType::kFloat32 : DataType::kFloat64);
  if (narrow) {
    copy_all(columns, matrix->values<float>().data(), width);
  } else {
    copy_all(columns, matrix->values<double>().data(), width);
  }
  result.view = matrix->view();
  result.owner = matrix;
  result.copied = true;
  return result;
}

}  // namespace manymeans::python
