#include <manymeans/error.h>

#include "core/distance.h"
#include "core/fp_environment.h"
#include "core/mapped_range.h"
#include "core/out_of_memory.h"
#include "core/random.h"
#include "data/gather.h"
#include "data/input.h"
#include "data/row_blocks.h"
#include "engine/criteria_of_input.h"
#include "engine/exact_sum.h"
#include "engine/row_distances.h"
#include "engine/sampled_silhouettes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <queue>
#include <utility>

namespace manymeans {
namespace {

constexpr int64_t kGrain = 256;  // rows that a thread takes at a time

// The points, their labels, and what follows from both alone.
class Clusters {
 public:
  Clusters(const Input& input, std::span<const uint32_t> labels, ThreadPool& pool);

  const Input& input;
  std::span<const uint32_t> labels;
  std::vector<int64_t> label_of;        // of each cluster that has rows, ascending
  std::vector<uint32_t> cluster_of;     // of each label; any for those without rows
  std::vector<int64_t> counts;          // rows by cluster
  std::shared_ptr<const Matrix> means;  // K x D, binary64
  Matrix mean;                          // of all rows

  int64_t rows() const { return input.points.n; }
  int64_t columns() const { return input.points.d; }
  int64_t clusters() const { return static_cast<int64_t>(counts.size()); }
  uint32_t cluster(int64_t row) const { return cluster_of[labels[static_cast<size_t>(row)]]; }

 private:
  void count();
  void add_up(ThreadPool& pool);
};

Clusters::Clusters(const Input& input_of, std::span<const uint32_t> labels_of, ThreadPool& pool)
    : input(input_of), labels(labels_of) {
  count();
  add_up(pool);
}

void Clusters::count() {
  const uint32_t largest = *std::ranges::max_element(labels);
  if (largest >= uint32_t{1} << 31) {
    throw Error(ErrorCode::kUsage, "labels", fmt::format("{} is no label; the largest is 2^31 - 1", largest));
  }
  std::vector<int64_t> rows_of(static_cast<size_t>(largest) + 1);
  for (const uint32_t label : labels) ++rows_of[label];
  cluster_of.assign(rows_of.size(), 0);
  for (size_t label = 0; label < rows_of.size(); ++label) {
    if (rows_of[label] == 0) continue;
    cluster_of[label] = static_cast<uint32_t>(counts.size());
    label_of.push_back(static_cast<int64_t>(label));
    counts.push_back(rows_of[label]);
  }
}

// The contract's order-free sums, each rounded once and divided.
void Clusters::add_up(ThreadPool& pool) {
  const int64_t k = clusters(), d = columns();
  const auto limbs = static_cast<int64_t>(input.limbs);
  std::vector<std::vector<int64_t>> sums(static_cast<size_t>(pool.size()));
  for (auto& own : sums) own.resize(static_cast<size_t>((k + 1) * limbs * d));
  for_each_block<double>(input.points, {}, pool, [&](int worker, int64_t first, int64_t count, const double* values) {
    int64_t* const own = sums[static_cast<size_t>(worker)].data();
    for (int64_t i = 0; i < count; ++i) {
      int64_t* const to = own + cluster(first + i) * limbs * d;
      for (int64_t j = 0; j < d; ++j) {
        const SumFormat& format = input.columns[static_cast<size_t>(j)];
        int64_t term[kMaxLimbs] = {};
        add_term(values[i * d + j], format, 1, term);
        for (int g = 0; g < format.limbs; ++g) to[g * d + j] += term[g];
      }
    }
  });
  std::vector<int64_t>& all = sums[0];
  for (size_t worker = 1; worker < sums.size(); ++worker) {
    for (size_t i = 0; i < all.size(); ++i) all[i] += sums[worker][i];
  }
  const auto size = static_cast<size_t>(limbs * d);
  int64_t* const total = all.data() + static_cast<size_t>(k) * size;
  for (int64_t c = 0; c < k; ++c) {
    for (size_t i = 0; i < size; ++i) total[i] += all[static_cast<size_t>(c) * size + i];
  }
  const auto mean_of = [&](int64_t c, double count, double* out) {
    for (int64_t j = 0; j < d; ++j) {
      const SumFormat& format = input.columns[static_cast<size_t>(j)];
      out[j] =
          std::ldexp(rounded_sum(all.data() + static_cast<size_t>(c) * size + j, format, d) / count, -format.shift);
    }
  };
  Matrix found(k, d, DataType::kFloat64);
  for (int64_t c = 0; c < k; ++c) {
    mean_of(c, static_cast<double>(counts[static_cast<size_t>(c)]), found.values<double>().data() + c * d);
  }
  means = std::make_shared<const Matrix>(std::move(found));
  mean = Matrix(1, d, DataType::kFloat64);
  mean_of(k, static_cast<double>(rows()), mean.values<double>().data());
}

// The sums of a thread for one cluster.
struct ClusterSum {
  ExactSum distances, squares;    // to the cluster's mean
  SignedSum simplified, squared;  // silhouettes
};

class ByThread {
 public:
  ByThread(ThreadPool& pool, int64_t clusters) : sums_(static_cast<size_t>(pool.size())) {
    for (auto& own : sums_) own.resize(static_cast<size_t>(clusters));
  }
  std::vector<ClusterSum>& of(int worker) { return sums_[static_cast<size_t>(worker)]; }
  std::vector<ClusterSum> all() {
    for (size_t worker = 1; worker < sums_.size(); ++worker) {
      for (size_t c = 0; c < sums_[0].size(); ++c) {
        sums_[0][c].distances.add(sums_[worker][c].distances);
        sums_[0][c].squares.add(sums_[worker][c].squares);
        sums_[0][c].simplified.add(sums_[worker][c].simplified);
        sums_[0][c].squared.add(sums_[worker][c].squared);
      }
    }
    return std::move(sums_[0]);
  }

