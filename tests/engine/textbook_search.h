// docs/developer/contract.md, "Search", once more: word by word, slowly, over whole fits. With metric cosine these are
// fits of the rows of length one by directions, which begin with prototypes as they are.
#pragma once

#include <manymeans/io.h>
#include <manymeans/search.h>

#include "core/random.h"
#include "data/input.h"
#include "engine/tuned.h"
#include "prototype/direction.h"
#include "prototype/prototype.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

namespace manymeans::test {

struct TextbookSwap {
  int64_t row = 0;
  size_t removed = 0, cluster = 0;
  double change = 0;
};

class TextbookSearch {
 public:
  TextbookSearch(const PointsView& points, std::vector<double> weights, SearchOptions options)
      : kind_{options.metric == Metric::kCosine ? direction() : centroid()},
        unit_(options.metric == Metric::kCosine ? rows_of_length_one(points) : Matrix()),
        points_(unit_.empty() ? points : unit_.view()),
        weights_(std::move(weights)),
        options_(std::move(options)),
        pool_(1),
        input_(prepare_input(points_, weights_, pool_)),
        k_(static_cast<size_t>(options_.k[0])),
        d_(static_cast<size_t>(points.d)),
        key_(options_.model_seed.value_or(member_seed(options_.seed, options_.k[0], 0))) {
    options_.metric = Metric::kEuclidean;  // of the points as they are now
    const auto* value = static_cast<const float*>(points_.data);
    for (int64_t i = 0; i < points_.n; ++i, value += points_.d) x_.emplace_back(value, value + points_.d);
  }

  ModelResult run() {
    const Matrix first = initialise(points_, weights_, options_, {}).prototypes;
    best_ = iterate(first, 8);
    if (k_ > 1 && best_.inertia > 0) rounds();
    FitOptions last = options_;
    FitHooks hooks;
    hooks.initial = best_.prototypes.view();
    return numbered(fit_kind(kind_, points_, weights_, last, hooks).models[0]);
  }

  // One look, for who wants to compare its estimates.
  std::vector<TextbookSwap> look(const Matrix& model, uint64_t index, size_t looks) {
    assign(model);
    std::vector<TextbookSwap> swaps;
    for (size_t c = 0; c < k_; ++c) {
      const std::optional<int64_t> row = picked(index, static_cast<uint32_t>(k_ * looks + c), Purpose::kSearchRow);
      if (!row) return {};
      if (const auto swap = swap_of(*row)) swaps.push_back(*swap);
    }
    std::stable_sort(swaps.begin(), swaps.end(), [](const auto& a, const auto& b) { return a.change < b.change; });
    return swaps;
  }

 private:
  struct Walk {
    ModelResult model;
    uint64_t index;
    int patience;
    double q;
    size_t looks = 0;
    int failures = 0;
    bool over = false;
  };

  void rounds() {
    int64_t round = 0;
    Walk walk = walk_of(best_, 0, 3);
    while (round < options_.rounds && !walk.over) {
      swap_round(walk);
      best_ = walk.model;
      ++round;
    }
    uint64_t t = 0;
    for (; round < options_.rounds && best_.inertia > 0; ++round) {
      std::vector<ModelResult> trials;
      const int64_t count = std::min(options_.trials, std::max<int64_t>(4, static_cast<int64_t>(t / 4)));
      for (int64_t i = 0; i < count; ++i) {
        ++t;
        const Matrix moved = shaken(t);
        Walk trial = walk_of(iterate(moved, 50), t, 1);
        while (!trial.over) swap_round(trial);
        trials.push_back(trial.model);
      }
      join(trials);
    }
  }

  Walk walk_of(const ModelResult& model, uint64_t index, int patience) const {
    return {model, index, patience, static_cast<double>(std::max<size_t>(1, k_ / 10))};
  }

  // A fit from given prototypes whose clusters get their numbers.
  ModelResult numbered(ModelResult model) const {
    while (!std::ranges::is_sorted(model.weights, std::greater<>())) {
      std::vector<int64_t> order(k_);
      std::iota(order.begin(), order.end(), int64_t{0});
      std::ranges::stable_sort(order, std::greater<>(),
                               [&](int64_t k) { return model.weights[static_cast<size_t>(k)]; });
      const Matrix prototypes = keep_prototypes(model.prototypes, order);
      FitOptions options = options_;
      options.max_iter = 0;
      FitHooks hooks;
      hooks.initial = prototypes.view();
      ModelResult next = fit_kind(kind_, points_, weights_, options, hooks).models[0];
      next.iterations = model.iterations;
      next.stop_reason = model.stop_reason;
      model = std::move(next);
    }
    return model;
  }

  ModelResult iterate(const Matrix& from, int64_t updates) const {
    FitOptions options = options_;
    options.max_iter = updates;
    options.stop = "labels:0.001";
    options.empty = EmptyPolicy::kFarthest;
    FitHooks hooks;
    hooks.initial = from.view();
    return fit_kind(kind_, points_, weights_, options, hooks).models[0];
  }

