#include <manymeans/error.h>
#include <manymeans/sparse.h>
#include <manymeans/summary.h>

#include "comm/or_abort.h"
#include "core/column_lanes.h"
#include "core/data_type.h"
#include "core/fp_environment.h"
#include "core/mapped_range.h"
#include "core/moments.h"
#include "core/out_of_memory.h"
#include "core/threads.h"
#include "data/input.h"
#include "data/row_blocks.h"
#include "data/unit_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

namespace manymeans {
namespace {

constexpr const char* kAdvice = "the fit can do without the summary";

void check_model(const PointsView& points, const ModelResult& model, const Scaling& scaling) {
  const Matrix& prototypes = model.prototypes;
  const auto refuse = [](const std::string& what) { throw Error(ErrorCode::kUsage, "model", what); };
  if (model.stop_reason == StopReason::kNotBegun) refuse("has not begun; there are no clusters");
  if (prototypes.columns() != points.d) {
    refuse(fmt::format("has {} columns, the points have {}; give it those that it was fitted to", prototypes.columns(),
                       points.d));
  }
  if (prototypes.type() != prototype_type(points.type)) {
    refuse(fmt::format("is of {}, the points are of {}; give it those that it was fitted to",
                       name_of(prototypes.type()), name_of(points.type)));
  }
  if (model.labels.size() != points.n) {
    refuse(fmt::format("has labels of {} rows, there are {} points; give it those that it was fitted to",
                       model.labels.size(), points.n));
  }
  if (std::ssize(model.counts) != prototypes.rows() || std::ssize(model.weights) != prototypes.rows()) {
    refuse(fmt::format("has {} prototypes, {} counts and {} weights; one of each for a cluster is right",
                       prototypes.rows(), model.counts.size(), model.weights.size()));
  }
  if (scaling.offset.empty()) return;
  if (std::ssize(scaling.offset) == points.d && std::ssize(scaling.divisor) == points.d) return;
  throw Error(ErrorCode::kUsage, "scaling",
              fmt::format("has {} offsets and {} divisors for {} columns", scaling.offset.size(),
                          scaling.divisor.size(), points.d));
}

// Lanes make it fast where an ordinary sum waits for itself; the compiler makes vectors of them, and the bits are the
// same whatever they are.
template <class T>
double squared_distance(const T* x, const T* c, int64_t d) {
  constexpr int64_t kLanes = 8;
  std::array<double, kLanes> sums{};
  int64_t j = 0;
  for (; j + kLanes <= d; j += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const double t = static_cast<double>(x[j + lane]) - static_cast<double>(c[j + lane]);
      sums[static_cast<size_t>(lane)] += t * t;
    }
  }
  for (; j < d; ++j) {
    const double t = static_cast<double>(x[j]) - static_cast<double>(c[j]);
    sums[static_cast<size_t>(j % kLanes)] += t * t;
  }
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

// Above every squared distance of a point to a prototype.
double farthest(const Input& input, const Matrix& prototypes) {
  double sum = 0;
  for (int64_t j = 0; j < prototypes.columns(); ++j) {
    double least = input.minimum[static_cast<size_t>(j)], most = input.maximum[static_cast<size_t>(j)];
    for (int64_t k = 0; k < prototypes.rows(); ++k) {
      least = std::min(least, prototypes.at(k, j));
      most = std::max(most, prototypes.at(k, j));
    }
    sum += (most - least) * (most - least);
  }
  constexpr double kRounding = 1 + 0x1p-20;  // far more than sums of any number of columns lose
  return sum * kRounding;
}

// Adds y = x - centre and y * y by weight. Sums over weights w' = q * 2^-shift equal sums over weights q in other
// units. Their total weight is the sum of all q.
struct WeightedMoments {
  WeightedMoments(MomentFormats formats, int weight_shift) : of_integers(formats), centre(formats.centre) {
    // w' is 2 at most, so that terms need one bit more.
    formats.y.shift -= 1;
    formats.yy.shift -= 1;
    y = TermAdder(formats.y);
    yy = TermAdder(formats.yy);
    of_integers.y.shift = formats.y.shift - weight_shift;
    of_integers.yy.shift = formats.yy.shift - weight_shift;
  }
  void add(double x, double weight, MomentSums& sums) const {
    const double from_centre = x - centre;
    y.add(weight * from_centre, 1, sums.y);
    yy.add(weight * (from_centre * from_centre), 1, sums.yy);
  }

