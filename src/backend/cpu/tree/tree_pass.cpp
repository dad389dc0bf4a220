#include "backend/cpu/tree/tree_pass.h"

#include "core/philox_lanes.h"
#include "core/rounding.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <utility>

namespace manymeans {
namespace {

constexpr int64_t kBatch = 512;     // changed rows that are hashed together
constexpr int64_t kSmallList = 64;  // candidate lists up to this size are copied whenever one falls out
constexpr int64_t kTasksPerThread = 32;
constexpr double kRounder = 0x1.8p52;

// Prototypes whose bits no earlier prototype has, ascending.
std::vector<uint32_t> distinct_rows(const Matrix& m) {
  const size_t bytes = static_cast<size_t>(m.columns()) * size_of(m.type());
  const std::byte* data = m.bytes().data();
  std::vector<std::pair<uint64_t, uint32_t>> hashes;
  for (int64_t k = 0; k < m.rows(); ++k) {
    hashes.emplace_back(XXH3_64bits(data + static_cast<size_t>(k) * bytes, bytes), static_cast<uint32_t>(k));
  }
  std::sort(hashes.begin(), hashes.end());
  std::vector<uint32_t> rows;
  for (size_t i = 0; i < hashes.size(); ++i) {
    bool repeats = false;
    for (size_t e = i; e > 0 && hashes[e - 1].first == hashes[i].first && !repeats; --e) {
      repeats = std::memcmp(data + hashes[e - 1].second * bytes, data + hashes[i].second * bytes, bytes) == 0;
    }
    if (!repeats) rows.push_back(hashes[i].second);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

PruneBound make_bound(int64_t d, double scale) {
  const auto columns = static_cast<double>(d);
  return {(columns + 8) * 0x1p-52, (columns / 8 + 8) * 0x1p-52, columns * 0x1p-1070, scale};
}

// Where one thread adds changes of one model.
struct Sink {
  PassResult* result;
  Statistics* statistics;
  uint8_t* touched;  // null: not asked for
  bool shared;       // other threads add at the same time

  void add(int64_t* to, int64_t value) const {
    if (shared) {
      std::atomic_ref<int64_t>(*to).fetch_add(value, std::memory_order_relaxed);
    } else {
      *to += value;
    }
  }
  // Adds `sign` times sums, weight and rows to a cluster.
  void add(uint32_t cluster, const int64_t* sums, int64_t weight, int64_t rows, int64_t sign) const {
    int64_t* to = statistics->row(cluster);
    const int64_t values = statistics->limbs * statistics->d;
    for (int64_t i = 0; i < values; ++i) add(to + i, sign * sums[i]);
    add(&statistics->weights[cluster], sign * weight);
    add(&statistics->counts[cluster], sign * rows);
    if (touched != nullptr) touched[cluster] = 1;
  }
};

// Changed rows whose label terms are to be summed.
struct ChangeBatch {
  int64_t count = 0;
  int64_t rows[kBatch];
  uint32_t from[kBatch];
  uint32_t to[kBatch];

  // `first`: the number of row 0 among the rows of all ranks.
  LabelSum flush(int64_t first) {
    const LabelSum change = sum_of_label_terms(rows, first, to, count) - sum_of_label_terms(rows, first, from, count);
    count = 0;
    return change;
  }
};

}  // namespace

TreeLabels::TreeLabels(int64_t n, int64_t k)
    : width_(k <= 256 ? 1 : (k <= 65536 ? 2 : 4)), bytes_(static_cast<size_t>(n) * static_cast<size_t>(width_)) {}

template <class Use>
auto TreeLabels::typed(Use&& use) const {
  std::byte* bytes = const_cast<std::byte*>(bytes_.data());
  switch (width_) {
    case 1: return use(reinterpret_cast<uint8_t*>(bytes));
    case 2: return use(reinterpret_cast<uint16_t*>(bytes));
    default: return use(reinterpret_cast<uint32_t*>(bytes));
  }
}

void TreeLabels::read(int64_t first, int64_t count, uint32_t* out) const {
  typed([&](const auto* labels) { std::copy_n(labels + first, count, out); });
}

void TreeLabels::write(int64_t first, int64_t count, const uint32_t* labels) {
  typed([&](auto* to) {
    for (int64_t i = 0; i < count; ++i) to[first + i] = static_cast<std::remove_reference_t<decltype(*to)>>(labels[i]);
  });
}

void TreeLabels::fill(int64_t first, int64_t count, uint32_t label) {
  typed([&](auto* to) { std::fill_n(to + first, count, static_cast<std::remove_reference_t<decltype(*to)>>(label)); });
}

void TreeLabels::gather(const uint32_t* place, int64_t first, int64_t last, Labels& out) const {
  typed([&](auto* from) {
    auto* to = reinterpret_cast<decltype(from)>(out.bytes().data());
    for (int64_t row = first; row < last; ++row) to[row] = from[place[row]];
  });
}

// Distinct prototypes in the kernels' layout.
struct TreePass::Candidates {
  AlignedBuffer<double> values;
  std::vector<uint32_t> ids;

  LaneCandidates view() const {
    const auto count = static_cast<int64_t>(ids.size());
    return {values.data(), padded(count, kLanePadding), ids.data(), count};
  }
};

struct TreePass::Scratch {
  // Candidates of one level of the walk; what a level holds is at most what the level above holds.
  struct Level {
    AlignedBuffer<double> values;
    std::vector<uint32_t> ids;
  };
  std::vector<std::unique_ptr<Level>> levels;
  AlignedBuffer<double> squares;
  std::vector<uint8_t> keep;
  std::vector<uint32_t> now, before;
  ChangeBatch batch;
  std::vector<Delta> deltas;  // by position among the pass's models
  std::vector<PassResult> results;
  std::vector<int64_t> terms;  // of one row
};

// One model in one subtree.
template <class T>
class TreePass::Walk {
 public:
  Walk(const TreePass& pass, const KdSubtree& subtree, const Target& target, Sink sink, Scratch& scratch)
      : points_(pass.points_),
        kernels_(pass.points_.kernels),
        tree_(pass.tree_),
        bound_(pass.bound_),
        subtree_(subtree),
        owners_(target.state->owners.data() + subtree.first_node),
        labels_(target.state->labels),
        sink_(sink),
        scratch_(scratch),
        result_(*sink.result) {}

  void run(const LaneCandidates& candidates, bool labelled) {
    visit(0, candidates, labelled ? kAsStored : kNoLabel, 0);
    flush();
  }

 private:
  // `before`: the label that all rows of the node had, kNoLabel, or kAsStored: the node's owner has it.
  void visit(uint32_t index, LaneCandidates candidates, uint32_t before, size_t level) {
    const KdNode& node = subtree_.nodes[index];
    if (before == kAsStored) before = owners_[index];
    if (candidates.count == 1) return assign_node(index, candidates.ids[0], before);
    const Pruned pruned = kernels_.lanes.prune(candidates, tree_.box(subtree_, index), bound_, scratch_.squares.data(),
                                               scratch_.keep.data());
    if (pruned.count == 1) return assign_node(index, candidates.ids[pruned.nearest], before);
    if (pruned.count < candidates.count &&
        (candidates.count <= kSmallList || pruned.count <= candidates.count / 4 * 3)) {
      candidates = copy_kept(candidates, pruned.count, level);
    }
    if (node.is_leaf()) return label_rows(index, candidates, before);
    const uint32_t below = before == kMixed ? kAsStored : before;
    visit(index + 1, candidates, below, level + 1);
    visit(node.right, candidates, below, level + 1);
    owners_[index] = owners_[index + 1] == owners_[node.right] ? owners_[index + 1] : kMixed;
  }

  LaneCandidates copy_kept(const LaneCandidates& from, int64_t count, size_t level) {
    while (scratch_.levels.size() <= level) scratch_.levels.push_back(std::make_unique<Scratch::Level>());
    Scratch::Level& to = *scratch_.levels[level];
    const int64_t stride = padded(count, kLanePadding);
    const auto values = static_cast<size_t>(stride * tree_.d() + kLanePadding);
    if (to.values.size() < values) to.values = AlignedBuffer<double>(values);
    if (to.ids.size() < static_cast<size_t>(stride)) to.ids.resize(static_cast<size_t>(stride));
    kernels_.lanes.keep(from, tree_.d(), scratch_.keep.data(), {to.values.data(), stride, to.ids.data()});
    return {to.values.data(), stride, to.ids.data(), count};
  }

  // Every row of the node gets this label.
  void assign_node(uint32_t index, uint32_t label, uint32_t before) {
    result_.certified += subtree_.nodes[index].rows();
    if (before == kMixed) {
      absorb(index, label);
    } else if (before != label) {
      move_node(index, before, label);
    }
    owners_[index] = label;
  }

  // Every row of the node gets this label; rows had several labels.
  void absorb(uint32_t index, uint32_t label) {
    const KdNode& node = subtree_.nodes[index];
    const uint32_t before = owners_[index];
    if (before == label) return;
    if (before != kMixed) return move_node(index, before, label);
    if (!node.is_leaf()) {
      absorb(index + 1, label);
      absorb(node.right, label);
      return;
    }
    scratch_.before.resize(static_cast<size_t>(node.rows()));
    labels_.read(node.begin, node.rows(), scratch_.before.data());
    for (int64_t i = 0; i < node.rows(); ++i) {
      const uint32_t from = scratch_.before[static_cast<size_t>(i)];
      if (from != label) move_row(node, i, from, label);
    }
  }

  void move_node(uint32_t index, uint32_t from, uint32_t to) {
    const KdNode& node = subtree_.nodes[index];
    const int64_t* sums = tree_.sums(subtree_, index);
    sink_.add(to, sums, node.weight, node.rows(), 1);
    result_.changed += node.rows();
    if (from == kNoLabel) return;
    sink_.add(from, sums, node.weight, node.rows(), -1);
    note_changes(node.begin, node.end, from, to);
  }

  void label_rows(uint32_t index, const LaneCandidates& candidates, uint32_t before) {
    const KdNode& leaf = subtree_.nodes[index];
    const int64_t rows = leaf.rows();
    result_.resolved += rows;
    result_.candidates += rows * candidates.count;
    scratch_.now.resize(static_cast<size_t>(rows + kLanePadding));
    uint32_t* now = scratch_.now.data();
    if constexpr (sizeof(T) == 8) {
      kernels_.lanes.nearest_f64(tree_.rows<T>(leaf), candidates, now);
    } else {
      kernels_.lanes.nearest_f32(tree_.rows<T>(leaf), candidates, now);
    }
    const bool uniform = std::all_of(now, now + rows, [&](uint32_t label) { return label == now[0]; });
    if (uniform && before != kMixed) {
      if (before != now[0]) move_node(index, before, now[0]);
      owners_[index] = now[0];
      return;
    }
    move_rows(leaf, before);
    if (!uniform) labels_.write(leaf.begin, rows, now);
    owners_[index] = uniform ? now[0] : kMixed;
  }

  void move_rows(const KdNode& leaf, uint32_t before) {
    const int64_t rows = leaf.rows();
    const uint32_t* now = scratch_.now.data();
    if (before != kMixed) {
      for (int64_t i = 0; i < rows; ++i) {
        if (now[i] != before) move_row(leaf, i, before, now[i]);
      }
      return;
    }
    scratch_.before.resize(static_cast<size_t>(rows));
    const uint32_t* old = scratch_.before.data();
    labels_.read(leaf.begin, rows, scratch_.before.data());
    for (int64_t i = 0; i < rows; ++i) {
      if (now[i] != old[i]) move_row(leaf, i, old[i], now[i]);
    }
  }

  void move_row(const KdNode& leaf, int64_t i, uint32_t from, uint32_t to) {
    const int64_t place = leaf.begin + i;
    result_.changed += 1;
    if (from != kNoLabel) {
      ChangeBatch& batch = scratch_.batch;
      batch.rows[batch.count] = tree_.order()[place];
      batch.from[batch.count] = from;
      batch.to[batch.count] = to;
      if (++batch.count == kBatch) flush();
    }
    if (!sink_.shared && tree_.weights() == nullptr && points_.scales.fast) {
      return from == kNoLabel ? move_terms<false>(leaf, i, from, to) : move_terms<true>(leaf, i, from, to);
    }
    const double weight = tree_.weights() == nullptr ? 1.0 : tree_.weights()[place];
    const int64_t integer = tree_.weights() == nullptr ? 1 : points_.input.integer_weight(tree_.order()[place]);
    find_terms(leaf, i, weight, scratch_.terms.data());
    sink_.add(to, scratch_.terms.data(), integer, 1, 1);
    if (from != kNoLabel) sink_.add(from, scratch_.terms.data(), integer, 1, -1);
  }

  // The usual case: no weights, sums of this thread only. A kernel's vectors run along the columns, too few to fill
  // them.
  template <bool kLeaves>
  void move_terms(const KdNode& leaf, int64_t i, uint32_t from, uint32_t to) {
    Statistics& statistics = *sink_.statistics;
    const TermScales& scales = points_.scales;
    const int64_t d = tree_.d();
    const int limbs = points_.input.limbs;
    const T* x = tree_.rows<T>(leaf).values + i;
    int64_t* add = statistics.row(to);
    int64_t* take = kLeaves ? statistics.row(from) : nullptr;
    for (int64_t j = 0; j < d; ++j, x += leaf.rows()) {
      double y = static_cast<double>(*x) * scales.top[static_cast<size_t>(j)];
      for (int64_t at = (limbs - 1) * d + j; at >= 0; at -= d) {
        const double part = (y + kRounder) - kRounder;  // the nearest integer, for |y| < 2^51
        const auto term = static_cast<int64_t>(part);
        add[at] += term;
        if constexpr (kLeaves) take[at] -= term;
        y = (y - part) * scales.radix;
      }
    }
    count_row(statistics, to, 1);
    if constexpr (kLeaves) count_row(statistics, from, -1);
  }

  void count_row(Statistics& statistics, uint32_t cluster, int64_t sign) {
    statistics.weights[cluster] += sign;
    statistics.counts[cluster] += sign;
    if (sink_.touched != nullptr) sink_.touched[cluster] = 1;
  }

  // The limbs of one row's terms.
  void find_terms(const KdNode& leaf, int64_t i, double weight, int64_t* terms) const {
    const Input& input = points_.input;
    const TermScales& scales = points_.scales;
    const LaneRows<T> rows = tree_.rows<T>(leaf);
    for (int64_t j = 0; j < rows.d; ++j) {
      const double v = weight * static_cast<double>(rows.values[j * rows.rows + i]);
      if (!scales.fast) {
        int64_t limbs[kMaxLimbs] = {};
        add_term(v, input.columns[static_cast<size_t>(j)], 1, limbs);
        for (int g = 0; g < input.limbs; ++g) terms[g * rows.d + j] = limbs[g];
        continue;
      }
      double y = v * scales.top[static_cast<size_t>(j)];
      for (int g = input.limbs - 1; g >= 0; --g) {
        const double part = (y + kRounder) - kRounder;
        terms[g * rows.d + j] = static_cast<int64_t>(part);
        y = (y - part) * scales.radix;
      }
    }
  }

  void note_changes(int64_t first, int64_t last, uint32_t from, uint32_t to) {
    ChangeBatch& batch = scratch_.batch;
    while (first < last) {
      const int64_t some = std::min(last - first, kBatch - batch.count);
      std::copy_n(tree_.order() + first, some, batch.rows + batch.count);
      std::fill_n(batch.from + batch.count, some, from);
      std::fill_n(batch.to + batch.count, some, to);
      batch.count += some;
      first += some;
      if (batch.count == kBatch) flush();
    }
  }

  void flush() { result_.hash_delta += scratch_.batch.flush(points_.input.shard.first); }

  const TreePoints& points_;
  const CpuKernels& kernels_;
  const KdTree& tree_;
  const PruneBound& bound_;
  const KdSubtree& subtree_;
  uint32_t* owners_;
  TreeLabels& labels_;
  Sink sink_;
  Scratch& scratch_;
  PassResult& result_;
};

TreePass::TreePass(const TreePoints& points, ThreadPool& pool, bool by_label_order)
    : points_(points),
      tree_(points.tree),
      pool_(pool),
      by_label_order_(by_label_order),
      bound_(make_bound(tree_.d(), points.bound_scale)),
      scratch_(static_cast<size_t>(pool.size())) {
  for (Scratch& scratch : scratch_) {
    scratch.terms.resize(static_cast<size_t>(points.input.limbs * tree_.d()));
  }
}

TreePass::~TreePass() = default;

void TreePass::collect_candidates(std::span<const Target> targets, std::vector<Candidates>& out) {
  out.resize(targets.size());
  pool_.for_each_range(static_cast<int64_t>(targets.size()), 1, [&](int, int64_t first, int64_t) {
    const Matrix& prototypes = *targets[static_cast<size_t>(first)].prototypes;
    Candidates& c = out[static_cast<size_t>(first)];
    c.ids = distinct_rows(prototypes);
    const auto count = static_cast<int64_t>(c.ids.size());
    const int64_t stride = padded(count, kLanePadding);
    c.values = AlignedBuffer<double>(static_cast<size_t>(stride * tree_.d()));
    std::fill_n(c.values.data(), c.values.size(), 0.0);
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t j = 0; j < tree_.d(); ++j)
        c.values[static_cast<size_t>(j * stride + i)] = prototypes.at(c.ids[static_cast<size_t>(i)], j);
    }
  });
}

void TreePass::advance(std::span<Target> targets) {
  std::vector<Candidates> candidates;
  collect_candidates(targets, candidates);
  size_t most = 0;
  for (const Candidates& c : candidates)
    most = std::max(most, static_cast<size_t>(padded(static_cast<int64_t>(c.ids.size()), kLanePadding)));
  const bool copies = pool_.size() > 1 && !by_label_order_;
  for (Scratch& scratch : scratch_) {
    if (scratch.squares.size() < most) scratch.squares = AlignedBuffer<double>(most);
    scratch.keep.resize(std::max(scratch.keep.size(), most));
    scratch.results.assign(targets.size(), {});
    scratch.deltas.resize(copies ? targets.size() : 0);
  }
  for (const Target& target : targets) target.state->owners.resize(static_cast<size_t>(tree_.nodes()));
  const auto models = static_cast<int64_t>(targets.size());
  const int64_t tasks = static_cast<int64_t>(tree_.subtrees().size()) * models;
  const int64_t grain = std::clamp<int64_t>(tasks / (pool_.size() * kTasksPerThread), 1, models);
  pool_.for_each_range(tasks, grain, [&](int w, int64_t first, int64_t last) {
    Scratch& scratch = scratch_[static_cast<size_t>(w)];
    for (int64_t task = first; task < last; ++task) {
      const auto i = static_cast<size_t>(task % models);
      const KdSubtree& subtree = tree_.subtrees()[static_cast<size_t>(task / models)];
      const Target& target = targets[i];
      Sink sink{&scratch.results[i], target.statistics, nullptr, pool_.size() > 1};
      if (copies) {
        Delta& delta = scratch.deltas[i];
        if (delta.statistics.k != target.statistics->k) {
          delta.statistics = Statistics(target.statistics->k, tree_.d(), points_.input.limbs);
          delta.touched.assign(static_cast<size_t>(target.statistics->k), 0);
        }
        sink = {&scratch.results[i], &delta.statistics, delta.touched.data(), false};
      }
      if (points_.input.points.type == DataType::kFloat64) {
        Walk<double>(*this, subtree, target, sink, scratch).run(candidates[i].view(), target.state->labelled);
      } else {
        Walk<float>(*this, subtree, target, sink, scratch).run(candidates[i].view(), target.state->labelled);
      }
    }
  });
  if (copies) merge_changes(targets);
  for (size_t i = 0; i < targets.size(); ++i) {
    targets[i].result = {};
    for (const Scratch& scratch : scratch_) targets[i].result += scratch.results[i];
    targets[i].state->labelled = true;
    targets[i].state->row_labels_are_old |= targets[i].result.changed > 0;
  }
}

// Adds what every thread changed, and clears it.
void TreePass::merge_changes(std::span<Target> targets) {
  pool_.for_each_range(static_cast<int64_t>(targets.size()), 1, [&](int, int64_t first, int64_t) {
    const auto i = static_cast<size_t>(first);
    Statistics& to = *targets[i].statistics;
    const int64_t values = to.limbs * to.d;
    for (Scratch& scratch : scratch_) {
      Delta& delta = scratch.deltas[i];
      for (size_t k = 0; k < delta.touched.size(); ++k) {
        if (std::exchange(delta.touched[k], 0) == 0) continue;
        int64_t* from = delta.statistics.row(static_cast<int64_t>(k));
        int64_t* sums = to.row(static_cast<int64_t>(k));
        for (int64_t v = 0; v < values; ++v) sums[v] += std::exchange(from[v], 0);
        to.weights[k] += std::exchange(delta.statistics.weights[k], 0);
        to.counts[k] += std::exchange(delta.statistics.counts[k], 0);
      }
    }
  });
}

void TreePass::write_row_labels(TreeState& state, Labels& out) {
  const auto subtrees = static_cast<int64_t>(tree_.subtrees().size());
  pool_.for_each_range(subtrees, 1, [&](int, int64_t first, int64_t) {
    const KdSubtree& subtree = tree_.subtrees()[static_cast<size_t>(first)];
    const uint32_t* owners = state.owners.data() + subtree.first_node;
    // Depth first, so a node that is owned ends before the next one that is not below it.
    for (uint32_t node = 0, end = 0; node < subtree.nodes.size(); ++node) {
      const KdNode& n = subtree.nodes[node];
      if (n.begin < end) continue;  // below an owned node
      if (owners[node] == kMixed) continue;
      state.labels.fill(n.begin, n.rows(), owners[node]);
      end = n.end;
    }
  });
  constexpr int64_t kRows = int64_t{1} << 15;
  pool_.for_each_range(points_.input.points.n, kRows,
                       [&](int, int64_t first, int64_t last) { state.labels.gather(tree_.place(), first, last, out); });
  state.row_labels_are_old = false;
}

void TreePass::read_row_labels(TreeState& state, const Labels& labels, int64_t k) {
  state.labels = TreeLabels(labels.size(), k);
  const auto subtrees = static_cast<int64_t>(tree_.subtrees().size());
  pool_.for_each_range(subtrees, 1, [&](int, int64_t first, int64_t) {
    const KdSubtree& subtree = tree_.subtrees()[static_cast<size_t>(first)];
    uint32_t* owners = state.owners.data() + subtree.first_node;
    std::vector<uint32_t> rows;
    for (auto node = static_cast<uint32_t>(subtree.nodes.size()); node-- > 0;) {  // children before parents
      const KdNode& n = subtree.nodes[node];
      if (!n.is_leaf()) {
        owners[node] = owners[node + 1] == owners[n.right] ? owners[node + 1] : kMixed;
        continue;
      }
      rows.clear();
      for (uint32_t place = n.begin; place < n.end; ++place) rows.push_back(labels[tree_.order()[place]]);
      state.labels.write(n.begin, n.rows(), rows.data());
      const bool uniform = std::all_of(rows.begin(), rows.end(), [&](uint32_t label) { return label == rows[0]; });
      owners[node] = uniform ? rows[0] : kMixed;
    }
  });
  state.tree_is_old = false;
}

}  // namespace manymeans
