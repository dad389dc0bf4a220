#include "engine/host_swap_scores.h"

#include "core/data_type.h"
#include "data/row_blocks.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace manymeans {
namespace {

constexpr int64_t kBlocksPerPiece = 16;  // that a thread takes at a time

std::vector<double> wide_values(const Matrix& centroids) {
  std::vector<double> values;
  values.reserve(static_cast<size_t>(centroids.rows() * centroids.columns()));
  as_float_type(centroids.type(), [&]<class T>(T) {
    for (const T value : centroids.values<T>()) values.push_back(value);
  });
  return values;
}

}  // namespace

SearchRows::SearchRows(const Input& input, ThreadPool& pool)
    : input_(input), rows_(input.points.n), d_(input.points.d), weights_(input.weights) {
  x_.resize(static_cast<size_t>(blocks() * kCentreRows * d_));
  as_float_type(input.points.type, [&]<class T>(T) {
    for_each_block<T>(input.host_points(), input.memory.window, pool,
                      [&](int, int64_t first, int64_t count, const T* values) {
                        for (int64_t row = first; row < first + count; ++row, values += d_) {
                          double* to = x_.data() + row / kCentreRows * kCentreRows * d_ + row % kCentreRows;
                          for (int64_t j = 0; j < d_; ++j) to[j * kCentreRows] = values[j];
                        }
                      });
  });
}

// The rows and the gain that a row takes from the others when it becomes a centroid.
struct HostSwapScores::Capture {
  explicit Capture(size_t d, size_t k) : point(d), taken(d), taken_here(d), change(k), rec(k) {}

  std::vector<double> point;              // the row
  std::vector<double> taken, taken_here;  // sums of the differences of taken rows to the point: all, of one cluster
  std::vector<double> change, rec;        // by cluster: of the cost of removing it, and what its update gains
  std::vector<uint32_t> touched;          // clusters that have either
  double gain = 0, weight = 0;            // of all taken rows
};

void HostSwapScores::assign(const Matrix& centroids, ThreadPool& pool) {
  k_ = centroids.rows();
  centroids_ = wide_values(centroids);
  find_nearest(pool);
  add_up();
  group();
  block_centroids();
  find_costs(pool);
}

void HostSwapScores::find_nearest(ThreadPool& pool) {
  const auto padded = static_cast<size_t>(rows_.blocks() * kCentreRows);
  for (auto* of_rows : {&nearest_, &second_}) of_rows->resize(padded);
  for (auto* of_rows : {&least_, &second_least_}) of_rows->resize(padded);
  pool.for_each_range(rows_.blocks(), kBlocksPerPiece, [&](int, int64_t begin, int64_t end) {
    TwoCentres found;
    for (int64_t b = begin; b < end; ++b) {
      lanes_.two_nearest(rows_.block(b), rows_.columns(), centroids_.data(), k_, &found);
      for (int64_t i = 0; i < kCentreRows; ++i) {
        const auto row = static_cast<size_t>(b * kCentreRows + i);
        nearest_[row] = static_cast<uint32_t>(found.nearest[i]);
        second_[row] = static_cast<uint32_t>(found.second_nearest[i]);
        least_[row] = found.least[i];
        second_least_[row] = found.second[i];
      }
    }
  });
}

// Adds up what depends on an order of rows, in that order.
void HostSwapScores::add_up() {
  prefix_.resize(static_cast<size_t>(rows_.rows()));
  weights_.assign(static_cast<size_t>(k_), 0);
  double sum = 0;
  for (size_t row = 0; row < prefix_.size(); ++row) {
    const double weight = rows_.weight(static_cast<int64_t>(row));
    prefix_[row] = sum += weight * least_[row];
    weights_[nearest_[row]] += weight;
  }
}

