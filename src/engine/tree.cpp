#include <manymeans/error.h>
#include <manymeans/fit_each.h>
#include <manymeans/tree.h>

#include "backend/devices.h"
#include "comm/or_abort.h"
#include "comm/ranks_of_machine.h"
#include "core/fp_environment.h"
#include "core/mapped_range.h"
#include "core/os/pages.h"
#include "core/out_of_memory.h"
#include "core/random.h"
#include "core/sparse_rows.h"
#include "data/content_hash.h"
#include "data/gather.h"
#include "data/input.h"
#include "data/memory_plan.h"
#include "engine/best_labels.h"
#include "engine/check_clusters.h"
#include "engine/checkpoint.h"
#include "engine/fit_on.h"
#include "engine/leaf_quotas.h"
#include "engine/leaf_sizes.h"
#include "engine/problems.h"
#include "engine/resident_points.h"
#include "engine/shared_nodes.h"
#include "engine/split.h"
#include "engine/strategies.h"
#include "init/choose_rows.h"
#include "init/init.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
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

struct Node {
  int64_t id;
  int64_t rows;         // of all ranks
  int64_t first, held;  // this rank's rows, in TreeFit::order_
  int64_t leaves;
};

// Ranks of a machine take its devices in turn, as in fit().
TreeOptions with_own_device(TreeOptions options, Comm& comm) {
  if (comm.alone()) return options;
  const int rank = rank_on_machine(comm), devices = device_count(options.backend);
  if (devices > 1) options.backend += fmt::format(":{}", rank % devices);
  return options;
}

// The least limit of all ranks; 0: none has one.
int64_t memory_of_all(const TreeOptions& options, Comm& comm) {
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  const int64_t least = comm.min(options.memory.bytes > 0 ? options.memory.bytes : kAny);
  return least == kAny ? 0 : least;
}

class TreeFit {
 public:
  TreeFit(const LeafRows& rows, const Shard& shard, MemoryPlan plan)
      : points_(rows.points),
        weights_(rows.weights),
        hooks_(rows.hooks),
        comm_(rows.comm),
        shard_(shard),
        plan_(std::move(plan)),
        options_(with_own_device(rows.options, comm_)),
        memory_(memory_of_all(options_, comm_)),
        weighted_(comm_.max(std::ssize(weights_)) > 0) {
    result_.options = rows.options;
    split_hooks_.checkpoint = {};
    split_hooks_.log = {};  // warnings of the flat fit are for all rows
    split_.k = {1};
    split_.min_size = split_.max_size = 0;
  }

  TreeResult run() {
    resident_.copy_to_device(split_, split_hooks_);
    fit_root();
    checkpoint_ ? save_at_end(*checkpoint_, hooks_, [&] { make_leaves(); }) : make_leaves();
    tell_warnings();
    keep_vectors();
    end_phase("sizes");
    return std::move(result_);
  }

 private:
  void make_leaves() {
    for (int64_t left = levels_of(options_); left > 0; --left) split_level(left);
    fit_leaves();
    bound_sizes();
  }

  // It has a state for each split, whose number is its node's, and then one for the flat fit.
  void open_checkpoint() {
    const int64_t writer = writing_rank(hooks_, comm_);
    if (writer == comm_.size()) return;
    Input whole = whole_input();
    whole.memory = plan_;
    FitIdentity identity = identity_of(whole, weights_, options_, {}, pool_);
    identity.options = deciding_options(options_);
    checkpoint_.emplace(hooks_, std::move(identity), std::span<Member>(), writer == comm_.rank());
    checkpoint_->load();
    checkpoint_->check_same(pool_, comm_);
  }

  // Where the fit of this number saves its state.
  FitAmongOthers place_of(int64_t number) {
    const auto state = static_cast<size_t>(number);
    if (checkpoint_) checkpoint_->state(state);  // is there before the fit begins
    return {nullptr, checkpoint_ ? &*checkpoint_ : nullptr, state};
  }

  // A fit of one cluster. It checks all rows, also those outside the sample.
  void fit_root() {
    FitOptions one = split_;
    one.init = "first";
    one.max_iter = 1;
    const FitResult root = fit_all_rows([&](const PointsView& points) {
      if (!points.on_device()) one.algorithm = "brute";  // one distance of a row: a packed copy would take longer
      return fit(points, weights_, one, split_hooks_);
    });
    require_whole(root.interrupted);
    result_.parents = {-1};
    add_vector(root.models[0].prototypes, 0);
    result_.levels = {{1, root.models[0].inertia}};
    result_.splits = {root.models[0].digest()};
    order_ = training_rows();
    nodes_ = {{0, all_rows(), 0, std::ssize(order_), options_.k[0]}};
    open_checkpoint();
    end_phase("root");
  }

