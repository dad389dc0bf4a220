// The flags that say how to read a file of points.
#pragma once

#include <manymeans/error.h>
#include <manymeans/fit.h>
#include <manymeans/io.h>

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace manymeans::cli {

/// What every command says of its file of points.
inline constexpr const char* kDataHelp =
    "File of points: .npy, .npz, text (.csv, .tsv, .txt, .gz), .parquet, .fvecs and more, see 'manymeans info'; "
    "FILE.npz:NAME is one of several arrays, '-' standard input (with --format).";

/// Adds --format, --dtype, --columns and --numeric-only; `options` must outlive `app`.
void bind_read_flags(CLI::App& app, ReadOptions& options);

/// Throws Error(kUsage) unless the text is "auto" or one of these formats.
void check_format(const char* flag, const std::string& text, const std::vector<Choice>& formats);

/// Adds --threads, which must be at least 0.
void bind_threads(CLI::App& app, int& threads);

/// The same complaint about the points that were read from this file: it names the file, and the place in it.
Error about_file(const Error& error, const std::string& path, const Dataset& points);

/// Calls work(); where the library complains about "points", the error names their file instead.
template <class Work>
auto naming_file(const std::string& path, const Dataset& points, Work&& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw about_file(error, path, points);
  }
}

}  // namespace manymeans::cli
