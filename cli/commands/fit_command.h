// The common parts of `fit`, `search` and `choose`: all but their flags and their help.
#pragma once

#include <manymeans/manymeans.h>

#include "fitting/fit_job.h"

#include <string>

namespace manymeans::cli {

/// The task of a command that fits.
enum class FitTask : uint8_t { kFit, kSearch, kChoose, kOptimal };

struct FitCommand {
  std::string name;  ///< of the command
  FitTask task = FitTask::kFit;
  FitJob job = {};
  SearchOptions options = {};  ///< of a fit and a choice: FitOptions alone
  ChooseOptions choice = {};   ///< of a choice, but for its `fit`
  bool summarises = false;     ///< the clusters, for somebody
  bool always = false;         ///< however many points there are
};

/// The exit code.
int run_fit_command(FitCommand& command);

}  // namespace manymeans::cli
