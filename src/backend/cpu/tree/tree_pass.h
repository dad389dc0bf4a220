// Passes over the kd-tree: the filtering algorithm (Kanungo et al. 2002) made incremental and exact.
//
// A node is owned if one prototype is provably nearest to every point of its box: its exact sums move to that cluster
// whole. Between passes a model remembers the owner of every node and, below nodes without an owner, the labels of
// rows. A node whose owner stays costs O(1). The proof is in docs/developer/screens.md, "kd-tree".
#pragma once

#include "backend/cpu/sums/cpu_changes.h"
#include "backend/cpu/sums/term_scales.h"
#include "backend/cpu/tree/kd_tree.h"
#include "backend/session.h"
#include "core/threads.h"

#include <memory>
#include <span>
#include <vector>

namespace manymeans {

// Values in the places of labels.
constexpr uint32_t kMixed = kNoLabel - 1;  // an owner: the node has none
constexpr uint32_t kAsStored = kNoLabel - 2;

/// Labels in tree order, in the smallest type; places below owned nodes are undefined, and their memory is not touched.
class TreeLabels {
 public:
  TreeLabels() = default;
  TreeLabels(int64_t n, int64_t k);
  void read(int64_t first, int64_t count, uint32_t* out) const;
  void write(int64_t first, int64_t count, const uint32_t* labels);
  void fill(int64_t first, int64_t count, uint32_t label);
  /// Writes the labels of rows [first, last) in the points' order: those at place[row].
  void gather(const uint32_t* place, int64_t first, int64_t last, Labels& out) const;

 private:
  template <class Use>
  auto typed(Use&& use) const;

  int width_ = 1;
  AlignedBuffer<std::byte> bytes_;
};

/// The tree's data of one model.
struct TreeState {
  bool labelled = false;
  bool row_labels_are_old = false;  ///< labels in the points' order lack the changes of the last passes over the tree
  bool tree_is_old = false;         ///< the tree lacks changes that were made to the labels in the points' order
  std::vector<uint32_t> owners;     ///< of all nodes; kMixed: see its children, or its rows' labels
  TreeLabels labels;
};

/// The points' data for passes over a tree. All that is referred to must outlive them.
struct TreePoints {
  const Input& input;
  const CpuKernels& kernels;
  const TermScales& scales;
  const KdTree& tree;
  double bound_scale = 1;  ///< tests only: multiplies the bound by which prototypes fall out
};

class TreePass {
 public:
  /// One model of a pass.
  struct Target {
    TreeState* state;
    Statistics* statistics;
    const Matrix* prototypes;
    PassResult result;
  };

  /// `by_label_order`: no copy of the statistics per thread.
  TreePass(const TreePoints& points, ThreadPool& pool, bool by_label_order);
  ~TreePass();

  void advance(std::span<Target> targets);
  /// Brings the labels in the points' order up to date.
  void write_row_labels(TreeState& state, Labels& out);
  /// Takes over labels that were changed in the points' order.
  void read_row_labels(TreeState& state, const Labels& labels, int64_t k);

  /// The sums of RowQueries::inertias() and inertia_limbs(), for one model.
  InertiaSum inertia(const TreeState& state, const Matrix& prototypes) const;
  std::vector<int64_t> inertia(const TreeState& state, const Matrix& prototypes, const SumFormat& format) const;

 private:
  struct Candidates;
  struct Scratch;
  template <class T>
  class Walk;
  template <class T>
  class Distances;

  double farthest(const TreeState& state, const Matrix& prototypes) const;
  // Calls body(thread, subtree, distances).
  template <class Body>
  void for_each_subtree(const TreeState& state, const Matrix& prototypes, Body&& body) const;
  void collect_candidates(std::span<const Target> targets, std::vector<Candidates>& out);
  void merge_changes(std::span<Target> targets);

  TreePoints points_;
  const KdTree& tree_;
  ThreadPool& pool_;
  bool by_label_order_;
  PruneBound bound_;
  std::vector<Scratch> scratch_;
};

}  // namespace manymeans