  MomentFormats of_integers;  // of the sums over q
  double centre;
  TermAdder y, yy;
};

// The rows of each cluster that are nearest to its prototype, the first of several that are as near.
class NearestRows {
 public:
  explicit NearestRows(size_t clusters) : rows_(clusters * kMost) {}

  void add(size_t cluster, double d2, int64_t row) {
    Near added{d2, row};
    if (!(added < rows_[(cluster + 1) * kMost - 1])) return;
    for (size_t i = cluster * kMost; i < (cluster + 1) * kMost; ++i) {
      if (added < rows_[i]) std::swap(added, rows_[i]);
    }
  }
  void merge(const NearestRows& other) { merge(other.rows_); }
  void merge_ranks(Comm& comm) {
    if (!comm.alone())
      merge(comm.gather_flat(std::span<const Near>(std::exchange(rows_, decltype(rows_)(rows_.size())))));
  }
  std::vector<int64_t> of(size_t cluster) const {
    std::vector<int64_t> found;
    for (size_t i = cluster * kMost; i < (cluster + 1) * kMost && rows_[i].row >= 0; ++i) found.push_back(rows_[i].row);
    return found;
  }

 private:
  static constexpr auto kMost = static_cast<size_t>(kMaxTypical);
  struct Near {
    double d2 = std::numeric_limits<double>::infinity();
    int64_t row = -1;
    bool operator<(const Near& other) const { return d2 != other.d2 ? d2 < other.d2 : row < other.row; }
  };
  void merge(const std::vector<Near>& others) {
    for (size_t i = 0; i < others.size(); ++i) {
      if (others[i].row >= 0) add(i % rows_.size() / kMost, others[i].d2, others[i].row);
    }
  }

  std::vector<Near> rows_;
};

// Sums of one thread over the rows that it sees.
template <class T>
struct RowSums {
  RowSums(const std::vector<MomentFormats>& formats, size_t clusters)
      : plain(formats),
        weighted(formats.size()),
        distances(clusters * kDistanceLimbs),
        integers(clusters),
        nearest(clusters) {}
  MomentSummer<T> plain;             // without weights
  std::vector<MomentSums> weighted;  // with them
  std::vector<int64_t> distances;    // per cluster: the limbs of w' * d2
  std::vector<int64_t> integers;     // per cluster: the sum of the weights' integers
  NearestRows nearest;
  std::vector<uint32_t> labels;  // of the rows at hand

  const std::vector<MomentSums>& moments(bool by_weight) { return by_weight ? weighted : plain.sums(); }
};

// The sums of all rows of all ranks.
struct Sums {
  std::vector<MomentSums> moments;
  std::vector<int64_t> distances, integers;
  NearestRows nearest;
};

class RowSummer {
 public:
  RowSummer(const Input& input, const ModelResult& model, ThreadPool& pool)
      : input_(input),
        model_(model),
        pool_(pool),
        format_(distance_format(input, farthest(input, model.prototypes))),
        adder_(format_),
        formats_(moment_formats(input)) {
    if (!input.weighted) return;
    for (const MomentFormats& formats : formats_) by_weight_.emplace_back(formats, input.weight_shift);
  }

  const SumFormat& distance() const { return format_; }
  /// Of a column's moments, whose weight is a number of integers.
  const MomentFormats& moments(size_t j) const { return input_.weighted ? by_weight_[j].of_integers : formats_[j]; }

  template <class T>
  Sums sum() {
    const auto clusters = static_cast<size_t>(model_.prototypes.rows());
    std::vector<RowSums<T>> all(static_cast<size_t>(pool_.size()), RowSums<T>(formats_, clusters));
    for_each_block<T>(input_.points, input_.memory.window, pool_,
                      [&](int worker, int64_t first, int64_t rows, const T* x) {
                        add(first, rows, x, all[static_cast<size_t>(worker)]);
                      });
    Sums result = {all[0].moments(input_.weighted), std::move(all[0].distances), std::move(all[0].integers),
                   std::move(all[0].nearest)};
    const auto add_to = [](std::vector<int64_t>& sums, const std::vector<int64_t>& more) {
      std::ranges::transform(sums, more, sums.begin(), std::plus<>());
    };
    for (size_t worker = 1; worker < all.size(); ++worker) {
      const std::vector<MomentSums>& moments = all[worker].moments(input_.weighted);
      for (size_t j = 0; j < moments.size(); ++j) result.moments[j].merge(moments[j]);
      add_to(result.distances, all[worker].distances);
      add_to(result.integers, all[worker].integers);
      result.nearest.merge(all[worker].nearest);
    }
    return result;
  }

