#include "data/gather.h"

#include "core/data_type.h"

namespace manymeans {

namespace {

Matrix gather(const PointsView& points, std::span<const int64_t> rows, const RowWindow& window) {
  Matrix result(static_cast<int64_t>(rows.size()), points.d, prototype_type(points.type));
  const void* values_there = points.data;
  std::vector<std::byte> fetched;  // of points on a device: these rows alone
  if (points.on_device()) {
    fetched.resize(rows.size() * static_cast<size_t>(points.d) * size_of(points.type));
    memory_space(points).fetch_rows(points, rows, fetched.data());
    values_there = fetched.data();
  }
  const auto copy = [&](auto values) {
    for (size_t i = 0; i < rows.size(); ++i) {
      auto* out = values.data() + static_cast<int64_t>(i) * points.d;
      const int64_t row = points.on_device() ? static_cast<int64_t>(i) : rows[i];
      widen(values_there, points.type, row * points.d, points.d, out);
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

std::vector<int64_t> spread_rows(int64_t n, int64_t count) {
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < count; ++i) {
    rows.push_back(static_cast<int64_t>(static_cast<__int128>(i) * n / count));
  }
  return rows;
}

}  // namespace manymeans