 private:
  std::vector<std::vector<ClusterSum>> sums_;
};

// Sums of the distances of rows to the means of their clusters.
std::vector<ClusterSum> spreads(const Clusters& all, ThreadPool& pool) {
  ByThread sums(pool, all.clusters());
  const int64_t d = all.columns();
  const std::span<const double> means = all.means->values<double>();
  for_each_block<double>(all.input.points, {}, pool, [&](int worker, int64_t first, int64_t count, const double* rows) {
    for (int64_t i = 0; i < count; ++i) {
      const uint32_t own = all.cluster(first + i);
      const double distance = std::sqrt(canonical_distance(rows + i * d, means.data() + own * d, d));
      sums.of(worker)[own].distances.add(distance);
      sums.of(worker)[own].squares.add(distance * distance);
    }
  });
  return sums.all();
}

// The mean squared distance of rows to the mean of their cluster, by cluster.
std::vector<double> variances(const Clusters& all, const std::vector<ClusterSum>& spread) {
  std::vector<double> found;
  for (size_t c = 0; c < spread.size(); ++c) {
    found.push_back(spread[c].squares.rounded() / static_cast<double>(all.counts[c]));
  }
  return found;
}

// The silhouettes of a row whose distances to all means are `d`; 0 where it is alone.
struct RowSilhouettes {
  double simplified = 0, squared = 0;
};

RowSilhouettes silhouettes_of(const double* d, uint32_t own, double count, const std::vector<double>& variances) {
  if (count == 1) return {};
  double nearest = std::numeric_limits<double>::infinity(), least = nearest;
  for (size_t c = 0; c < variances.size(); ++c) {
    if (c == own) continue;
    nearest = std::min(nearest, d[c]);
    least = std::min(least, d[c] * d[c] + variances[c]);
  }
  return {silhouette_of(d[own], nearest),
          silhouette_of((d[own] * d[own] + variances[own]) * (count / (count - 1)), least)};
}

std::vector<ClusterSum> silhouettes(const Clusters& all, const std::vector<double>& variances,
                                    const RowDistances& to_means, ThreadPool& pool) {
  ByThread sums(pool, all.clusters());
  to_means.of_all(all.input.points, [&](int64_t first, const Matrix& distances) {
    pool.for_each_range(distances.rows(), kGrain, [&](int worker, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const double* const d = distances.values<double>().data() + i * all.clusters();
        const uint32_t own = all.cluster(first + i);
        const RowSilhouettes its = silhouettes_of(d, own, static_cast<double>(all.counts[own]), variances);
        sums.of(worker)[own].simplified.add(its.simplified);
        sums.of(worker)[own].squared.add(its.squared);
      }
    });
  });
  return sums.all();
}

double total_of(const std::vector<ClusterSum>& sums, ExactSum ClusterSum::*member) {
  ExactSum all;
  for (const ClusterSum& sum : sums) all.add(sum.*member);
  return all.rounded();
}

double total_of(const std::vector<ClusterSum>& sums, SignedSum ClusterSum::*member) {
  SignedSum all;
  for (const ClusterSum& sum : sums) all.add(sum.*member);
  return all.rounded();
}

double calinski_harabasz(const Clusters& all, double within) {
  ExactSum between;
  const std::span<const double> means = all.means->values<double>(), mean = all.mean.values<double>();
  const auto d = static_cast<size_t>(all.columns());
  for (size_t c = 0; c < all.counts.size(); ++c) {
    for (size_t j = 0; j < d; ++j) {
      const double t = means[c * d + j] - mean[j];
      between.add(static_cast<double>(all.counts[c]) * (t * t));
    }
  }
  const auto n = static_cast<double>(all.rows()), k = static_cast<double>(all.clusters());
  return within == 0 ? 1 : between.rounded() * (n - k) / (within * (k - 1));
}

double davies_bouldin(const Clusters& all, const std::vector<ClusterSum>& spread, const RowDistances& to_means) {
  const int64_t k = all.clusters();
  std::vector<double> means;
  for (size_t c = 0; c < spread.size(); ++c) {
    means.push_back(spread[c].distances.rounded() / static_cast<double>(all.counts[c]));
  }
  std::vector<double> largest(static_cast<size_t>(k));
  to_means.of_all(all.means->view(), [&](int64_t first, const Matrix& distances) {
    for (int64_t i = 0; i < distances.rows(); ++i) {
      for (int64_t j = 0; j < k; ++j) {
        const double distance = distances.at(i, j);
        if (j == first + i || distance == 0) continue;
        double& worst = largest[static_cast<size_t>(first + i)];
        worst = std::max(worst, (means[static_cast<size_t>(first + i)] + means[static_cast<size_t>(j)]) / distance);
      }
    }
  });
  ExactSum sum;
  for (const double worst : largest) sum.add(worst);
  return sum.rounded() / static_cast<double>(k);
}

double bic(const Clusters& all, double within) {
  const auto n = static_cast<double>(all.rows()), k = static_cast<double>(all.clusters());
  const auto d = static_cast<double>(all.columns());
  const double variance = within / (d * (n - k));
  double likelihood = -n * d / 2 * std::log(2 * std::numbers::pi * variance) - d * (n - k) / 2;
  for (const int64_t count : all.counts) {
    const auto rows = static_cast<double>(count);
    likelihood += rows * std::log(rows / n);
  }
  return k * (d + 1) * std::log(n) - 2 * likelihood;
}

// The rows with the smallest random numbers, ascending.
std::vector<int64_t> sampled_rows(int64_t n, int64_t count, uint64_t seed) {
  using Drawn = std::pair<uint64_t, int64_t>;
  std::priority_queue<Drawn> least;
  for (int64_t row = 0; row < n; ++row) {
    const Drawn drawn{random_u64(seed, static_cast<uint64_t>(row), 0, Purpose::kCriterionRow), row};
    if (static_cast<int64_t>(least.size()) < count) {
      least.push(drawn);
    } else if (drawn < least.top()) {
      least.pop();
      least.push(drawn);
    }
  }
  std::vector<int64_t> rows;
  for (; !least.empty(); least.pop()) rows.push_back(least.top().second);
  std::ranges::sort(rows);
  return rows;
}

// The sampled silhouettes of clusterings of the same rows, into the criteria of each.
void add_sampled(const Input& input, std::span<const ClusteredRows> clusterings, std::span<Criteria* const> found,
                 const CriteriaOptions& options, ThreadPool& pool) {
  constexpr double kDoubt = 0.05;
  const int64_t n = input.points.n, count = std::min(options.sample, n);
  if (count < 1 || clusterings.empty()) return;
  const std::vector<int64_t> rows = sampled_rows(n, count, options.seed);
  const std::vector<double> means = sampled_silhouettes(input, clusterings, rows, pool);
  for (size_t c = 0; c < found.size(); ++c) {
    found[c]->silhouette = means[c];
    found[c]->silhouette_rows = count;
    // The mean of numbers between -1 and 1; without replacement it is no worse.
    if (count < n) found[c]->silhouette_error = std::sqrt(2 * std::log(2 / kDoubt) / static_cast<double>(count));
  }
}

ClusteredRows clustered_rows(const Clusters& all) {
  const auto read = [&all](int64_t first, int64_t count, uint32_t* clusters) {
    for (int64_t i = 0; i < count; ++i) clusters[i] = all.cluster(first + i);
  };
  return {read, all.counts};
}

ClusteredRows clustered_rows(const Labels& labels) {
  constexpr int64_t kBlock = 4096;
  std::vector<uint32_t> block(kBlock);
  std::vector<int64_t> counts;
  for (int64_t first = 0; first < labels.size(); first += kBlock) {
    const int64_t some = std::min(kBlock, labels.size() - first);
    labels.read(first, some, block.data());
    for (int64_t i = 0; i < some; ++i) {
      const size_t label = block[static_cast<size_t>(i)];
      if (label >= counts.size()) counts.resize(label + 1);
      ++counts[label];
    }
  }
  return {[&labels](int64_t first, int64_t count, uint32_t* clusters) { labels.read(first, count, clusters); }, counts};
}

Criteria judge(const Clusters& all, const CriteriaOptions& options, ThreadPool& pool) {
  Criteria found;
  found.rows = all.rows();
  found.clusters = all.clusters();
  found.cluster_silhouettes.assign(all.cluster_of.size(), Criteria::kUndefined);
  const std::vector<ClusterSum> spread = spreads(all, pool);
  const double within = total_of(spread, &ClusterSum::squares);
  const bool scattered = all.rows() > all.clusters();
  if (scattered) found.bic = bic(all, within);
  if (all.clusters() < 2) return found;
  const RowDistances to_means(all.means, pool);
  if (scattered) {
    found.calinski_harabasz = calinski_harabasz(all, within);
    found.davies_bouldin = davies_bouldin(all, spread, to_means);
  }
  const std::vector<ClusterSum> sums = silhouettes(all, variances(all, spread), to_means, pool);
  found.simplified_silhouette = total_of(sums, &ClusterSum::simplified) / static_cast<double>(all.rows());
  found.squared_silhouette = total_of(sums, &ClusterSum::squared) / static_cast<double>(all.rows());
  for (size_t c = 0; c < sums.size(); ++c) {
    found.cluster_silhouettes[static_cast<size_t>(all.label_of[c])] =
        sums[c].squared.rounded() / static_cast<double>(all.counts[c]);
  }
  const ClusteredRows rows = clustered_rows(all);
  Criteria* const criteria[] = {&found};
  add_sampled(all.input, {&rows, 1}, criteria, options, pool);
  return found;
}

}  // namespace