  bool is_sampled() const { return options_.sample > 0 && options_.sample < shard_.all; }
  int64_t all_rows() const { return is_sampled() ? options_.sample : shard_.all; }  // that make the tree

  std::vector<int64_t> training_rows() {
    if (!is_sampled()) {
      std::vector<int64_t> rows(static_cast<size_t>(points_.n));
      std::iota(rows.begin(), rows.end(), int64_t{0});
      return rows;
    }
    const RowWish wish{options_.sample, member_seed(options_.seed, options_.sample, 0)};
    std::vector<int64_t> rows = random_rows(whole_input(), wish, pool_);
    std::erase_if(rows, [&](int64_t row) { return !shard_.has(row); });
    for (int64_t& row : rows) row -= shard_.first;
    std::ranges::sort(rows);
    return rows;
  }

  Input whole_input() const {
    Input all;
    all.shard = shard_;
    all.points = points_;
    all.comm = &comm_;
    return all;
  }

  // The root, and each node with more rows than a rank has on average, is split by all ranks together. They share out
  // the others.
  void split_level(int64_t left) {
    const std::vector<Node> parents = std::exchange(nodes_, {});
    std::vector<Split> splits(parents.size());
    std::vector<Place> apart;
    labels_.resize(order_.size());
    for (size_t i = 0; i < parents.size(); ++i) {
      if (parents[i].id == 0 || parents[i].rows > all_rows() / comm_.size()) {
        splits[i] = split_together(parents[i], left);
      } else {
        apart.push_back({&parents[i], &splits[i]});
      }
    }
    for (auto from = apart.cbegin(); from != apart.cend();) {
      const auto to = end_of_batch(from, apart.cend());
      split_apart({from, to}, left);
      from = to;
    }
    TreeLevel& level = result_.levels.emplace_back();
    for (size_t i = 0; i < parents.size(); ++i) {
      level.inertia += splits[i].inertia;
      result_.splits.push_back(splits[i].digest);
      add_children(parents[i], splits[i], left == 1);
    }
    level.nodes = std::ssize(nodes_);
    end_phase(fmt::format("level {}", result_.levels.size() - 1));
  }

  struct Place {
    const Node* node;
    Split* split;
  };

  // Ranks cannot fit again: the others do not.
  template <class Fit>
  FitResult fit_all_rows(const Fit& fit) {
    return comm_.alone() ? resident_.fit(fit) : fit(resident_.view());
  }

  // As many nodes as may have copies of their rows in memory at a time, but at least one. A rank gets half of the limit
  // and one node at most, where there are several.
  using PlaceIterator = std::vector<Place>::const_iterator;
  PlaceIterator end_of_batch(PlaceIterator from, PlaceIterator end) const {
    int64_t limit = memory_ / 4 * std::max(1, comm_.size() / 2);
    if (limit == 0 && comm_.alone()) limit = resident_.max_gather_bytes();
    const int64_t bytes = resident_.row_bytes();
    int64_t taken = from->node->rows * bytes;
    auto to = from + 1;
    for (; to != end && (limit == 0 || taken + to->node->rows * bytes <= limit); ++to) taken += to->node->rows * bytes;
    return to;
  }

  FitOptions options_of(const Node& node, int64_t left) const {
    FitOptions options = split_;
    options.k = {root_above(node.leaves, left)};
    options.seed = random_u64(options_.seed, static_cast<uint64_t>(node.id), 0, Purpose::kNodeSeed);
    if (options.init == "auto" && left > 1) options.init = "random";  // whose levels are as good, in less time
    return options;
  }

  // Of this rank.
  std::span<const int64_t> rows_of(const Node& node) const {
    return std::span(order_).subspan(static_cast<size_t>(node.first), static_cast<size_t>(node.held));
  }

  // They are the points as they are.
  bool has_all(const Node& node) const { return node.id == 0 && !is_sampled(); }

  Split split_together(const Node& node, int64_t left) {
    const std::span<const int64_t> rows = rows_of(node);
    const RowCopy gathered = has_all(node) ? RowCopy() : resident_.rows(rows, pool_);
    check_mapped(points_.data);
    Matrix weights = weighted_ ? gather_rows(weight_column(), rows, pool_) : Matrix();
    if (comm_.max(int64_t{weighs(weights.values<double>())}) == 0) std::ranges::fill(weights.values<double>(), 1.0);
    const auto split = [&](const PointsView& points) {
      return fit_on(place_of(node.id), points, weights.values<double>(), options_of(node, left), split_hooks_);
    };
    const FitResult found = has_all(node) ? fit_all_rows(split) : split(gathered.view);
    require_whole(found.interrupted);
    found.models[0].labels.read(0, node.held, labels_.data() + node.first);
    return Split(found.models[0]);
  }

