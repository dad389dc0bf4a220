// The flags of `fit`, `search`, `choose` and `regress`, one for each option of the library.
#pragma once

#include <manymeans/choose.h>
#include <manymeans/options.h>
#include <manymeans/regress.h>
#include <manymeans/search.h>
#include <manymeans/tree.h>

#include "flags/command_line.h"

#include <functional>

namespace manymeans::cli {

/// Adds a flag for every option that for_each_option visits; parsing stores into `options`, which must outlive `app`.
void bind_fit_flags(const Command& app, FitOptions& options);
/// Adds a flag for every option that for_each_regress_option visits.
void bind_regress_flags(const Command& app, RegressOptions& options);
/// Adds a flag for every option that for_each_search_option visits.
void bind_search_flags(const Command& app, SearchOptions& options);
/// Adds a flag for every option that for_each_tree_option visits.
void bind_tree_flags(const Command& app, TreeOptions& options);
/// Adds `--search` and `--search-rounds` to the flags of `fit`, and returns whether one of them was given.
std::function<bool()> bind_flags_of_searching_fit(const Command& app, SearchOptions& options);

/// Adds the flags of `fit` that a choice of k supports, and flags for the other members of `options`.
void bind_choose_flags(const Command& app, FitOptions& fit, ChooseOptions& options);

}  // namespace manymeans::cli