 private:
  template <class T>
  void add(int64_t first, int64_t rows, const T* x, RowSums<T>& sums) const {
    const int64_t d = input_.points.d;
    if (!input_.weighted) sums.plain.add(x, rows);
    sums.labels.resize(static_cast<size_t>(rows));
    model_.labels.read(first, rows, sums.labels.data());
    model_.labels.give_back(first, rows);
    const T* prototypes = model_.prototypes.values<T>().data();
    for (int64_t i = 0; i < rows; ++i, x += d) {
      const size_t label = sums.labels[static_cast<size_t>(i)];
      if (label >= sums.integers.size()) {
        throw Error(ErrorCode::kUsage, "model",
                    fmt::format("has {} clusters, and row {} has the label {}", sums.integers.size(),
                                input_.shard.first + first + i + 1, label));
      }
      const double weight = input_.weight(first + i);
      const double d2 = squared_distance(x, prototypes + static_cast<int64_t>(label) * d, d);
      adder_.add(weight * d2, 1, sums.distances.data() + label * kDistanceLimbs);
      sums.integers[label] += input_.integer_weight(first + i);
      sums.nearest.add(label, d2, input_.shard.first + first + i);
      if (!input_.weighted) continue;
      for (size_t j = 0; j < by_weight_.size(); ++j) by_weight_[j].add(x[j], weight, sums.weighted[j]);
    }
  }

