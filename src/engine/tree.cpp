#include <manymeans/error.h>
#include <manymeans/fit_each.h>
#include <manymeans/tree.h>

#include "core/fp_environment.h"
#include "core/mapped_range.h"
#include "core/memory_space.h"
#include "core/os/pages.h"
#include "core/out_of_memory.h"
#include "core/random.h"
#include "core/sparse_rows.h"
#include "data/gather.h"
#include "data/input.h"
#include "data/memory_plan.h"
#include "engine/check_clusters.h"
#include "engine/fit_shard.h"
#include "engine/leaf_sizes.h"
#include "init/choose_rows.h"
#include "init/init.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <utility>

namespace manymeans {
namespace {

// Returns the smallest b with b^power >= number.
int64_t root_above(int64_t number, int64_t power) {
  if (power == 1) return number;
  const auto is_enough = [&](int64_t b) {
    int64_t product = 1;
    for (int64_t i = 0; i < power && product < number; ++i) product *= b;
    return product >= number;
  };
  int64_t b = 1;
  while (!is_enough(b)) ++b;
  return b;
}

int64_t levels_of(const TreeOptions& options) {
  const int64_t k = options.k[0];
  if (options.branching == 0) return k <= 16 ? 1 : k <= 65536 ? 2 : 3;
  int64_t levels = 1;
  for (int64_t leaves = options.branching; leaves < k; leaves *= options.branching) ++levels;
  return levels;
}

// Shares `leaves` out among children; `rows` has the rows of each child. Each child with rows has one leaf in advance,
// and the others are in proportion to its other rows. So no child has more leaves than rows.
std::vector<int64_t> shared_leaves(int64_t leaves, std::span<const int64_t> rows) {
  std::vector<int64_t> shares(rows.size());
  std::vector<std::pair<int64_t, size_t>> remainders;  // negative: the largest comes first, then the first child
  const int64_t children = std::ranges::count_if(rows, [](int64_t count) { return count > 0; });
  const int64_t others = std::accumulate(rows.begin(), rows.end(), -children);
  int64_t left = leaves - children;
  for (size_t c = 0; c < rows.size(); ++c) {
    if (rows[c] == 0) continue;
    const auto product = static_cast<__int128>(leaves - children) * (rows[c] - 1);
    const auto share = others == 0 ? 0 : static_cast<int64_t>(product / others);
    shares[c] = 1 + share;
    left -= share;
    remainders.emplace_back(others == 0 ? 0 : -static_cast<int64_t>(product % others), c);
  }
  std::ranges::sort(remainders);
  for (int64_t i = 0; i < left; ++i) ++shares[remainders[static_cast<size_t>(i)].second];
  return shares;
}

struct Node {
  int64_t id;
  int64_t first, rows;  // in TreeFit::order_
  int64_t leaves;
};

class TreeFit {
 public:
  TreeFit(const PointsView& points, std::span<const double> weights, const TreeOptions& options, const FitHooks& hooks)
      : points_(points), weights_(weights), options_(options), hooks_(hooks) {
    split_hooks_.log = {};  // warnings of the flat fit are for all rows
    split_.k = {1};
    split_.min_size = split_.max_size = 0;
  }

  TreeResult run() {
    result_.options = options_;
    fit_root();
    const int64_t levels = levels_of(options_);
    for (int64_t left = levels; left > 0; --left) split_level(left);
    fit_leaves();
    result_.moved = bound_leaf_sizes({points_, weights_, options_, hooks_}, result_.fit.models[0]);
    tell_warnings();
    keep_vectors();
    end_phase("sizes");
    return std::move(result_);
  }

 private:
  // A fit of one cluster. It checks all rows, also those outside the sample.
  void fit_root() {
    FitOptions one = split_;
    one.init = "first";
    one.max_iter = 1;
    one.algorithm = "brute";  // one distance of a row: a packed copy would take longer
    const FitResult root = fit(points_, weights_, one, split_hooks_);
    require_whole(root.interrupted);
    result_.parents = {-1};
    add_vector(root.models[0].prototypes, 0);
    result_.levels = {{1, root.models[0].inertia}};
    result_.splits = {root.models[0].digest()};
    order_ = training_rows();
    nodes_ = {{0, 0, std::ssize(order_), options_.k[0]}};
    end_phase("root");
  }

