#include "flags/append_flags.h"

#include <manymeans/error.h>

#include "flags/flag_values.h"

namespace manymeans::cli {

void bind_append_flags(const Command& app, AppendFlags& flags, const std::string& columns) {
  add_file_flag(
      app, "--append", flags.path,
      "Write the rows of DATA again, as they are, with " + columns +
          " at the end of each: a table of text, Parquet or Arrow, as lines to a .csv (commas or semicolons), .tsv "
          "(tabs) or .txt file or to a pipe, or to a .parquet or .arrow file, in which its columns keep their types. "
          "Not from standard input, and not with --shard.")
      .group("Output");
  app.add_flag("--append-distances", flags.distances,
               "With --append: also the distance of each row to its prototype, in scaled units if there are any.")
      .group("Output");
}

void check_append(AppendFlags& flags, const DataFiles& data, const ReadOptions& reading, bool shared) {
  if (flags.path.empty()) {
    if (!flags.distances) return;
    throw Error(ErrorCode::kUsage, "--append-distances", "is a column of --append FILE, which is needed, too");
  }
  if (shared) throw Error(ErrorCode::kUsage, "--append", "is for one process; several share the rows here");
  if (!data.shards.empty()) {
    throw Error(ErrorCode::kUsage, "--append", "is for one file, and --shard names several; use --labels");
  }
  flags.table.emplace(data.path, flags.path, reading);
}

}  // namespace manymeans::cli
