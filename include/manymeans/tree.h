// Trees of k-means: very many clusters, found by levels of small exact fits.
#pragma once

#include <manymeans/fit.h>
#include <manymeans/options.h>
#include <manymeans/points.h>
#include <manymeans/result.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace manymeans {

/// How siblings share the leaves of their parent.
enum class LeafQuota : uint8_t {
  kRows,     ///< their rows
  kInertia,  ///< an estimate of their inertia: small groups far from others get leaves of their own
};

template <>
std::span<const std::string_view> names_of<LeafQuota>();

/// All options of fit_tree(): options of the fit of each split, and options of the tree.
///
/// k                    one number: the leaves
/// min_size, max_size   rows of a leaf in the result; both are hard, and splits do not know them
struct TreeOptions : FitOptions {
  int64_t branching = 0;  ///< children of a node where clusters are of similar sizes; 0: two or three levels, by k
  LeafQuota quota = LeafQuota::kRows;  ///< how children share the leaves of their node
  int64_t refine = 2;                  ///< iterations of a flat fit of all leaves, after the last level
  int64_t sample = 0;                  ///< rows of which the tree is made; 0: all rows

  TreeOptions() { max_iter = 5; }
};

/// Calls visit(info, member) for every option of fit_tree(), in the order of --help. `Options` is TreeOptions or const
/// TreeOptions.
template <class Options, class Visitor>
void for_each_tree_option(Options& options, Visitor&& visit) {
  for_each_option(options, [&](OptionInfo info, auto& value) {
    const std::string_view name = info.name;
    if (name == "models" || name == "model_seed" || name == "time_limit" || name == "strategy") return;
    if (name == "k") info.value = "COUNT";
    if (name == "k") info.help = "Number of leaves, which are the clusters.";
    if (name == "seed") info.help = "Seed of the tree; the seed of every split follows from it.";
    if (name == "init")
      info.help = "How a split begins: auto, k-means++, k-means||, random or first. auto: random above the last level.";
    if (name == "min_size")
      info.help = "Min rows of a leaf: smaller leaves take their nearest rows from others. 0: no minimum.";
    if (name == "max_size")
      info.help = "Max rows of a leaf: further rows go to the nearest leaf with room. 0: no maximum.";
    if (name == "max_iter") info.help = "Max iterations of a split.";
    if (name == "empty") info.help = "Empty clusters: farthest or keep.";
    visit(info, value);
  });
  visit(
      OptionInfo{
          "branching", "--branching", "COUNT",
          "Children of a node where clusters are of similar sizes; 0: two levels, or three above 65,536 leaves."},
      options.branching);
  visit(OptionInfo{"quota", "--quota", "NAME",
                   "How children share the leaves of their node: by their rows, or by their inertia. inertia: small "
                   "groups far from others get leaves of their own, and sizes differ more."},
        options.quota);
  visit(OptionInfo{"refine", "--refine", "COUNT", "Iterations of a flat fit from the leaves, after the last level."},
        options.refine);
  visit(OptionInfo{"sample", "--sample", "ROWS",
                   "Rows in the sample that makes the tree, chosen by the seed; 0: all rows. The flat fit and the "
                   "labels always have all rows."},
        options.sample);
}

/// Throws Error(kUsage) unless every option is in its range and the options agree with each other.
void check(const TreeOptions& options);

/// One level of a tree.
struct TreeLevel {
  int64_t nodes = 0;
  double inertia = 0;  ///< of its splits, before the flat fit
};

/// Numbers about the sizes of the leaves.
struct TreeBalance {
  int64_t smallest = 0, largest = 0, empty = 0;
  double variation = 0;    ///< standard deviation of the sizes divided by their mean
  double max_to_mean = 0;  ///< the largest size divided by the mean
};

struct TreeResult {
  FitResult fit;                 ///< one model: prototypes, labels and inertia of the leaves, over all rows
  Matrix vectors;                ///< of all nodes: the root, then level after level; the last k are the leaves
  std::vector<int64_t> parents;  ///< of each node its parent; -1 for the root
  std::vector<TreeLevel> levels;
  std::vector<std::string> splits;  ///< digests of the fits of the root and of all splits, in the order of the nodes
  int64_t moved = 0;                ///< rows whose leaf is not the nearest, since sizes have bounds
  TreeOptions options;              ///< as given

  TreeBalance balance() const;
  /// 32 hexadecimal digits over all splits and the leaves: contract, "Trees". O(N + K D).
  std::string digest() const;
};

/// Splits the rows into options.k[0] clusters by levels. A node is split by a fit of its rows, and all splits of a
/// level are one call of fit_each(). Children get numbers of leaves in proportion to their rows, or their inertia. The
/// leaves then begin a flat fit of all rows. All leaves have the same depth, and siblings are neighbours.
///
/// points   N x D as for fit(), but dense
/// hooks    progress, pause, log, cancel, abort and checkpoint. A tree that is stopped before its last level, or before
///          its leaves have the sizes asked for, throws Error(kInterrupted). Else the flat fit ends early, and
///          FitResult::interrupted says so. The phase "sizes" counts rows that got a leaf with room. The checkpoint has
///          each split and the flat fit; `every` counts their passes, and each batch of nodes.
/// Returns the same bits for any thread count, instruction set, backend, memory limit and number of ranks.
/// Level 0 has the inertia of all rows; other levels have the inertia of the rows that make the tree.
/// Throws what fit() throws; Error(kUsage) for sizes that k leaves cannot have, sparse points and initial prototypes.
/// Time O(N D (k^(1/levels) levels max_iter + k refine)). Memory: a copy of the rows of a level, 12 N bytes, the
/// result. With options.memory, the copies are of some nodes at a time.
///
/// With hooks.comm, each rank passes its own rows, as to fit(). Labels belong to them; all else is the same on all
/// ranks. All ranks together split a node that has more rows than a rank has on average. They share out the others of
/// its level, each for one rank. A rank then copies up to twice its part of the rows that make the tree. For this, it
/// receives the rows of all others, in pieces of 16 MiB. Checkpoints are as for fit() with ranks.
TreeResult fit_tree(const PointsView& points, std::span<const double> weights, const TreeOptions& options,
                    const FitHooks& hooks = {});

/// Labels dense points by a walk down the tree. On each level, the walk keeps the `n_probe` nearest of the nodes that
/// it reaches, ties to the lowest number. It returns the nearest leaf below them. predict() compares all leaves.
///
/// vectors, parents   as in TreeResult; leaves have numbers from 0, as in its labels
/// options            backend, threads, metric, abort and room
///
/// Returns the same bits for any thread count, instruction set and backend. Throws as predict(), and Error(kUsage) for
/// n_probe below 1, sparse points, and what is no tree.
/// Time about O(N D (L - 1) n_probe b), for L levels of b children. Memory: copies of up to 4,194,304 rows at a time.
Labels predict_by_walk(const PointsView& points, const PointsView& vectors, std::span<const int64_t> parents,
                       int64_t n_probe, const PredictOptions& options = {});

/// Writes the nodes: id, parent, level and vector, in the order of TreeResult::vectors. A .npz has an array of each,
/// and the root has parent -1. A .parquet has a field of each. There the root has no parent, and a vector is a list.
void save_tree(const std::string& path, const TreeResult& tree);

}  // namespace manymeans
