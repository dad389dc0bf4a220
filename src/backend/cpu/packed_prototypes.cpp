#include "backend/cpu/packed_prototypes.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_map>

namespace manymeans {
namespace {

constexpr float kNeverWins = -0x1p126F;
constexpr double kMostNorm = 0x1p62;  // the square stays below 2^126, within float32

// The smallest float that is at least v.
float round_up(double v) {
  const auto f = static_cast<float>(v);
  return f < v ? std::nextafter(f, std::numeric_limits<float>::infinity()) : f;
}

// docs/screens.md derives these factors.
struct BoundFactors {
  double slope;      // times |z~|
  double error;      // times |h|
  double canonical;  // times |z|^2, and twice times |y|^2
  double underflow;

  explicit BoundFactors(int64_t d) {
    const double u = 0x1p-24;
    const auto n = static_cast<double>(d + 4);  // roundings that a term can pass through, fused or not
    const double gamma = n * u / (1 - n * u);
    slope = (2 * u + gamma) * (1 + 0x1p-10);
    error = (gamma + u) * (1 + 0x1p-10);
    canonical = (static_cast<double>(d) / 8 + 8) * 0x1p-52;
    underflow = static_cast<double>(d) * 0x1p-84;
  }
};

// Marks prototypes that repeat an earlier one bit for bit.
class Repeats {
 public:
  explicit Repeats(const Matrix& prototypes)
      : bytes_(prototypes.bytes().data()),
        row_(static_cast<size_t>(prototypes.columns()) * size_of(prototypes.type())) {}

  bool seen(int64_t k) {
    const std::byte* row = bytes_ + static_cast<size_t>(k) * row_;
    const auto [first, last] = rows_.equal_range(XXH3_64bits(row, row_));
    for (auto it = first; it != last; ++it) {
      if (std::memcmp(bytes_ + static_cast<size_t>(it->second) * row_, row, row_) == 0) return true;
    }
    rows_.emplace(XXH3_64bits(row, row_), k);
    return false;
  }

 private:
  const std::byte* bytes_;
  size_t row_;
  std::unordered_multimap<uint64_t, int64_t> rows_;
};

// Prototype k into its place in its block; returns false if it is too far out.
template <class T>
bool pack_one(const T* c, int64_t k, const Frame& frame, int64_t d, int width, const BoundFactors& factors,
              double bound_scale, PackedPrototypes& out) {
  float* values = out.values.data() + (k / width) * width * d + k % width;
  double exact = 0;    // |z|^2
  double rounded = 0;  // |z~|^2
  for (int64_t j = 0; j < d; ++j) {
    const double z = (static_cast<double>(c[j]) - frame.centre[static_cast<size_t>(j)]) * frame.scale;
    exact += z * z;
    const auto value = static_cast<float>(z);
    rounded += static_cast<double>(value) * static_cast<double>(value);
    values[j * width] = value;
  }
  if (!(std::sqrt(exact) < kMostNorm && std::sqrt(rounded) < kMostNorm)) return false;
  const auto at = static_cast<size_t>(k);
  const double half = -exact / 2;
  const double error = bound_scale * (factors.error * std::fabs(half) + factors.canonical * exact + factors.underflow);
  out.errors[at] = round_up(error * (1 + 0x1p-10));
  out.slopes[at] = round_up(bound_scale * factors.slope * std::sqrt(rounded) * (1 + 0x1p-10));
  out.offsets[at] = round_up(half + error);
  return true;
}

template <class T>
void pack_all(const Matrix& prototypes, const Frame& frame, const CpuKernels& kernels, double bound_scale,
              PackedPrototypes& out) {
  const int64_t d = prototypes.columns();
  const BoundFactors factors(d);
  const T* c = prototypes.values<T>().data();
  Repeats repeats(prototypes);
  for (int64_t k = 0; k < out.k; ++k) {
    if (repeats.seen(k)) continue;  // stays a padding column: the first of them wins every tie
    if (!pack_one(c + k * d, k, frame, d, kernels.block_prototypes, factors, bound_scale, out)) {
      out.screenable = false;
      return;
    }
  }
  out.slack = round_up(bound_scale * 2 * factors.canonical * (1 + 0x1p-10));
  out.underflow = round_up(std::ldexp(static_cast<double>(d), 2 * std::min(frame.exponent, 600) - 1074));
}

}  // namespace

PackedPrototypes pack_prototypes(const Matrix& prototypes, const Frame& frame, const CpuKernels& kernels,
                                 double bound_scale) {
  PackedPrototypes out;
  const int width = kernels.block_prototypes;
  out.k = prototypes.rows();
  out.blocks = (out.k + width - 1) / width;
  const auto padded = static_cast<size_t>(out.blocks * width);
  out.values = AlignedBuffer<float>(padded * static_cast<size_t>(prototypes.columns()));
  out.offsets = AlignedBuffer<float>(padded);
  out.slopes = AlignedBuffer<float>(padded);
  out.errors.assign(padded, 0);
  std::fill_n(out.values.data(), out.values.size(), 0.0F);
  std::fill_n(out.offsets.data(), padded, kNeverWins);
  std::fill_n(out.slopes.data(), padded, 0.0F);
  if (prototypes.type() == DataType::kFloat64) {
    pack_all<double>(prototypes, frame, kernels, bound_scale, out);
  } else {
    pack_all<float>(prototypes, frame, kernels, bound_scale, out);
  }
  return out;
}

}  // namespace manymeans
