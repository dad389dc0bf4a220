#include "data/gather.h"

#include "core/data_type.h"

namespace manymeans {

Matrix gather_rows(const PointsView& points, std::span<const int64_t> rows) {
  Matrix result(static_cast<int64_t>(rows.size()), points.d, prototype_type(points.type));
  const auto gather = [&](auto values) {
    for (size_t i = 0; i < rows.size(); ++i) {
      auto* out = values.data() + static_cast<int64_t>(i) * points.d;
      widen(points.data, points.type, rows[i] * points.d, points.d, out);
      for (int64_t j = 0; j < points.d; ++j) out[j] += 0;  // no negative zeros
    }
  };
  if (result.type() == DataType::kFloat64) {
    gather(result.values<double>());
  } else {
    gather(result.values<float>());
  }
  return result;
}

}  // namespace manymeans
