#include "io/arrow/arrow_columns.h"

#include "core/data_type.h"
#include "io/arrow/field_numbers.h"

#include <arrow/array.h>
#include <arrow/extension_type.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/util/key_value_metadata.h>
#include <fmt/format.h>

#include <utility>
#include <vector>

namespace manymeans {
namespace {

using Run = FieldRun;

template <class Array>
void copy_plain(const arrow::Array& array, const Run& run) {
  copy_plain_run(static_cast<const Array&>(array).raw_values(), run);
}

void copy_half(const arrow::Array& array, const Run& run) {
  const uint16_t* values = static_cast<const arrow::HalfFloatArray&>(array).raw_values() + run.first;
  for (int64_t i = 0; i < run.count; ++i) run.to[i * run.step] = half_to_float(values[i]);
}

void copy_bool(const arrow::Array& array, const Run& run) {
  const auto& values = static_cast<const arrow::BooleanArray&>(array);
  for (int64_t i = 0; i < run.count; ++i) run.to[i * run.step] = values.Value(run.first + i) ? 1 : 0;
}

// As text has it: the nearest binary64 of the digits.
template <class Array>
void copy_decimal(const arrow::Array& array, const Run& run) {
  const auto& values = static_cast<const Array&>(array);
  for (int64_t i = 0; i < run.count; ++i) {
    // The value of a null is never read, and need not be digits.
    copy_digits(values.IsNull(run.first + i) ? "0" : values.FormatValue(run.first + i), i, run);
  }
}

using Copy = void (*)(const arrow::Array&, const Run&);
Copy find_copy(arrow::Type::type type) {
  switch (type) {
    case arrow::Type::FLOAT: return copy_plain<arrow::FloatArray>;
    case arrow::Type::DOUBLE: return copy_plain<arrow::DoubleArray>;
    case arrow::Type::HALF_FLOAT: return copy_half;
    case arrow::Type::BOOL: return copy_bool;
    case arrow::Type::UINT8: return copy_plain<arrow::UInt8Array>;
    case arrow::Type::INT8: return copy_plain<arrow::Int8Array>;
    case arrow::Type::UINT16: return copy_plain<arrow::UInt16Array>;
    case arrow::Type::INT16: return copy_plain<arrow::Int16Array>;
    case arrow::Type::UINT32: return copy_plain<arrow::UInt32Array>;
    case arrow::Type::INT32: return copy_plain<arrow::Int32Array>;
    case arrow::Type::UINT64: return copy_plain<arrow::UInt64Array>;
    case arrow::Type::INT64: return copy_plain<arrow::Int64Array>;
    case arrow::Type::DECIMAL128: return copy_decimal<arrow::Decimal128Array>;
    case arrow::Type::DECIMAL256: return copy_decimal<arrow::Decimal256Array>;
    default: return nullptr;
  }
}

constexpr const char* kTruth = "arrow.bool8";  // every number but 0 is true
constexpr const char* kTensor = "arrow.fixed_shape_tensor";

std::string extension_name(const arrow::DataType& type) {
  if (type.id() != arrow::Type::EXTENSION) return {};
  return static_cast<const arrow::ExtensionType&>(type).extension_name();
}

// The storage type of an extension type: a list of fixed size for a tensor of fixed shape, for example.
const arrow::DataType& storage_of(const arrow::DataType& type) {
  if (type.id() != arrow::Type::EXTENSION) return type;
  return storage_of(*static_cast<const arrow::ExtensionType&>(type).storage_type());
}
const arrow::Array& storage_of(const arrow::Array& array) {
  if (array.type_id() != arrow::Type::EXTENSION) return array;
  return storage_of(*static_cast<const arrow::ExtensionArray&>(array).storage());
}

bool is_list(const arrow::DataType& type) {
  return type.id() == arrow::Type::FIXED_SIZE_LIST || type.id() == arrow::Type::LIST ||
         type.id() == arrow::Type::LARGE_LIST;
}

int64_t first_null(const arrow::Array& array, int64_t first, int64_t count) {
  if (array.null_count() == 0) return count;
  int64_t i = 0;
  while (i < count && !array.IsNull(first + i)) ++i;
  return i;
}

// Copies values of a dictionary, looked up one by one. Returns how many are there before the first null.
int64_t copy_coded(const arrow::DictionaryArray& array, const Run& run) {
  const arrow::Array& known = storage_of(*array.dictionary());
  const Copy copy = find_copy(known.type_id());
  for (int64_t i = 0; i < run.count; ++i) {
    if (array.IsNull(run.first + i)) return i;
    const int64_t code = array.GetValueIndex(run.first + i);
    if (code < 0 || code >= known.length() || known.IsNull(code)) return i;
    Run one = run;
    one.first = code;
    one.count = 1;
    one.to = run.to + i * run.step;
    if (run.down) {
      one.row += i;
    } else {
      one.column += static_cast<size_t>(i);
    }
    copy(known, one);
  }
  return run.count;
}

// Returns how many values are there before the first null.
int64_t copy_run(const arrow::Array& array, const Run& run) {
  if (array.type_id() == arrow::Type::DICTIONARY) {
    return copy_coded(static_cast<const arrow::DictionaryArray&>(array), run);
  }
  find_copy(array.type_id())(array, run);
  return first_null(array, run.first, run.count);
}

// The rows of a list, one after the other.
template <class List>
std::optional<FieldProblem> copy_lists(const List& lists, int64_t first, int64_t count, const FieldTarget& target) {
  const arrow::Array& items = storage_of(*lists.values());
  for (int64_t i = 0; i < count; ++i) {
    if (lists.IsNull(first + i)) return FieldProblem{i, fmt::format(": {}", kMissingValue)};
    const int64_t length = lists.value_length(first + i), begin = lists.value_offset(first + i);
    if (length != target.width) {
      return FieldProblem{i, wrong_length(length, target.width)};
    }
    if (begin < 0 || begin > items.length() - length) {
      return FieldProblem{i, ": the list lies outside of its values; the file is damaged"};
    }
    Run run{begin,  length, target.values + i * target.row_step, 1, false, target.row_number + i, target.lost_column,
            &target};
    const int64_t done = copy_run(items, run);
    if (done < length) return FieldProblem{i, fmt::format(", value {}: {}", done + 1, kMissingValue)};
  }
  return std::nullopt;
}

// The type of the numbers in a field: its own, or its items' type; lists, dictionaries and extensions are undone.
arrow::Type::type number_type(const arrow::DataType& type) {
  if (extension_name(type) == kTruth) return arrow::Type::BOOL;
  const arrow::DataType& stored = storage_of(type);
  if (is_list(stored)) return number_type(*static_cast<const arrow::BaseListType&>(stored).value_type());
  if (stored.id() != arrow::Type::DICTIONARY) return stored.id();
  return number_type(*static_cast<const arrow::DictionaryType&>(stored).value_type());
}

int64_t fixed_length(const arrow::DataType& type) {
  return static_cast<const arrow::FixedSizeListType&>(storage_of(type)).list_size();
}

// Returns true also for lists in a dictionary.
bool holds_lists(const arrow::DataType& type) {
  const arrow::DataType& stored = storage_of(type);
  if (stored.id() != arrow::Type::DICTIONARY) return is_list(stored);
  return holds_lists(*static_cast<const arrow::DictionaryType&>(stored).value_type());
}

// Returns false for other extension types: their numbers may be codes, or in a unit that only the type tells.
bool is_understood(const arrow::DataType& type, bool inside = false) {
  const std::string name = extension_name(type);
  if (name == kTruth) return !inside;
  if (!name.empty() && name != kTensor) return false;
  const arrow::DataType& stored = storage_of(type);
  if (is_list(stored)) return is_understood(*static_cast<const arrow::BaseListType&>(stored).value_type(), true);
  if (stored.id() != arrow::Type::DICTIONARY) return true;
  return is_understood(*static_cast<const arrow::DictionaryType&>(stored).value_type(), true);
}

FieldKind kind_of(const arrow::DataType& type) {
  if (!is_understood(type)) return FieldKind::kOther;
  const arrow::DataType& stored = storage_of(type);
  const bool lists = is_list(stored);
  const arrow::DataType& items = lists ? *static_cast<const arrow::BaseListType&>(stored).value_type() : stored;
  if (holds_lists(items) || find_copy(number_type(items)) == nullptr) return FieldKind::kOther;
  if (!lists) return FieldKind::kNumber;
  return stored.id() == arrow::Type::FIXED_SIZE_LIST ? FieldKind::kFixedList : FieldKind::kList;
}

std::optional<int64_t> length_of_first(const arrow::Array& array) {
  const arrow::Array& stored = storage_of(array);
  if (stored.IsNull(0)) return std::nullopt;
  const auto length_in = [](const auto& lists) -> int64_t {
    const int64_t length = lists.value_length(0);
    return length <= lists.values()->length() ? length : -1;
  };
  if (stored.type_id() == arrow::Type::LIST) return length_in(static_cast<const arrow::ListArray&>(stored));
  return length_in(static_cast<const arrow::LargeListArray&>(stored));
}

std::optional<FieldProblem> copy_rows(const arrow::Array& array, int64_t first, int64_t count,
                                      const FieldTarget& target) {
  const arrow::Array& stored = storage_of(array);
  switch (stored.type_id()) {
    case arrow::Type::FIXED_SIZE_LIST:
      return copy_lists(static_cast<const arrow::FixedSizeListArray&>(stored), first, count, target);
    case arrow::Type::LIST: return copy_lists(static_cast<const arrow::ListArray&>(stored), first, count, target);
    case arrow::Type::LARGE_LIST:
      return copy_lists(static_cast<const arrow::LargeListArray&>(stored), first, count, target);
    default: break;
  }
  const Run run{first, count, target.values, target.row_step, true, target.row_number, target.lost_column, &target};
  const int64_t done = copy_run(stored, run);
  for (int64_t i = 0; extension_name(*array.type()) == kTruth && i < done; ++i) {
    double& value = target.values[i * target.row_step];
    value = value != 0 ? 1 : 0;
  }
  if (done == count) return std::nullopt;
  return FieldProblem{done, fmt::format(": {}", kMissingValue)};
}

std::string shown_scalar(const arrow::Array& array, int64_t row) {
  if (array.type_id() == arrow::Type::DICTIONARY) {
    const auto& coded = static_cast<const arrow::DictionaryArray&>(array);
    const int64_t code = coded.GetValueIndex(row);
    const bool known = code >= 0 && code < coded.dictionary()->length();
    return known ? shown_scalar(*coded.dictionary(), code) : "a code that its dictionary lacks";
  }
  const auto scalar = array.GetScalar(row);
  return scalar.ok() ? (*scalar)->ToString() : scalar.status().ToString();
}

// Returns true also for a code that names a null of its dictionary.
bool is_null_at(const arrow::Array& array, int64_t row) {
  if (array.IsNull(row)) return true;
  if (array.type_id() != arrow::Type::DICTIONARY) return false;
  const auto& coded = static_cast<const arrow::DictionaryArray&>(array);
  const int64_t code = coded.GetValueIndex(row);
  return code >= 0 && code < coded.dictionary()->length() && is_null_at(storage_of(*coded.dictionary()), code);
}

class ArrowCells : public FieldCells {
 public:
  explicit ArrowCells(std::shared_ptr<arrow::Array> array) : array_(std::move(array)) {}
  std::optional<FieldProblem> copy(int64_t first, int64_t count, const FieldTarget& target) const override {
    return copy_rows(*array_, first, count, target);
  }
  std::optional<int64_t> first_length() const override { return length_of_first(*array_); }
  bool is_null(int64_t row) const override { return is_null_at(storage_of(*array_), row); }
  std::string text(int64_t row) const override { return shown_scalar(storage_of(*array_), row); }

