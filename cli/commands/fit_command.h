// What `fit` and `search` have in common: all but their flags and their help.
#pragma once

#include <manymeans/manymeans.h>

#include "fitting/fit_job.h"

#include <string>

namespace manymeans::cli {

struct FitCommand {
  std::string name;       ///< of the command
  bool searches = false;  ///< and does not only fit
  FitJob job = {};
  SearchOptions options = {};  ///< of a fit: FitOptions alone
  bool k_given = false;
  bool summarises = false;  ///< the clusters, for somebody
  bool always = false;      ///< however many points there are
};

/// The exit code.
int run_fit_command(FitCommand& command);

}  // namespace manymeans::cli