  void split_apart(std::span<const Place> places, int64_t left) {
    std::vector<int64_t> held, copied;
    for (const Place& place : places) {
      held.push_back(place.node->held);
      const std::span<const int64_t> own = rows_of(*place.node);
      if (!comm_.alone()) copied.insert(copied.end(), own.begin(), own.end());
    }
    const Node& first = *places[0].node;
    const int64_t all = std::accumulate(held.begin(), held.end(), int64_t{0});
    const std::span<const int64_t> rows =
        comm_.alone() ? std::span(order_).subspan(static_cast<size_t>(first.first), static_cast<size_t>(all)) : copied;
    const SharedNodes shared(comm_, held);
    const EachResult found = fit_own(places, left, shared, rows);
    std::vector<uint32_t> labels(static_cast<size_t>(shared.groups().back()));
    int64_t at = 0;
    for (const FitResult& split : found.fits) {
      const Labels& own = split.models[0].labels;
      own.read(0, own.size(), labels.data() + at);
      at += own.size();
    }
    labels = shared.labels_of_held(labels);
    at = 0;
    for (const Place& place : places) {
      std::copy_n(labels.begin() + at, place.node->held, labels_.begin() + place.node->first);
      at += place.node->held;
    }
    share_splits(places, left, shared, found);
    if (!checkpoint_) return;
    for (const Place& place : places) checkpoint_->state(static_cast<size_t>(place.node->id)) = place.split->state();
    checkpoint_->count(1);
  }

  // Fits the nodes that this rank splits, whose rows come from all ranks. `rows`: those that this rank has of all
  // nodes.
  EachResult fit_own(std::span<const Place> places, int64_t left, const SharedNodes& shared,
                     std::span<const int64_t> rows) {
    EachOptions each;
    static_cast<FitOptions&>(each) = split_;
    SavedProblems saved{checkpoint_ ? &*checkpoint_ : nullptr};
    for (size_t i = 0; i < places.size(); ++i) {
      if (!shared.is_mine(i)) continue;
      const FitOptions options = options_of(*places[i].node, left);
      each.init = options.init;
      each.k_each.push_back(options.k[0]);
      each.seed_each.push_back(options.seed);
      saved.states.push_back(place_of(places[i].node->id).state);
    }
    const std::vector<int64_t> groups = shared.groups();
    const RowCopy gathered =
        comm_.alone() ? resident_.rows(rows, pool_) : in_memory(gather_shared_rows(points_, shared, rows, pool_));
    check_mapped(points_.data);
    FitHooks hooks = split_hooks_;
    hooks.comm = nullptr;
    Matrix weights = weighted_ ? gather_shared_rows(weight_column(), shared, rows, pool_) : Matrix();
    for (size_t b = 0; weighted_ && b + 1 < groups.size(); ++b) {
      const auto first = static_cast<size_t>(groups[b]), last = static_cast<size_t>(groups[b + 1]);
      const std::span<double> mine = weights.values<double>().subspan(first, last - first);
      if (!weighs(mine)) std::ranges::fill(mine, 1.0);
    }
    EachResult found;
    if (!each.k_each.empty()) {
      Problems problems(gathered.view, weights.values<double>(), groups, each, {});
      found = fit_problems(problems, each, hooks, saved);
    }
    require_whole(comm_.max(int64_t{found.interrupted}) > 0);
    return found;
  }

  PointsView weight_column() const { return {weights_.data(), std::ssize(weights_), 1, DataType::kFloat64}; }

  // Rows of a fit of which none does count alike.
  static bool weighs(std::span<const double> weights) {
    return std::ranges::any_of(weights, [](double weight) { return weight > 0; });
  }