  double e(const std::vector<double>& a, const std::vector<double>& b) const {
    double sum = 0;
    for (size_t j = 0; j < d_; ++j) sum += (a[j] - b[j]) * (a[j] - b[j]);
    return sum;
  }

  void assign(const Matrix& model) {
    c_.assign(k_, std::vector<double>(d_));
    for (size_t c = 0; c < k_; ++c) {
      for (size_t j = 0; j < d_; ++j) c_[c][j] = model.at(static_cast<int64_t>(c), static_cast<int64_t>(j));
    }
    const size_t n = x_.size();
    l1_.assign(n, 0), l2_.assign(n, 0);
    d1_.assign(n, 0), d2_.assign(n, 0);
    n_.assign(k_, 0);
    prefix_.clear();
    double sum = 0;
    for (size_t i = 0; i < n; ++i) {
      std::vector<std::pair<double, size_t>> all;
      for (size_t c = 0; c < k_; ++c) all.emplace_back(e(x_[i], c_[c]), c);
      std::sort(all.begin(), all.end());
      d1_[i] = all[0].first, l1_[i] = all[0].second;
      d2_[i] = all[1].first, l2_[i] = all[1].second;
      n_[l1_[i]] += w(i);
      sum += w(i) * d1_[i];
      prefix_.push_back(sum);
    }
    find_costs();
  }

  void find_costs() {
    raw_.assign(k_, 0), cost_.assign(k_, 0);
    for (size_t i = 0; i < x_.size(); ++i) raw_[l1_[i]] += w(i) * (d2_[i] - d1_[i]);
    for (size_t r = 0; r < k_; ++r) {
      std::vector<size_t> order;
      std::map<size_t, std::pair<double, std::vector<double>>> sums;
      for (size_t i = 0; i < x_.size(); ++i) {
        if (l1_[i] != r) continue;
        const size_t j = l2_[i];
        if (!sums.contains(j)) order.push_back(j), sums[j] = {0.0, std::vector<double>(d_)};
        sums[j].first += w(i);
        for (size_t f = 0; f < d_; ++f) sums[j].second[f] += w(i) * (x_[i][f] - c_[j][f]);
      }
      double bonus = 0;
      for (const size_t j : order) {
        const double square = squared(sums[j].second);
        if (sums[j].first > 0) bonus += square / (n_[j] + sums[j].first);
      }
      cost_[r] = raw_[r] - bonus;
    }
  }

  static double squared(const std::vector<double>& v) {
    double sum = 0;
    for (const double value : v) sum += value * value;
    return sum;
  }

  std::optional<TextbookSwap> swap_of(int64_t row) const {
    const std::vector<double>& p = x_[static_cast<size_t>(row)];
    std::vector<double> removal = cost_, rec(k_, 0.0), v_all(d_, 0.0);
    double g = 0, n_all = 0;
    for (size_t a = 0; a < k_; ++a) {
      double reach = 0;
      for (size_t i = 0; i < x_.size(); ++i) {
        if (l1_[i] == a) reach = std::max(reach, std::sqrt(d1_[i]) + std::sqrt(d2_[i]));
      }
      if (!(std::sqrt(e(p, c_[a])) < reach)) continue;
      double change = 0, n_here = 0;
      std::vector<double> v(d_, 0.0);
      for (size_t i = 0; i < x_.size(); ++i) {
        const double distance = e(x_[i], p);
        if (l1_[i] != a || !(distance < d2_[i])) continue;
        change += w(i) * (std::max(distance, d1_[i]) - d2_[i]);
        if (!(distance < d1_[i])) continue;
        g += w(i) * (d1_[i] - distance);
        n_here += w(i);
        for (size_t j = 0; j < d_; ++j) v[j] += w(i) * (x_[i][j] - p[j]);
      }
      if (change != 0) removal[a] = raw_[a] + change;
      if (!(n_here > 0)) continue;
      n_all += n_here;
      std::vector<double> moved(d_);
      for (size_t j = 0; j < d_; ++j) v_all[j] += v[j], moved[j] = v[j] + n_here * (p[j] - c_[a][j]);
      if (n_[a] > n_here) rec[a] = squared(moved) / (n_[a] - n_here);
    }
    if (n_all > 0) g += squared(v_all) / n_all;
    for (size_t a = 0; a < k_; ++a) g += rec[a];
    TextbookSwap best{row, 0, l1_[static_cast<size_t>(row)], std::numeric_limits<double>::infinity()};
    for (size_t r = 0; r < k_; ++r) {
      const double change = removal[r] + rec[r] - g;
      if (r != best.cluster && change < best.change) best.change = change, best.removed = r;
    }
    if (std::isinf(best.change)) return std::nullopt;
    return best;
  }

  std::optional<int64_t> picked(uint64_t index, uint32_t draw, Purpose purpose) const {
    const double total = prefix_.back();
    if (!(total > 0) || std::isinf(total)) return std::nullopt;
    const double target = static_cast<double>(random_u64(key_, index, draw, purpose)) * 0x1p-64 * total;
    for (size_t i = 0; i < prefix_.size(); ++i) {
      if (prefix_[i] > target) return static_cast<int64_t>(i);
    }
    for (size_t i = 0;; ++i) {
      if (prefix_[i] == total) return static_cast<int64_t>(i);
    }
  }

