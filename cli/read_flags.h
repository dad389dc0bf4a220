// The flags that say how to read a file of points.
#pragma once

#include <manymeans/io.h>

#include <CLI/CLI.hpp>

namespace manymeans::cli {

/// Adds --format, --dtype, --columns and --numeric-only; `options` must outlive `app`.
void bind_read_flags(CLI::App& app, ReadOptions& options);

}  // namespace manymeans::cli
