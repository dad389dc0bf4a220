// The flags of `fit`, `search`, `choose` and `regress`, one for each option of the library.
#pragma once

#include <manymeans/choose.h>
#include <manymeans/options.h>
#include <manymeans/regress.h>
#include <manymeans/search.h>

#include <CLI/CLI.hpp>

#include <functional>

namespace manymeans::cli {

/// Adds a flag for every option that for_each_option visits; parsing stores into `options`, which must outlive `app`.
void bind_fit_flags(CLI::App& app, FitOptions& options);
/// The same for every option that for_each_regress_option visits.
void bind_regress_flags(CLI::App& app, RegressOptions& options);
/// The same for every option that for_each_search_option visits.
void bind_search_flags(CLI::App& app, SearchOptions& options);
/// Adds `--search` and `--search-rounds` to the flags of `fit`, and returns whether one of them was given.
std::function<bool()> bind_flags_of_searching_fit(CLI::App& app, SearchOptions& options);

/// The same for `fit`, of those options that a choice of k knows of, and for the other members of `options`.
void bind_choose_flags(CLI::App& app, FitOptions& fit, ChooseOptions& options);

}  // namespace manymeans::cli
