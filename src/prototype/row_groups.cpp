#include "prototype/row_groups.h"

#include "core/data_type.h"
#include "data/gather.h"
#include "data/row_blocks.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace manymeans {
namespace {

// Adds rows to the statistics of their clusters, one after the other.
class RowAdder {
 public:
  RowAdder(const Input& input, int64_t k)
      : prototype_(prototype_of(input)),
        weight_shift_(input.weight_shift),
        terms_(static_cast<size_t>(prototype_.terms(input.points.d))),
        statistics_(k, static_cast<int64_t>(terms_.size()), input.limbs) {
    for (const SumFormat& format : input.columns) adders_.emplace_back(format);
  }

  /// A row of integer weight q.
  template <class T>
  void add(const T* x, int64_t d, int64_t q, int64_t cluster) {
    const double weight = std::ldexp(static_cast<double>(q), -weight_shift_);
    prototype_.rows<T>().terms({x, 1, d}, &weight, terms_.data());
    const auto count = static_cast<int64_t>(terms_.size());
    for (int64_t t = 0; t < count; ++t) {
      std::array<int64_t, kMaxLimbs> limbs{};
      adders_[static_cast<size_t>(t)].add(terms_[static_cast<size_t>(t)], 1, limbs.data());
      for (int g = 0; g < statistics_.limbs; ++g)
        statistics_.row(cluster)[g * count + t] += limbs[static_cast<size_t>(g)];
    }
    statistics_.weights[static_cast<size_t>(cluster)] += q;
    ++statistics_.counts[static_cast<size_t>(cluster)];
  }
  Statistics& statistics() { return statistics_; }

 private:
  const Prototype& prototype_;
  int weight_shift_;
  std::vector<TermAdder> adders_;
  std::vector<double> terms_;  // of one row
  Statistics statistics_;
};

void merge(const Statistics& from, Statistics& into) {
  for (size_t i = 0; i < into.sums.size(); ++i) into.sums[i] += from.sums[i];
  for (size_t k = 0; k < into.weights.size(); ++k) {
    into.weights[k] += from.weights[k];
    into.counts[k] += from.counts[k];
  }
}

Matrix solved(const Input& input, const Statistics& statistics, ThreadPool& pool) {
  const int64_t width = prototype_of(input).width(input.points.d);
  return solve_prototypes(statistics, input, Matrix(statistics.k, width, prototype_type(input.points.type)), pool);
}

}  // namespace

Matrix prototypes_of_groups(const Input& input, std::span<const std::vector<int64_t>> groups, ThreadPool& pool) {
  std::vector<int64_t> rows;
  std::vector<int64_t> first;  // of each group
  for (const std::vector<int64_t>& group : groups) {
    first.push_back(static_cast<int64_t>(rows.size()));
    rows.insert(rows.end(), group.begin(), group.end());
  }
  const Matrix points = gather_from_all(input, rows);
  std::vector<int64_t> q(rows.size(), 1);
  if (input.weighted) q = weights_from_all(input, rows);
  const int64_t d = input.points.d;
  Matrix result(static_cast<int64_t>(groups.size()), prototype_of(input).width(d), points.type());
  as_float_type(points.type(), [&]<class T>(T) {
    const std::span<const T> values = points.values<T>();
    pool.for_each_range(result.rows(), 1, [&](int, int64_t group, int64_t) {
      RowAdder adder(input, 1);
      const int64_t begin = first[static_cast<size_t>(group)];
      const auto end = begin + static_cast<int64_t>(groups[static_cast<size_t>(group)].size());
      for (int64_t i = begin; i < end; ++i) adder.add(values.data() + i * d, d, q[static_cast<size_t>(i)], 0);
      ThreadPool alone(1);
      const Matrix model = solved(input, adder.statistics(), alone);
      std::ranges::copy(model.values<T>(), result.values<T>().begin() + group * result.columns());
    });
  });
  return result;
}

Matrix prototypes_of_labels(const Input& input, const Labels& labels, int64_t k, ThreadPool& pool) {
  std::vector<RowAdder> adders(static_cast<size_t>(pool.size()), RowAdder(input, k));
  const int64_t d = input.points.d;
  as_float_type(input.points.type, [&]<class T>(T) {
    for_each_block<T>(input.host_points(), input.memory.window, pool,
                      [&](int worker, int64_t row, int64_t rows, const T* x) {
                        for (int64_t i = row; i < row + rows; ++i, x += d) {
                          adders[static_cast<size_t>(worker)].add(x, d, input.integer_weight(i), labels[i]);
                        }
                      });
  });
  Statistics& all = adders[0].statistics();
  for (size_t worker = 1; worker < adders.size(); ++worker) merge(adders[worker].statistics(), all);
  input.comm->sum(std::span(all.sums));
  input.comm->sum(std::span(all.weights));
  input.comm->sum(std::span(all.counts));
  return solved(input, all, pool);
}

}  // namespace manymeans
