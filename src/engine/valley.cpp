#include "engine/valley.h"

#include "core/data_type.h"
#include "engine/row_distances.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace manymeans {
namespace {

std::shared_ptr<const Matrix> widened(const Matrix& given) {
  Matrix wide(given.rows(), given.columns(), DataType::kFloat64);
  widen(given.view().data, given.type(), 0, given.rows() * given.columns(), wide.values<double>().data());
  return std::make_shared<const Matrix>(std::move(wide));
}

// Distances of rows to the boundary of one cluster: of its own rows, and of rows to which it is the second nearest.
struct Sides {
  std::vector<double> own = {}, others = {};
};

// Rows of one side up to a distance, and the density of its rows beyond.
struct Window {
  double width = 0, found = 0, density = 0;
};

// Up to half of the rows are in a window. Rows of equal distances are all inside: values may be rounded.
std::vector<Window> windows(const std::vector<double>& side, size_t rows) {
  constexpr size_t kSteps = 32;
  std::vector<Window> all;
  for (size_t step = 0; step < kSteps / 2; ++step) {
    const double width = side[step * rows / kSteps], beyond = side[rows - 1] - width;
    const auto found = std::upper_bound(side.begin(), side.begin() + static_cast<std::ptrdiff_t>(rows), width);
    const auto inside = static_cast<double>(found - side.begin());
    if (beyond > 0) all.push_back({width, inside, (static_cast<double>(rows) - inside) / beyond});
  }
  return all;
}

// Both sides keep as many rows, the nearest. A unimodal density between two flanks is no lower than the density of the
// thinner flank. The valley is measured from three quarters of it, so that a shallow dent of many rows counts nothing.
double depth(Sides& sides) {
  constexpr size_t kMinRows = 5;
  constexpr double kShare = 0.75;
  const size_t rows = std::min(sides.own.size(), sides.others.size());
  if (rows < kMinRows) return 0;
  std::ranges::sort(sides.own);
  std::ranges::sort(sides.others);
  const std::vector<Window> others = windows(sides.others, rows);
  double deepest = 0;
  for (const Window& own : windows(sides.own, rows)) {
    for (const Window& other : others) {
      const double density = std::min(own.density, other.density), found = own.found + other.found;
      const double expected = kShare * std::min(density * (own.width + other.width), static_cast<double>(rows));
      deepest = std::max(deepest, (expected - found) / std::sqrt(expected + found));
    }
  }
  return deepest;
}

}  // namespace

double valley(const PointsView& rows, const Matrix& prototypes, ThreadPool& pool) {
  const auto wide = widened(prototypes);
  const auto k = static_cast<size_t>(wide->rows());
  const RowDistances to_prototypes(wide, pool);
  std::vector<double> apart;
  to_prototypes.of_all(wide->view(), [&](int64_t, const Matrix& distances) {
    const auto its = distances.values<double>();
    apart.insert(apart.end(), its.begin(), its.end());
  });
  std::vector<Sides> sides(k);
  to_prototypes.of_all(rows, [&](int64_t, const Matrix& distances) {
    for (int64_t row = 0; row < distances.rows(); ++row) {
      const auto its = distances.values<double>().subspan(static_cast<size_t>(row) * k, k);
      size_t nearest = 0, second = 1;
      if (its[1] < its[0]) std::swap(nearest, second);
      for (size_t c = 2; c < k; ++c) {
        if (its[c] < its[nearest])
          second = std::exchange(nearest, c);
        else if (its[c] < its[second])
          second = c;
      }
      const double between = apart[nearest * k + second];
      const double more = its[second] * its[second] - its[nearest] * its[nearest];
      const double distance = between > 0 ? more / (2 * between) : 0;
      sides[nearest].own.push_back(distance);
      sides[second].others.push_back(distance);
    }
  });
  double worst = std::numeric_limits<double>::infinity();
  for (Sides& its : sides) {
    if (!its.own.empty()) worst = std::min(worst, depth(its));
  }
  return worst;
}

}  // namespace manymeans
