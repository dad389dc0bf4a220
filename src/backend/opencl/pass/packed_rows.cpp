#include "backend/opencl/pass/packed_rows.h"

#include "backend/opencl/kernels/kernel_types.h"
#include "backend/opencl/pass/opencl_plan.h"
#include "core/data_type.h"

#include <algorithm>
#include <cmath>

namespace manymeans::opencl {
namespace {

constexpr int64_t kBlock = MANYMEANS_PACKED_ROWS;

}  // namespace

PackedRows::PackedRows(const Input& input, const Frame& frame, ThreadPool& pool) : width_(input.points.d + 1) {
  const PointsView& points = input.points;
  const int64_t d = points.d;
  const int64_t rows = packed_rows(points.n);
  values_ = AlignedBuffer<float>(static_cast<size_t>(rows * (d + 1)));
  pool.for_each_range(rows / kBlock, 1, [&](int, int64_t first, int64_t last) {
    std::vector<double> x(static_cast<size_t>(d));
    std::fill_n(values_.data() + first * kBlock * (d + 1), (last - first) * kBlock * (d + 1), 0.0F);
    for (int64_t row = first * kBlock; row < std::min(last * kBlock, points.n); ++row) {
      widen(points.data, points.type, row * d, d, x.data());
      float* const to = values_.data() + row / kBlock * (d + 1) * kBlock + row % kBlock;
      double sum = 0;
      for (int64_t j = 0; j < d; ++j) {
        const auto at = static_cast<size_t>(j);
        const double y = (x[at] - frame.centre[at]) * frame.scale;
        sum = std::fma(y, y, sum);
        to[j * kBlock] = static_cast<float>(y);
      }
      // 2^-20 is more than rounding to float32 takes away.
      to[d * kBlock] = static_cast<float>(std::sqrt(sum) * (1 + 0x1p-19) + 0x1p-69);
    }
  });
}

}  // namespace manymeans::opencl