Criteria criteria_of(const Input& input, std::span<const uint32_t> labels, const CriteriaOptions& options,
                     ThreadPool& pool) {
  return judge(Clusters(input, labels, pool), options, pool);
}

void add_sampled_silhouettes(const Input& input, std::span<const JudgedLabels> all, const CriteriaOptions& options,
                             ThreadPool& pool) {
  std::vector<ClusteredRows> clusterings;
  std::vector<Criteria*> found;
  for (const JudgedLabels& its : all) {
    if (its.criteria->clusters < 2) continue;
    clusterings.push_back(clustered_rows(*its.labels));
    found.push_back(its.criteria);
  }
  add_sampled(input, clusterings, found, options, pool);
}

std::vector<double> squared_silhouettes(const Input& input, std::span<const uint32_t> labels,
                                        std::span<const int64_t> rows, ThreadPool& pool) {
  const Clusters all(input, labels, pool);
  std::vector<double> found(rows.size(), Criteria::kUndefined);
  if (all.clusters() < 2) return found;
  const std::vector<double> within = variances(all, spreads(all, pool));
  const RowDistances to_means(all.means, pool);
  const Matrix given = gather_rows(input.points, rows);
  to_means.of_all(given.view(), [&](int64_t first, const Matrix& distances) {
    for (int64_t i = 0; i < distances.rows(); ++i) {
      const auto at = static_cast<size_t>(first + i);
      const double* const d = distances.values<double>().data() + i * all.clusters();
      const uint32_t own = all.cluster(rows[at]);
      found[at] = silhouettes_of(d, own, static_cast<double>(all.counts[own]), within).squared;
    }
  });
  return found;
}

Criteria criteria(const PointsView& points, std::span<const uint32_t> labels, const CriteriaOptions& options) {
  const FpEnvironmentGuard guard;
  return or_out_of_memory("memory", "give it fewer rows, or a smaller sample", [&] {
    if (static_cast<int64_t>(labels.size()) != points.n) {
      throw Error(ErrorCode::kUsage, "labels", fmt::format("there are {} labels of {} rows", labels.size(), points.n));
    }
    if (options.sample < 0) {
      throw Error(ErrorCode::kUsage, "sample", fmt::format("{} rows are less than none", options.sample));
    }
    ThreadPool pool(thread_count(options.threads), options.abort);
    const Input input = prepare_input(points, {}, pool);
    Criteria found = criteria_of(input, labels, options, pool);
    check_mapped(points.data);
    return found;
  });
}

}  // namespace manymeans