  // Gives all ranks the splits that one of them made.
  void share_splits(std::span<const Place> places, int64_t left, const SharedNodes& shared, const EachResult& found) {
    std::vector<size_t> mine;
    for (size_t i = 0; i < places.size(); ++i) {
      if (shared.is_mine(i)) {
        mine.push_back(i);
      } else {
        *places[i].split = Split(root_above(places[i].node->leaves, left), points_.d, prototype_type(points_.type));
      }
    }
    pool_.for_each_range(std::ssize(mine), 1, [&](int, int64_t at, int64_t) {  // digests take time
      const auto fit = static_cast<size_t>(at);
      *places[mine[fit]].split = Split(found.fits[fit].models[0]);
    });
    if (comm_.alone()) return;
    std::vector<std::byte> own;
    for (const size_t i : mine) {
      for (const auto part : places[i].split->parts()) own.insert(own.end(), part.begin(), part.end());
    }
    const std::vector<std::vector<std::byte>> all = comm_.gather(std::span<const std::byte>(own));
    std::vector<size_t> next(all.size());
    for (size_t i = 0; i < places.size(); ++i) {
      const auto rank = static_cast<size_t>(shared.rank_of(i));
      for (const auto part : places[i].split->parts()) {
        std::copy_n(all[rank].data() + next[rank], part.size(), part.data());
        next[rank] += part.size();
      }
    }
  }

  // Sorts the rows of a node by child. Leaves are all kept; of other children, those with rows.
  void add_children(const Node& node, const Split& split, bool leaves) {
    const auto labels = std::span(labels_).subspan(static_cast<size_t>(node.first), static_cast<size_t>(node.held));
    std::vector<int64_t> held(split.counts.size()), next(split.counts.size());
    for (const uint32_t label : labels) ++held[label];
    const size_t before = nodes_.size();
    int64_t first = node.first;
    for (size_t c = 0; c < held.size(); ++c) {
      next[c] = first;
      first += held[c];
      if (!leaves && split.counts[c] == 0) continue;
      nodes_.push_back({std::ssize(result_.parents), split.counts[c], next[c], held[c], 1});
      result_.parents.push_back(node.id);
      add_vector(split.prototypes, static_cast<int64_t>(c));
    }
    const std::span<const int64_t> own = rows_of(node);
    const std::vector<int64_t> rows(own.begin(), own.end());
    for (size_t i = 0; i < rows.size(); ++i) order_[static_cast<size_t>(next[labels[i]]++)] = rows[i];
    if (!leaves) share_out(node.leaves, std::span(nodes_).subspan(before));
  }

  // The children are the last nodes.
  void share_out(int64_t leaves, std::span<Node> nodes) {
    std::vector<ChildRows> children;
    for (const Node& node : nodes) children.push_back({node.rows, rows_of(node)});
    std::vector<int64_t> weights(children.size());  // none: rows count
    if (options_.quota == LeafQuota::kInertia) {
      weights = inertia_weights({points_, weights_, options_, hooks_, comm_, shard_.first}, children,
                                last_vectors(std::ssize(nodes)), pool_);
    }
    const std::vector<int64_t> shares = share_leaves(leaves, children, std::move(weights));
    for (size_t c = 0; c < nodes.size(); ++c) nodes[c].leaves = shares[c];
  }

  void add_vector(const Matrix& prototypes, int64_t row) {
    const auto bytes = prototypes.bytes().size() / static_cast<size_t>(prototypes.rows());
    const auto from = prototypes.bytes().subspan(static_cast<size_t>(row) * bytes, bytes);
    vectors_.insert(vectors_.end(), from.begin(), from.end());
  }

  PointsView last_vectors(int64_t count) const {
    const size_t bytes = vectors_.size() / result_.parents.size() * static_cast<size_t>(count);
    return {vectors_.data() + vectors_.size() - bytes, count, points_.d, prototype_type(points_.type)};
  }

  void fit_leaves() {
    FitOptions flat = split_;
    flat.k = options_.k;
    flat.seed = options_.seed;
    flat.stop = "strict";
    flat.tol = 0;
    flat.max_iter = options_.refine;
    FitHooks hooks = hooks_;
    hooks.initial = last_vectors(options_.k[0]);
    hooks.checkpoint = {};
    hooks.log = {};  // sizes of leaves may change what is true
    FitAmongOthers place = place_of(std::ssize(result_.parents) - options_.k[0]);
    if (!is_sampled()) place.guess = leaves_of_rows();
    result_.fit = fit_all_rows([&](const PointsView& points) { return fit_on(place, points, weights_, flat, hooks); });
    require_whole(result_.fit.models[0].stop_reason == StopReason::kNotBegun);
    result_.fit.models[0].init = "tree";
    Provenance& provenance = result_.fit.provenance;
    provenance.options = result_.options;
    provenance.seconds.insert(provenance.seconds.begin(), seconds_.begin(), seconds_.end());
    begin_ = Clock::now();
  }

  std::span<const uint32_t> leaves_of_rows() {
    for (uint32_t leaf = 0; leaf < nodes_.size(); ++leaf) {
      for (const int64_t row : rows_of(nodes_[leaf])) labels_[static_cast<size_t>(row)] = leaf;
    }
    return labels_;
  }