  std::vector<int64_t> training_rows() {
    if (options_.sample > 0 && options_.sample < points_.n) {
      Input all;
      all.shard = {0, points_.n, points_.n, {points_.n}};
      all.points.n = points_.n;
      const RowWish wish{options_.sample, member_seed(options_.seed, options_.sample, 0)};
      std::vector<int64_t> rows = random_rows(all, wish, pool_);
      std::ranges::sort(rows);
      return rows;
    }
    std::vector<int64_t> rows(static_cast<size_t>(points_.n));
    std::iota(rows.begin(), rows.end(), int64_t{0});
    return rows;
  }

  void split_level(int64_t left) {
    const std::vector<Node> parents = std::exchange(nodes_, {});
    TreeLevel& level = result_.levels.emplace_back();
    for (auto from = parents.begin(); from != parents.end();) {
      const auto to = end_of_batch(from, parents.end());
      split_nodes({from, to}, left, level);
      from = to;
    }
    level.nodes = std::ssize(nodes_);
    end_phase(fmt::format("level {}", result_.levels.size() - 1));
  }

  // As many nodes as may have copies of their rows in memory at a time, but at least one.
  using NodeIterator = std::vector<Node>::const_iterator;
  NodeIterator end_of_batch(NodeIterator from, NodeIterator end) const {
    const int64_t limit = options_.memory.bytes / 4;
    const int64_t bytes = points_.d * static_cast<int64_t>(size_of(prototype_type(points_.type)));
    int64_t taken = from->rows * bytes;
    auto to = from + 1;
    for (; to != end && (limit == 0 || taken + to->rows * bytes <= limit); ++to) taken += to->rows * bytes;
    return to;
  }

  void split_nodes(std::span<const Node> nodes, int64_t left, TreeLevel& level) {
    EachOptions each;
    static_cast<FitOptions&>(each) = split_;
    if (each.init == "auto" && left > 1) each.init = "random";  // whose levels are as good, in less time
    std::vector<int64_t> groups = {0};
    for (const Node& node : nodes) {
      each.k_each.push_back(root_above(node.leaves, left));
      each.seed_each.push_back(random_u64(options_.seed, static_cast<uint64_t>(node.id), 0, Purpose::kNodeSeed));
      groups.push_back(groups.back() + node.rows);
    }
    const std::span rows =
        std::span(order_).subspan(static_cast<size_t>(nodes[0].first), static_cast<size_t>(groups.back()));
    const bool all = std::ssize(rows) == points_.n && nodes[0].id == 0;  // in their order
    const Matrix gathered = all ? Matrix() : gather_rows(points_, rows, pool_);
    check_mapped(points_.data);
    EachResult found = fit_each(all ? points_ : gathered.view(), weights_of(rows, groups), groups, each, split_hooks_);
    require_whole(found.interrupted);
    for (size_t i = 0; i < nodes.size(); ++i) {
      const ModelResult& model = found.fits[i].models[0];
      level.inertia += model.inertia;
      result_.splits.push_back(model.digest());
      add_children(nodes[i], model, left == 1);
    }
  }

  // Rows of a node that weigh nothing count alike.
  std::vector<double> weights_of(std::span<const int64_t> rows, std::span<const int64_t> groups) const {
    std::vector<double> weights;
    if (weights_.empty()) return weights;
    for (const int64_t row : rows) weights.push_back(weights_[static_cast<size_t>(row)]);
    for (size_t b = 0; b + 1 < groups.size(); ++b) {
      const auto mine =
          std::span(weights).subspan(static_cast<size_t>(groups[b]), static_cast<size_t>(groups[b + 1] - groups[b]));
      if (std::ranges::none_of(mine, [](double weight) { return weight > 0; })) std::ranges::fill(mine, 1.0);
    }
    return weights;
  }

