#include "fuzz/answers/exact_check.h"

#include "core/data_type.h"
#include "core/distance.h"
#include "fuzz/answers/draw.h"
#include "prototype/prototype.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>

namespace manymeans::fuzz {
namespace {

constexpr int64_t kGrain = 64;

// Complaints of several threads.
class Complaints {
 public:
  void add(const std::string& line) {
    const std::lock_guard lock(mutex_);
    if (count_++ < kMax) text_ += "    " + line + "\n";
  }
  std::string text() const { return count_ > kMax ? text_ + fmt::format("    ... {} in all\n", count_) : text_; }

 private:
  static constexpr int kMax = 4;
  std::mutex mutex_;
  std::string text_;
  int count_ = 0;
};

// Rows to look at: all that can be afforded, the first and the last among them.
std::vector<int64_t> rows_to_check(int64_t n, int64_t values, uint64_t seed) {
  constexpr int64_t kMaxValues = 200'000'000;
  const int64_t count = std::min(n, std::max<int64_t>(32, kMaxValues / values));
  std::vector<int64_t> rows;
  Draw draw(seed);
  for (int64_t i = 0; i < count; ++i) rows.push_back(count == n ? i : draw.below(n));
  rows.front() = 0;
  rows.back() = n - 1;
  return rows;
}

template <class T>
void check_labels(const Input& input, const ModelResult& model, uint64_t seed, ThreadPool& pool,
                  Complaints& complaints) {
  const int64_t d = input.points.d;
  const T* const prototypes = model.prototypes.values<T>().data();
  const std::vector<int64_t> rows = rows_to_check(input.points.n, model.k * d, seed);
  pool.for_each_range(static_cast<int64_t>(rows.size()), kGrain, [&](int, int64_t first, int64_t last) {
    std::vector<T> x(static_cast<size_t>(d));
    for (int64_t r = first; r < last; ++r) {
      const int64_t row = rows[static_cast<size_t>(r)];
      widen_row(input.points, row, x.data());
      int64_t label = 0;
      double least = canonical_distance(x.data(), prototypes, d);
      for (int64_t c = 1; c < model.k; ++c) {
        const double distance = canonical_distance(x.data(), prototypes + c * d, d);
        if (distance < least) {
          least = distance;
          label = c;
        }
      }
      const uint32_t found = model.labels[row];
      if (found == label) continue;
      complaints.add(fmt::format("row {} has label {} at {:a}, the nearest is {} at {:a}", row, found,
                                 canonical_distance(x.data(), prototypes + found * d, d), label, least));
    }
  });
}

template <class T>
void check_inertia(const Input& input, const ModelResult& model, ThreadPool& pool, Complaints& complaints) {
  const int64_t d = input.points.d, n = input.points.n;
  const T* const prototypes = model.prototypes.values<T>().data();
  std::vector<double> distances(static_cast<size_t>(n));
  pool.for_each_range(n, 4096, [&](int, int64_t first, int64_t last) {
    std::vector<T> x(static_cast<size_t>(d));
    for (int64_t i = first; i < last; ++i) {
      widen_row(input.points, i, x.data());
      distances[static_cast<size_t>(i)] = canonical_distance(x.data(), prototypes + model.labels[i] * d, d);
    }
  });
  double farthest = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (input.weight(i) > 0) farthest = std::max(farthest, distances[static_cast<size_t>(i)]);
  }
  const SumFormat format = distance_format(input, farthest);
  int64_t limbs[kMaxLimbs] = {};
  for (int64_t i = 0; i < n; ++i) add_term(input.weight(i) * distances[static_cast<size_t>(i)], format, 1, limbs);
  const double inertia = std::ldexp(rounded_sum(limbs, format), input.weight_exponent - format.shift);
  if (std::bit_cast<uint64_t>(inertia) == std::bit_cast<uint64_t>(model.inertia)) return;
  complaints.add(fmt::format("the inertia is {:a}, not {:a}", inertia, model.inertia));
}

// Integer weights by cluster.
std::vector<int64_t> cluster_weights(const Input& input, const Labels& labels, int64_t k) {
  std::vector<int64_t> weights(static_cast<size_t>(k));
  for (int64_t i = 0; i < labels.size(); ++i) weights[labels[i]] += input.integer_weight(i);
  return weights;
}

void check_counts(const Input& input, const ModelResult& model, Complaints& complaints) {
  std::vector<int64_t> counts(static_cast<size_t>(model.k));
  for (int64_t i = 0; i < model.labels.size(); ++i) ++counts[model.labels[i]];
  if (counts != model.counts) complaints.add("counts are not those of the labels");
  const std::vector<int64_t> integers = cluster_weights(input, model.labels, model.k);
  for (size_t c = 0; c < integers.size(); ++c) {
    const double weight = std::ldexp(static_cast<double>(integers[c]), input.weight_exponent - input.weight_shift);
    if (weight == model.weights[c]) continue;
    return complaints.add(fmt::format("cluster {} weighs {:a}, not {:a}", c, weight, model.weights[c]));
  }
}

// Sums of all rows by cluster, a copy a thread.
Statistics sum_by_label(const Input& input, const Labels& labels, int64_t k, ThreadPool& pool) {
  const int64_t d = input.points.d;
  std::vector<Statistics> parts(static_cast<size_t>(pool.size()), Statistics(k, d, input.limbs));
  std::vector<TermAdder> adders;
  for (const SumFormat& format : input.columns) adders.emplace_back(format);
  pool.for_each_range(input.points.n, 4096, [&](int worker, int64_t first, int64_t last) {
    std::vector<double> x(static_cast<size_t>(d));
    Statistics& mine = parts[static_cast<size_t>(worker)];
    for (int64_t i = first; i < last; ++i) {
      widen_row(input.points, i, x.data());
      int64_t* const sums = mine.row(labels[i]);
      const double weight = input.weight(i);
      for (int64_t j = 0; j < d; ++j) {
        int64_t term[kMaxLimbs] = {};
        adders[static_cast<size_t>(j)].add(weight * x[static_cast<size_t>(j)], 1, term);
        for (int g = 0; g < input.limbs; ++g) sums[g * d + j] += term[g];
      }
      mine.weights[labels[i]] += input.integer_weight(i);
      ++mine.counts[labels[i]];
    }
  });
  for (size_t p = 1; p < parts.size(); ++p) {
    const auto add = [](auto& to, const auto& from) {
      for (size_t i = 0; i < to.size(); ++i) to[i] += from[i];
    };
    add(parts[0].sums, parts[p].sums);
    add(parts[0].weights, parts[p].weights);
    add(parts[0].counts, parts[p].counts);
  }
  return std::move(parts[0]);
}

}  // namespace

