// Runs cases in a process of their own and watches it: a case that hangs or ends the process is named, and the next one
// is begun.
#pragma once

#include "fuzz/answers/fuzz_case.h"
#include "fuzz/answers/way_runner.h"

#include <cstdint>
#include <string>

namespace manymeans::fuzz {

struct Plan {
  uint64_t seed = 0;
  int64_t first = 0;          ///< number of the first case
  int64_t cases = 0;          ///< 0: until the time is over
  double minutes = 0;         ///< 0: until the cases are done
  double hang_seconds = 600;  ///< after which one step of a case is taken to hang
  std::string found;          ///< file that failures are added to; empty: none
  std::string reproduce;      ///< command that does a case again, but for its number
  bool list = false;          ///< only say what the cases are
  Limits limits;
  RunSettings settings;
};

/// Returns how many cases failed.
int64_t run_cases(const Plan& plan);

}  // namespace manymeans::fuzz
