#include "io/writer.h"

#include <manymeans/error.h>
#include <manymeans/io.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace manymeans {

// Makers are declared and then listed from the same generated lines.
#define MANYMEANS_REGISTER(name, maker) std::unique_ptr<Writer> maker();
#include "registry/writer.inc"
#undef MANYMEANS_REGISTER

namespace {

using WriterMaker = std::unique_ptr<Writer> (*)();

#define MANYMEANS_REGISTER(name, maker) maker,
constexpr WriterMaker kMakers[] = {
#include "registry/writer.inc"
};
#undef MANYMEANS_REGISTER

// Devices and pipes have no ending; what reads from them is a person or a program that wants text.
constexpr std::string_view kSpecialEnding = ".csv";

}  // namespace

std::string_view name_of(CellType type) {
  constexpr std::array<std::string_view, 4> kNames = {"uint8", "uint16", "uint32", "float64"};
  return kNames[static_cast<size_t>(type)];
}

size_t size_of(CellType type) {
  constexpr std::array<size_t, 4> kSizes = {1, 2, 4, 8};
  return kSizes[static_cast<size_t>(type)];
}

void for_each_block(const Table& table, const std::function<void(int64_t, std::span<const std::byte>)>& use) {
  constexpr size_t kBlockBytes = size_t{1} << 20;
  const auto block = static_cast<int64_t>(std::max<size_t>(1, kBlockBytes / table.row_size()));
  std::vector<std::byte> cells(static_cast<size_t>(std::min(block, table.rows)) * table.row_size());
  for (int64_t first = 0; first < table.rows; first += block) {
    const int64_t count = std::min(block, table.rows - first);
    table.fill(first, count, cells.data());
    use(count, std::span(cells).first(static_cast<size_t>(count) * table.row_size()));
  }
}

std::unique_ptr<Writer> writer_for(const std::string& path) {
  std::string lower = path;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  if (is_special_file(path)) lower = kSpecialEnding;
  std::string known;
  for (const WriterMaker make : kMakers) {
    std::unique_ptr<Writer> writer = make();
    if (lower.ends_with(writer->ending())) return writer;
    known += (known.empty() ? "" : " or ") + std::string(writer->ending());
  }
  throw Error(ErrorCode::kUsage, path, "the ending of this path says no format that can be written; use " + known);
}

void write_table(const std::string& path, const Table& table) {
  const std::unique_ptr<Writer> writer = writer_for(path);
  OutputFile file(path);
  writer->write(table, file);
  file.commit();
}

void check_table_path(const std::string& path) {
  (void)writer_for(path);
  check_writable(path);
}

}  // namespace manymeans
