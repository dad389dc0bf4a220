#include "backend/assigned_inertia.h"

#include "core/data_type.h"
#include "data/row_blocks.h"
#include "prototype/prototype.h"

#include <algorithm>

namespace manymeans {

std::vector<double> assigned_distances(const Input& input, const Matrix& prototypes, const Labels& labels,
                                       ThreadPool& pool) {
  std::vector<double> d2(static_cast<size_t>(input.points.n));
  std::vector<std::vector<uint32_t>> read(static_cast<size_t>(pool.size()));
  as_float_type(input.points.type, [&]<class T>(T) {
    for_each_block<T>(input.host_points(), input.memory.window, pool,
                      [&](int worker, int64_t first, int64_t rows, const T* x) {
                        std::vector<uint32_t>& own = read[static_cast<size_t>(worker)];
                        own.resize(static_cast<size_t>(rows));
                        labels.read(first, rows, own.data());
                        prototype_of(input).rows<T>().distances(
                            {x, rows, input.points.d, prototypes.values<T>().data(), prototypes.rows(), own.data()},
                            d2.data() + first);
                      });
  });
  return d2;
}

std::vector<int64_t> limbs_of_distances(const Input& input, std::span<const double> d2, const SumFormat& format) {
  std::vector<int64_t> limbs(static_cast<size_t>(format.limbs));
  for (size_t i = 0; i < d2.size(); ++i) {
    add_term(input.weight(static_cast<int64_t>(i)) * d2[i], format, 1, limbs.data());
  }
  return limbs;
}

InertiaSum inertia_of_distances(const Input& input, std::span<const double> d2) {
  double farthest = 0;
  for (size_t i = 0; i < d2.size(); ++i) {
    if (input.weight(static_cast<int64_t>(i)) > 0) farthest = std::max(farthest, d2[i]);
  }
  const SumFormat format = distance_format(input, farthest);
  return {farthest, format, limbs_of_distances(input, d2, format)};
}

}  // namespace manymeans
