// Which columns of a file are wanted: names, numbers from 1, and ranges of them.
#pragma once

#include <manymeans/io.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace manymeans {

/// The columns of a file.
struct FileColumns {
  int64_t count = 0;
  std::vector<std::string> names;  ///< empty, or `count` names
  bool of_points = false;          ///< only the names of columns of the points are known

  std::string label(int64_t column) const;  ///< "column 3 ('age')", for a column from 0
  std::string name(int64_t column) const { return names.empty() ? "" : names[static_cast<size_t>(column)]; }
};

/// The columns (from 0, in the order asked for) that these specifications mean. Each is a name, a number, a range
/// 2-5, 5- or first-last, or several of them with commas; a name goes before a number. No specification: all.
/// Throws Error(kUsage) about `parameter` for an unknown, doubled or out-of-range column.
std::vector<int64_t> select_columns(const FileColumns& file, std::span<const std::string> specifications,
                                    const char* parameter = "columns");

/// The columns that the caller asked for, else the columns of the model (options.like) or all, but for options.id.
/// Throws Error(kBadData) naming `path` where the file lacks a column of the model, and Error(kUsage) where it lacks
/// options.id.
std::vector<int64_t> wanted_columns(const FileColumns& file, const ReadOptions& options, const std::string& path);

/// Gives these names to the columns, if there are some. Throws Error(kUsage) where the file has names, and
/// Error(kBadData) for another number of them.
void give_names(FileColumns& file, const std::vector<std::string>& names, const std::string& path);

/// These columns, as a Dataset keeps them.
SourceColumns source_columns(const FileColumns& file, std::span<const int64_t> columns);

/// The type that the caller asked for, or the model's type; none if the file decides. `stored`: the type that the file
/// has, where it is one of points.
std::optional<DataType> wanted_type(const ReadOptions& options, std::optional<DataType> stored);

/// The one column with this name or number; nothing if there is none.
std::optional<int64_t> find_column(const FileColumns& file, const std::string& text);

/// This name if it is not taken, else with the first number behind it that is free: cluster_2.
std::string free_name(std::span<const std::string> taken, const std::string& name);

}  // namespace manymeans
