#include "optimal/exact_parts.h"

#include "core/dyadic.h"
#include "core/fixed_point.h"
#include "core/threads.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace manymeans {
namespace {

Dyadic integer(int64_t value) {
  return Dyadic(WideInt(value), 0);
}

class ExactSearch {
 public:
  ExactSearch(const WeightedLine& line, const std::vector<std::vector<size_t>>& layers);
  std::vector<size_t> run();

 private:
  // A path from cut 0: its last cut, the path before it in the layer below, and its cost, rounded.
  struct Path {
    size_t cut, before = 0;
    double cost = 0;
  };
  // What lies below a cut.
  struct Sums {
    Dyadic squares, values;
    int64_t weight = 0;
  };
  struct Range {
    size_t first, last;  // both included
  };

  Dyadic numerator(size_t j, size_t i) const;
  double cost(size_t j, size_t i) const;
  bool is_cheaper(size_t layer, size_t i, size_t a, size_t b) const;
  bool is_exactly_cheaper(size_t layer, size_t i, size_t a, size_t b) const;
  void extend(size_t layer, Range paths, Range candidates);

  const std::atomic<bool>* abort_;
  std::vector<size_t> cuts_;  // all cuts of layers, ascending; everywhere else here, a cut is its number among these
  std::vector<Sums> sums_;    // of each
  std::vector<std::vector<Path>> layers_;
  int64_t shift_;          // what numerators are scaled by before they are rounded
  double relative_error_;  // of the difference of two costs
};

ExactSearch::ExactSearch(const WeightedLine& line, const std::vector<std::vector<size_t>>& layers)
    : abort_(line.abort),
      shift_(-2 * exponent(std::max(std::fabs(line.values.front()), std::fabs(line.values.back())))),
      relative_error_(0x1p-52 * static_cast<double>(layers.size() + 8)) {
  for (const auto& cuts : layers) cuts_.insert(cuts_.end(), cuts.begin(), cuts.end());
  std::ranges::sort(cuts_);
  cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
  Sums below;
  size_t i = 0;
  for (const size_t cut : cuts_) {
    for (; i < cut; ++i) {
      const Dyadic value(line.values[i]);
      const Dyadic term = value * integer(line.weights[i]);
      below = {below.squares + term * value, below.values + term, below.weight + line.weights[i]};
    }
    sums_.push_back(below);
  }
  for (const auto& cuts : layers) {
    std::vector<Path>& paths = layers_.emplace_back();
    for (const size_t cut : cuts) {
      paths.push_back({static_cast<size_t>(std::ranges::lower_bound(cuts_, cut) - cuts_.begin())});
    }
  }
}

// The cost of part [j, i) times its weight.
Dyadic ExactSearch::numerator(size_t j, size_t i) const {
  const Dyadic sum = sums_[i].values - sums_[j].values;
  return integer(sums_[i].weight - sums_[j].weight) * (sums_[i].squares - sums_[j].squares) - sum * sum;
}

double ExactSearch::cost(size_t j, size_t i) const {
  return numerator(j, i).rounded(shift_) / static_cast<double>(sums_[i].weight - sums_[j].weight);
}

// Whether the path to cut i through path a of the layer below is cheaper than through path b.
bool ExactSearch::is_cheaper(size_t layer, size_t i, size_t a, size_t b) const {
  constexpr double kUnderflow = 0x1p-1000;  // above all that numbers below the least normal one lose
  const auto& paths = layers_[layer - 1];
  const double via_a = paths[a].cost + cost(paths[a].cut, i), via_b = paths[b].cost + cost(paths[b].cut, i);
  if (std::fabs(via_a - via_b) > relative_error_ * (via_a + via_b) + kUnderflow) return via_a < via_b;
  return is_exactly_cheaper(layer, i, a, b);
}

// Follows both paths back to where they meet. Parts of the same weight share a denominator: on a grid, that leaves no
// fraction at all.
bool ExactSearch::is_exactly_cheaper(size_t layer, size_t i, size_t a, size_t b) const {
  std::map<int64_t, Dyadic> by_weight;
  const auto take = [&](size_t j, size_t end, bool added) {
    Dyadic& total = by_weight[sums_[end].weight - sums_[j].weight];
    total = added ? total + numerator(j, end) : total - numerator(j, end);
  };
  size_t end_a = i, end_b = i;
  while (a != b || end_a != end_b) {
    const Path &path_a = layers_[layer - 1][a], &path_b = layers_[layer - 1][b];
    if (path_a.cut != path_b.cut || end_a != end_b) {
      take(path_a.cut, end_a, true);
      take(path_b.cut, end_b, false);
    }
    end_a = path_a.cut;
    end_b = path_b.cut;
    a = path_a.before;
    b = path_b.before;
    if (--layer == 0) break;
  }
  Dyadic difference, denominator = integer(1);
  for (const auto& [weight, total] : by_weight) {
    if (total.is_zero()) continue;
    difference = difference * integer(weight) + total * denominator;
    denominator = denominator * integer(weight);
  }
  return difference.negative();
}

// Finds the paths of a layer from the candidates of the layer below, by halves: a later cut has a later cut before it.
void ExactSearch::extend(size_t layer, Range paths, Range candidates) {
  check_abort(abort_);
  const size_t middle = paths.first + (paths.last - paths.first) / 2;
  const auto& below = layers_[layer - 1];
  Path& path = layers_[layer][middle];
  size_t best = candidates.first;
  for (size_t c = best + 1; c <= candidates.last && below[c].cut < path.cut; ++c) {
    if (is_cheaper(layer, path.cut, c, best)) best = c;
  }
  path.before = best;
  path.cost = below[best].cost + cost(below[best].cut, path.cut);
  if (middle > paths.first) extend(layer, {paths.first, middle - 1}, {candidates.first, best});
  if (middle < paths.last) extend(layer, {middle + 1, paths.last}, {best, candidates.last});
}

std::vector<size_t> ExactSearch::run() {
  for (size_t layer = 1; layer < layers_.size(); ++layer) {
    extend(layer, {0, layers_[layer].size() - 1}, {0, layers_[layer - 1].size() - 1});
  }
  std::vector<size_t> ends;
  size_t path = 0;
  for (size_t layer = layers_.size() - 1; layer > 0; --layer) {
    ends.push_back(cuts_[layers_[layer][path].cut]);
    path = layers_[layer][path].before;
  }
  std::ranges::reverse(ends);
  return ends;
}

}  // namespace

std::vector<size_t> exact_parts(const WeightedLine& line, const std::vector<std::vector<size_t>>& layers) {
  return ExactSearch(line, layers).run();
}

}  // namespace manymeans
