#include "backend/frame.h"

#include "core/data_type.h"
#include "data/gather.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace manymeans {
namespace {

constexpr int64_t kMaxSampleRows = 511;
constexpr int64_t kMinSampleRows = 31;
constexpr int64_t kRowsPerSample = 16;               // or the medians of few rows take as long as two passes over them
constexpr int64_t kSampleValues = int64_t{1} << 22;  // fewer rows of wide data: any centre will do, memory is bounded
constexpr int kNormExponent = 60;
constexpr int64_t kColumnsTogether = 8;  // of a thread

// Median of every column over rows spread evenly.
std::vector<double> sample_medians(const Input& input, int64_t max_rows, ThreadPool* pool) {
  const PointsView& points = input.points;
  const int64_t rows = std::min(
      points.n, std::clamp(std::min(kSampleValues / points.d, points.n / kRowsPerSample), kMinSampleRows, max_rows));
  const auto d = static_cast<size_t>(points.d);
  const Matrix sample = gather_rows(input, spread_rows(points.n, rows));
  std::vector<double> medians(d);
  as_float_type(sample.type(), [&]<class T>(T) {
    const auto find = [&](int /*worker*/, int64_t first, int64_t last) {
      std::vector<T> column(static_cast<size_t>(rows));
      for (auto j = static_cast<size_t>(first); j < static_cast<size_t>(last); ++j) {
        const T* value = sample.values<T>().data() + j;
        for (size_t i = 0; i < column.size(); ++i) column[i] = value[i * d];
        std::nth_element(column.begin(), column.begin() + rows / 2, column.end());
        medians[j] = column[static_cast<size_t>(rows / 2)];
      }
    };
    if (pool == nullptr) return find(0, 0, points.d);
    pool->for_each_range(points.d, kColumnsTogether, find);
  });
  return medians;
}

Frame frame_around(const Input& input, std::vector<double> centre) {
  Frame frame;
  frame.centre = std::move(centre);
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

}  // namespace

Frame find_frame(const Input& input, ThreadPool* pool) {
  return frame_around(input, sample_medians(input, kMaxSampleRows, pool));
}

Frame find_column_frame(const Input& input) {
  Frame frame;
  frame.centre = sample_medians(input, kMaxSampleRows, nullptr);
  for (size_t j = 0; j < frame.centre.size(); ++j) {
    const double reach = std::max(input.maximum[j] - frame.centre[j], frame.centre[j] - input.minimum[j]);
    frame.scales.push_back(reach > 0 ? std::ldexp(1.0, std::clamp(-exponent(reach), -1000, 1000)) : 1);
  }
  return frame;
}

Frame find_wide_frame(const Input& input) {
  constexpr int kReserve = 20;
  // Of few rows: a frame may be asked for before every few rows that are labelled.
  Frame frame = frame_around(input, sample_medians(input, kMinSampleRows, nullptr));
  frame.exponent -= kReserve;
  frame.scale = std::ldexp(1.0, frame.exponent);
  return frame;
}

}  // namespace manymeans
