// Labels by a walk down a tree: contract, "Walks".
#include <manymeans/error.h>
#include <manymeans/tree.h>

#include "core/fp_environment.h"
#include "core/mapped_range.h"
#include "core/memory_space.h"
#include "core/out_of_memory.h"
#include "core/sparse_rows.h"
#include "data/gather.h"
#include "data/input.h"
#include "data/unit_rows.h"
#include "engine/row_distances.h"
#include "prototype/prototype.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

namespace manymeans {
namespace {

// A node that a row has reached.
struct Reached {
  double distance = std::numeric_limits<double>::infinity();
  int64_t node = -1;

  auto operator<=>(const Reached&) const = default;
};

// Keeps the first of these and one more, in their order.
void keep(const Reached& more, std::span<Reached> kept) {
  if (more >= kept.back()) return;
  const auto at = std::ranges::upper_bound(kept, more);
  std::move_backward(at, kept.end() - 1, kept.end());
  *at = more;
}

class TreeWalk {
 public:
  TreeWalk(const PointsView& vectors, std::span<const int64_t> parents, int64_t n_probe, const PredictOptions& options)
      : vectors_(vectors),
        parents_(parents),
        options_(options),
        n_probe_(std::min(n_probe, first_leaf())),
        predictors_(static_cast<size_t>(first_leaf())) {}

  Labels label(const PointsView& points) {
    constexpr int64_t kReachedAtATime = int64_t{1} << 22;
    prepare_input(points, {}, pool_);  // checks all values
    Labels labels(points.n, vectors_.n - first_leaf());
    const int64_t most = std::max<int64_t>(1, kReachedAtATime / n_probe_);
    for (int64_t first = 0; first < points.n; first += most) {
      const std::vector<uint32_t> found = label_some(rows_of_view(points, first, std::min(most, points.n - first)));
      labels.write(first, std::ssize(found), found.data());
    }
    check_mapped(points.data);
    return labels;
  }

 private:
  struct Children {
    int64_t first, end;
    int64_t count() const { return end - first; }
  };

  // The leaves are the nodes behind the last parent.
  int64_t first_leaf() const { return parents_.back() + 1; }
  Children children(int64_t node) const {
    const auto [first, end] = std::equal_range(parents_.begin(), parents_.end(), node);
    return {first - parents_.begin(), end - parents_.begin()};
  }
  PointsView vectors_of(const Children& nodes) const { return rows_of_view(vectors_, nodes.first, nodes.count()); }

  // Nodes have ascending numbers from level to level.
  std::vector<uint32_t> label_some(const PointsView& points) {
    std::vector<std::vector<int64_t>> rows(static_cast<size_t>(first_leaf()));  // of each node
    rows[0].resize(static_cast<size_t>(points.n));
    std::iota(rows[0].begin(), rows[0].end(), int64_t{0});
    for (int64_t node = 0, level = 0; level < first_leaf();) {
      const int64_t next = children(level).first;
      const bool last = next >= first_leaf();
      width_ = last ? 1 : n_probe_;
      kept_.assign(static_cast<size_t>(points.n * width_), {});
      for (; node < next; ++node) {
        if (!rows[static_cast<size_t>(node)].empty()) visit(points, rows[static_cast<size_t>(node)], node, last);
        rows[static_cast<size_t>(node)] = {};
      }
      for (int64_t i = 0; !last && i < std::ssize(kept_); ++i) {
        const int64_t reached = kept_[static_cast<size_t>(i)].node;
        if (reached >= 0) rows[static_cast<size_t>(reached)].push_back(i / width_);
      }
      level = next;
    }
    std::vector<uint32_t> labels;
    for (const Reached& leaf : kept_) labels.push_back(static_cast<uint32_t>(leaf.node - first_leaf()));
    return labels;
  }

