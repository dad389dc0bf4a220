// How coarse fp16 is for some points.
#include "backend/cuda/tensor/matrix_pack.h"
#include "data/gather.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace manymeans::cuda {
namespace {

constexpr int64_t kSampleRows = 511;
constexpr int kLargestExponent = 15;

// v rounded to fp16, for |v| < 2^15: 11 bits, and multiples of 2^-24 near zero.
double rounded_to_half(double v) {
  int e = 0;
  std::frexp(v, &e);
  const int unit = std::max(e - 11, -24);
  return std::ldexp(std::nearbyint(std::ldexp(v, -unit)), unit);
}

}  // namespace

HalfFrame find_half_frame(const Input& input, std::span<const double> centre, double largest) {
  HalfFrame frame;
  frame.exponent = largest > 0 ? std::clamp(kLargestExponent - exponent(largest), -1000, 1000) : 0;
  frame.scale = std::ldexp(1.0, frame.exponent);
  const PointsView& points = input.points;
  const int64_t rows = std::min(points.n, kSampleRows);
  const Matrix sample = gather_rows(input, spread_rows(points.n, rows));
  std::vector<double> ratios;
  for (int64_t i = 0; i < rows; ++i) {
    double norm = 0;
    double rest = 0;
    for (size_t j = 0; j < centre.size(); ++j) {
      const double y = (sample.at(i, static_cast<int64_t>(j)) - centre[j]) * frame.scale;
      const double off = y - rounded_to_half(y);
      norm += y * y;
      rest += off * off;
    }
    if (norm > 0) ratios.push_back(std::sqrt(rest / norm));
  }
  if (!ratios.empty()) {
    std::nth_element(ratios.begin(), ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2), ratios.end());
    frame.ratio = std::clamp(ratios[ratios.size() / 2], 0x1p-20, 1.0);
  }
  return frame;
}

}  // namespace manymeans::cuda