  // Sorts the rows of a node by child. Leaves are all kept; of other children, those with rows.
  void add_children(const Node& node, const ModelResult& model, bool leaves) {
    const std::vector<int64_t> shares = shared_leaves(node.leaves, model.counts);
    std::vector<int64_t> next(model.counts.size());
    int64_t first = node.first;
    for (size_t c = 0; c < shares.size(); ++c) {
      next[c] = first;
      first += model.counts[c];
      if (!leaves && model.counts[c] == 0) continue;
      nodes_.push_back({std::ssize(result_.parents), next[c], model.counts[c], leaves ? 1 : shares[c]});
      result_.parents.push_back(node.id);
      add_vector(model.prototypes, static_cast<int64_t>(c));
    }
    const auto begin = order_.begin() + node.first;
    const std::vector<int64_t> rows(begin, begin + node.rows);
    for (int64_t i = 0; i < node.rows; ++i) {
      order_[static_cast<size_t>(next[model.labels[i]]++)] = rows[static_cast<size_t>(i)];
    }
  }

  void add_vector(const Matrix& prototypes, int64_t row) {
    const auto bytes = prototypes.bytes().size() / static_cast<size_t>(prototypes.rows());
    const auto from = prototypes.bytes().subspan(static_cast<size_t>(row) * bytes, bytes);
    vectors_.insert(vectors_.end(), from.begin(), from.end());
  }

  // The leaves are the last nodes.
  PointsView leaf_vectors() const {
    const int64_t k = options_.k[0];
    const size_t bytes = vectors_.size() / result_.parents.size() * static_cast<size_t>(k);
    return {vectors_.data() + vectors_.size() - bytes, k, points_.d, prototype_type(points_.type)};
  }

  void fit_leaves() {
    FitOptions flat = split_;
    flat.k = options_.k;
    flat.seed = options_.seed;
    flat.stop = "strict";
    flat.tol = 0;
    flat.max_iter = options_.refine;
    FitHooks hooks = hooks_;
    hooks.initial = leaf_vectors();
    hooks.log = {};  // sizes of leaves may change what is true
    result_.fit = fit(points_, weights_, flat, hooks);
    require_whole(result_.fit.models[0].stop_reason == StopReason::kNotBegun);
    result_.fit.models[0].init = "tree";
    Provenance& provenance = result_.fit.provenance;
    provenance.options = options_;
    provenance.seconds.insert(provenance.seconds.begin(), seconds_.begin(), seconds_.end());
    begin_ = Clock::now();
  }

  // The flat fit counts empty leaves before they have the sizes asked for.
  void tell_warnings() {
    std::vector<std::string>& warnings = result_.fit.warnings;
    if (options_.balanced()) {
      std::erase_if(warnings, [](const std::string& text) { return text.ends_with("clusters are empty at the end"); });
      const int64_t empty = std::ranges::count(result_.fit.models[0].counts, 0);
      if (empty > 0) warnings.push_back(fmt::format("{} of {} leaves have no rows", empty, options_.k[0]));
      result_.fit.provenance.warnings = warnings;
    }
    for (size_t i = 0; hooks_.log && i < warnings.size(); ++i) hooks_.log(warnings[i]);
  }

  void keep_vectors() {
    const Matrix& leaves = result_.fit.models[0].prototypes;
    std::ranges::copy(leaves.bytes(), vectors_.end() - std::ssize(leaves.bytes()));
    result_.vectors = Matrix::unwritten(std::ssize(result_.parents), points_.d, leaves.type());
    std::memcpy(result_.vectors.values<std::byte>().data(), vectors_.data(), vectors_.size());
  }

  static void require_whole(bool stopped) {
    if (stopped) throw Error(ErrorCode::kInterrupted, "tree", "it was stopped before all of its levels were split");
  }

