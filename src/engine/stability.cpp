#include "engine/stability.h"

#include <manymeans/compare.h>

#include "core/all_labels.h"
#include "core/random.h"
#include "data/gather.h"
#include "data/unit_rows.h"
#include "engine/row_pairs.h"
#include "engine/valley.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace manymeans {
namespace {

constexpr int64_t kMaxRows = 32'768;  // that a member sees, about
constexpr int64_t kPairs = 10'000;    // of rows, for the share of ambiguous ones

// The rows and the fit of one of two members that see no row in common.
struct Side {
  Matrix rows;
  RowCopy measured = {};  // as the metric compares them
  FitResult fitted = {};
};
using Sides = std::array<Side, 2>;

// A member sees one of 2^so_many parts of the rows.
int halvings(int64_t rows) {
  int count = 1;
  while (rows >> count > kMaxRows) ++count;
  return count;
}

// The two parts of the rows that a split shows.
Sides split(const PointsView& points, uint64_t seed, uint32_t number, ThreadPool& pool) {
  const int64_t n = points.n;
  const int shift = 64 - halvings(n);
  std::vector<uint8_t> side(static_cast<size_t>(n));
  pool.for_each_range(n, int64_t{1} << 14, [&](int, int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      const uint64_t part = random_u64(seed, static_cast<uint64_t>(row), number, Purpose::kMaskedRow) >> shift;
      side[static_cast<size_t>(row)] = static_cast<uint8_t>(std::min<uint64_t>(part, 2));
    }
  });
  std::array<std::vector<int64_t>, 2> rows;
  for (int64_t row = 0; row < n; ++row) {
    if (const size_t its = side[static_cast<size_t>(row)]; its < 2) rows[its].push_back(row);
  }
  return {Side{gather_rows(points, rows[0])}, Side{gather_rows(points, rows[1])}};
}

// The k that both sides have rows for, but for 1.
std::vector<int64_t> usable(const FitOptions& options, const Sides& sides) {
  const int64_t most = std::min(sides[0].rows.rows(), sides[1].rows.rows());
  std::vector<int64_t> ks;
  for (const int64_t k : options.k) {
    if (k > 1 && k <= most) ks.push_back(k);
  }
  std::ranges::sort(ks);
  ks.erase(std::unique(ks.begin(), ks.end()), ks.end());
  return ks;
}

// The least, over clusters of at least two rows, of the share of their pairs that the other member has together.
double prediction_strength(std::span<const uint32_t> own, std::span<const uint32_t> others) {
  std::vector<std::pair<uint32_t, uint32_t>> rows;  // sorted: a table of all pairs of clusters would be quadratic in k
  for (size_t i = 0; i < own.size(); ++i) rows.emplace_back(own[i], others[i]);
  std::ranges::sort(rows);
  double least = 1;
  for (auto at = rows.begin(); at != rows.end();) {
    const uint32_t cluster = at->first;
    int64_t count = 0, pairs = 0;
    while (at != rows.end() && at->first == cluster) {
      const auto cell = std::find_if(at, rows.end(), [&](const auto& row) { return row != *at; }) - at;
      count += cell;
      pairs += cell * (cell - 1);
      at += cell;
    }
    if (count > 1) least = std::min(least, static_cast<double>(pairs) / static_cast<double>(count * (count - 1)));
  }
  return least;
}

struct MeanAndError {
  double mean = Criteria::kUndefined, error = Criteria::kUndefined;
};

MeanAndError mean_and_error(const std::vector<double>& values) {
  if (values.empty()) return {};
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, values.size() < 2 ? 0 : std::sqrt(squares / (count - 1) / count)};
}

// Of one k: what the splits have said.
struct Collected {
  std::vector<double> strengths = {}, agreements = {}, valleys = {};
  CoAssociation together = {};
};

class StabilitySearch {
 public:
  StabilitySearch(const PointsView& points, const ChooseOptions& options, const FitHooks& hooks, ThreadPool& pool)
      : points_(points), options_(options), hooks_(hooks), pool_(pool) {
    hooks_.checkpoint = {};
    how_.backend = options.fit.backend;
    how_.threads = options.fit.threads;
    how_.metric = options.fit.metric;
    how_.abort = pool.abort();
    RowPairs pairs(points.n, kPairs, options.fit.seed);
    const std::vector<int64_t> rows = pairs.next(pairs.size());
    sampled_ = gather_rows(points, rows);
  }

