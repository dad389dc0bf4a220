#include "flags/data_files.h"

#include <manymeans/error.h>

#include "flags/flag_values.h"
#include "flags/read_flags.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

namespace manymeans::cli {
namespace {

// A table in parts is often a folder of files, as Spark and Dask write them.
void refuse_folder(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return;
  std::string ending;  // of its first file; what is hidden or names no format is no part
  std::string first;
  for (const fs::directory_entry& file : fs::directory_iterator(path, ignored)) {
    const fs::path name = file.path().filename();
    if (!file.is_regular_file(ignored) || name.string().starts_with('.') || !name.has_extension()) continue;
    if (first.empty() || name < first) {
      first = name.string();
      ending = first.substr(first.find('.'));
    }
  }
  const std::string folder = path.ends_with('/') ? path : path + "/";
  const std::string parts =
      first.empty() ? "" : fmt::format(", or --shard '{}*{}' for all files in it as one table", folder, ending);
  throw Error(ErrorCode::kBadData, path, "this is a folder; a file is needed" + parts);
}

}  // namespace

void DataFiles::find(const std::string& command) {
  if (path.empty() && shards.empty()) {
    throw Error(ErrorCode::kUsage, "command line", fmt::format("DATA is required; see 'manymeans {} --help'", command));
  }
  if (!path.empty() && !shards.empty()) {
    throw Error(ErrorCode::kUsage, "--shard",
                fmt::format("takes the place of DATA, and '{}' is there, too; name it behind --shard, or alone", path));
  }
  refuse_folder(path);
  for (const std::string& name : shards) refuse_folder(name);
  if (!shards.empty()) shards = find_shards(shards);
}

void bind_data_argument(const Command& app, DataFiles& data) {
  add_file_argument(app, "DATA", data.path, kDataHelp).required(false);
}

void bind_shard_flag(const Command& app, DataFiles& data, const std::string& more_help) {
  const auto store = [&data](const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (name.empty()) throw Error(ErrorCode::kUsage, "--shard", "is empty; the name of a file is needed");
    }
    data.shards = names;
  };
  app.add_list("--shard", store,
               "Instead of DATA: several files, whose rows follow one another in the order of the files' names. Names, "
               "or patterns in quotes: 'part-*.parquet'." +
                   more_help)
      .type_name("FILE...")
      .group("Reading");
}

}  // namespace manymeans::cli
