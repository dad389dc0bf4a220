#include "flags/data_files.h"

#include <manymeans/error.h>

#include "flags/read_flags.h"
#include "output/output_files.h"

#include <fmt/format.h>

namespace manymeans::cli {

void DataFiles::find(const std::string& command) {
  if (path.empty() && shards.empty()) {
    throw Error(ErrorCode::kUsage, "command line", fmt::format("DATA is required; see 'manymeans {} --help'", command));
  }
  if (!path.empty() && !shards.empty()) {
    throw Error(ErrorCode::kUsage, "--shard",
                fmt::format("takes the place of DATA, and '{}' is there, too; name it behind --shard, or alone", path));
  }
  if (!shards.empty()) shards = find_shards(shards);
}

void bind_data_argument(CLI::App& app, DataFiles& data) {
  add_file_argument(app, "DATA", data.path, kDataHelp)->required(false);
}

void bind_shard_flag(CLI::App& app, DataFiles& data) {
  const auto store = [&data](const CLI::results_t& names) {
    for (const std::string& name : names) {
      if (name.empty()) throw Error(ErrorCode::kUsage, "--shard", "is empty; the name of a file is needed");
    }
    data.shards = names;
    return true;
  };
  app.add_option("--shard", store,
                 "In the place of DATA: several files whose rows follow one another, in the order of the files' names. "
                 "Names, or patterns in quotes: 'part-*.parquet'.")
      ->type_name("FILE...")
      ->expected(1, -1)
      ->allow_extra_args()
      ->group("Reading");
}

}  // namespace manymeans::cli