  bool add_split(uint32_t number, const TimeLeft& time) {
    Sides sides = split(points_, options_.fit.seed, number, pool_);
    FitOptions fewer = options_.fit;
    fewer.k = usable(options_.fit, sides);
    fewer.models = (fewer.models + 2) / 3;
    if (fewer.k.empty()) return true;
    for (uint32_t side = 0; side < 2; ++side) {
      if (time.over()) return false;
      fewer.time_limit = time.seconds();
      fewer.seed = random_u64(options_.fit.seed, 2 * uint64_t{number} + side, 0, Purpose::kDrawSeed);
      Side& its = sides[side];
      its.fitted = fit(its.rows.view(), {}, fewer, hooks_);
      if (its.fitted.interrupted) return false;
      its.measured = measured_rows(its.rows.view(), fewer.metric, {pool_.size(), fewer.memory.bytes});
    }
    for (const int64_t k : fewer.k) {
      check_abort(pool_.abort());
      judge(k, sides);
    }
    return true;
  }

  std::map<int64_t, Stability> found() const {
    std::map<int64_t, Stability> all;
    for (const auto& [k, its] : collected_) {
      const MeanAndError strength = mean_and_error(its.strengths), agreement = mean_and_error(its.agreements);
      const MeanAndError valley = mean_and_error(its.valleys);
      const double pac = its.together.pairs() > 0 ? its.together.ambiguous() : Criteria::kUndefined;
      all[k] = {strength.mean, strength.error, agreement.mean, agreement.error, pac, valley.mean, valley.error};
    }
    return all;
  }

 private:
  std::vector<uint32_t> labels_by(const ModelResult& model, const PointsView& rows) const {
    return all_labels(predict(rows, model.prototypes.view(), how_).labels);
  }

  void judge(int64_t k, const Sides& sides) {
    std::array<const ModelResult*, 2> models{};
    for (size_t side = 0; side < 2; ++side) {
      const FitResult& fitted = sides[side].fitted;
      models[side] = &fitted.models[static_cast<size_t>(fitted.best(k))];
      if (std::ranges::count(models[side]->counts, 0) > 0) return;  // fewer different rows than clusters
    }
    Collected& its = collected_[k];
    double strength = 0, depth = 0;
    std::array<std::vector<int64_t>, 2> all;  // labels by each model, of the rows of both sides
    for (size_t side = 0; side < 2; ++side) {
      const std::vector<uint32_t> own = all_labels(models[side]->labels);
      const std::vector<uint32_t> others = labels_by(*models[1 - side], sides[side].rows.view());
      strength += prediction_strength(own, others) / 2;
      depth += valley(sides[side].measured.view, models[1 - side]->prototypes, pool_) / 2;
      all[side].insert(all[side].end(), own.begin(), own.end());
      all[1 - side].insert(all[1 - side].end(), others.begin(), others.end());
      its.together.add_member(labels_by(*models[side], sampled_.view()));
    }
    its.strengths.push_back(strength);
    its.valleys.push_back(depth);
    its.agreements.push_back(adjusted_rand(all[0], all[1]));
  }

  const PointsView& points_;
  const ChooseOptions& options_;
  FitHooks hooks_;
  ThreadPool& pool_;
  PredictOptions how_;
  Matrix sampled_;  // the rows of the sampled pairs
  std::map<int64_t, Collected> collected_;
};

}  // namespace

std::optional<std::map<int64_t, Stability>> find_stability(const PointsView& points, const ChooseOptions& options,
                                                           const FitHooks& hooks, const TimeLeft& time,
                                                           ThreadPool& pool) {
  StabilitySearch search(points, options, hooks, pool);
  for (int64_t number = 0; number < options.bootstraps / 2; ++number) {
    if (!search.add_split(static_cast<uint32_t>(number), time)) return std::nullopt;
  }
  return search.found();
}

}  // namespace manymeans
