// Fits whose rows are spread over processes that know nothing of each other, as under Dask, Ray or Spark.
//
// One process fits, and has no rows. It asks questions, of bytes. Every shard (some rows, wherever they are) answers a
// question by a pure function of its rows and the question; what two shards answer merges, in any order, to what one
// shard with the rows of both would answer, to the bit, since answers are made of integers. So a scheduler may ask any
// shard anywhere, again, or twice, and a process that is lost costs time and no digit of the answer.
#pragma once

#include <manymeans/comm.h>
#include <manymeans/fit.h>
#include <manymeans/options.h>
#include <manymeans/points.h>
#include <manymeans/result.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace manymeans {

using Bytes = std::vector<std::byte>;

/// How a shard computes; it never changes what it answers.
struct RowShardOptions {
  std::string backend = "auto";
  std::string algorithm = "auto";
  int threads = 0;  ///< 0: all usable
};

/// Neighbouring rows of a data set: number `first_row` of all and those behind it, counted from 0. There may be none.
/// It keeps what makes the next answer fast (packed points, the last labels, least distances), O(N D) bytes, and needs
/// none of it: a shard that was asked nothing before answers the same.
class RowShard {
 public:
  /// Points and weights (empty, or one a row) are read in place and must outlive the shard. Throws Error(kUsage) for
  /// shapes that cannot be, or an unknown backend.
  RowShard(const PointsView& points, std::span<const double> weights, int64_t first_row,
           const RowShardOptions& options = {});
  ~RowShard();
  RowShard(RowShard&& other) noexcept;
  RowShard& operator=(RowShard&& other) noexcept;

  /// What this shard says to a question of a fit. What is wrong with the rows is part of the answer, so that the first
  /// row that is wrong counts, whoever answers first. Throws Error(kBadData) for bytes that are no question, and
  /// Error(kUnavailable) where memory runs out. Threads take turns. Time as one reading of the rows needs.
  Bytes answer(std::span<const std::byte> question);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What one shard with the rows of both would answer. Throws Error(kUsage) where the two answer different questions or
/// have rows in common, Error(kBadData) for bytes that are no answers. O(bytes).
Bytes merge_answers(std::span<const std::byte> a, std::span<const std::byte> b);

/// What the answers of all shards merge to tells whoever loops without fit_shards(). The questions follow each other:
/// shape, scan, statistics for every pass; each is made of the merged answer to the one before.
Bytes shape_question();
/// Throws Error(kUsage) where rows are missing, or shards differ in columns, type or weights; Error(kBadData) with what
/// is wrong with the first shard that has an error.
Bytes scan_question(std::span<const std::byte> shape);

/// An answer, and the question that it answers.
struct Answered {
  std::span<const std::byte> question;
  std::span<const std::byte> answer;
};

/// For statistics of the labels that these prototypes give, a model each, all with the columns and the type (float64
/// for float64 points, else float32) of the rows; `previous`: the prototypes that gave the labels before, or none.
Bytes statistics_question(const Answered& scan, std::span<const PointsView> models,
                          std::span<const PointsView> previous = {});

/// What the labels of one model are, of all rows.
struct ClusterStatistics {
  std::vector<int64_t> counts;  ///< rows per cluster
  std::vector<double> weights;  ///< weight per cluster
  int64_t changed = 0;          ///< rows that have another label than before; all, where nothing was before
  UInt128 label_sum = 0;        ///< docs/developer/contract.md, "Digest"
};
std::vector<ClusterStatistics> read_statistics(const Answered& statistics);

/// The prototypes that follow from these statistics; that of a cluster that weighs nothing stays as it was.
std::vector<Matrix> solve(const Answered& statistics);

/// Asks all shards the same, and merges what they answer.
using Ask = std::function<Bytes(std::span<const std::byte> question)>;

/// fit() of the rows of all shards: everything but the labels, which are left out, has the bits that fit() of all rows
/// gives, digests too. predict() of a shard's rows gives its labels. Throws what fit() throws, what `ask` throws, and
/// Error(kUsage) where rows are missing, for a checkpoint, ranks, or a memory limit.
///
/// `ask` is called by one thread: up to four times at first, once a pass (three times with the rule `inertia`, two or
/// three more where clusters are empty), three times in the end; 13 times a model for k-means||, 4 times a prototype
/// for k-means++. Here it takes O(D sum K) memory, and 8 bytes a row where there are weights.
FitResult fit_shards(const Ask& ask, const FitOptions& options, const FitHooks& hooks = {});

}  // namespace manymeans