 private:
  std::shared_ptr<arrow::Array> array_;
};

std::optional<DataType> stored_type(arrow::Type::type type) {
  switch (type) {
    case arrow::Type::DOUBLE: return DataType::kFloat64;
    case arrow::Type::FLOAT: return DataType::kFloat32;
    case arrow::Type::HALF_FLOAT: return DataType::kFloat16;
    case arrow::Type::UINT8: return DataType::kUInt8;
    case arrow::Type::INT8: return DataType::kInt8;
    default: return std::nullopt;
  }
}

// The extension type that only the metadata name, since this Arrow does not know it.
std::string unknown_extension(const arrow::Field& field) {
  const auto& metadata = field.metadata();
  const int place = metadata ? metadata->FindKey("ARROW:extension:name") : -1;
  if (place < 0 || metadata->value(place) == kTensor) return {};
  return metadata->value(place);
}

}  // namespace

std::vector<FieldInfo> fields_of(const arrow::Schema& schema) {
  std::vector<FieldInfo> fields;
  for (const auto& field : schema.fields()) {
    const arrow::DataType& type = *field->type();
    FieldInfo& info = fields.emplace_back();
    info.name = field->name();
    info.type = type.ToString();
    info.kind = kind_of(type);
    if (const std::string extension = unknown_extension(*field); !extension.empty()) {
      info.kind = FieldKind::kOther;
      info.type = fmt::format("extension<{}>", extension);
    }
    info.stored = stored_type(number_type(type));
    if (info.kind == FieldKind::kFixedList) info.fixed_length = fixed_length(type);
  }
  return fields;
}

FieldRows rows_of(const arrow::RecordBatch& batch) {
  FieldRows rows;
  rows.rows = batch.num_rows();
  for (const auto& column : batch.columns()) rows.fields.push_back(std::make_unique<ArrowCells>(column));
  return rows;
}

}  // namespace manymeans
