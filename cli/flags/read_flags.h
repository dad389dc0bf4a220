// The flags that say how to read a file of points.
#pragma once

#include <manymeans/error.h>
#include <manymeans/io.h>

#include "flags/command_line.h"

#include <string>
#include <string_view>
#include <vector>

namespace manymeans {
struct Choice;
}  // namespace manymeans

namespace manymeans::cli {

/// The help of the file of points, for every command.
inline constexpr const char* kDataHelp =
    "File of points: .npy, .npz, text (.csv, .tsv, .txt; packed, too: .gz, .zst, .xz, .bz2), .parquet, .fvecs and "
    "more, see 'manymeans info'; "
    "FILE.npz:NAME is one of several arrays, '-' standard input (.npy or text; others with --format).";

/// In which type most commands read where --dtype says none.
inline constexpr const char* kTypeLeftOut =
    "as stored; text and wide integers as float32 if no two different values become equal, else as float64.";

/// Names, numbers and ranges of columns, as --columns takes them. Throws Error(kUsage) for an empty one.
std::vector<std::string> split_at_commas(const char* flag, const std::string& text);

/// Adds --format, --dtype, --columns, --exclude, --numeric-only, --header and --decimal; `options` must outlive `app`.
/// `left_out` ends the help of --dtype: what holds without it.
void bind_read_flags(const Command& app, ReadOptions& options, const std::string& left_out = kTypeLeftOut);

/// Adds --dtype alone, to the same group.
void bind_type_flag(const Command& app, ReadOptions& options, const std::string& help);

/// Adds --header alone, to the same group.
void bind_header_flag(const Command& app, ReadOptions& options);

/// Adds --missing, --categories and --most-categories: how a table becomes points.
void bind_table_flags(const Command& app, ReadOptions& options);
/// Adds --profile.
void bind_profile_flag(const Command& app, std::vector<std::string>& columns);
/// Adds --id. `outputs`: what a command writes that has the names of the rows.
void bind_id_flag(const Command& app, ReadOptions& options, const std::string& outputs);
constexpr const char* kIdOutputs = "--labels FILE.csv or .parquet, or --append FILE, which is needed";
constexpr const char* kIdAndCards =
    "--labels FILE.csv or .parquet, or --append FILE. Typical rows of clusters have these names, too";
/// Throws Error(kUsage) if --id would have no effect: no output is text, or ranks share the rows. `describes`: rows are
/// named in a description of clusters, too.
void check_id(const ReadOptions& options, const std::vector<const std::string*>& outputs, bool shared,
              bool describes = false);

/// Throws Error(kUsage) unless the text is "auto" or the name of a format in `formats`.
void check_format(const char* flag, const std::string& text, const std::vector<Choice>& formats);

/// Adds --threads, which must be at least 0.
void bind_threads(const Command& app, int& threads);

/// Returns the error about points with the name of their file and the place in it. In the file, `rows_before` rows
/// precede the first row of the points.
Error about_file(const Error& error, const std::string& path, const Dataset& points, int64_t rows_before = 0);

/// Calls work(); where the library complains about "points", the error names their file instead.
template <class Work>
auto naming_file(const std::string& path, const Dataset& points, Work&& work, int64_t rows_before = 0) {
  try {
    return work();
  } catch (const Error& error) {
    throw about_file(error, path, points, rows_before);
  }
}

}  // namespace manymeans::cli
