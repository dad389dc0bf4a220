// Weights that are too small to count compared with the largest.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace manymeans {

struct Input;

/// The smallest weight above zero; infinity if there is none.
double smallest_weight(std::span<const double> weights);

/// The warning about an input with weights; `smallest` is the smallest above zero as it was given. Returns nothing
/// unless it counts as 0 (contract, "Weights").
std::optional<std::string> weight_warning(const Input& input, double smallest);

}  // namespace manymeans
