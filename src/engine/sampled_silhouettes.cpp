#include "engine/sampled_silhouettes.h"

#include "core/data_type.h"
#include "core/distance.h"
#include "data/gather.h"
#include "engine/exact_sum.h"
#include "engine/row_distances.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

namespace manymeans {
namespace {

constexpr int64_t kSide = 8;             // sampled rows whose sums lie side by side: a cache line of integers
constexpr int64_t kParts = 2 * kSide;    // integers of a row: the high parts, then the low ones
constexpr int64_t kRows = 192;           // whose parts (24 KiB) stay in the first cache while clusterings go by
constexpr int64_t kDistances = 1 << 18;  // at a time: 2 MiB
constexpr int64_t kMaxBytes = int64_t{1} << 26;
constexpr int kHighBits = 50, kLowBits = 51;
constexpr int64_t kMaxTerms = int64_t{1} << 12;  // 2^12 high parts of at most 2^50 are below 2^63

// A distance as two integers: high 2^(e - 50) + low 2^(e - 101), where 2^e is above every distance. A number of 1.5
// 2^52 units has its unit in the last place, so that adding it rounds to integers, which are then its lowest bits.
class IntegerParts {
 public:
  explicit IntegerParts(double most) {
    std::frexp(most, &exponent_);
    high_ = std::ldexp(1.5, 52 + exponent_ - kHighBits);
    low_ = std::ldexp(1.5, 52 + exponent_ - kHighBits - kLowBits);
  }

  // Returns the rest: not 0 where the distance has bits below both.
  double split(double distance, int64_t& high, int64_t& low) const {
    const double a = distance + high_, left = distance - (a - high_);
    const double b = left + low_;
    high = std::bit_cast<int64_t>(a) - std::bit_cast<int64_t>(high_);
    low = std::bit_cast<int64_t>(b) - std::bit_cast<int64_t>(low_);
    return left - (b - low_);
  }
  double of_high(int64_t part, int bits) const {
    return std::ldexp(static_cast<double>(part), exponent_ - kHighBits + bits);
  }
  double of_low(int64_t part) const { return std::ldexp(static_cast<double>(part), exponent_ - kHighBits - kLowBits); }

 private:
  int exponent_ = 0;
  double high_, low_;
};

// A sum of parts: 0 <= low < 2^51.
struct Total {
  __int128 high = 0;
  int64_t low = 0;

  void add(int64_t high_parts, int64_t low_parts) {
    low += low_parts;
    high += high_parts;
    high += low >> kLowBits;
    low &= (int64_t{1} << kLowBits) - 1;
  }
};

ExactSum exact(const Total& total, const IntegerParts& parts) {
  constexpr int64_t kMask = (int64_t{1} << kHighBits) - 1;
  ExactSum sum;
  sum.add(parts.of_low(total.low));
  __int128 left = total.high;
  for (int bits = 0; left != 0; bits += kHighBits, left >>= kHighBits) {
    sum.add(parts.of_high(static_cast<int64_t>(left) & kMask, bits));
  }
  return sum;
}

// No distance is larger: every operation of a canonical distance rounds a larger number to no smaller one.
double largest_distance(const Input& input) {
  return std::sqrt(canonical_distance(input.maximum.data(), input.minimum.data(), input.points.d));
}

// Sums of the distances of some sampled rows, by the clusters of all clusterings.
class SampleSums {
 public:
  SampleSums(const Input& input, std::span<const ClusteredRows> clusterings, std::span<const int64_t> sample,
             ThreadPool& pool);

  void add_all();
  // Of sampled row `s`, to clustering `c`: its silhouette.
  double silhouette(size_t s, size_t c) const;

 private:
  struct Scratch {
    std::vector<int64_t> parts;  // kRows x kParts
    std::vector<int64_t> sums;   // clusters x kParts; none where these are too many
  };

  void read_labels(int64_t first, int64_t count);
  void add(int64_t side, const Matrix& distances, Scratch& scratch);
  void split(int64_t side, int64_t first, int64_t count, const Matrix& distances, Scratch& scratch);
  void add_rest(size_t s, int64_t row, double distance);
  void add_one_by_one(int64_t side, int64_t first, int64_t count, const Scratch& scratch);
  void end_terms(int64_t side, Scratch& scratch);
  double rounded(size_t s, size_t cluster) const;