  void put(Matrix& model, size_t at, int64_t row) const {
    for (size_t j = 0; j < d_; ++j)
      model.values<float>()[at * d_ + j] = static_cast<float>(x_[static_cast<size_t>(row)][j]) + 0.0F;
  }

  void swap_round(Walk& walk) {
    std::vector<TextbookSwap> swaps = look(walk.model.prototypes, walk.index, walk.looks++);
    walk.over = swaps.empty();
    for (int tries = 0; tries < 4 && !swaps.empty(); ++tries) {
      Matrix tried = walk.model.prototypes;
      std::vector<bool> used(k_);
      size_t taken = 0;
      for (const TextbookSwap& swap : swaps) {
        if (taken > 0 && (static_cast<double>(taken + 1) > walk.q || swap.change > 0)) break;
        if (used[swap.removed] || used[swap.cluster]) continue;
        used[swap.removed] = used[swap.cluster] = true;
        put(tried, swap.removed, swap.row);
        ++taken;
      }
      const ModelResult model = iterate(tried, 50);
      if (model.inertia < (1 - 1e-7) * walk.model.inertia) {
        walk.model = model;
        walk.q = std::min(1.3 * walk.q, 0.2 * static_cast<double>(k_) + 1);
        walk.failures = 0;
        return;
      }
      walk.q = std::max(1.0, walk.q / 2);
      if (walk.q < 2) swaps.erase(swaps.begin());
    }
    if (!walk.over) walk.over = ++walk.failures >= walk.patience;
  }

  Matrix shaken(uint64_t t) {
    assign(best_.prototypes);
    const auto u = [&](uint32_t draw) { return random_u64(key_, t, draw, Purpose::kSearchTrial); };
    const auto part = [](uint64_t value, uint64_t n) {
      return static_cast<size_t>(static_cast<unsigned __int128>(value) * n >> 64);
    };
    Matrix model = best_.prototypes;
    std::vector<size_t> list(k_);
    std::iota(list.begin(), list.end(), size_t{0});
    const size_t m = std::min(k_, 1 + part(u(0), 3));
    for (size_t i = 0; i < m; ++i) {
      const auto draw = static_cast<uint32_t>(i);
      std::swap(list[i], list[i + part(u(1 + draw), k_ - i)]);
      put(model, list[i], picked(t, 4 + draw, Purpose::kSearchTrial).value());
    }
    return model;
  }

  void join(std::vector<ModelResult> trials) {
    std::erase_if(trials, [&](const ModelResult& trial) { return !(trial.inertia < (1 - 1e-8) * best_.inertia); });
    if (trials.empty()) return;
    std::stable_sort(trials.begin(), trials.end(), [](const auto& a, const auto& b) { return a.inertia < b.inertia; });
    Matrix joined = best_.prototypes;
    std::vector<bool> taken(k_);
    std::vector<double> largest(k_, 0.0);
    int count = 0;
    for (const ModelResult& trial : trials) {
      std::vector<double> moved = shifts(trial.prototypes);
      std::vector<bool> touched(k_);
      bool apart = true;
      for (size_t a = 0; a < k_; ++a) {
        moved[a] *= trial.weights[a];
        touched[a] = moved[a] > 0.05 * (best_.inertia - trial.inertia);
        if (touched[a] && taken[a]) apart = false;
      }
      if (!apart) continue;
      ++count;
      for (size_t a = 0; a < k_; ++a) {
        if (touched[a]) taken[a] = true;
        if (!(moved[a] > largest[a])) continue;
        largest[a] = moved[a];
        for (size_t j = 0; j < d_; ++j)
          joined.values<float>()[a * d_ + j] = trial.prototypes.values<float>()[a * d_ + j];
      }
    }
    best_ = trials[0];
    if (count < 2) return;
    const ModelResult whole = iterate(joined, 50);
    if (whole.inertia < best_.inertia) best_ = whole;
  }

  // The contract's d2 of at most eight columns: a product a lane, all added up.
  std::vector<double> shifts(const Matrix& other) const {
    std::vector<double> result;
    for (size_t a = 0; a < k_; ++a) {
      std::array<double, 8> p{};
      for (size_t j = 0; j < d_; ++j) {
        const auto row = static_cast<int64_t>(a), column = static_cast<int64_t>(j);
        const double t = best_.prototypes.at(row, column) - other.at(row, column);
        p[j % 8] = std::fma(t, t, p[j % 8]);
      }
      result.push_back(((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7])));
    }
    return result;
  }

  double w(size_t row) const { return input_.weight(static_cast<int64_t>(row)); }

  FitKind kind_;
  Matrix unit_;  // the rows of length one, where they are asked for
  PointsView points_;
  std::vector<double> weights_;
  SearchOptions options_;
  ThreadPool pool_;
  Input input_;
  size_t k_, d_;
  uint64_t key_;
  ModelResult best_;
  std::vector<std::vector<double>> x_, c_;
  std::vector<size_t> l1_, l2_;
  std::vector<double> d1_, d2_, n_, prefix_, raw_, cost_;
};

}  // namespace manymeans::test
