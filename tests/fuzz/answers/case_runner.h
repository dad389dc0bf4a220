// Computes a case in all of its ways and judges what comes out.
#pragma once

#include "fuzz/answers/fuzz_case.h"
#include "fuzz/answers/way_runner.h"

#include <cstdint>
#include <functional>
#include <string>

namespace manymeans::fuzz {

struct CaseReport {
  std::string failures;  ///< what was found, for people; empty: nothing
  int64_t fits = 0;
  int64_t refusals = 0;  ///< ways that could not be gone
};

/// `begin` is called with what is done next, before it is done.
CaseReport run_case(const FuzzCase& drawn, const RunSettings& settings,
                    const std::function<void(const std::string&)>& begin);

}  // namespace manymeans::fuzz
