// Several files as one set of points.
#include <manymeans/error.h>
#include <manymeans/io.h>

#include "core/mapped_range.h"
#include "io/files/mapped_file.h"
#include "io/table/preparation.h"
#include "io/table/reader.h"
#include "io/table/row_store.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

namespace manymeans {
namespace {

// A part of no rows: files are read with it before their rows are.
constexpr int64_t kBehindAll = std::numeric_limits<int64_t>::max();
constexpr RowPart kNoRows{.first = kBehindAll, .last = kBehindAll};

// Programs that write a table in parts leave such files if a part has nothing to write.
bool has_no_bytes(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && std::filesystem::file_size(path, ignored) == 0;
}

[[noreturn]] void refuse(const Dataset& other, const std::string& what) {
  throw Error(ErrorCode::kBadData, other.path, what + "; files that are read together need the same columns");
}

// Of text the first lines decide that, and the caller may know better.
std::string about_headers(const Dataset& points) {
  return points.first_line == 0 ? "" : " (--header yes or no says it for all of them)";
}

void check_names(const Dataset& first, const Dataset& other) {
  const auto &wanted = first.column_names, &found = other.column_names;
  if (wanted.empty() != found.empty()) {
    refuse(other, fmt::format("{}, {} does{}{}", found.empty() ? "does not name its columns" : "names its columns",
                              first.path, found.empty() ? "" : " not", about_headers(other)));
  }
  const auto [place, its] = std::ranges::mismatch(wanted, found);
  if (place == wanted.end()) return;
  refuse(other, fmt::format("value {} of its rows is of column '{}', in {} it is of '{}'", its - found.begin() + 1,
                            *its, first.path, *place));
}

// Both have rows.
void check_alike(const Dataset& first, const Dataset& other) {
  if (first.view.d != other.view.d) {
    refuse(other, fmt::format("has {} columns, {} has {}", other.view.d, first.path, first.view.d));
  }
  check_names(first, other);
  for (const Dataset* points : {&first, &other}) {
    if (!points->type_from_values) continue;
    throw Error(ErrorCode::kUsage, "dtype",
                fmt::format("is needed, float32 or float64: the values of {} decide its type, and those of several "
                            "files together might decide otherwise",
                            points->path));
  }
  if (first.view.type == other.view.type) return;
  throw Error(ErrorCode::kBadData, other.path,
              fmt::format("has values of type {}, {} of {}; files that are read together need the same type, or a "
                          "dtype for all",
                          name_of(other.view.type), first.path, name_of(first.view.type)));
}

// Describes the files together: all but the rows themselves.
Dataset look_at(const std::vector<std::string>& paths, ReadOptions options) {
  options.part = kNoRows;
  Dataset all;
  for (const std::string& path : paths) {
    if (has_no_bytes(path)) continue;
    Dataset file = read_rows(path, options);
    if (file.file_rows == 0) continue;
    check_some_rows(file);
    file.owner.reset();
    const ShardFile shard{path, all.file_rows, file.file_rows, file.first_line};
    if (all.shards.empty()) {
      all = std::move(file);
      all.warnings.clear();
      all.file_rows = 0;
    } else {
      check_alike(all, file);
    }
    all.file_rows += shard.rows;
    all.shards.push_back(shard);
  }
  all.path = name_of_shards(paths);
  if (all.shards.empty()) check_some_rows(all);
  return all;
}

// Rows of one of the files.
Dataset read_piece(const ShardFile& shard, int64_t first, int64_t last, ReadOptions options) {
  options.part = {.first = first, .last = last};
  Dataset piece = read_rows(shard.path, options);
  if (piece.file_rows != shard.rows) {
    throw Error(
        ErrorCode::kBadData, shard.path,
        fmt::format("it had {} rows and now has {}; it was written to while it was read", shard.rows, piece.file_rows));
  }
  for (std::string& warning : piece.warnings) {
    if (warning.find(shard.path) == std::string::npos) warning.insert(0, shard.path + ": ");
  }
  return piece;
}

// Of an only piece the memory, else a copy.
void put_together(Dataset& points, std::vector<Dataset>& pieces, int64_t memory) {
  if (pieces.size() == 1) {
    points.view = pieces[0].view;
    points.owner = std::move(pieces[0].owner);
    return;
  }
  RowStore store(points.view.n, points.view.d, points.view.type, points.path, memory);
  int64_t row = 0;
  for (Dataset& piece : pieces) {
    store.copy(row, piece.view);
    check_mapped(piece.view.data);
    piece.owner.reset();
    row += piece.view.n;
  }
  store.give_back(0, points.view.n);
  points.view = store.view();
  points.owner = store.owner();
}

void take_beside_rows(Dataset& points, const Dataset& piece, const ReadOptions& options) {
  points.warnings.insert(points.warnings.end(), piece.warnings.begin(), piece.warnings.end());
  points.weights.insert(points.weights.end(), piece.weights.begin(), piece.weights.end());
  points.ids.insert(points.ids.end(), piece.ids.begin(), piece.ids.end());
  points.view.n += piece.view.n;
  if (points.weights.empty() || std::ssize(points.weights) == points.view.n) return;
  throw Error(ErrorCode::kBadData, piece.path,
              fmt::format("'{}' is a column of weights in some of the files that are read together; all need it",
                          options.weights));
}

// Reads all rows of all files: they decide the values for gaps, and the categories.
Dataset prepare_shards(const std::vector<std::string>& paths, const ReadOptions& options) {
  std::vector<RawTable> tables;
  for (const std::string& path : paths) {
    if (!has_no_bytes(path)) tables.push_back(read_raw(path, options));
  }
  RawTable all = put_together(std::move(tables), options);
  all.path = name_of_shards(paths);
  Dataset points = prepare_points(std::move(all), options);
  if (!options.weights.empty() && points.weights.empty() && points.view.n > 0) read_weight_file(points, options);
  return points;
}

}  // namespace

Dataset read_shards(const std::vector<std::string>& paths, const ReadOptions& options) {
  check_part(options.part);
  if (needs_preparation(options)) return prepare_shards(paths, options);
  Dataset points = look_at(paths, options);
  ReadOptions typed = options;
  typed.dtype = points.view.type;
  const int64_t begin = options.part.begin(points.file_rows), end = options.part.end(points.file_rows);
  points.view.n = 0;
  std::vector<Dataset> pieces;
  for (const ShardFile& shard : points.shards) {
    const int64_t first = std::max(begin - shard.rows_before, int64_t{0});
    const int64_t last = std::min(end - shard.rows_before, shard.rows);
    if (first >= last) continue;
    pieces.push_back(read_piece(shard, first, last, typed));
    take_beside_rows(points, pieces.back(), options);
  }
  put_together(points, pieces, options.memory);
  if (!options.weights.empty() && points.weights.empty() && points.view.n > 0) read_weight_file(points, options);
  return points;
}

std::vector<std::string> find_shards(const std::vector<std::string>& names) {
  std::vector<std::string> paths;
  for (const std::string& name : names) {
    if (name == MappedFile::kStandardInput) {
      throw Error(ErrorCode::kUsage, "shards", "standard input is no file of several; write it to one first");
    }
    if (is_points_path(name)) {
      paths.push_back(name);
      continue;
    }
    glob_t found{};
    const bool any = ::glob(name.c_str(), GLOB_NOSORT, nullptr, &found) == 0;
    if (any) paths.insert(paths.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
    ::globfree(&found);
    if (!any) throw Error(ErrorCode::kBadData, name, "there is no such file, and no name that this pattern matches");
  }
  if (paths.empty()) throw Error(ErrorCode::kUsage, "shards", "there is no file; at least one is needed");
  std::ranges::sort(paths);
  const auto twice = std::ranges::adjacent_find(paths);
  if (twice != paths.end()) {
    throw Error(ErrorCode::kUsage, "shards", fmt::format("'{}' is named twice; name each file once", *twice));
  }
  return paths;
}

std::string name_of_shards(const std::vector<std::string>& paths) {
  if (paths.size() < 2) return paths.empty() ? "" : paths[0];
  return fmt::format("{} ... {} ({} files)", paths.front(), paths.back(), paths.size());
}

}  // namespace manymeans
