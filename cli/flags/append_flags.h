// --append: the input table again, with the answer at the end of its rows.
#pragma once

#include <manymeans/io.h>

#include "flags/data_files.h"

#include <optional>
#include <string>
#include <vector>

namespace manymeans::cli {

struct AppendFlags {
  std::string path;                         ///< empty: not asked for
  bool distances = false;                   ///< append a column of distances, too
  std::optional<AppendedTable> table = {};  ///< that is written again; set by check_append()

  void write(const Dataset& points, const std::vector<AppendedColumn>& columns) const { table->write(points, columns); }
};

/// Endings of its files.
inline const std::vector<std::string> kAppendEndings = {".csv", ".tsv", ".txt", ".parquet", ".arrow", ".feather"};

/// Adds --append and --append-distances; `flags` must outlive `app`. `columns`: what is appended.
void bind_append_flags(const Command& app, AppendFlags& flags, const std::string& columns);

/// Throws Error(kUsage) unless DATA is a file whose rows can be written again. To be called before it is read.
/// `shared`: ranks share the rows.
void check_append(AppendFlags& flags, const DataFiles& data, const ReadOptions& reading, bool shared);

}  // namespace manymeans::cli
