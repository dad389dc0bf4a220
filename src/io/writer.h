// The writers of tables (labels, distances): one file and one CMake line each.
#pragma once

#include "io/output_file.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace manymeans {

enum class CellType : uint8_t { kUInt8, kUInt16, kUInt32, kFloat64 };
std::string_view name_of(CellType type);
size_t size_of(CellType type);

/// A table that is produced while it is written, so that no second copy of it exists.
struct Table {
  std::vector<std::string> names;  ///< one per column
  int64_t rows = 0;
  CellType type = CellType::kUInt8;
  /// Puts rows [first, first + count), row-major, at `out`.
  std::function<void(int64_t first, int64_t count, std::byte* out)> fill;

  size_t row_size() const { return names.size() * size_of(type); }
};

/// Calls use(first, count, bytes) for all rows, in blocks.
void for_each_block(const Table& table,
                    const std::function<void(int64_t count, std::span<const std::byte> cells)>& use);

/// Writes one format. A maker of it is registered as manymeans_register(writer name maker file...).
class Writer {
 public:
  virtual ~Writer() = default;
  virtual std::string_view ending() const = 0;  ///< with the dot, in lower case
  virtual void write(const Table& table, OutputFile& file) const = 0;
};

/// The writer for this path, by its ending; .csv for devices and pipes. Throws Error(kUsage) that names the endings.
std::unique_ptr<Writer> writer_for(const std::string& path);

/// Writes the whole table, or nothing.
void write_table(const std::string& path, const Table& table);

}  // namespace manymeans