bool all_weigh(const Input& input, const Labels& labels, int64_t k) {
  const std::vector<int64_t> weights = cluster_weights(input, labels, k);
  return std::find(weights.begin(), weights.end(), 0) == weights.end();
}

std::string check_model(const Input& input, const ModelResult& model, uint64_t seed, ThreadPool& pool) {
  Complaints complaints;
  if (model.prototypes.type() == DataType::kFloat64) {
    check_labels<double>(input, model, seed, pool, complaints);
    check_inertia<double>(input, model, pool, complaints);
  } else {
    check_labels<float>(input, model, seed, pool, complaints);
    check_inertia<float>(input, model, pool, complaints);
  }
  check_counts(input, model, complaints);
  return complaints.text();
}

std::string check_centroids(const Input& input, const Labels& labels, const Matrix& prototypes, ThreadPool& pool) {
  constexpr int64_t kMaxSums = int64_t{64} << 20;
  const int64_t k = prototypes.rows(), d = prototypes.columns();
  if (k * d * input.limbs * pool.size() > kMaxSums) return "";
  const Statistics statistics = sum_by_label(input, labels, k, pool);
  const Matrix right = solve_prototypes(statistics, input, prototypes, pool);
  Complaints complaints;
  for (int64_t c = 0; c < k; ++c) {
    for (int64_t j = 0; j < d; ++j) {
      const double expected = right.at(c, j), found = prototypes.at(c, j);
      if (std::bit_cast<uint64_t>(expected) == std::bit_cast<uint64_t>(found)) continue;
      complaints.add(fmt::format("prototype {}, column {} is {:a}, the centroid {:a}", c, j, found, expected));
    }
  }
  return complaints.text();
}

}  // namespace manymeans::fuzz
