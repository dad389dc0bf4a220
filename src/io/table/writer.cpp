#include "io/table/writer.h"

#include <manymeans/error.h>
#include <manymeans/info.h>
#include <manymeans/io.h>

#include "core/lower_case.h"
#include "io/table/cells.h"

#include <algorithm>
#include <array>

namespace manymeans {

// Makers are declared and then listed from the same generated lines.
#define MANYMEANS_REGISTER(name, maker) Writer maker();
#include "registry/writer.inc"
#undef MANYMEANS_REGISTER

namespace {

struct WriterEntry {
  std::string_view name;
  Writer (*make)();
};

#define MANYMEANS_REGISTER(name, maker) WriterEntry{name, maker},
constexpr WriterEntry kWriters[] = {
#include "registry/writer.inc"
};
#undef MANYMEANS_REGISTER

// Devices and pipes have no ending; their reader is a person or a program that needs text.
constexpr std::string_view kSpecialEnding = ".csv";

// The path in lower case; kSpecialEnding for devices and pipes.
std::string ending_of(const std::string& path) {
  const bool descriptor = path == "/dev/stdout" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
  if (descriptor || is_special_file(path)) return std::string(kSpecialEnding);
  return lower_case(path);
}

bool is_ending(const std::string& path, const Writer& writer) {
  return std::ranges::any_of(writer.endings, [&](std::string_view ending) { return path.ends_with(ending); });
}

// For a writer whose library opens the file by its name.
void check_has_name(const Writer& writer, const std::string& path) {
  if (!writer.needs_name || !is_special_file(path)) return;
  throw Error(ErrorCode::kUsage, path, "this format cannot be written to a pipe or a device; give the name of a file");
}

}  // namespace

std::string_view name_of(CellType type) {
  constexpr std::array<std::string_view, 9> kNames = {"uint8",   "uint16",   "uint32", "float64", "float32",
                                                      "float16", "bfloat16", "int8",   "int32"};
  return kNames[static_cast<size_t>(type)];
}

size_t size_of(CellType type) {
  constexpr std::array<size_t, 9> kSizes = {1, 2, 4, 8, 4, 2, 2, 1, 4};
  return kSizes[static_cast<size_t>(type)];
}

CellType without_bfloat16(CellType cells) {
  return cells == CellType::kBFloat16 ? CellType::kFloat32 : cells;
}

void for_each_block(const Table& table, const std::function<void(int64_t, int64_t, std::span<const std::byte>)>& use) {
  constexpr size_t kBlockBytes = size_t{1} << 20;
  const auto block = static_cast<int64_t>(std::max<size_t>(1, kBlockBytes / table.row_size()));
  std::vector<std::byte> cells(static_cast<size_t>(std::min(block, table.rows)) * table.row_size());
  for (int64_t first = 0; first < table.rows; first += block) {
    const int64_t count = std::min(block, table.rows - first);
    table.fill(first, count, cells.data());
    use(first, count, std::span(cells).first(static_cast<size_t>(count) * table.row_size()));
  }
}

void write_cells(const Table& table, OutputFile& file) {
  for_each_block(table, [&](int64_t, int64_t, std::span<const std::byte> cells) { file.write(cells); });
}

std::vector<Choice> writer_choices(bool look) {
  std::vector<Choice> result;
  for (const WriterEntry& entry : kWriters) {
    const Writer writer = entry.make();
    const bool looked = look && writer.find;
    const FoundFormat found = looked ? writer.find() : FoundFormat{writer.missing.empty(), ""};
    const std::string description = looked ? with_found(writer.description, found) : writer.description;
    result.push_back({std::string(entry.name), description, found.available});
  }
  return result;
}

Writer writer_for(const std::string& path, const std::string& format) {
  const std::string ending = ending_of(path);
  std::string endings, names = "auto";
  for (const WriterEntry& entry : kWriters) {
    Writer writer = entry.make();
    if (format == entry.name || (format == "auto" && is_ending(ending, writer))) {
      if (writer.find) {
        if (const FoundFormat found = writer.find(); !found.available) writer.missing = found.how;
      }
      if (writer.missing.empty()) return writer;
      throw Error(ErrorCode::kUnavailable, path, "this build of manymeans cannot write such files; " + writer.missing);
    }
    for (const std::string_view its : writer.endings) endings += (endings.empty() ? "" : ", ") + std::string(its);
    names += ", " + std::string(entry.name);
  }
  if (format != "auto") {
    throw Error(ErrorCode::kUsage, "format", "there is no writer '" + format + "'; known: " + names);
  }
  throw Error(ErrorCode::kUsage, path, "the ending of this path says no format that can be written; use " + endings);
}

Writer result_writer_for(const std::string& path) {
  const std::string ending = ending_of(path);
  for (const std::string_view name : {"npy", "csv", "parquet"}) {
    if (ending.ends_with("." + std::string(name))) return writer_for(path, std::string(name));
  }
  throw Error(ErrorCode::kUsage, path,
              "the ending of this path says no format that can be written; use .npy, .csv or .parquet");
}

void write_table(const std::string& path, const Writer& writer, const Table& table) {
  check_has_name(writer, path);
  OutputFile file(path);
  writer.write(with_type(table, writer.stored_type(table.type), path), file);
  file.commit();
}

void check_points_path(const std::string& path, const std::string& format) {
  check_has_name(writer_for(path, format), path);
  check_writable(path);
}

void check_centroids_path(const std::string& path, DataType points) {
  const CellType cells = points == DataType::kFloat64 ? CellType::kFloat64 : CellType::kFloat32;
  const CellType stored = writer_for(path, "auto").stored_type(cells);
  if (stored == cells || stored == CellType::kFloat64) return;
  throw Error(ErrorCode::kUsage, path,
              stored == CellType::kFloat32
                  ? "stores float32, and centroids of float64 points are float64; read them as float32, or use .npy"
                  : "stores integers, and centroids are fractions; use .fvecs, .fbin or .npy");
}

void write_text(const std::string& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.commit();
}

void check_table_path(const std::string& path) {
  (void)result_writer_for(path);
  check_writable(path);
}

}  // namespace manymeans
