#include "core/threads.h"
#include "optimal/exact_parts.h"
#include "optimal/penalised_line.h"
#include "optimal/weighted_line.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace manymeans {
namespace {

constexpr size_t kCoarse = 256;  // values of a coarse line: fewer give worse penalties, more take longer than they save
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Makes one value, the mean, of each `group` neighbours.
WeightedLine coarsened(const WeightedLine& line, size_t group) {
  WeightedLine coarse;
  for (size_t first = 0; first < line.size(); first += group) {
    double sum = 0;
    int64_t weight = 0;
    const size_t last = std::min(first + group, line.size());
    for (size_t i = first; i < last; ++i) {
      sum += static_cast<double>(line.weights[i]) * line.values[i];
      weight += line.weights[i];
    }
    coarse.values.push_back(sum / static_cast<double>(weight));
    coarse.weights.push_back(weight);
  }
  return coarse;
}

// The smallest cost of so many parts is a convex function of their number, and a penalty finds the number where its
// slope is. This bracket holds two points of the function.
struct Bracket {
  struct Point {
    size_t parts;
    double cost;
  };
  Point few, many;

  double slope() const { return (few.cost - many.cost) / static_cast<double>(many.parts - few.parts); }
};

// Relaxes until a path has k parts, or until no penalty can make one. Returns an upper bound of how much longer than
// the shortest path an optimal path of k parts is, but for rounding.
double settle(PenalisedLine& paths, size_t k, double share) {
  constexpr int kGuesses = 4;  // by a power law; then by the bracket, which always ends
  const auto wanted = static_cast<double>(k);
  Bracket bracket{{1, paths.whole()}, {paths.size(), 0}};
  double low = 0, high = paths.whole();  // penalties that give too many parts, and too few
  double penalty = share * high;
  for (int round = 0;; ++round) {
    const bool guessed = round < kGuesses && penalty > low && penalty < high;
    if (!guessed) penalty = bracket.slope();
    paths.relax(penalty);
    const size_t parts = paths.parts();
    if (parts == k) return 0;
    const auto count = static_cast<double>(parts);
    const double total = paths.length(paths.size());
    if (!guessed && (parts <= bracket.few.parts || parts >= bracket.many.parts)) {
      const double line = std::max(bracket.few.cost + static_cast<double>(bracket.few.parts) * penalty,
                                   bracket.many.cost + static_cast<double>(bracket.many.parts) * penalty);
      return std::max(0.0, line - total);
    }
    (parts < k ? bracket.few : bracket.many) = {parts, total - count * penalty};
    (parts < k ? high : low) = penalty;
    penalty *= std::pow(count / wanted, 3);  // costs of smooth data fall with the square of k
  }
}

// A penalty that is likely to give k parts, as a share of the cost of one part: lines have units of their own.
double likely_penalty(const WeightedLine& line, size_t k) {
  const size_t group = line.size() / std::max(kCoarse, 16 * k);
  if (group < 4) return 4 / std::pow(static_cast<double>(k), 3);  // between uniform values and normal ones
  const WeightedLine coarse = coarsened(line, group);
  PenalisedLine paths(coarse, k);
  settle(paths, k, likely_penalty(coarse, k));
  const double penalty = paths.penalty(), parts = static_cast<double>(k);
  // Of all penalties that give k parts, one in the middle: the slope where costs fall with the square of k.
  const double middle = 2 * (paths.length(coarse.size()) - parts * penalty) / parts;
  paths.relax(middle);
  return (paths.parts() == k ? middle : penalty) / paths.whole();
}

// The cuts that an optimal path of k parts may have, with the numbers of parts behind them.
struct LikelyCut {
  size_t cut;
  size_t min_parts, max_parts;
};

// Follows all paths that are not too long, from the last cut down.
std::vector<LikelyCut> likely_cuts(const PenalisedLine& paths, size_t k, double gap, const std::atomic<bool>* abort) {
  const double loss = paths.loss() + 3 * paths.error();  // with the rounding of a detour, and of the gap
  const double slack = gap + static_cast<double>(k) * loss;
  const double far = slack + paths.penalty() + 2 * loss;  // no earlier cut has a shorter detour than this one less that
  const size_t n = paths.size();
  std::vector<double> behind(n + 1, kInfinity);  // of each cut, the least sum of detours to the last cut
  std::vector<std::pair<size_t, size_t>> parts(n + 1, {k + 1, 0});
  behind[n] = 0;
  parts[n] = {0, 0};
  std::vector<LikelyCut> found;
  for (size_t i = n;; --i) {
    if (behind[i] == kInfinity || parts[i].first > k) {
      if (i == 0) return found;
      continue;
    }
    check_abort(abort);
    found.push_back({i, parts[i].first, std::min(parts[i].second, k)});
    if (i == 0) return found;
    for (size_t j = i; j-- > 0;) {
      const double detour = behind[i] + paths.detour(j, i);
      if (detour > far) break;
      if (detour > slack) continue;
      behind[j] = std::min(behind[j], detour);
      parts[j].first = std::min(parts[j].first, parts[i].first + 1);
      parts[j].second = std::max(parts[j].second, parts[i].second + 1);
    }
  }
}

std::vector<std::vector<size_t>> layers_of(const std::vector<LikelyCut>& cuts, size_t k) {
  std::vector<std::vector<size_t>> layers(k + 1);
  for (auto likely = cuts.rbegin(); likely != cuts.rend(); ++likely) {  // the cuts descend
    for (size_t behind = likely->min_parts; behind <= likely->max_parts; ++behind) {
      std::vector<size_t>& layer = layers[k - behind];
      const bool begins = k == behind;
      if (begins != (likely->cut == 0)) continue;
      if (!begins && (layers[k - behind - 1].empty() || layers[k - behind - 1].front() >= likely->cut)) continue;
      layer.push_back(likely->cut);
    }
  }
  return layers;
}

}  // namespace

std::vector<size_t> optimal_parts(const WeightedLine& line, size_t k) {
  const size_t n = line.size();
  if (k == 1) return {n};
  if (k == n) {
    std::vector<size_t> ends(n);
    std::iota(ends.begin(), ends.end(), size_t{1});
    return ends;
  }
  PenalisedLine paths(line, k);
  const double gap = settle(paths, k, likely_penalty(line, k));
  if (paths.sure() && paths.parts() == k) return paths.ends();
  const std::vector<LikelyCut> cuts = likely_cuts(paths, k, gap, line.abort);
  if (cuts.size() > k + 1) return exact_parts(line, layers_of(cuts, k));
  std::vector<size_t> ends;  // no other path is left
  for (size_t c = k; c-- > 0;) ends.push_back(cuts[c].cut);
  return ends;
}

}  // namespace manymeans
