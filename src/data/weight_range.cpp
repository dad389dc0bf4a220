#include "data/weight_range.h"

#include "data/input.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace manymeans {

double smallest_weight(std::span<const double> weights) {
  double smallest = std::numeric_limits<double>::infinity();
  for (const double weight : weights) smallest = weight > 0 ? std::min(smallest, weight) : smallest;
  return smallest;
}

std::optional<std::string> weight_warning(const Input& input, double smallest) {
  const double least = std::ldexp(0.5, input.weight_exponent - input.weight_shift);  // this one rounds to 0
  if (smallest > least) return std::nullopt;
  return fmt::format(
      "weights from {:.6g} to {:.6g} are too small compared with the largest, {:.6g}, and count as 0: the weights of "
      "{} rows may span a factor of 2^{}",
      smallest, least, std::ldexp(input.max_weight, input.weight_exponent), input.shard.all, input.weight_shift + 1);
}

}  // namespace manymeans
