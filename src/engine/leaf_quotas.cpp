#include "engine/leaf_quotas.h"

#include "core/data_type.h"
#include "core/distance.h"
#include "core/mapped_range.h"
#include "data/gather.h"
#include "data/unit_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace manymeans {
namespace {

// A row of the sample of a child.
struct SampledRow {
  int64_t child;
  int64_t row;
  double cost;  // weight times squared distance
};

int64_t sampled_of(const ChildRows& child) {
  return std::min<int64_t>(child.all, 64);
}

// Those that this rank has.
std::vector<SampledRow> sampled_rows(std::span<const ChildRows> children, Comm& comm) {
  std::vector<int64_t> before;  // rows of each child on the ranks before this one
  for (const ChildRows& child : children) before.push_back(std::ssize(child.held));
  comm.scan(before);
  std::vector<SampledRow> sampled;
  for (size_t c = 0; c < children.size(); ++c) {
    for (const int64_t place : spread_rows(children[c].all, sampled_of(children[c]))) {
      const int64_t own = place - before[c];
      if (own < 0 || own >= std::ssize(children[c].held)) continue;
      sampled.push_back({static_cast<int64_t>(c), children[c].held[static_cast<size_t>(own)], 0});
    }
  }
  return sampled;
}

void find_costs(const LeafRows& rows, const PointsView& vectors, ThreadPool& pool, std::span<SampledRow> sampled) {
  std::vector<int64_t> numbers;
  for (const SampledRow& row : sampled) numbers.push_back(row.row);
  const Matrix gathered = gather_rows(rows.points, numbers, pool);
  check_mapped(rows.points.data);
  const RowCopy measured = measured_rows(gathered.view(), rows.options.metric, {pool.size()});
  as_float_type(vectors.type, [&]<class T>(T) {
    const auto* x = static_cast<const T*>(measured.view.data);
    const auto* c = static_cast<const T*>(vectors.data);
    pool.for_each_range(std::ssize(sampled), 256, [&](int, int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        SampledRow& row = sampled[static_cast<size_t>(i)];
        const double weight = rows.weights.empty() ? 1 : rows.weights[static_cast<size_t>(row.row)];
        row.cost = weight * canonical_distance(x + i * vectors.d, c + row.child * vectors.d, vectors.d);
      }
    });
  });
}

}  // namespace

std::vector<int64_t> inertia_weights(const LeafRows& rows, std::span<const ChildRows> children,
                                     const PointsView& vectors, ThreadPool& pool) {
  std::vector<SampledRow> own = sampled_rows(children, rows.comm);
  find_costs(rows, vectors, pool, own);
  std::vector<double> inertias(children.size());
  for (const SampledRow& row : rows.comm.gather_flat(std::span<const SampledRow>(own))) {
    inertias[static_cast<size_t>(row.child)] += row.cost;
  }
  for (size_t c = 0; c < children.size(); ++c) {
    inertias[c] = static_cast<double>(children[c].all) * inertias[c] / static_cast<double>(sampled_of(children[c]));
  }
  const double largest = std::ranges::max(inertias);
  std::vector<int64_t> weights(children.size());
  if (!(largest > 0 && std::isfinite(largest))) return weights;
  std::ranges::transform(inertias, weights.begin(),
                         [&](double inertia) { return static_cast<int64_t>(inertia / largest * 0x1p31); });
  return weights;
}

std::vector<int64_t> share_leaves(int64_t leaves, std::span<const ChildRows> children, std::vector<int64_t> weights) {
  std::vector<int64_t> shares(children.size(), 1);
  std::vector<size_t> open(children.size());  // children that may get more
  std::iota(open.begin(), open.end(), size_t{0});
  int64_t left = leaves - std::ssize(children), total = 0;
  for (size_t closed = 1; closed > 0;) {
    total = 0;
    for (const size_t c : open) total += weights[c];
    if (total == 0) {
      for (const size_t c : open) total += weights[c] = children[c].all - 1;
    }
    const int64_t all = left;
    closed = std::erase_if(open, [&](size_t c) {
      const int64_t room = children[c].all - 1;
      if (static_cast<__int128>(all) * weights[c] < static_cast<__int128>(room) * total) return false;
      shares[c] += room;
      left -= room;
      return true;
    });
  }
  std::vector<std::pair<int64_t, size_t>> remainders;  // negative: the largest comes first, then the first child
  const int64_t all = left;
  for (const size_t c : open) {
    const auto product = static_cast<__int128>(all) * weights[c];
    const auto share = static_cast<int64_t>(product / total);
    shares[c] += share;
    left -= share;
    remainders.emplace_back(-static_cast<int64_t>(product % total), c);
  }
  std::ranges::sort(remainders);
  for (int64_t i = 0; i < left; ++i) ++shares[remainders[static_cast<size_t>(i)].second];
  return shares;
}

}  // namespace manymeans
