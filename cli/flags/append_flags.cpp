#include "flags/append_flags.h"

#include <manymeans/error.h>

#include "output/output_files.h"

namespace manymeans::cli {

void bind_append_flags(CLI::App& app, AppendFlags& flags, const std::string& columns) {
  add_file_flag(
      app, "--append", flags.path,
      "Write the lines of DATA, a text table, again to this .csv, .tsv or .txt file or to a pipe, as they are, "
      "with " +
          columns + " at the end of each.")
      ->group("Output");
  app.add_flag("--append-distances", flags.distances,
               "With --append: also the distance of each row to its prototype, in scaled units if there are any.")
      ->group("Output");
}

void check_append(AppendFlags& flags, const DataFiles& data, const ReadOptions& reading, bool shared) {
  if (flags.path.empty()) {
    if (!flags.distances) return;
    throw Error(ErrorCode::kUsage, "--append-distances", "is a column of --append FILE, which is needed, too");
  }
  if (shared) throw Error(ErrorCode::kUsage, "--append", "is for one process; several share the rows here");
  if (!data.shards.empty()) {
    throw Error(ErrorCode::kUsage, "--append", "is for one file of text, and --shard names several; use --labels");
  }
  flags.table.emplace(data.path, reading);
}

}  // namespace manymeans::cli
