// The writers of tables (points, labels, distances): one file and one CMake line each.
#pragma once

#include "core/data_type.h"
#include "io/files/output_file.h"
#include "io/table/found_format.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace manymeans {

struct Choice;

enum class CellType : uint8_t { kUInt8, kUInt16, kUInt32, kFloat64, kFloat32, kFloat16, kBFloat16, kInt8, kInt32 };
std::string_view name_of(CellType type);
size_t size_of(CellType type);

/// Calls use(T{}) for the type T of such cells.
template <class Use>
auto with_cell_type(CellType type, Use&& use) {
  switch (type) {
    case CellType::kUInt8: return use(uint8_t{});
    case CellType::kUInt16: return use(uint16_t{});
    case CellType::kUInt32: return use(uint32_t{});
    case CellType::kFloat64: return use(double{});
    case CellType::kFloat16: return use(Half{});
    case CellType::kBFloat16: return use(BFloat{});
    case CellType::kInt8: return use(int8_t{});
    case CellType::kInt32: return use(int32_t{});
    case CellType::kFloat32: break;
  }
  return use(float{});
}

/// A field of whole numbers; -1 is none.
struct NumberField {
  std::string name;
  std::span<const int64_t> values;

  bool has_gaps() const { return std::ranges::count(values, -1) > 0; }
};

/// A table that is produced while it is written, so that no second copy of it exists.
struct Table {
  int64_t rows = 0, columns = 1;
  std::vector<std::string> names;  ///< one per column, or none
  CellType type = CellType::kUInt8;
  bool is_matrix = false;  ///< points: of two dimensions also where there is one column; labels are a vector then
  bool has_gaps = false;   ///< cells of -1 (int32) and NaN (float64) are no values: empty fields in text
  std::span<const std::string> ids = {};  ///< names of the rows: a first column of text, which some formats lack
  std::string id_name = {};
  std::vector<NumberField> numbers = {};  ///< fields before the cells; for Parquet and Arrow alone, as list_name
  std::string list_name = {};             ///< of one field with the cells of each row; empty: a field for each column
  /// Puts rows [first, first + count), row-major, at `out`.
  std::function<void(int64_t first, int64_t count, std::byte* out)> fill;

  size_t row_size() const { return static_cast<size_t>(columns) * size_of(type); }
};

/// Calls use(first, count, bytes) for all rows, in blocks.
void for_each_block(const Table& table,
                    const std::function<void(int64_t first, int64_t count, std::span<const std::byte> cells)>& use);

/// Writes all cells as they are.
void write_cells(const Table& table, OutputFile& file);

/// Writes one format. A maker of it is registered as manymeans_register(writer name maker file...).
struct Writer {
  std::string description;
  std::vector<std::string_view> endings;  ///< of files, which choose this writer; with the dot, in lower case
  /// Writes a table of a type that `stored_type` gave.
  std::function<void(const Table& table, OutputFile& file)> write;
  /// The type in which this format stores cells of type `cells`; `cells` itself if it stores any.
  std::function<CellType(CellType cells)> stored_type = [](CellType cells) { return cells; };
  bool needs_name = false;   ///< a library writes the file by its name, so that it can be no pipe
  std::string missing = {};  ///< how to get one whose library was not there when this program was built
  FindFormat find = {};      ///< finds out what writes it; null: this program does
};

/// The stored_type of formats that have no bfloat16.
CellType without_bfloat16(CellType cells);

/// Names and descriptions, for help and `info`; `look` as for reader_choices().
std::vector<Choice> writer_choices(bool look = true);

/// The writer with this name; for "auto" by the ending of the path, which is .csv for devices and pipes.
/// Throws Error(kUsage) that names the known ones, Error(kUnavailable) for one that is not built in.
Writer writer_for(const std::string& path, const std::string& format = "auto");
/// As above, for labels and distances, which go to .npy, .csv and .parquet only.
Writer result_writer_for(const std::string& path);

/// Writes the whole table, or nothing. No value changes: one that the format cannot hold is an Error(kBadData) that
/// names its row and column.
void write_table(const std::string& path, const Writer& writer, const Table& table);

}  // namespace manymeans
