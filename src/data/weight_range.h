// Which weights are too small to count beside the largest.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace manymeans {

struct Input;

/// The smallest of these weights above zero; infinity where there is none.
double smallest_weight(std::span<const double> weights);

/// What to say of an input with weights, of which `smallest` is the smallest above zero as it was given: nothing unless
/// it counts as 0 (contract, "Weights").
std::optional<std::string> weight_warning(const Input& input, double smallest);

}  // namespace manymeans
