#include <manymeans/compare.h>
#include <manymeans/error.h>

#include "core/distance.h"
#include "core/fp_environment.h"
#include "core/threads.h"
#include "core/wide_int.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <unordered_map>

namespace manymeans {
namespace {

using Sum = unsigned __int128;

constexpr int64_t kMaxClusters = 20'000;  // a matrix of costs of 3 GB

void check_size(int64_t count, const char* what) {
  if (count <= kMaxClusters) return;
  throw Error(ErrorCode::kUnavailable, "compare",
              fmt::format("there are {} {}; up to {} can be matched one to one", count, what, kMaxClusters));
}

struct PairHash {
  size_t operator()(const std::pair<int64_t, int64_t>& pair) const {
    return std::hash<uint64_t>()(static_cast<uint64_t>(pair.first) * 1'000'003 + static_cast<uint64_t>(pair.second));
  }
};

// The cells that have rows, in the order of a and b.
std::vector<LabelCell> contingency(std::span<const int64_t> a, std::span<const int64_t> b) {
  std::unordered_map<std::pair<int64_t, int64_t>, int64_t, PairHash> counts;
  for (size_t row = 0; row < a.size(); ++row) {
    if (a[row] >= 0 && b[row] >= 0) ++counts[{a[row], b[row]}];
  }
  std::vector<LabelCell> cells;
  for (const auto& [labels, rows] : counts) cells.push_back({labels.first, labels.second, rows});
  std::ranges::sort(cells,
                    [](const LabelCell& x, const LabelCell& y) { return std::tie(x.a, x.b) < std::tie(y.a, y.b); });
  return cells;
}

// The labels of one side, in order, and how many rows each has.
struct Side {
  std::vector<int64_t> labels = {};
  std::vector<int64_t> rows = {};

