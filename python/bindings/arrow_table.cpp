#include "arrow_table.h"

#include <manymeans/error.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

namespace manymeans::python {
namespace {

Error bad(const std::string& column, const std::string& what) {
  return Error(ErrorCode::kBadData, column.empty() ? "Arrow data" : "Arrow column '" + column + "'", what);
}

// A schema that can be read. What is released is no longer there.
const ArrowSchema& checked(const ArrowSchema* schema, const std::string& column = "") {
  if (schema == nullptr || schema->release == nullptr || schema->format == nullptr) {
    throw bad(column, "its schema is not there: it was released, or has no format");
  }
  if (schema->n_children < 0 || (schema->n_children > 0 && schema->children == nullptr)) {
    throw bad(column, "its schema says " + std::to_string(schema->n_children) + " children, which are not there");
  }
  return *schema;
}

// An array that fits its schema and holds `rows` values. The interface tells no size of a buffer: for that we rely on
// the producer.
const ArrowArray& checked(const ArrowArray* array, const ArrowSchema& schema, int64_t buffers, int64_t rows,
                          const std::string& column) {
  if (array == nullptr || array->release == nullptr) throw bad(column, "its array is not there: it was released");
  int64_t end = 0;
  if (array->length < 0 || array->offset < 0 || __builtin_add_overflow(array->offset, array->length, &end)) {
    throw bad(column, "its array has the length " + std::to_string(array->length) + " and the offset " +
                          std::to_string(array->offset) + "; neither may be negative, nor their sum overflow");
  }
  if (array->length < rows) {
    throw bad(column,
              "its array has " + std::to_string(array->length) + " values, the table needs " + std::to_string(rows));
  }
  if (array->n_children != schema.n_children || (array->n_children > 0 && array->children == nullptr)) {
    throw bad(column, "its schema has " + std::to_string(schema.n_children) + " children, its array " +
                          std::to_string(array->n_children) + "; both need as many");
  }
  const bool has_buffers = array->n_buffers == buffers && array->buffers != nullptr;
  if (!has_buffers || (buffers > 1 && rows > 0 && array->buffers[1] == nullptr)) {
    throw bad(column, "its array lacks buffers; the format '" + std::string(schema.format) + "' has " +
                          std::to_string(buffers));
  }
  if (array->null_count > 0 && array->buffers[0] == nullptr) {
    throw bad(column, "its array has " + std::to_string(array->null_count) + " nulls and does not say where");
  }
  return *array;
}

constexpr size_t kMaxDecimalBytes = 32;
constexpr int64_t kMaxDigits = 1000;  // behind the point

enum class Number : uint8_t { kF16, kF32, kF64, kU8, kI8, kU16, kI16, kU32, kI32, kU64, kI64, kBool, kTruth, kDecimal };

// How the numbers of a row lie together.
enum class Lists : uint8_t { kNone, kFixed, kList, kLargeList };

Lists lists_of(std::string_view format) {
  if (format.starts_with("+w:")) return Lists::kFixed;
  if (format == "+l") return Lists::kList;
  return format == "+L" ? Lists::kLargeList : Lists::kNone;
}

constexpr std::string_view kTruth = "arrow.bool8";  // every number but 0 is true
constexpr std::string_view kTensor = "arrow.fixed_shape_tensor";

// The name of the extension type that these values have; empty: none. The metadata are a count, and so many keys and
// values, each behind its length.
std::string_view extension_of(const ArrowSchema& schema) {
  const char* at = schema.metadata;
  const auto integer = [&] {
    int32_t value = 0;
    std::memcpy(&value, at, sizeof value);
    at += sizeof value;
    return value;
  };
  const auto text = [&] {
    const int32_t length = integer();
    at += length;
    return std::string_view(at - length, static_cast<size_t>(length));
  };
  for (int32_t pairs = at == nullptr ? 0 : integer(); pairs > 0; --pairs) {
    const std::string_view key = text(), value = text();
    if (key == "ARROW:extension:name") return value;
  }
  return {};
}

// Returns false for other extension types: their numbers may be codes, or in a unit that only the type tells.
bool is_understood(const ArrowSchema& schema) {
  const std::string_view name = extension_of(schema), format = schema.format;
  return name.empty() || name == kTensor || (name == kTruth && format == "c");
}

// What a column of such a format holds, in words.
std::string what_is(const ArrowSchema& schema) {
  const std::string_view format = schema.format;
  if (schema.dictionary != nullptr) return what_is(*schema.dictionary) + " as categories";
  if (extension_of(schema) == "pandas.period") return "periods of pandas";
  if (!is_understood(schema)) return "the extension type '" + std::string(extension_of(schema)) + "'";
  if (format == "u" || format == "U" || format == "vu") return "text";
  if (format.starts_with("tD")) return "durations";
  if (format.starts_with("t")) return "dates or times";
  if (format == "n") return "nothing but nulls";
  if (lists_of(format) != Lists::kNone) return "lists of lists";
  return "values of the Arrow format '" + std::string(format) + "'";
}

// How numbers are stored.
struct Storage {
  Number number = Number::kF64;
  size_t bytes = 8;   // of a number; 0: it is a bit
  int64_t scale = 0;  // decimals: digits behind the point
};

// "d:PRECISION,SCALE" or "d:PRECISION,SCALE,BITS".
Storage decimal_storage(const char* format) {
  const char* at = std::strchr(format, ',');
  if (at == nullptr) return {};
  char* end = nullptr;
  Storage result{Number::kDecimal, 16, std::strtol(at + 1, &end, 10)};
  if (*end == ',') result.bytes = static_cast<size_t>(std::strtol(end + 1, nullptr, 10)) / 8;
  return result;
}

// The formats of the interface: "e" float16, "f" float32, "g" float64, "CcSsIiLl" integers, "b" bits, "d:" decimals.
std::optional<Storage> storage_of(const ArrowSchema& schema) {
  constexpr std::string_view kFormats = "efgCcSsIiLlb";
  constexpr size_t kBytes[] = {2, 4, 8, 1, 1, 2, 2, 4, 4, 8, 8, 0};
  const std::string_view format = schema.format;
  if (format.starts_with("d:")) {
    const Storage decimal = decimal_storage(schema.format);
    const bool known = decimal.number == Number::kDecimal && decimal.bytes >= 4 && decimal.bytes <= kMaxDecimalBytes &&
                       decimal.bytes % 4 == 0 && decimal.scale >= -kMaxDigits && decimal.scale <= kMaxDigits;
    return known ? std::optional(decimal) : std::nullopt;
  }
  const size_t at = format.size() == 1 ? kFormats.find(format) : std::string_view::npos;
  if (at == std::string_view::npos) return std::nullopt;
  if (extension_of(schema) == kTruth) return Storage{Number::kTruth, 1, 0};
  return Storage{static_cast<Number>(at), kBytes[at], 0};
}

Storage checked_storage(const ArrowSchema& schema, const std::string& column) {
  const ArrowSchema& values = schema.dictionary == nullptr ? schema : *schema.dictionary;
  const std::optional<Storage> found = storage_of(values);
  const bool understood = is_understood(schema) && is_understood(values);
  if (found && (schema.dictionary == nullptr || found->bytes > 0) && understood) return *found;
  throw bad(column, "it holds " + what_is(schema) + "; numbers are right: leave it out, or make numbers of it");
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
         number == Number::kU16 || number == Number::kI16 || number == Number::kBool || number == Number::kTruth;
}

bool bit_at(const std::byte* bits, int64_t place) {
  return (std::to_integer<int>(bits[place / 8]) >> (place % 8) & 1) != 0;
}

// The first null among these values; -1: there is none. The bitmap counts, whatever the number of nulls is said to be.
int64_t first_null(const ArrowArray& array, int64_t first, int64_t length) {
  if (array.buffers[0] == nullptr) return -1;
  const auto* valid = static_cast<const std::byte*>(array.buffers[0]);
  for (int64_t bit = first; bit < first + length; ++bit) {
    if (bit % 8 == 0 && first + length - bit >= 8 && valid[bit / 8] == std::byte{0xff}) {
      bit += 7;
    } else if (!bit_at(valid, bit)) {
      return bit - first;
    }
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
  int64_t begin = 0;  // the first number there
  int64_t rows = 0;
  std::vector<std::byte> decoded = {};  // values of a dictionary, which are the data
};

struct Column {
  std::string name;
  Storage storage;
  std::optional<Storage> codes;  // of the places in a dictionary, where the values stand there
  Lists lists = Lists::kNone;
  int64_t width = 1;          // numbers a row; 0: the first list will say it
  int64_t rows = 0;           // in the pieces so far
  std::vector<Piece> pieces;  // one a chunk
};

Error no_numbers(const std::string& column) {
  return bad(column, "its lists are empty; at least one number a row is right");
}

Column describe(const ArrowSchema& schema) {
  Column column;
  column.name = schema.name != nullptr ? schema.name : "";
  column.lists = lists_of(schema.format);
  const bool is_list = column.lists != Lists::kNone;
  if (is_list && schema.n_children != 1) throw bad(column.name, "the schema of its lists does not have one child");
  const ArrowSchema& values = is_list ? checked(schema.children[0], column.name) : schema;
  if (is_list && !is_understood(schema)) checked_storage(schema, column.name);  // throws, since lists are no numbers
  if (values.dictionary != nullptr && checked(values.dictionary, column.name).dictionary != nullptr) {
    throw bad(column.name, "its dictionary has a dictionary; numbers are right");
  }
  column.storage = checked_storage(values, column.name);
  if (values.dictionary != nullptr) column.codes = storage_of(values);
  const bool is_coded = column.codes && column.codes->number >= Number::kU8 && column.codes->number <= Number::kI64;
  if (values.dictionary != nullptr && !is_coded) throw bad(column.name, "the codes of its dictionary are no integers");
  if (column.lists == Lists::kFixed) column.width = std::strtoll(schema.format + 3, nullptr, 10);
  if (column.width < 1) throw no_numbers(column.name);
  if (column.width > INT32_MAX) throw bad(column.name, "its lists are longer than the format allows");
  if (column.lists == Lists::kList || column.lists == Lists::kLargeList) column.width = 0;
  return column;
}

// Where the values of rows [first, first + rows) of lists begin; all have the same length, and lie one after the other.
template <class Offset>
int64_t begin_of_lists(Column& column, const ArrowArray& array, int64_t first, int64_t rows) {
  const auto* offsets = static_cast<const std::byte*>(array.buffers[1]);
  const auto offset = [&](int64_t i) {  // it may not be aligned
    Offset value;
    std::memcpy(&value, offsets + static_cast<size_t>(first + i) * sizeof value, sizeof value);
    return static_cast<int64_t>(value);
  };
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t begin = offset(i), end = offset(i + 1);
    if (begin < 0 || end < begin || end > array.children[0]->length) {
      throw bad_row(column.name, column.rows + i,
                    "is a list from " + std::to_string(begin) + " to " + std::to_string(end) + " of " +
                        std::to_string(array.children[0]->length) + " values, and lies outside of them");
    }
    if (column.width == 0 && column.rows == 0 && i == 0) column.width = end - begin;
    if (end - begin != column.width) {
      throw bad_row(column.name, column.rows + i,
                    "is a list of " + std::to_string(end - begin) + " numbers, those before it have " +
                        std::to_string(column.width) + "; every row needs as many");
    }
  }
  return offset(0);
}

// Where the numbers of these rows begin in the values of their lists.
int64_t begin_of(Column& column, const ArrowArray& array, int64_t first, int64_t rows) {
  switch (column.lists) {
    case Lists::kList: return begin_of_lists<int32_t>(column, array, first, rows);
    case Lists::kLargeList: return begin_of_lists<int64_t>(column, array, first, rows);
    default: break;
  }
  int64_t end = 0;
  if (__builtin_mul_overflow(first + rows, column.width, &end) || end > array.children[0]->length) {
    throw bad(column.name, "its lists of " + std::to_string(column.width) + " numbers have " +
                               std::to_string(array.children[0]->length) + " values, too few for their rows");
  }
  return first * column.width;
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

// The number of so many bytes, the lowest first, divided by 10^scale and rounded once.
double decimal_value(const std::byte* from, const Storage& storage) {
  std::array<uint32_t, kMaxDecimalBytes / 4> words = {};
  const size_t count = storage.bytes / 4;
  std::memcpy(words.data(), from, storage.bytes);
  const bool negative = (words[count - 1] >> 31) != 0;
  uint64_t carry = 1;
  for (size_t i = 0; negative && i < count; ++i) {
    carry += ~words[i];
    words[i] = static_cast<uint32_t>(carry);
    carry >>= 32;
  }
  std::string text;  // the lowest digit first
  while (std::ranges::any_of(words, [](uint32_t word) { return word != 0; })) {
    uint64_t rest = 0;
    for (size_t i = count; i-- > 0; rest %= 10) {
      rest = rest << 32 | words[i];
      words[i] = static_cast<uint32_t>(rest / 10);
    }
    text += static_cast<char>('0' + rest);
  }
  text += negative ? "0-" : "0";
  std::ranges::reverse(text);
  text += "e" + std::to_string(-storage.scale);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);  // rounds to the nearest, as few casts do
  return value;
}

template <class To>
void convert_piece(const Storage& storage, const Piece& piece, int64_t width, To* to, int64_t stride) {
  const std::byte* data = piece.data + static_cast<size_t>(piece.begin) * storage.bytes;
  const auto each = [&](const auto& value) {
    for (int64_t i = 0; i < piece.rows; ++i) {
      for (int64_t j = 0; j < width; ++j) to[i * stride + j] = static_cast<To>(value(i * width + j));
    }
  };
  const auto run = [&](auto sample) { convert<decltype(sample), To>(data, piece.rows, width, to, stride); };
  switch (storage.number) {
    case Number::kBool: return each([&](int64_t i) { return bit_at(piece.data, piece.begin + i) ? 1 : 0; });
    case Number::kTruth: return each([&](int64_t i) { return data[i] != std::byte{0} ? 1 : 0; });
    case Number::kDecimal:
      return each([&](int64_t i) { return decimal_value(data + static_cast<size_t>(i) * storage.bytes, storage); });
    case Number::kF16: return convert_halves(data, piece.rows, width, to, stride);
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

// The values of the dictionary that these codes mean, one after the other.
Piece decode(const Column& column, const ArrowSchema& schema, const ArrowArray& array, const Piece& codes) {
  const ArrowArray& known = checked(array.dictionary, *schema.dictionary, 2, 0, column.name);
  const int64_t count = codes.rows * column.width;
  std::vector<double> places(static_cast<size_t>(count));
  convert_piece(*column.codes, codes, column.width, places.data(), column.width);
  const auto* values = static_cast<const std::byte*>(known.buffers[1]);
  const size_t bytes = column.storage.bytes;
  Piece result{nullptr, 0, codes.rows, std::vector<std::byte>(static_cast<size_t>(count) * bytes)};
  for (int64_t i = 0; i < count; ++i) {
    const double code = places[static_cast<size_t>(i)];
    const int64_t row = column.rows + i / column.width;
    if (!(code >= 0 && code < static_cast<double>(known.length))) {
      throw bad_row(column.name, row, "has a code that its dictionary lacks");
    }
    const auto place = static_cast<int64_t>(code);
    check_no_nulls(known, known.offset + place, 1, row, column.name);
    std::memcpy(result.decoded.data() + static_cast<size_t>(i) * bytes,
                values + static_cast<size_t>(known.offset + place) * bytes, bytes);
  }
  result.data = result.decoded.data();
  return result;
}

// Adds rows [first, first + rows) of an array of a schema that describe() has seen.
void add_piece(Column& column, const ArrowSchema& schema, const ArrowArray* given, int64_t first, int64_t rows) {
  const int64_t buffers = column.lists == Lists::kFixed ? 1 : 2;
  const ArrowArray& array = checked(given, schema, buffers, rows == 0 ? 0 : first + rows, column.name);
  if (rows == 0) return;
  first += array.offset;
  check_no_nulls(array, first, rows, column.rows, column.name);
  const ArrowArray* values = &array;
  int64_t begin = first;
  if (column.lists != Lists::kNone) {
    values = &checked(array.children[0], *schema.children[0], 2, 0, column.name);
    begin = begin_of(column, array, first, rows) + values->offset;
    if (column.width < 1) throw no_numbers(column.name);
    const int64_t null = first_null(*values, begin, rows * column.width);
    if (null >= 0) {
      throw bad_row(column.name, column.rows + null / column.width,
                    "has a null in its list, as value " + std::to_string(null % column.width + 1) +
                        "; fill in or drop missing values");
    }
  }
  const auto* data = static_cast<const std::byte*>(values->buffers[1]);
  if (data == nullptr) throw bad(column.name, "its lists have no values");
  Piece piece{data, begin, rows};
  const ArrowSchema& kind = column.lists == Lists::kNone ? schema : *schema.children[0];
  column.pieces.push_back(column.codes ? decode(column, kind, *values, piece) : std::move(piece));
  column.rows += rows;
}

std::vector<Column> columns_of(const ArrowTable& table) {
  std::vector<Column> columns;
  const ArrowSchema& whole = checked(&table.schema);
  const bool is_table = std::string_view(whole.format) == "+s";
  for (int64_t j = 0; j < (is_table ? whole.n_children : 1); ++j) {
    const ArrowSchema& schema = is_table ? checked(whole.children[j]) : whole;
    Column column = describe(schema);
    for (const ArrowArray& chunk : table.chunks) {
      if (is_table) {
        checked(&chunk, whole, 1, 0, "");
        check_no_nulls(chunk, chunk.offset, chunk.length, column.rows, "");
        add_piece(column, schema, chunk.children[j], chunk.offset, chunk.length);
      } else {
        add_piece(column, schema, &chunk, 0, chunk.length);
      }
    }
    columns.push_back(std::move(column));
  }
  if (columns.empty()) throw bad("", "the table has no columns");
  return columns;
}

template <class To>
void copy_all(const std::vector<Column>& columns, To* to, int64_t stride) {
  int64_t first_column = 0;
  for (const Column& column : columns) {
    int64_t row = 0;
    for (const Piece& piece : column.pieces) {
      convert_piece(column.storage, piece, column.width, to + row * stride + first_column, stride);
      row += piece.rows;
    }
    first_column += column.width;
  }
}

// The only piece that holds rows, if there is but one, and its numbers are aligned.
const Piece* single_piece(const Column& column) {
  const Piece* found = nullptr;
  for (const Piece& piece : column.pieces) {
    if (found != nullptr) return nullptr;
    found = &piece;
  }
  const size_t bytes = std::max<size_t>(1, column.storage.bytes);
  const bool aligned = found != nullptr && reinterpret_cast<uintptr_t>(found->data) % bytes == 0;
  return aligned ? found : nullptr;
}

}  // namespace

ArrowPoints points_of(const std::shared_ptr<const ArrowTable>& table) {
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
  const std::optional<DataType> type = in_place_type(columns[0].storage.number);
  if (single != nullptr && type && !columns[0].codes) {
    result.view = {single->data + static_cast<size_t>(single->begin) * size_of(*type), rows, width, *type};
    result.owner = table;
    return result;
  }
  const bool narrow =
      std::ranges::all_of(columns, [](const Column& column) { return fits_float32(column.storage.number); });
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
