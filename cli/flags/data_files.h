// Where the points of a command come from: one file, or several whose rows follow one another.
#pragma once

#include <manymeans/io.h>
#include <manymeans/sparse_file.h>

#include "flags/command_line.h"

#include <string>
#include <vector>

namespace manymeans::cli {

struct DataFiles {
  std::string path;                 ///< DATA; empty: there are shards
  std::vector<std::string> shards;  ///< of --shard: names and patterns; after find(), files in the order of their names

  /// Finds out which files patterns mean. Throws Error(kUsage) unless there is either DATA or --shard.
  void find(const std::string& command);
  /// Returns their name in messages.
  std::string name() const { return shards.empty() ? path : name_of_shards(shards); }
  std::vector<std::string> all() const { return shards.empty() ? std::vector{path} : shards; }
  Dataset read(const ReadOptions& options) const {
    return shards.empty() ? read_points(path, options) : read_shards(shards, options);
  }
  /// Reads points, or sparse points if DATA holds them, for commands that treat both alike.
  Dataset read_any(const ReadOptions& options) const {
    const bool sparse = shards.empty() && is_sparse_file(path, options);
    return sparse ? read_sparse_points(path, options) : read(options);
  }
};

/// Adds DATA, which may be missing, and the flag --shard of the group Reading; `data` must outlive `app`.
void bind_data_argument(const Command& app, DataFiles& data);
void bind_shard_flag(const Command& app, DataFiles& data, const std::string& more_help = {});

}  // namespace manymeans::cli