  const Input& input_;
  std::span<const ClusteredRows> clusterings_;
  std::span<const int64_t> sample_;
  ThreadPool& pool_;
  IntegerParts parts_;
  std::vector<size_t> offsets_;  // of a clustering's first cluster among all
  size_t clusters_ = 0;
  int64_t read_ = 0;                          // rows whose clusters are there
  std::vector<uint32_t> labels_;              // clusterings x read_, clusters among all
  std::vector<uint32_t> own_;                 // sampled rows x clusterings, clusters among all
  std::vector<Total> totals_;                 // sides x clusters x kSide
  std::vector<std::vector<ExactSum>> rests_;  // by sampled row, where there are any: distances that parts cannot hold
};

SampleSums::SampleSums(const Input& input, std::span<const ClusteredRows> clusterings, std::span<const int64_t> sample,
                       ThreadPool& pool)
    : input_(input),
      clusterings_(clusterings),
      sample_(sample),
      pool_(pool),
      parts_(largest_distance(input)),
      rests_(sample.size()) {
  for (const ClusteredRows& its : clusterings) {
    offsets_.push_back(clusters_);
    clusters_ += its.counts.size();
  }
  for (const int64_t row : sample) {
    for (size_t c = 0; c < clusterings.size(); ++c) {
      uint32_t cluster = 0;
      clusterings[c].read(row, 1, &cluster);
      own_.push_back(cluster);
    }
  }
  const size_t sides = (sample.size() + kSide - 1) / kSide;
  totals_.resize(sides * clusters_ * kSide);
}

void SampleSums::read_labels(int64_t first, int64_t count) {
  read_ = count;
  labels_.resize(clusterings_.size() * static_cast<size_t>(count));
  pool_.for_each_range(static_cast<int64_t>(clusterings_.size()), 1, [&](int, int64_t begin, int64_t end) {
    for (auto c = static_cast<size_t>(begin); c < static_cast<size_t>(end); ++c) {
      const std::span<uint32_t> its(labels_.data() + c * static_cast<size_t>(count), static_cast<size_t>(count));
      clusterings_[c].read(first, count, its.data());
      for (uint32_t& cluster : its) cluster += static_cast<uint32_t>(offsets_[c]);
    }
  });
}

void SampleSums::add_all() {
  const Matrix given = gather_rows(input_.points, sample_);
  Matrix wide(given.rows(), given.columns(), DataType::kFloat64);
  widen(given.view().data, given.type(), 0, given.rows() * given.columns(), wide.values<double>().data());
  const RowDistances to_sample(std::make_shared<const Matrix>(std::move(wide)), pool_);
  const int64_t sides = (given.rows() + kSide - 1) / kSide;
  std::vector<Scratch> scratch(static_cast<size_t>(pool_.size()));
  for (Scratch& own : scratch) {
    own.parts.resize(static_cast<size_t>(kRows * kParts));
    const auto many = static_cast<size_t>(kMaxTerms) * clusterings_.size();
    if (clusters_ <= many) own.sums.resize(clusters_ * static_cast<size_t>(kParts));
  }
  const auto take = [&](int64_t first, const Matrix& distances) {
    read_labels(first, distances.rows());
    pool_.for_each_range(sides, 1, [&](int worker, int64_t begin, int64_t end) {
      for (int64_t side = begin; side < end; ++side) add(side, distances, scratch[static_cast<size_t>(worker)]);
    });
  };
  to_sample.of_all(input_.points, take, kDistances);
}

// Splits the distances of `count` rows to the rows of a side into integers.
void SampleSums::split(int64_t side, int64_t first, int64_t count, const Matrix& distances, Scratch& scratch) {
  const int64_t columns = distances.columns(), some = std::min(kSide, columns - side * kSide);
  for (int64_t i = 0; i < count; ++i) {
    std::array<double, kSide> its{};
    std::copy_n(distances.values<double>().data() + (first + i) * columns + side * kSide, some, its.data());
    int64_t* const high = scratch.parts.data() + i * kParts;
    int64_t* const low = high + kSide;
    std::array<double, kSide> left{};
    uint64_t bits = 0;
    for (size_t s = 0; s < kSide; ++s) {
      left[s] = parts_.split(its[s], high[s], low[s]);
      bits |= std::bit_cast<uint64_t>(left[s]);
    }
    if (bits << 1 == 0) continue;
    for (size_t s = 0; s < kSide; ++s) {
      if (left[s] == 0) continue;
      high[s] = low[s] = 0;
      add_rest(static_cast<size_t>(side * kSide) + s, first + i, its[s]);
    }
  }
}

void SampleSums::add_rest(size_t s, int64_t row, double distance) {
  std::vector<ExactSum>& sums = rests_[s];
  if (sums.empty()) sums.resize(clusters_);
  for (size_t c = 0; c < clusterings_.size(); ++c) {
    sums[labels_[c * static_cast<size_t>(read_) + static_cast<size_t>(row)]].add(distance);
  }
}

// For more clusters than rows between two ends of terms: most clusters would have nothing to end.
void SampleSums::add_one_by_one(int64_t side, int64_t first, int64_t count, const Scratch& scratch) {
  Total* const totals = totals_.data() + static_cast<size_t>(side * kSide) * clusters_;
  for (size_t c = 0; c < clusterings_.size(); ++c) {
    const uint32_t* const labels = labels_.data() + c * static_cast<size_t>(read_) + first;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t* const from = scratch.parts.data() + i * kParts;
      Total* const to = totals + static_cast<int64_t>(labels[i]) * kSide;
      for (int64_t s = 0; s < kSide; ++s) to[s].add(from[s], from[kSide + s]);
    }
  }
}

void SampleSums::add(int64_t side, const Matrix& distances, Scratch& scratch) {
  int64_t terms = 0;
  for (int64_t first = 0; first < read_; first += kRows) {
    const int64_t count = std::min(kRows, read_ - first);
    split(side, first, count, distances, scratch);
    if (scratch.sums.empty()) {
      add_one_by_one(side, first, count, scratch);
      continue;
    }
    for (size_t c = 0; c < clusterings_.size(); ++c) {
      const uint32_t* const labels = labels_.data() + c * static_cast<size_t>(read_) + first;
      for (int64_t i = 0; i < count; ++i) {
        const int64_t* const from = scratch.parts.data() + i * kParts;
        int64_t* const to = scratch.sums.data() + static_cast<int64_t>(labels[i]) * kParts;
        for (int64_t part = 0; part < kParts; ++part) to[part] += from[part];
      }
    }
    terms += count;
    if (terms + kRows <= kMaxTerms) continue;
    end_terms(side, scratch);
    terms = 0;
  }
  end_terms(side, scratch);
}

void SampleSums::end_terms(int64_t side, Scratch& scratch) {
  if (scratch.sums.empty()) return;
  Total* const totals = totals_.data() + static_cast<size_t>(side * kSide) * clusters_;
  for (size_t cluster = 0; cluster < clusters_; ++cluster) {
    const int64_t* const sums = scratch.sums.data() + cluster * kParts;
    for (size_t s = 0; s < kSide; ++s) totals[cluster * kSide + s].add(sums[s], sums[kSide + s]);
  }
  std::ranges::fill(scratch.sums, 0);
}

double SampleSums::rounded(size_t s, size_t cluster) const {
  const size_t side = s / kSide;
  ExactSum sum = exact(totals_[(side * clusters_ + cluster) * kSide + s % kSide], parts_);
  if (!rests_[s].empty()) sum.add(rests_[s][cluster]);
  return sum.rounded();
}

double SampleSums::silhouette(size_t s, size_t c) const {
  const std::vector<int64_t>& counts = clusterings_[c].counts;
  const uint32_t own = own_[s * clusterings_.size() + c];
  if (counts[own] == 1) return 0;
  const auto mean = [&](size_t cluster, int64_t count) {
    return rounded(s, offsets_[c] + cluster) / static_cast<double>(count);
  };
  double nearest = std::numeric_limits<double>::infinity();
  for (size_t cluster = 0; cluster < counts.size(); ++cluster) {
    if (cluster != own && counts[cluster] > 0) nearest = std::min(nearest, mean(cluster, counts[cluster]));
  }
  return silhouette_of(mean(own, counts[own] - 1), nearest);
}

// Returns the number of sampled rows at a time. Their sums take at most kMaxBytes even where all have rests. But each
// thread gets a side where the sides fit without rests.
int64_t rows_together(std::span<const ClusteredRows> clusterings, int threads) {
  size_t clusters = 0;
  for (const ClusteredRows& its : clusterings) clusters += its.counts.size();
  const auto sides = [&](size_t bytes) { return kMaxBytes / static_cast<int64_t>(clusters * bytes) / kSide; };
  const int64_t for_threads = std::min<int64_t>(sides(sizeof(Total)), threads);
  return std::clamp<int64_t>(std::max(sides(sizeof(Total) + sizeof(ExactSum)), for_threads), 1, 128) * kSide;
}

}  // namespace

