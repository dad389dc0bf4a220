// Small whole fits that reach every init, stop rule and empty-cluster policy: for whoever compares fits with the
// reference's.
#pragma once

#include <manymeans/fit.h>

#include "conformance/cases.h"

#include <array>
#include <functional>

namespace manymeans::test {

constexpr std::array kPolicies = {EmptyPolicy::kFarthest, EmptyPolicy::kKeep, EmptyPolicy::kDrop, EmptyPolicy::kError};
constexpr std::array kStrategies = {Strategy::kConcatenated, Strategy::kData, Strategy::kTask};

/// Six models of three sizes, twelve iterations.
FitOptions small_options(const char* init, const char* stop, EmptyPolicy empty);

/// Options for the twelve prototypes that a case gives.
FitOptions given_options(EmptyPolicy empty);

/// Calls compare(case, options) until it returns false: every init meets every stop rule and policy in float32 and
/// float64, and families and weightings take turns.
void for_each_small_fit(const std::function<bool(const Case&, const FitOptions&)>& compare);

}  // namespace manymeans::test
