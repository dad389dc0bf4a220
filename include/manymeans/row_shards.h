// Fits whose rows are spread over processes that know nothing of each other, as under Dask, Ray or Spark.
//
// One process fits, and has no rows. It asks questions, of bytes. Every shard (some rows, wherever they are) answers a
// question by a pure function of its rows and the question. Two answers merge, in any order, to the answer of one shard
// with the rows of both, to the bit, since answers are made of integers. So a scheduler may ask any shard anywhere,
// again, or twice, and a process that is lost costs time and no digit of the answer.
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
/// It keeps data that make the next answer fast (packed points, the last labels, min distances), O(N D) bytes. It does
/// not depend on them: a new shard gives the same answer.
class RowShard {
 public:
  /// Points and weights (empty, or one a row) are read in place and must outlive the shard. Throws Error(kUsage) for
  /// shapes that cannot be, or an unknown backend.
  RowShard(const PointsView& points, std::span<const double> weights, int64_t first_row,
           const RowShardOptions& options = {});
  ~RowShard();
  RowShard(RowShard&& other) noexcept;
  RowShard& operator=(RowShard&& other) noexcept;

  /// Returns the answer of this shard to a question of a fit. Errors in the rows are part of the answer, so the first
  /// wrong row counts, in any order of the answers. Throws Error(kBadData) for bytes that are no question, and
  /// Error(kUnavailable) where memory runs out. Threads take turns. Time as one reading of the rows needs.
  Bytes answer(std::span<const std::byte> question);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Returns the answer of one shard with the rows of both. Throws Error(kUsage) where the two answer different questions
/// or have rows in common, Error(kBadData) for bytes that are no answers. O(bytes).
Bytes merge_answers(std::span<const std::byte> a, std::span<const std::byte> b);

/// For callers that loop without fit_shards(): these functions make the questions, and read the merged answers of all
/// shards. The questions follow each other: shape, scan, statistics for every pass; each is made of the merged answer
/// to the one before.
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

/// Facts about the labels of all rows by one model.
struct ClusterStatistics {
  std::vector<int64_t> counts;  ///< rows per cluster
  std::vector<double> weights;  ///< weight per cluster
  int64_t changed = 0;          ///< rows that have another label than before; all, where nothing was before
  UInt128 label_sum = 0;        ///< docs/developer/contract.md, "Digest"
};
std::vector<ClusterStatistics> read_statistics(const Answered& statistics);

/// Returns the prototypes that follow from these statistics. The prototype of a cluster without weight stays as it was.
std::vector<Matrix> solve(const Answered& statistics);

/// Asks all shards the same, and merges what they answer.
using Ask = std::function<Bytes(std::span<const std::byte> question)>;

/// Fits the rows of all shards, without labels. Everything else has the bits that fit() of all rows gives, digests too.
/// predict() of a shard's rows gives its labels. Throws what fit() throws, what `ask` throws, and Error(kUsage) where
/// rows are missing, for a checkpoint, ranks, sizes of clusters, or a memory limit.
///
/// One thread calls `ask`: up to four times at first, once a pass, and three times in the end. A pass takes three calls
/// with the rule `inertia`, and two or three more if clusters are empty. k-means|| takes 13 calls a model, k-means++
/// takes 4 a prototype. Here it takes O(D sum K) memory, and 8 bytes a row where there are weights.
FitResult fit_shards(const Ask& ask, const FitOptions& options, const FitHooks& hooks = {});

}  // namespace manymeans