// Rows of a cluster side by side, ascending.
void HostSwapScores::group() {
  const int64_t d = rows_.columns();
  std::vector<int64_t> next(static_cast<size_t>(k_) + 1, 0);
  for (int64_t row = 0; row < rows_.rows(); ++row) ++next[nearest(row) + 1];
  first_block_.assign(static_cast<size_t>(k_) + 1, 0);
  for (size_t c = 0; c < static_cast<size_t>(k_); ++c) {
    first_block_[c + 1] = first_block_[c] + (next[c + 1] + kCentreRows - 1) / kCentreRows;
  }
  for (size_t c = 0; c < next.size(); ++c) next[c] = first_block_[c] * kCentreRows;
  const int64_t blocks = first_block_.back();
  x_.resize(static_cast<size_t>(blocks * kCentreRows * d));
  grouped_rows_.assign(static_cast<size_t>(blocks * kCentreRows), -1);
  limits_.assign(grouped_rows_.size(), -1);
  reaches_.assign(static_cast<size_t>(k_), 0);
  for (int64_t row = 0; row < rows_.rows(); ++row) {
    const auto i = static_cast<size_t>(row);
    const auto at = static_cast<size_t>(next[nearest_[i]]++);
    grouped_rows_[at] = row;
    limits_[at] = second_least_[i];
    double& reach = reaches_[nearest_[i]];
    reach = std::max(reach, std::sqrt(least_[i]) + std::sqrt(second_least_[i]));
    double* to = x_.data() + static_cast<int64_t>(at) / kCentreRows * kCentreRows * d + at % kCentreRows;
    for (int64_t j = 0; j < d; ++j) to[j * kCentreRows] = rows_.value(row, j);
  }
}

// So that a point's distances to all centroids are found as rows' distances are, and compared with squares that are no
// smaller than the reaches' are.
void HostSwapScores::block_centroids() {
  constexpr double kNoSmaller = 1 + 0x1p-50;
  const int64_t d = rows_.columns();
  const auto padded = static_cast<size_t>((k_ + kCentreRows - 1) / kCentreRows * kCentreRows);
  blocks_of_centroids_.assign(padded * static_cast<size_t>(d), 0);
  squared_reaches_.assign(padded, -1);
  for (int64_t c = 0; c < k_; ++c) {
    const double reach = reaches_[static_cast<size_t>(c)];
    squared_reaches_[static_cast<size_t>(c)] = reach * reach * kNoSmaller + std::numeric_limits<double>::min();
    double* to = blocks_of_centroids_.data() + c / kCentreRows * kCentreRows * d + c % kCentreRows;
    for (int64_t j = 0; j < d; ++j) to[j * kCentreRows] = centroids_[static_cast<size_t>(c * d + j)];
  }
}

void HostSwapScores::find_costs(ThreadPool& pool) {
  raw_costs_.assign(static_cast<size_t>(k_), 0);
  costs_.resize(static_cast<size_t>(k_));
  for (int64_t row = 0; row < rows_.rows(); ++row) {
    const auto i = static_cast<size_t>(row);
    raw_costs_[nearest_[i]] += rows_.weight(row) * (second_least_[i] - least_[i]);
  }
  pool.for_each_range(k_, kBlocksPerPiece, [&](int, int64_t begin, int64_t end) {
    std::vector<double> sums(static_cast<size_t>(k_ * (rows_.columns() + 1)), 0);
    std::vector<uint32_t> touched;
    for (int64_t c = begin; c < end; ++c) {
      costs_[static_cast<size_t>(c)] = raw_costs_[static_cast<size_t>(c)] - bonus(c, sums, touched);
    }
  });
}

// Returns what one update gains after a centroid is removed and its rows have gone to their second nearest. `sums` are
// zero before and after. They hold each other cluster's weight of new rows, and their differences to its centroid.
double HostSwapScores::bonus(int64_t cluster, std::vector<double>& sums, std::vector<uint32_t>& touched) const {
  const int64_t d = rows_.columns();
  touched.clear();
  const auto first = static_cast<size_t>(first_block_[static_cast<size_t>(cluster)] * kCentreRows);
  for (size_t at = first; at < grouped_rows_.size() && grouped_rows_[at] >= 0; ++at) {
    if (nearest(grouped_rows_[at]) != cluster) break;
    const int64_t row = grouped_rows_[at];
    const uint32_t other = second_[static_cast<size_t>(row)];
    double* sum = sums.data() + other * (d + 1);
    const double weight = rows_.weight(row);
    if (sum[0] == 0) touched.push_back(other);
    sum[0] += weight;
    for (int64_t j = 0; j < d; ++j) sum[1 + j] += weight * (rows_.value(row, j) - centroids_[other * d + j]);
  }
  double gain = 0;
  for (const uint32_t other : touched) {
    double* sum = sums.data() + other * (d + 1);
    double square = 0;
    for (int64_t j = 0; j < d; ++j) square += sum[1 + j] * sum[1 + j];
    if (sum[0] > 0) gain += square / (weights_[other] + sum[0]);
    std::fill_n(sum, d + 1, 0.0);
  }
  return gain;
}