  const Input& input_;
  const ModelResult& model_;
  ThreadPool& pool_;
  SumFormat format_;
  TermAdder adder_;
  std::vector<MomentFormats> formats_;
  std::vector<WeightedMoments> by_weight_;
};

// The columns in which the centroid is farthest from the mean of all rows.
std::vector<int64_t> columns_apart(const Matrix& differences, int64_t cluster) {
  std::vector<int64_t> columns;
  const auto size = [&](int64_t j) { return std::fabs(differences.at(cluster, j)); };
  for (int64_t j = 0; j < differences.columns(); ++j) {
    if (size(j) >= kMinApart) columns.push_back(j);
  }
  const int64_t most = std::min(kMaxApart, static_cast<int64_t>(std::ssize(columns)));
  // The first of several that are as far, so that the order is the same everywhere.
  std::partial_sort(columns.begin(), columns.begin() + most, columns.end(),
                    [&](int64_t a, int64_t b) { return size(a) != size(b) ? size(a) > size(b) : a < b; });
  columns.resize(static_cast<size_t>(most));
  return columns;
}

// Columns and centroids, as they were before the scaling; `fitted` are the moments of what was fitted.
void describe_columns(const Matrix& prototypes, const std::vector<Moments>& fitted, const Scaling& scaling,
                      ModelSummary& summary) {
  const int64_t clusters = prototypes.rows(), d = prototypes.columns();
  summary.scaled = scaling.any();
  if (scaling.kind != Scale::kUnit) summary.logs = scaling.logs;
  summary.centroids = Matrix(clusters, d, DataType::kFloat64);
  summary.differences = Matrix(clusters, d, DataType::kFloat64);
  const auto centroids = summary.centroids.values<double>(), differences = summary.differences.values<double>();
  for (int64_t j = 0; j < d; ++j) {
    const auto at = static_cast<size_t>(j);
    const double mean = fitted[at].mean, deviation = std::sqrt(fitted[at].variance);
    summary.fitted.push_back({mean, deviation});
    const double spread = scaling.undone(mean + deviation, at) - scaling.undone(mean - deviation, at);
    const bool log = scaling.has_log(at);
    const double divisor = scaling.offset.empty() ? 1 : scaling.divisor[at];
    summary.columns.push_back({scaling.undone(mean, at), log ? spread / 2 : divisor * deviation});
    for (int64_t k = 0; k < clusters; ++k) {
      const auto cell = static_cast<size_t>(k * d + j);
      centroids[cell] = scaling.undone(prototypes.at(k, j), at);
      differences[cell] = deviation > 0 ? (prototypes.at(k, j) - mean) / deviation : 0;
    }
  }
}

void describe_clusters(const Input& input, const ModelResult& model, const Sums& sums, const SumFormat& distance,
                       ModelSummary& summary) {
  const auto all = static_cast<double>(std::accumulate(sums.integers.begin(), sums.integers.end(), int64_t{0}));
  const int shift = input.weighted ? input.weight_shift : 0;
  for (size_t k = 0; k < sums.integers.size(); ++k) {
    ClusterTraits& cluster = summary.clusters.emplace_back();
    cluster.rows = model.counts[k];
    cluster.weight = model.weights[k];
    cluster.typical = sums.nearest.of(k);
    cluster.spread = std::numeric_limits<double>::quiet_NaN();
    if (sums.integers[k] == 0) continue;
    const auto integer = static_cast<double>(sums.integers[k]);
    cluster.share = integer / all;
    const double sum = rounded_sum(sums.distances.data() + k * kDistanceLimbs, distance);
    // The mean of d2 is within the range of numbers, though the sum may not be.
    cluster.spread = std::sqrt(std::ldexp(sum / integer, shift - distance.shift));
    cluster.apart = columns_apart(summary.differences, static_cast<int64_t>(k));
  }
}

// The columns whose centroid exceeds the mean of all rows most.
std::vector<int64_t> top_terms(const ModelSummary& summary, int64_t cluster) {
  const auto above = [&](int64_t j) {
    return summary.centroids.at(cluster, j) - summary.columns[static_cast<size_t>(j)].mean;
  };
  std::vector<int64_t> columns;
  for (int64_t j = 0; j < summary.centroids.columns(); ++j) {
    if (above(j) > 0) columns.push_back(j);
  }
  std::ranges::stable_sort(columns, std::greater<>(), above);
  columns.resize(static_cast<size_t>(std::min(kMaxTerms, static_cast<int64_t>(std::ssize(columns)))));
  return columns;
}

ModelSummary summarise_rows(const Input& input, const ModelResult& model, const Scaling& scaling, ThreadPool& pool) {
  RowSummer summer(input, model, pool);
  Sums sums = as_float_type(input.points.type, [&]<class T>(T) { return summer.template sum<T>(); });
  sum_ranks(sums.moments, *input.comm);
  input.comm->sum(std::span(sums.distances));
  input.comm->sum(std::span(sums.integers));
  sums.nearest.merge_ranks(*input.comm);
  const int64_t integers = std::accumulate(sums.integers.begin(), sums.integers.end(), int64_t{0});
  std::vector<Moments> fitted;
  for (size_t j = 0; j < sums.moments.size(); ++j) {
    fitted.push_back(moments(sums.moments[j], summer.moments(j), integers));
  }
  ModelSummary summary;
  summary.weighted = input.weighted;
  describe_columns(model.prototypes, fitted, scaling, summary);
  describe_clusters(input, model, sums, summer.distance(), summary);
  return summary;
}

// The rows as the metric cosine sees them.
RowCopy unit_of(const PointsView& points, std::span<const double> weights, const SummaryOptions& options, Comm& comm) {
  const Shard shard = find_shard(points, weights, comm);
  RowCopy unit;
  unit.view = {nullptr, 0, points.d, prototype_type(points.type)};
  check_together(comm, [&] {
    if (points.n > 0) unit = unit_rows(points, {options.threads, options.memory, shard.first});
  });
  return unit;
}

}  // namespace

ModelSummary summarise(const PointsView& points, std::span<const double> weights, const ModelResult& model,
                       const SummaryOptions& options, Comm& comm) {
  const FpEnvironmentGuard guard;
  return all_or_abort(comm, [&] {
    return or_out_of_memory("summary", kAdvice, [&] {
      check_together(comm, [&] { check_model(points, model, options.scaling); });
      ThreadPool pool(thread_count(options.threads));
      const bool cosine = options.metric == Metric::kCosine;
      const RowCopy unit = cosine ? unit_of(points, weights, options, comm) : RowCopy{};
      const PointsView& fitted = cosine ? unit.view : points;
      MemoryPlan plan;
      plan.window = reading_window(fitted, options.memory);
      const Input input = prepare_input(fitted, weights, pool, plan, comm);
      ModelSummary summary = summarise_rows(input, model, cosine ? Scaling{} : options.scaling, pool);
      for (int64_t k = 0; points.place.space == kSparseSpace && k < std::ssize(summary.clusters); ++k) {
        ClusterTraits& cluster = summary.clusters[static_cast<size_t>(k)];
        if (cluster.share > 0) cluster.terms = top_terms(summary, k);
      }
      check_mapped(points.data);
      return summary;
    });
  });
}

}  // namespace manymeans