  // These rows reach the children of a node.
  void visit(const PointsView& points, std::span<const int64_t> rows, int64_t node, bool leaves) {
    const bool all = std::ssize(rows) == points.n;
    const Matrix gathered = all ? Matrix() : gather_rows(points, rows, pool_);
    const PointsView view = all ? points : gathered.view();
    const Children nodes = children(node);
    const auto kept_of = [&](int64_t row) {
      return std::span(kept_).subspan(static_cast<size_t>(rows[static_cast<size_t>(row)] * width_),
                                      static_cast<size_t>(width_));
    };
    if (leaves) {
      auto& predictor = predictors_[static_cast<size_t>(node)];
      if (predictor == nullptr) predictor = std::make_unique<Predictor>(vectors_of(nodes));
      const Prediction found = predictor->predict(view, options_);
      for (int64_t i = 0; i < view.n; ++i) {
        keep({found.distances[static_cast<size_t>(i)], nodes.first + found.labels[i]}, kept_of(i));
      }
      return;
    }
    const auto to = std::make_shared<const Matrix>(make_prototypes(vectors_of(nodes), DataType::kFloat64));
    RowDistances(to, pool_).of_all(view, [&](int64_t first, const Matrix& distances) {
      constexpr int64_t kGrain = 1024;
      pool_.for_each_range(distances.rows(), kGrain, [&](int, int64_t begin, int64_t end) {
        const double* distance = distances.values<double>().data() + begin * nodes.count();
        for (int64_t i = begin; i < end; ++i) {
          for (int64_t c = nodes.first; c < nodes.end; ++c) keep({*distance++, c}, kept_of(first + i));
        }
      });
    });
  }

  PointsView vectors_;
  std::span<const int64_t> parents_;
  const PredictOptions& options_;
  int64_t n_probe_, width_ = 1;
  std::vector<std::unique_ptr<Predictor>> predictors_;  // of nodes above leaves that rows have reached
  std::vector<Reached> kept_;                           // of each row `width_` nodes of a level
  ThreadPool pool_{thread_count(options_.threads), options_.abort};
};

void check_walk(const PointsView& points, const PointsView& vectors, std::span<const int64_t> parents,
                int64_t n_probe) {
  if (n_probe < 1) {
    throw Error(ErrorCode::kUsage, "n_probe", fmt::format("{} nodes lead to no leaf; 1 or more is right", n_probe));
  }
  if (is_sparse(points)) {
    throw Error(ErrorCode::kUsage, "n_probe", "is for dense points, and these are sparse; leave it out");
  }
  if (points.d != vectors.d) {
    throw Error(ErrorCode::kBadData, "points",
                fmt::format("they have {} columns, the tree has {}", points.d, vectors.d));
  }
  bool tree = vectors.n == std::ssize(parents) && vectors.n > 1 && parents[0] == -1 && parents[1] == 0;
  for (size_t i = 2; tree && i < parents.size(); ++i) {
    const int64_t step = parents[i] - parents[i - 1];
    tree = (step == 0 || step == 1) && parents[i] < static_cast<int64_t>(i);
  }
  int64_t level = 0;  // its first node; the next level begins with the children of that
  while (tree && level <= parents.back()) level = std::ranges::lower_bound(parents, level) - parents.begin();
  tree = tree && level == parents.back() + 1;
  if (!tree)
    throw Error(ErrorCode::kUsage, "parents", "these are not the parents of a tree in the order of its levels");
  make_prototypes(rows_of_view(vectors, 0, parents.back() + 1),
                  DataType::kFloat64);  // throws for inner nodes that are not finite
}

}  // namespace

Labels predict_by_walk(const PointsView& points, const PointsView& vectors, std::span<const int64_t> parents,
                       int64_t n_probe, const PredictOptions& options) {
  const FpEnvironmentGuard guard;
  check_walk(points, vectors, parents, n_probe);
  const PredictOptions nearest{
      .backend = options.backend, .threads = options.threads, .distances = true, .abort = options.abort};
  Labels labels = or_out_of_memory("memory", "give it fewer rows at a time", [&] {
    const RowCopy measured = measured_rows(points, options.metric, {.threads = options.threads});
    return TreeWalk(vectors, parents, n_probe, nearest).label(measured.view);
  });
  if (!options.room) return labels;
  await_room(options.room, points.n, DataType::kFloat32);  // no type of points is int32
  store_labels(options.room, labels);
  return {};
}

}  // namespace manymeans
