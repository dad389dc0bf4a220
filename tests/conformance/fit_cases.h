// Small whole fits that reach every init, stop rule and empty-cluster policy: for whoever compares fits with the
// reference's.
#pragma once

#include <manymeans/fit.h>

#include "conformance/cases.h"

#include <array>
#include <functional>

namespace manymeans::test {

inline constexpr std::array kPolicies = {EmptyPolicy::kFarthest, EmptyPolicy::kKeep, EmptyPolicy::kDrop,
                                         EmptyPolicy::kError};
inline constexpr std::array kStrategies = {Strategy::kConcatenated, Strategy::kData, Strategy::kTask};

/// Six models of three sizes, twelve iterations.
FitOptions small_options(const char* init, const char* stop, EmptyPolicy empty);

/// Options for the twelve prototypes that a case gives.
FitOptions given_options(EmptyPolicy empty);

/// Calls compare(case, options) until it returns false: every init meets every stop rule and policy in float32 and
/// float64, and families and weightings take turns.
void for_each_small_fit(const std::function<bool(const Case&, const FitOptions&)>& compare);

/// The same for fits whose stop rule holds for an update exactly, value for value, and for those with the next smaller
/// value, with which it does not: every update of some fits, the rules tol, labels and shift.
void for_each_threshold_fit(const std::function<bool(const Case&, const FitOptions&)>& compare);

}  // namespace manymeans::test
