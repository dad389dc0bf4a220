#include "io/table/stored_matrix.h"

#include <manymeans/error.h>

#include "core/data_type.h"
#include "core/file_memory.h"
#include "core/threads.h"
#include "io/table/column_selection.h"
#include "io/table/float32_check.h"
#include "io/table/row_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

namespace manymeans {
namespace {

struct Direct {
  std::string_view descr;
  DataType type;
};
// Types that the engine reads as they are.
constexpr std::array kDirect = {Direct{"<f4", DataType::kFloat32}, Direct{"<f8", DataType::kFloat64},
                                Direct{"<f2", DataType::kFloat16}, Direct{"|u1", DataType::kUInt8},
                                Direct{"|i1", DataType::kInt8}};

// One value, byte order put right.
template <class T, bool kSwap>
T load(const std::byte* at) {
  std::array<std::byte, sizeof(T)> bytes;
  std::memcpy(bytes.data(), at, sizeof(T));
  if (kSwap) std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<T>(bytes);
}

class Converter {
 public:
  Converter(const std::string& path, const StoredMatrix& source, const FileColumns& file, std::vector<int64_t> columns,
            ThreadPool& pool)
      : path_(path), source_(source), file_(file), columns_(std::move(columns)), pool_(pool) {}

  template <class T, bool kSwap>
  RowStore convert(DataType type, int64_t memory, std::vector<std::string>& warnings);
  // Returns true if different values of type T become equal or too near as float32.
  template <class T, bool kSwap>
  bool needs_float64(int64_t memory) const;

 private:
  // Where the numbers lie row by row, a piece of them for each row, or column by column.
  bool by_columns() const { return source_.column_step > source_.row_step; }
  size_t source_bytes() const {
    if (source_.n == 0) return 0;
    return static_cast<size_t>((source_.n - 1) * source_.row_step + (source_.d - 1) * source_.column_step) + 1;
  }
  bool source_lies_in_file() const { return lies_in_file(source_.data, source_bytes()); }
  void give_back_source(int64_t first, int64_t last) const;
  [[noreturn]] void refuse(const RowStore& store, int64_t row, size_t column, double value) const;

