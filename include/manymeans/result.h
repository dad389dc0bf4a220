// The result of a fit.
#pragma once

#include <manymeans/options.h>
#include <manymeans/pass_counts.h>
#include <manymeans/points.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace manymeans {

/// Why a model stopped. Digests and checkpoints contain these numbers. Each stop rule has one of its own, which
/// stop_reason_named() returns: model.stop_reason == stop_reason_named("tol").
enum class StopReason : uint8_t {
  kNotBegun = 0,      ///< interrupted before its first pass: no labels, no prototypes
  kStrict = 1,        ///< no label changed
  kCycle = 6,         ///< a state of all labels came back
  kMaxIter = 7,       ///< max_iter updates done
  kTimeLimit = 8,     ///< time_limit used up
  kCallback = 9,      ///< the callback said so
  kInterrupted = 10,  ///< cancelled, by Ctrl-C for instance
};
/// "strict", "tol", "max_iter", ...; empty if no reason has this number.
std::string_view name_of(StopReason reason);
/// Throws Error(kUsage) about "stop_reason" if no reason has this name.
StopReason stop_reason_named(std::string_view name);

/// One fitted model.
struct ModelResult {
  int64_t k = 0;                ///< prototypes (fewer than asked for under EmptyPolicy::kDrop)
  int64_t k_requested = 0;      ///< prototypes asked for
  int64_t replica = 0;          ///< 0 .. models - 1 among the models of this k
  uint64_t seed = 0;            ///< the model's own seed, for FitOptions::model_seed
  std::string init;             ///< the method that was used ("auto" resolved)
  Matrix prototypes;            ///< k x D, float32 or float64
  Labels labels;                ///< N (of this rank, where there are several), ties to the lowest index; maybe none
  std::vector<int64_t> counts;  ///< rows per cluster
  std::vector<double> weights;  ///< weight per cluster (equal to counts without weights)
  double inertia = 0;           ///< weighted sum of squared distances, exact to about 1e-12 relative
  int64_t iterations = 0;       ///< updates done
  StopReason stop_reason = StopReason::kNotBegun;
  double seconds = 0;  ///< its share of the passes
  /// The part of digests that comes from the labels of all rows, a number of 128 bits, low half first. It is set if
  /// `labels` do not hold all labels. Reasons: several ranks share the rows, the rows are in shards, or
  /// FitHooks::labels asked for the best model's labels only.
  std::optional<std::array<uint64_t, 2>> label_sum = std::nullopt;

  /// 32 hexadecimal digits that two fits share only if k, D, type, prototypes, inertia, iterations,
  /// stop reason and labels are the same bits. Computed when asked for: O(N + K D).
  std::string digest() const;
};

/// The work of one pass, all models together. Under the strategies task and data: pass i of every model together.
struct PassLog : PassCounts {
  int64_t models = 0;    ///< that took part
  int64_t labelled = 0;  ///< labels found: rows times models

  PassLog& operator+=(const PassLog& other);
};
/// Passes that are logged; later ones are only counted.
constexpr int64_t kMaxLoggedPasses = 1000;

/// Where the answer came from and what it cost.
struct Provenance {
  std::string version;
  std::string backend;
  std::string instruction_set;
  std::string plan;    ///< the backend's plan, for people
  std::string memory;  ///< what was held where, for people; empty where everything was in memory
  int threads = 0;
  int64_t rows = 0;  ///< rows used: always all of them
  int64_t columns = 0;
  DataType type = DataType::kFloat32;
  FitOptions options;                                   ///< as given
  int64_t passes = 0;                                   ///< readings of the points for labels
  PassLog total;                                        ///< of all passes
  std::vector<PassLog> pass_log;                        ///< of the first passes, in order
  std::vector<std::pair<std::string, double>> seconds;  ///< per phase, in order
  std::vector<std::string> warnings;  ///< the part of FitResult::warnings that equal answers need not share
};

/// A duration for people, with three digits: "820us", "12.3ms", "1.20s", "45s", "3m05s", "2h10m".
std::string shown_duration(double seconds);

/// Between which values the points of a fit lay, in the units in which it measured them: after scaling.
struct ColumnRanges {
  std::vector<double> minimum, maximum;  ///< per column; empty: not known, or not told (Metric::kCosine)
  double rows = 0;                       ///< of the fit
};

/// All models of an ensemble: k in the order given, replicas inside.
struct FitResult {
  std::vector<ModelResult> models;
  Provenance provenance;
  ColumnRanges ranges;
  std::vector<std::string> warnings;
  bool interrupted = false;  ///< ended by time limit, callback or cancellation

  /// Index of the best begun model (lowest inertia, then first) for this k; -1 if there is none.
  int64_t best(int64_t k_requested) const;
  /// 32 hexadecimal digits over the digests of all models, in order.
  std::string digest() const;
};

/// The ensemble's digest of the digests of its models, in order.
std::string combined_digest(std::span<const std::string> models);

}  // namespace manymeans
