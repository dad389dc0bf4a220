#include "data/gather.h"

#include "core/data_type.h"

namespace manymeans {

namespace {

Matrix gather(const PointsView& points, std::span<const int64_t> rows, const RowWindow& window) {
  Matrix result(static_cast<int64_t>(rows.size()), points.d, prototype_type(points.type));
  const auto copy = [&](auto values) {
    for (size_t i = 0; i < rows.size(); ++i) {
      auto* out = values.data() + static_cast<int64_t>(i) * points.d;
      widen(points.data, points.type, rows[i] * points.d, points.d, out);
      for (int64_t j = 0; j < points.d; ++j) out[j] += 0;  // no negative zeros
      window.visited(rows[i]);
    }
  };
  if (result.type() == DataType::kFloat64) {
    copy(result.values<double>());
  } else {
    copy(result.values<float>());
  }
  return result;
}

}  // namespace

Matrix gather_rows(const PointsView& points, std::span<const int64_t> rows) {
  return gather(points, rows, {});
}

Matrix gather_rows(const Input& input, std::span<const int64_t> rows) {
  return gather(input.points, rows, input.memory.window);
}

}  // namespace manymeans
