#include "product/cuda/residue_basis.h"

#include "product/product_bounds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace manymeans::cuda {
namespace {

// The largest pairwise coprime numbers whose residues fit into a signed byte.
constexpr std::array<int32_t, kMaxModuli> kModuli = {256, 255, 253, 251, 247, 241, 239, 233, 229, 227,
                                                     223, 217, 211, 199, 197, 193, 191, 181, 179, 173};

constexpr bool pairwise_coprime() {
  for (size_t i = 0; i < kModuli.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (std::gcd(kModuli[i], kModuli[j]) != 1) return false;
    }
  }
  return true;
}
static_assert(pairwise_coprime());

// Bits of a value. A normal value leaves few bits below the unit then, so one entry in some thousand is not proved.
// Sums of long lines are small compared with their lines.
int wanted_bits(bool wide, int64_t depth) {
  return wide ? 69 : std::clamp(40 + (bits_of_sum(depth) - 12) / 2, 40, kMaxFloatBits);
}

using Limbs = uint32_t[kMaxLimbs];

void multiply(Limbs& by, uint32_t factor) {
  uint64_t carry = 0;
  for (uint32_t& limb : by) {
    carry += uint64_t{limb} * factor;
    limb = static_cast<uint32_t>(carry);
    carry >>= 32;
  }
}

double bits_of(int count) {
  double bits = 0;
  for (int i = 0; i < count; ++i) bits += std::log2(static_cast<double>(kModuli[static_cast<size_t>(i)]));
  return bits;
}

// All but the bits of values, which depend on the depth.
ResidueBasis basis_of(int count) {
  ResidueBasis basis;
  basis.count = count;
  basis.product[0] = 1;
  for (int i = 0; i < count; ++i) {
    const int32_t p = basis.moduli[i] = kModuli[static_cast<size_t>(i)];
    multiply(basis.product, static_cast<uint32_t>(p));
    // The product of the others, and its inverse modulo p.
    Limbs& weight = basis.weights[i];
    weight[0] = 1;
    int32_t others = 1;
    for (int j = 0; j < count; ++j) {
      if (j == i) continue;
      multiply(weight, static_cast<uint32_t>(kModuli[static_cast<size_t>(j)]));
      others = others * (kModuli[static_cast<size_t>(j)] % p) % p;
    }
    uint32_t inverse = 1;
    while (static_cast<int32_t>(inverse) * others % p != 1) ++inverse;
    multiply(weight, inverse);
  }
  double product = 0;
  for (int limb = kMaxLimbs - 1; limb >= 0; --limb) product = product * 0x1p32 + basis.product[limb];
  basis.limbs = kMaxLimbs;
  while (basis.product[basis.limbs - 1] == 0) --basis.limbs;
  basis.inverse = static_cast<float>(std::ldexp(1 / product, 32 * (basis.limbs - 1) - 16));
  return basis;
}

struct KnownBasis {
  ResidueBasis basis;
  double bits;  // of M
};

// Made once: every product calls this, and a small product takes only as long as computing a few bases.
const KnownBasis& known_basis(int count) {
  static const auto all = [] {
    std::array<KnownBasis, kMaxModuli + 1> made;
    for (int moduli = 0; moduli <= kMaxModuli; ++moduli) {
      made[static_cast<size_t>(moduli)] = {basis_of(moduli), bits_of(moduli)};
    }
    return made;
  }();
  return all[static_cast<size_t>(count)];
}

// depth * 2^(2 bits) is at most M / 4.
int value_bits(bool wide, int count, int64_t depth) {
  const int most = wide ? kMaxDoubleBits : kMaxFloatBits;
  const auto bits = static_cast<int>(std::floor((known_basis(count).bits - 0x1p-20 - 2 - bits_of_sum(depth)) / 2));
  return std::min(bits, most);
}

}  // namespace

ResidueBasis residue_basis(bool wide, int64_t depth) {
  const int most = wide ? kMaxModuli : kMaxFloatModuli;
  int count = wide ? kMinDoubleModuli : 10;
  while (count < most && value_bits(wide, count, depth) < wanted_bits(wide, depth)) ++count;
  ResidueBasis basis = known_basis(count).basis;
  basis.bits = value_bits(wide, count, depth);
  return basis;
}

}  // namespace manymeans::cuda
