// The flags that say how to read a file of points.
#pragma once

#include <manymeans/error.h>
#include <manymeans/io.h>

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>

namespace manymeans::cli {

/// What every command says of its file of points.
inline constexpr const char* kDataHelp =
    "File of points: .npy, .npz, text (.csv, .tsv, .txt, .gz), .parquet, .fvecs and more, see 'manymeans info'; "
    "FILE.npz:NAME is one of several arrays, '-' standard input (with --format).";

/// Adds --format, --dtype, --columns and --numeric-only; `options` must outlive `app`.
void bind_read_flags(CLI::App& app, ReadOptions& options);

/// Adds --threads, which must be at least 0.
void bind_threads(CLI::App& app, int& threads);

/// Calls work(); where the library complains about "points", the error names their file instead.
template <class Work>
auto naming_file(const std::string& path, Work&& work) {
  try {
    return work();
  } catch (const Error& error) {
    constexpr std::string_view kPoints = "[points] ";
    const std::string_view what = error.what();
    if (!what.starts_with(kPoints)) throw;
    throw Error(error.code(), path, std::string(what.substr(kPoints.size())));
  }
}

}  // namespace manymeans::cli
