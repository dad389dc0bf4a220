#include "backend/cpu/sums/term_scales.h"

#include "prototype/prototype.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace manymeans {
namespace {

// Sums in units of columns up to this wide (bits): a cluster is flushed every 2^(63 - width) terms, and a flush costs
// about as much as five terms.
constexpr int kWidestUnits = 55;

}  // namespace

TermScales::TermScales(const Input& input) : radix(std::ldexp(1.0, input.bits)) {
  fast = input.bits <= 50;
  for (const SumFormat& format : input.columns) {
    const int power = format.shift - (format.limbs - 1) * format.bits;
    fast = fast && std::abs(power) < 1022;
    top.push_back(fast ? std::ldexp(1.0, power) : 0);
  }
}

UnitScales::UnitScales(const Input& input) : stride((input.points.d + 7) / 8 * 8) {
  if ((!input.weights.empty() && !input.counted) || !prototype_of(input).euclidean) return;
  int widest = 0;
  bool normal = true;  // every unit is a normal number
  units = AlignedBuffer<double>(static_cast<size_t>(stride));
  std::fill_n(units.data(), stride, 0.0);
  for (size_t j = 0; j < input.columns.size(); ++j) {
    const SumFormat& format = input.columns[j];
    const int largest = format.limbs * format.bits - 2 - format.shift;
    widest = std::max(widest, largest - input.lowest[j]);
    normal = normal && std::abs(input.lowest[j]) < 1022;
    units[j] = std::ldexp(1.0, -input.lowest[j]);
    shifts.push_back(format.shift + input.lowest[j]);
  }
  fits = normal && widest <= kWidestUnits;
  narrow = widest < 51;
  // |sum| <= terms * (2^widest - 1) < 2^63.
  most_terms = uint32_t{1} << (63 - std::clamp(widest, 32, kWidestUnits));
}

}  // namespace manymeans