  void end_phase(const std::string& name) {
    auto& seconds = result_.fit.models.empty() ? seconds_ : result_.fit.provenance.seconds;
    const auto now = Clock::now();
    seconds.emplace_back(name, std::chrono::duration<double>(now - std::exchange(begin_, now)).count());
  }

  using Clock = std::chrono::steady_clock;

  const PointsView& points_;
  std::span<const double> weights_;
  const TreeOptions& options_;
  const FitHooks& hooks_;
  FitOptions split_ = options_;    // of one
  FitHooks split_hooks_ = hooks_;  // likewise
  ThreadPool pool_{thread_count(options_.threads), hooks_.abort};
  TreeResult result_;
  std::vector<std::byte> vectors_;  // of the nodes so far
  std::vector<int64_t> order_;      // rows that make the tree, node after node
  std::vector<Node> nodes_;         // of the last level
  std::vector<std::pair<std::string, double>> seconds_;
  Clock::time_point begin_ = Clock::now();
};

Error usage(const char* option, const std::string& what) {
  return {ErrorCode::kUsage, option, what};
}

void check_hooks(const PointsView& points, const FitHooks& hooks) {
  refuse_ranks(hooks, "fit_tree()");
  if (!hooks.checkpoint.path.empty()) throw usage("checkpoint", "a tree has none; leave it out");
  if (hooks.initial.data != nullptr) throw usage("initial", "a tree makes its own prototypes; leave them out");
  if (is_sparse(points)) throw usage("points", "they are sparse, and a tree splits dense rows; make them dense");
}

// The flat fit needs most, and comes last.
void check_memory(const PointsView& points, std::span<const double> weights, const TreeOptions& options) {
  const bool on_host = options.backend == "auto" || options.backend == "cpu" || options.backend == "reference";
  if (options.memory.bytes == 0 || !on_host || points.on_device()) return;
  MemoryTask task;
  task.points = points;
  task.in_file = lies_in_file(points.data, points.bytes());
  task.weights = !weights.empty();
  task.k = options.k;
  task.threads = thread_count(options.threads);
  plan_memory(task, options.memory.bytes);
}

}  // namespace

void check(const TreeOptions& options) {
  check(static_cast<const FitOptions&>(options));
  if (options.k.size() != 1) {
    throw usage("k", fmt::format("{} numbers were given; a tree has one number of leaves", options.k.size()));
  }
  if (options.models != 1)
    throw usage("models", fmt::format("is {}; a tree is one model, so 1 is right", options.models));
  if (options.model_seed) throw usage("model_seed", "a tree has many fits; use seed");
  if (options.time_limit > 0) throw usage("time_limit", "a tree has none; use fewer iterations or a sample");
  if (options.empty == EmptyPolicy::kDrop || options.empty == EmptyPolicy::kError) {
    throw usage("empty", "a tree has k leaves, of which equal rows leave some empty; use farthest or keep");
  }
  if (options.branching < 0 || options.branching == 1) {
    throw usage("branching",
                fmt::format("{} children make no tree; 2 or more are right, or 0 to choose by k", options.branching));
  }
  if (options.refine < 0) throw usage("refine", fmt::format("{} is negative; 0 or more is right", options.refine));
  if (options.sample < 0 || (options.sample > 0 && options.sample < options.k[0])) {
    throw usage("sample", fmt::format("{} rows cannot make {} leaves; at least {} are right, or 0 for all rows",
                                      options.sample, options.k[0], options.k[0]));
  }
}

TreeResult fit_tree(const PointsView& points, std::span<const double> weights, const TreeOptions& options,
                    const FitHooks& hooks) {
  const FpEnvironmentGuard guard;
  check(options);
  check_hooks(points, hooks);
  if (points.n > 0) {  // the fit of the root refuses fewer
    check_clusters(options.k[0], points.n);
    find_init(options.init, points.n, options.k[0], points.d);
    check_leaf_sizes(options, points.n);
    check_memory(points, weights, options);
  }
  return or_out_of_memory("memory", "use a sample, or set a memory limit",
                          [&] { return TreeFit(points, weights, options, hooks).run(); });
}

}  // namespace manymeans
