#include "backend/cpu/sums/term_scales.h"

#include "prototype/prototype.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace manymeans {
namespace {

// Sums in units of columns up to this wide (bits). A cluster is flushed every 2^(63 - width) terms, and a flush costs
// about as much as five terms.
constexpr int kWidestUnits = 55;
// Segments' numbers that round to a word are 2^53 times that; their columns stay in the first cache.
constexpr int kMaxSegmentPower = 700;
constexpr int64_t kMaxSegmentColumns = 32;
// Of a word of a product's sum: what the kernels split exactly.
constexpr int kWidestWord = 50;

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
  if (prototype_of(input).linear) plan_products(input);
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
  max_terms = uint32_t{1} << (63 - std::clamp(widest, 32, kWidestUnits));
}

// Every word has as many bits as the widest term needs of it. A term that is not exact in its format has that format's
// lowest bit for a unit, and the last word rounds.
void UnitScales::plan_products(const Input& input) {
  const auto pairs = static_cast<int64_t>(input.columns.size()) / 2;
  products.rests = input.weighted || input.points.type == DataType::kFloat64;
  products.products = (pairs + 7) / 8 * 8;
  const int64_t places = products.products * (products.rests ? 2 : 1);
  shifts.assign(static_cast<size_t>(places), 0);
  std::vector<int> lowest(static_cast<size_t>(places), 0);
  int widest = 1;
  for (int64_t place = 0; place < places; ++place) {
    const int64_t pair = place % products.products;
    if (pair >= pairs) continue;
    const auto term = static_cast<size_t>(2 * pair + place / products.products), at = static_cast<size_t>(place);
    const SumFormat& format = input.columns[term];
    lowest[at] = std::max(input.lowest[term], -format.shift);
    shifts[at] = format.shift + lowest[at];
    widest = std::max(widest, format.limbs * format.bits - 2 - shifts[at]);
  }
  products.words = (widest + kWidestWord - 1) / kWidestWord;
  bits = (widest + products.words - 1) / products.words;
  products.radix = std::ldexp(1.0, bits);
  units = AlignedBuffer<double>(static_cast<size_t>(places));
  fits = true;
  bool in_segments = !products.rests && products.words <= 3 && input.points.d <= kMaxSegmentColumns;
  for (int64_t place = 0; place < places; ++place) {
    const auto at = static_cast<size_t>(place);
    const int power = -lowest[at] - (products.words - 1) * bits;
    fits = fits && std::abs(power) < 1022;
    in_segments = in_segments && std::abs(power) < kMaxSegmentPower;
    units[at] = place % products.products < pairs ? std::ldexp(1.0, power) : 0;
  }
  if (in_segments) {
    for (int word = 0; word < products.words; ++word) {
      for (const int low : lowest) rounders.push_back(std::ldexp(0x1.8p52, low + word * bits));
    }
    products.rounders = rounders.data();
  }
  products.top = units.data();
  products.weights = input.weights.empty() ? nullptr : input.weights.data();
  stride = places * products.words;
  max_terms = uint32_t{1} << (62 - std::max(bits, 31));
}

}  // namespace manymeans