  void bound_sizes() {
    ModelResult& leaves = result_.fit.models[0];
    result_.moved = bound_leaf_sizes({points_, weights_, options_, hooks_, comm_, shard_.first}, leaves);
    if (result_.moved == 0 || comm_.alone()) return;
    leaves.label_sum.reset();
    add_label_sums(result_.fit, shard_.first, comm_);
  }

  // The flat fit counts empty leaves before they have the sizes asked for.
  void tell_warnings() {
    std::vector<std::string>& warnings = result_.fit.warnings;
    if (checkpoint_) {
      std::ranges::copy(checkpoint_->warnings(), std::back_inserter(warnings));
      std::ranges::copy(checkpoint_->warnings(), std::back_inserter(result_.fit.provenance.warnings));
    }
    if (options_.balanced()) {
      std::erase_if(warnings, [](const std::string& text) { return text.ends_with(" at the end"); });
      const int64_t empty = std::ranges::count(result_.fit.models[0].counts, 0);
      if (empty > 0) warnings.push_back(fmt::format("{} of {} leaves have no rows", empty, options_.k[0]));
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
  const FitHooks& hooks_;
  Comm& comm_;
  const Shard& shard_;
  const MemoryPlan plan_;  // of the flat fit
  const TreeOptions options_;
  const int64_t memory_;           // of each rank
  const bool weighted_;            // though a rank without rows has no weights
  FitOptions split_ = options_;    // of one
  FitHooks split_hooks_ = hooks_;  // likewise
  ResidentPoints resident_{points_, options_};
  ThreadPool pool_{thread_count(options_.threads), hooks_.abort};
  TreeResult result_;
  std::optional<Checkpoint> checkpoint_;
  std::vector<std::byte> vectors_;  // of the nodes so far
  std::vector<int64_t> order_;      // rows that make the tree, node after node
  std::vector<uint32_t> labels_;    // of the rows in order_, by the splits of a level
  std::vector<Node> nodes_;         // of the last level
  std::vector<std::pair<std::string, double>> seconds_;
  Clock::time_point begin_ = Clock::now();
};

void check_hooks(const PointsView& points, const FitHooks& hooks) {
  check(hooks.checkpoint);
  if (hooks.initial.data != nullptr)
    throw Error(ErrorCode::kUsage, "initial", "a tree makes its own prototypes; leave them out");
  if (is_sparse(points))
    throw Error(ErrorCode::kUsage, "points", "they are sparse, and a tree splits dense rows; make them dense");
}

// The flat fit needs most, and comes last.
MemoryPlan plan_flat_fit(const PointsView& points, std::span<const double> weights, const TreeOptions& options) {
  const bool on_host = options.backend == "auto" || options.backend == "cpu" || options.backend == "reference";
  if (options.memory.bytes == 0 || points.n == 0 || !on_host || points.on_device()) return {};
  MemoryTask task;
  task.points = points;
  task.in_file = lies_in_file(points.data, points.bytes());
  task.weights = !weights.empty();
  task.k = {std::min(options.k[0], points.n)};
  task.threads = thread_count(options.threads);
  return plan_memory(task, options.memory.bytes);
}

// Ranks compare what decides the answer in their next exchange.
void compare_options(const TreeOptions& options, Comm& comm) {
  std::string text = "tree";
  for (const auto& [name, value] : deciding_options(options)) text += "\n" + name + " " + value;
  ThreadPool pool(1);
  comm.set_options(
      static_cast<uint64_t>(content_hash({text.data(), 1, static_cast<int64_t>(text.size()), DataType::kUInt8}, pool)));
}

}  // namespace

TreeResult fit_tree(const PointsView& points, std::span<const double> weights, const TreeOptions& options,
                    const FitHooks& hooks) {
  const FpEnvironmentGuard guard;
  Comm& comm = hooks.comm ? *hooks.comm : self_comm();
  return all_or_abort(comm, [&] {
    check(options);
    check_hooks(points, hooks);
    compare_options(options, comm);
    const Shard shard = find_shard(points, weights, comm);
    check_clusters(options.k[0], shard.all);
    find_init(options.init, shard.all, options.k[0], points.d);
    check_leaf_sizes(options, shard.all);
    MemoryPlan plan = plan_flat_fit(points, weights, options);
    return or_out_of_memory("memory", "use a sample, or set a memory limit", [&] {
      return TreeFit({points, weights, options, hooks, comm, shard.first}, shard, std::move(plan)).run();
    });
  });
}

}  // namespace manymeans
