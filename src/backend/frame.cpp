#include "backend/frame.h"

#include "core/data_type.h"

#include <algorithm>
#include <cmath>

namespace manymeans {
namespace {

constexpr int64_t kMostSampleRows = 511;
constexpr int64_t kFewestSampleRows = 31;
constexpr int64_t kSampleValues = int64_t{1} << 22;  // fewer rows of wide data: any centre will do, memory is bounded
constexpr int kNormExponent = 60;

// Median of every column over rows spread evenly.
std::vector<double> sample_medians(const Input& input) {
  const PointsView& points = input.points;
  const int64_t rows = std::min(points.n, std::clamp(kSampleValues / points.d, kFewestSampleRows, kMostSampleRows));
  const auto d = static_cast<size_t>(points.d);
  std::vector<std::vector<double>> columns(d, std::vector<double>(static_cast<size_t>(rows)));
  std::vector<double> row(d);
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t at = static_cast<int64_t>(static_cast<__int128>(i) * points.n / rows);
    widen(points.data, points.type, at * points.d, points.d, row.data());
    for (size_t j = 0; j < d; ++j) columns[j][static_cast<size_t>(i)] = row[j];
    input.memory.window.visited(at);
  }
  for (size_t j = 0; j < d; ++j) {
    std::nth_element(columns[j].begin(), columns[j].begin() + rows / 2, columns[j].end());
    row[j] = columns[j][static_cast<size_t>(rows / 2)];
  }
  return row;
}

}  // namespace

Frame find_frame(const Input& input) {
  Frame frame;
  frame.centre = sample_medians(input);
  double square = 0;
  for (size_t j = 0; j < frame.centre.size(); ++j) {
    const double reach = std::max(input.maximum[j] - frame.centre[j], frame.centre[j] - input.minimum[j]);
    square += reach * reach;
    frame.largest = std::max(frame.largest, reach);
  }
  // Powers of two that binary64 holds; points so small that this is not enough are resolved, not screened.
  frame.exponent = square > 0 ? std::clamp(kNormExponent - exponent(std::sqrt(square)), -1000, 1000) : 0;
  frame.scale = std::ldexp(1.0, frame.exponent);
  return frame;
}

}  // namespace manymeans