  size_t place(int64_t label) const {
    return static_cast<size_t>(std::ranges::lower_bound(labels, label) - labels.begin());
  }
};

Side side_of(std::span<const LabelCell> cells, int64_t LabelCell::*label) {
  Side side;
  for (const LabelCell& cell : cells) side.labels.push_back(cell.*label);
  std::ranges::sort(side.labels);
  side.labels.erase(std::unique(side.labels.begin(), side.labels.end()), side.labels.end());
  side.rows.resize(side.labels.size());
  for (const LabelCell& cell : cells) side.rows[side.place(cell.*label)] += cell.rows;
  return side;
}

Sum squared(int64_t count) {
  return static_cast<Sum>(count) * static_cast<Sum>(count);
}

Sum sum_of_squares(std::span<const int64_t> counts) {
  Sum sum = 0;
  for (const int64_t count : counts) sum += squared(count);
  return sum;
}

WideInt times(const WideInt& factor, Sum by) {
  WideInt result = factor.times(static_cast<uint64_t>(by >> 64)).shift_left_64();
  return result += factor.times(static_cast<uint64_t>(by));
}

WideInt product(Sum a, Sum b) {
  return times(times(WideInt(1), a), b);
}

// The rows of two clusterings that have a label in both.
struct Overlap {
  std::vector<LabelCell> cells;
  Side a, b;
  int64_t rows = 0;
};

Overlap overlap_of(std::span<const int64_t> a, std::span<const int64_t> b) {
  if (a.size() != b.size()) {
    throw Error(ErrorCode::kUsage, "compare",
                fmt::format("there are {} and {} labels; labels of the same rows are needed", a.size(), b.size()));
  }
  Overlap found;
  found.cells = contingency(a, b);
  found.a = side_of(found.cells, &LabelCell::a);
  found.b = side_of(found.cells, &LabelCell::b);
  for (const LabelCell& cell : found.cells) found.rows += cell.rows;
  return found;
}

// Of ordered pairs of rows: together in both, in a only, in b only, in neither. As scikit-learn has it.
double adjusted_rand(const Overlap& found) {
  const auto& [cells, a, b, n] = found;
  Sum in_cells = 0;
  for (const LabelCell& cell : cells) in_cells += squared(cell.rows);
  const Sum both = in_cells - static_cast<Sum>(n);
  const Sum only_a = sum_of_squares(a.rows) - in_cells;
  const Sum only_b = sum_of_squares(b.rows) - in_cells;
  const Sum neither = squared(n) - only_a - only_b - in_cells;
  if (only_a == 0 && only_b == 0) return 1;
  const WideInt above = product(both, neither) - product(only_a, only_b);
  WideInt below = product(both + only_a, only_a + neither);
  below += product(both + only_b, only_b + neither);
  return 2 * above.to_double() / below.to_double();
}

void pair_clusters(const Overlap& found, const std::atomic<bool>* abort, LabelComparison& result) {
  const auto& [cells, a, b, n] = found;
  const auto rows = std::ssize(a.labels), columns = std::ssize(b.labels);
  std::vector<double> costs(static_cast<size_t>(rows) * static_cast<size_t>(columns), 0);
  for (const LabelCell& cell : cells) {
    costs[a.place(cell.a) * static_cast<size_t>(columns) + b.place(cell.b)] = -static_cast<double>(cell.rows);
  }
  const std::vector<int64_t> column_of = least_assignment(costs, rows, columns, abort);
  int64_t stay = 0;
  for (const LabelCell& cell : cells) {
    if (column_of[a.place(cell.a)] == static_cast<int64_t>(b.place(cell.b))) {
      result.pairs.push_back(cell);
      stay += cell.rows;
    } else {
      result.moves.push_back(cell);
    }
  }
  result.moved = result.rows - stay;
  std::ranges::stable_sort(result.moves, std::ranges::greater(), &LabelCell::rows);
}

}  // namespace

LabelComparison compare_labels(std::span<const int64_t> a, std::span<const int64_t> b, const std::atomic<bool>* abort) {
  const FpEnvironmentGuard guard;
  const Overlap found = overlap_of(a, b);
  LabelComparison result;
  result.rows = found.rows;
  result.left_out = std::ssize(a) - result.rows;
  result.clusters_a = std::ssize(found.a.labels);
  result.clusters_b = std::ssize(found.b.labels);
  check_size(std::max(result.clusters_a, result.clusters_b), "clusters");
  result.adjusted_rand = adjusted_rand(found);
  pair_clusters(found, abort, result);
  return result;
}

double adjusted_rand(std::span<const int64_t> a, std::span<const int64_t> b) {
  const FpEnvironmentGuard guard;
  return adjusted_rand(overlap_of(a, b));
}

std::vector<PrototypeMatch> match_prototypes(std::span<const double> a, std::span<const double> b, int64_t columns,
                                             const std::atomic<bool>* abort) {
  const FpEnvironmentGuard guard;
  if (columns < 1 || std::ssize(a) % columns != 0 || std::ssize(b) % columns != 0) {
    throw Error(ErrorCode::kUsage, "compare",
                fmt::format("{} and {} values are no prototypes of {} columns", a.size(), b.size(), columns));
  }
  const int64_t count_a = std::ssize(a) / columns, count_b = std::ssize(b) / columns;
  check_size(std::max(count_a, count_b), "prototypes");
  std::vector<double> squares;
  squares.reserve(static_cast<size_t>(count_a) * static_cast<size_t>(count_b));
  for (int64_t i = 0; i < count_a; ++i) {
    check_abort(abort);
    for (int64_t j = 0; j < count_b; ++j) {
      squares.push_back(canonical_distance(a.data() + i * columns, b.data() + j * columns, columns));
      if (std::isfinite(squares.back())) continue;
      throw Error(
          ErrorCode::kBadData, "compare",
          fmt::format("the squared distance of prototypes {} and {} is beyond binary64; scale the points", i, j));
    }
  }
  std::vector<PrototypeMatch> matches;
  const std::vector<int64_t> partner = least_assignment(squares, count_a, count_b, abort);
  for (int64_t i = 0; i < count_a; ++i) {
    const int64_t j = partner[static_cast<size_t>(i)];
    if (j >= 0) matches.push_back({i, j, std::sqrt(squares[static_cast<size_t>(i * count_b + j)])});
  }
  return matches;
}

}  // namespace manymeans