// The rows of one cluster that the point takes, and those that would go to it if their centroid were removed.
void HostSwapScores::look_at_cluster(int64_t cluster, const double* point, Capture& capture) const {
  const int64_t d = rows_.columns();
  const auto c = static_cast<size_t>(cluster);
  std::fill(capture.taken_here.begin(), capture.taken_here.end(), 0.0);
  double weight_here = 0, change = 0;
  bool touched = false;
  double e[kCentreRows];
  for (int64_t b = first_block_[c]; b < first_block_[c + 1]; ++b) {
    const double* x = x_.data() + b * kCentreRows * d;
    const auto first = static_cast<size_t>(b * kCentreRows);
    for (uint64_t bits = lanes_.below(x, d, point, limits_.data() + first, e); bits != 0; bits &= bits - 1) {
      const auto i = static_cast<size_t>(std::countr_zero(bits));
      const int64_t row = grouped_rows_[first + i];
      const double weight = rows_.weight(row), least = least_[static_cast<size_t>(row)];
      touched = true;
      change += weight * (std::max(e[i], least) - limits_[first + i]);
      if (!(e[i] < least)) continue;
      capture.gain += weight * (least - e[i]);
      weight_here += weight;
      for (int64_t j = 0; j < d; ++j) {
        capture.taken_here[static_cast<size_t>(j)] +=
            weight * (x[j * kCentreRows + static_cast<int64_t>(i)] - point[j]);
      }
    }
  }
  if (!touched) return;
  capture.touched.push_back(static_cast<uint32_t>(cluster));
  capture.change[c] = change;
  capture.rec[c] = 0;
  if (!(weight_here > 0)) return;
  capture.weight += weight_here;
  double square = 0;
  const double* centroid = centroids_.data() + cluster * d;
  for (int64_t j = 0; j < d; ++j) {
    const double sum = capture.taken_here[static_cast<size_t>(j)];
    capture.taken[static_cast<size_t>(j)] += sum;
    const double from_centroid = sum + weight_here * (point[j] - centroid[j]);
    square += from_centroid * from_centroid;
  }
  if (weights_[c] > weight_here) capture.rec[c] = square / (weights_[c] - weight_here);
}

// Those that it may take rows from.
void HostSwapScores::look_at_clusters(Capture& capture) const {
  const double* point = capture.point.data();
  double e[kCentreRows];
  for (int64_t first = 0; first < k_; first += kCentreRows) {
    const double* x = blocks_of_centroids_.data() + first * rows_.columns();
    for (uint64_t bits = lanes_.below(x, rows_.columns(), point, squared_reaches_.data() + first, e); bits != 0;
         bits &= bits - 1) {
      const int i = std::countr_zero(bits);
      if (std::sqrt(e[i]) < reaches_[static_cast<size_t>(first + i)]) look_at_cluster(first + i, point, capture);
    }
  }
}

Swap HostSwapScores::best_swap(int64_t row, Capture& capture) const {
  const int64_t d = rows_.columns();
  for (int64_t j = 0; j < d; ++j) capture.point[static_cast<size_t>(j)] = rows_.value(row, j);
  std::fill(capture.taken.begin(), capture.taken.end(), 0.0);
  capture.touched.clear();
  capture.gain = capture.weight = 0;
  look_at_clusters(capture);
  double gain = capture.gain;
  double square = 0;
  for (const double sum : capture.taken) square += sum * sum;
  if (capture.weight > 0) gain += square / capture.weight;
  for (const uint32_t c : capture.touched) gain += capture.rec[c];
  Swap best{row, 0, nearest(row), std::numeric_limits<double>::infinity()};
  size_t next = 0;
  for (uint32_t c = 0; c < static_cast<uint32_t>(k_); ++c) {
    double cost = costs_[c];
    if (next < capture.touched.size() && capture.touched[next] == c) {
      ++next;
      cost = (capture.change[c] == 0 ? costs_[c] : raw_costs_[c] + capture.change[c]) + capture.rec[c];
    }
    if (c == best.cluster || !(cost - gain < best.change)) continue;
    best.change = cost - gain;
    best.removed = c;
  }
  return best;
}

std::vector<Swap> HostSwapScores::best_swaps(std::span<const int64_t> rows, ThreadPool& pool) {
  std::vector<Swap> found(rows.size());
  std::vector<Capture> captures(static_cast<size_t>(pool.size()),
                                Capture(static_cast<size_t>(rows_.columns()), static_cast<size_t>(k_)));
  pool.for_each_range(static_cast<int64_t>(rows.size()), 1, [&](int worker, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<size_t>(i);
      found[at] = best_swap(rows[at], captures[static_cast<size_t>(worker)]);
    }
  });
  return found;
}

}  // namespace manymeans
