// How coarse fp16 is for some points.
#include "backend/cuda/tensor/matrix_pack.h"
#include "core/data_type.h"
#include "data/gather.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace manymeans::cuda {
namespace {

constexpr int64_t kSampleRows = 511;
constexpr int kLargestExponent = 15;

// v rounded to fp16, for |v| < 2^15: 11 bits, and multiples of 2^-24 near zero. A sum with a number whose lowest bit is
// the unit is rounded to it.
double rounded_to_half(double v) {
  constexpr uint64_t kExponent = 0x7ff0000000000000;
  const auto power = std::bit_cast<double>(std::bit_cast<uint64_t>(v) & kExponent);  // of two, that v reaches
  const double large = std::max(power * 0x1p-10, 0x1p-24) * 0x1.8p52;
  return (v + large) - large;
}

// Squared norms of rows in the frame, and of their rounding errors in fp16. Rows are side by side, since a sum waits
// for itself.
struct Losses {
  static constexpr int64_t kRows = 8;
  double norm[kRows] = {};
  double rest[kRows] = {};

  template <class T>
  void add(const T* rows, int64_t count, std::span<const double> centre, double scale) {
    const size_t d = centre.size();
    double value[kRows] = {};
    for (size_t j = 0; j < d; ++j) {
      for (int64_t i = 0; i < count; ++i) value[i] = rows[static_cast<size_t>(i) * d + j];
      for (int64_t i = 0; i < kRows; ++i) {
        const double y = (value[i] - centre[j]) * scale;
        const double off = y - rounded_to_half(y);
        norm[i] += y * y;
        rest[i] += off * off;
      }
    }
  }
};

}  // namespace

HalfFrame find_half_frame(const Input& input, std::span<const double> centre, double largest, int of_product) {
  HalfFrame frame;
  frame.exponent = largest > 0 ? std::clamp(kLargestExponent - exponent(largest), -1000, 1000) : 0;
  const PointsView& points = input.points;
  const int64_t rows = std::min(points.n, kSampleRows);
  const Matrix sample = gather_rows(input, spread_rows(points.n, rows));
  std::vector<double> ratios;
  as_float_type(sample.type(), [&]<class T>(T) {
    for (int64_t first = 0; first < rows; first += Losses::kRows) {
      Losses losses;
      const int64_t count = std::min(rows - first, Losses::kRows);
      losses.add(sample.values<T>().data() + first * points.d, count, centre, std::ldexp(1.0, frame.exponent));
      for (int64_t i = 0; i < count; ++i) {
        if (losses.norm[i] > 0) ratios.push_back(std::sqrt(losses.rest[i] / losses.norm[i]));
      }
    }
  });
  double ratio = 1;
  if (!ratios.empty()) {
    std::nth_element(ratios.begin(), ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2), ratios.end());
    ratio = std::clamp(ratios[ratios.size() / 2], 0x1p-20, 1.0);
  }
  frame.radius = RadiusRule(ratio, of_product, points.d);
  return frame;
}

}  // namespace manymeans::cuda