  const std::string& path_;
  const StoredMatrix& source_;
  const FileColumns& file_;
  std::vector<int64_t> columns_;
  ThreadPool& pool_;
};

void Converter::give_back_source(int64_t first, int64_t last) const {
  const auto rows = static_cast<size_t>((last - first) * source_.row_step);
  const int64_t parts = by_columns() ? source_.d : 1;
  for (int64_t j = 0; j < parts; ++j) {
    const auto at = static_cast<size_t>(first * source_.row_step + j * source_.column_step);
    if (at < source_bytes()) give_back(source_.data, source_bytes(), at, rows);
  }
}

void Converter::refuse(const RowStore& store, int64_t row, size_t column, double value) const {
  const bool overflow = store.type() == DataType::kFloat32;
  throw Error(ErrorCode::kBadData, path_,
              fmt::format("row {}, {}: {} {}", source_.first + row + 1, file_.label(columns_[column]), value,
                          overflow ? "is too large for float32; use dtype float64"
                                   : fmt::format("is not exact in {}; use a wider dtype", name_of(store.type()))));
}

template <class T, bool kSwap>
RowStore Converter::convert(DataType type, int64_t memory, std::vector<std::string>& warnings) {
  const size_t d = columns_.size();
  RowStore store(source_.n, static_cast<int64_t>(d), type, path_, memory);
  const bool gives_back = store.in_file() && source_lies_in_file();
  if (gives_back) map_small_pages(source_.data, source_bytes());
  LostIntegers lost(d);
  std::mutex mutex;
  int64_t refused_row = source_.n;  // the first row, whichever thread finds it
  size_t refused_column = 0;
  double refused_value = 0;
  pool_.for_each_range(source_.n, std::max<int64_t>(1, 65536 / static_cast<int64_t>(d)),
                       [&](int, int64_t first, int64_t last) {
                         std::vector<double> values(d);
                         LostIntegers lost_here(d);
                         for (int64_t row = first; row < last; ++row) {
                           const std::byte* from = source_.data + row * source_.row_step;
                           for (size_t j = 0; j < d; ++j) {
                             const T value = load<T, kSwap>(from + columns_[j] * source_.column_step);
                             values[j] = static_cast<double>(value);
                             if (is_lost(value, type) && !lost_here.seen(j)) {
                               if constexpr (std::is_integral_v<T>)
                                 lost_here.add(j, source_.first + row + 1, std::to_string(value));
                             }
                           }
                           const int64_t bad = store.store(row, values.data());
                           if (bad < 0) continue;
                           const std::lock_guard lock(mutex);
                           if (row < refused_row) {
                             refused_row = row;
                             refused_column = static_cast<size_t>(bad);
                             refused_value = values[refused_column];
                           }
                           return;
                         }
                         store.give_back(first, last);
                         if (gives_back) give_back_source(first, last);
                         const std::lock_guard lock(mutex);
                         lost.merge(lost_here);
                       });
  store.give_back(0, source_.n);
  if (gives_back) give_back_source(0, source_.n);
  if (refused_row < source_.n) refuse(store, refused_row, refused_column, refused_value);
  std::vector<std::string> labels;
  for (const int64_t column : columns_) labels.push_back(file_.label(column));
  if (auto warning = lost_integers_warning(lost, labels, type, "row")) warnings.push_back(std::move(*warning));
  return store;
}

template <class T, bool kSwap>
bool Converter::needs_float64(int64_t memory) const {
  if constexpr (std::is_integral_v<T> && sizeof(T) >= 4) {
    const size_t d = columns_.size();
    std::vector<Float32Check> checks(static_cast<size_t>(pool_.size()), Float32Check(d));
    std::atomic<bool> wide{false};
    const bool gives_back =
        storage_for(static_cast<int64_t>(source_bytes()), memory) == Storage::kFile && source_lies_in_file();
    pool_.for_each_range(source_.n, std::max<int64_t>(1, 65536 / static_cast<int64_t>(d)),
                         [&](int worker, int64_t first, int64_t last) {
                           Float32Check& check = checks[static_cast<size_t>(worker)];
                           for (int64_t row = first; row < last && !wide; ++row) {
                             const std::byte* from = source_.data + row * source_.row_step;
                             for (size_t j = 0; j < d; ++j) {
                               const T value = load<T, kSwap>(from + columns_[j] * source_.column_step);
                               check.add(j, static_cast<double>(value), 0);
                             }
                             if (check.surely_wide()) wide = true;
                           }
                           if (gives_back) give_back_source(first, last);
                         });
    for (size_t i = 1; i < checks.size() && !wide; ++i) checks[0].merge(checks[i]);
    return wide || checks[0].surely_wide() || checks[0].wide();
  } else {
    (void)memory;
    return false;
  }
}

struct Conversion {
  std::string_view kind_and_size;
  RowStore (Converter::*run)(DataType, int64_t, std::vector<std::string>&);
  RowStore (Converter::*run_swapped)(DataType, int64_t, std::vector<std::string>&);
  bool (Converter::*needs_float64)(int64_t) const;
  bool (Converter::*needs_float64_swapped)(int64_t) const;
};
template <class T>
constexpr Conversion conversion(std::string_view name) {
  return {name, &Converter::convert<T, false>, &Converter::convert<T, true>, &Converter::needs_float64<T, false>,
          &Converter::needs_float64<T, true>};
}
constexpr std::array kConversions = {conversion<float>("f4"),    conversion<double>("f8"),   conversion<Half>("f2"),
                                     conversion<uint8_t>("u1"),  conversion<int8_t>("i1"),   conversion<uint16_t>("u2"),
                                     conversion<int16_t>("i2"),  conversion<uint32_t>("u4"), conversion<int32_t>("i4"),
                                     conversion<uint64_t>("u8"), conversion<int64_t>("i8"),  conversion<uint8_t>("b1"),
                                     conversion<BFloat>("V2")};

std::string_view kind_and_size(const StoredMatrix& matrix) {
  return std::string_view(matrix.type).substr(1);
}

// Throws unless the type of the values is one that can be read, and asked for where it could be anything.
const Conversion& find_conversion(const StoredMatrix& matrix, const ReadOptions& options, const std::string& path) {
  const std::string_view wanted = kind_and_size(matrix);
  if (wanted.starts_with('V') && options.dtype != DataType::kBFloat16) {
    throw Error(ErrorCode::kBadData, path,
                "values of type '" + matrix.type + "' could be anything; if they are bfloat16, say so: dtype bfloat16");
  }
  for (const Conversion& entry : kConversions) {
    if (entry.kind_and_size == wanted) return entry;
  }
  throw Error(
      ErrorCode::kBadData, path,
      "values of type '" + matrix.type + "' are not supported; float16, float32, float64, integers and bool are");
}

// The type of the points in memory; nothing if the values decide.
std::optional<DataType> result_type(const StoredMatrix& matrix, const ReadOptions& options) {
  std::optional<DataType> stored;
  for (const Direct& direct : kDirect) {
    if (kind_and_size(matrix) == direct.descr.substr(1)) stored = direct.type;
  }
  const std::optional<DataType> wanted = wanted_type(options, stored);
  return wanted ? wanted : stored;
}

bool can_be_used_in_place(const StoredMatrix& matrix, DataType type) {
  const auto size = static_cast<int64_t>(size_of(type));
  const bool dense =
      (matrix.column_step == size || matrix.d == 1) && (matrix.row_step == matrix.d * size || matrix.n == 1);
  const bool aligned = reinterpret_cast<uintptr_t>(matrix.data) % static_cast<size_t>(size) == 0;
  if (!dense || !aligned || matrix.type.starts_with('>')) return false;
  if (type == DataType::kBFloat16) return kind_and_size(matrix) == "V2";
  return std::any_of(kDirect.begin(), kDirect.end(),
                     [&](const Direct& direct) { return matrix.type == direct.descr && direct.type == type; });
}

}  // namespace

StoredMatrix StoredMatrix::rows_of(const RowPart& part) const {
  StoredMatrix rows = *this;
  const int64_t begin = part.begin(n);
  rows.first = first + begin;
  rows.n = part.end(n) - begin;
  if (rows.n > 0) rows.data += begin * row_step;
  return rows;
}

Dataset read_stored(const StoredMatrix& whole, std::shared_ptr<const void> owner, const std::string& path,
                    const ReadOptions& options) {
  const Conversion& conversion = find_conversion(whole, options, path);
  const std::optional<DataType> type = result_type(whole, options);
  const StoredMatrix matrix = whole.rows_of(options.part);
  Dataset result;
  result.file_rows = whole.n;
  result.view = {nullptr, matrix.n, matrix.d, type.value_or(DataType::kFloat32)};
  result.type_from_values = !type;
  const bool no_rows = whole.first + whole.n == 0;  // of the file
  if (no_rows || matrix.d == 0) return result;      // the caller complains
  FileColumns columns{matrix.d, {}};
  give_names(columns, options.names, path);
  std::vector<int64_t> wanted = wanted_columns(columns, options, path);
  ThreadPool pool(thread_count(options.threads));
  const bool swapped = matrix.type.starts_with('>');
  const auto convert = [&](std::vector<int64_t> chosen, std::optional<DataType> to) {
    const auto check = swapped ? conversion.needs_float64_swapped : conversion.needs_float64;
    if (!to) {  // all rows have one type, for every part
      Converter all(path, whole, columns, chosen, pool);
      to = (all.*check)(options.memory) ? DataType::kFloat64 : DataType::kFloat32;
    }
    Converter converter(path, matrix, columns, std::move(chosen), pool);
    const auto run = swapped ? conversion.run_swapped : conversion.run;
    return (converter.*run)(*to, options.memory, result.warnings);
  };
  if (const auto weights = find_column(columns, options.weights)) {
    std::erase(wanted, *weights);
    const RowStore store = convert({*weights}, DataType::kFloat64);
    const double* values = static_cast<const double*>(store.view().data);
    result.weights.assign(values, values + matrix.n);
  }
  if (wanted.empty())
    throw Error(ErrorCode::kBadData, path, "no column is left except the weights; choose at least one");
  result.source = source_columns(columns, wanted);
  result.column_names = result.source.names;
  if (type && wanted == select_columns(columns, {}) && can_be_used_in_place(matrix, *type)) {
    result.view = {matrix.data, matrix.n, matrix.d, *type};
    result.owner = std::move(owner);
    return result;
  }
  const RowStore store = convert(std::move(wanted), type);
  result.view = store.view();
  result.owner = store.owner();
  return result;
}

}  // namespace manymeans