std::vector<double> sampled_silhouettes(const Input& input, std::span<const ClusteredRows> clusterings,
                                        std::span<const int64_t> sample, ThreadPool& pool) {
  std::vector<double> means(clusterings.size(), std::numeric_limits<double>::quiet_NaN());
  std::vector<ClusteredRows> several;
  std::vector<size_t> places;  // their places among all
  for (size_t c = 0; c < clusterings.size(); ++c) {
    if (std::ranges::count_if(clusterings[c].counts, [](int64_t rows) { return rows > 0; }) < 2) continue;
    several.push_back(clusterings[c]);
    places.push_back(c);
  }
  if (several.empty()) return means;
  std::vector<SignedSum> sums(several.size());
  const auto together = static_cast<size_t>(rows_together(several, pool.size()));
  for (size_t first = 0; first < sample.size(); first += together) {
    const std::span<const int64_t> some = sample.subspan(first, std::min(together, sample.size() - first));
    SampleSums all(input, several, some, pool);
    all.add_all();
    std::vector<double> found(some.size() * several.size());
    pool.for_each_range(static_cast<int64_t>(some.size()), 1, [&](int, int64_t begin, int64_t end) {
      for (auto s = static_cast<size_t>(begin); s < static_cast<size_t>(end); ++s) {
        for (size_t c = 0; c < several.size(); ++c) found[s * several.size() + c] = all.silhouette(s, c);
      }
    });
    for (size_t i = 0; i < found.size(); ++i) sums[i % several.size()].add(found[i]);
  }
  for (size_t c = 0; c < several.size(); ++c) {
    means[places[c]] = sums[c].rounded() / static_cast<double>(sample.size());
  }
  return means;
}

}  // namespace manymeans
