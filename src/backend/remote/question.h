// The questions of a fit to all shards. A question says all that its answer depends on but the rows.
#pragma once

#include <manymeans/row_shards.h>

#include "backend/upload.h"
#include "core/column_scan.h"
#include "core/fixed_point.h"
#include "data/input.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace manymeans {

enum class Asked : uint8_t {
  kShape,             ///< rows, columns, type, the largest weight
  kColumns,           ///< what the columns' values span
  kWeights,           ///< w' of every row
  kMoments,           ///< sums for the moments of the columns
  kRows,              ///< the values of some rows
  kPass,              ///< statistics of labels by these prototypes
  kFarthestRows,      ///< RowQueries::farthest_rows
  kFarthestDistance,  ///< the largest d2 of each model
  kInertia,           ///< RowQueries::inertia_limbs
  kLabelSum,
  kLargestTerm,     ///< what Seeding::begin gives
  kTotals,          ///< of each shard and model the sum of T
  kPick,            ///< Seeding::pick
  kPotentials,      ///< Seeding::trial
  kSample,          ///< Seeding::sample, with the values of the rows
  kClusterWeights,  ///< Seeding::cluster_weights
};

/// A row that the engine gave another label.
struct RowMove {
  int64_t row = 0;
  uint32_t label = 0;

  bool operator==(const RowMove&) const = default;
  template <class Archive>
  void fields(Archive& archive) {
    archive(row), archive(label);
  }
};

/// The labels of all rows, without listing them. A pass with these prototypes gives them, but for rows that were moved;
/// new_label renames them where clusters were dropped.
struct LabelState {
  Matrix prototypes;
  std::vector<RowMove> moves;
  std::vector<uint32_t> new_label;
  std::vector<int64_t> kept;

  template <class Archive>
  void fields(Archive& archive) {
    archive(prototypes), archive(moves), archive(new_label), archive(kept);
  }
  /// Returns whether more moves or a renaming lead to it from `earlier`.
  bool continues(const LabelState& earlier) const;
};

struct AskedModel {
  int32_t slot = 0;
  std::optional<LabelState> labels;  ///< what the question is about; of a pass, the labels before it
  Matrix prototypes;                 ///< those of a pass, or to which distances are asked for
  SumFormat format;                  ///< of an inertia

  template <class Archive>
  void fields(Archive& archive) {
    archive(slot), archive(labels), archive(prototypes);
    archive(format.bits), archive(format.limbs), archive(format.shift);
  }
};

/// The centres of one model, by which every row has its least distance.
struct AskedSeeds {
  int32_t slot = 0;
  Matrix centres;
  double largest = 0;  ///< by which the scale of T was fixed
  Matrix candidates;   ///< of a trial

  template <class Archive>
  void fields(Archive& archive) {
    archive(slot), archive(centres), archive(largest), archive(candidates);
  }
};

/// A row to pick from the shard that begins with row `shard`.
struct AskedPick {
  int64_t shard = 0;
  int64_t index = 0;
  std::vector<int64_t> target;  ///< words of it, less the sum of T of the shards before

  template <class Archive>
  void fields(Archive& archive) {
    archive(shard), archive(index), archive(target);
  }
};

struct AskedSample {
  uint64_t key = 0;
  uint32_t draw = 0;
  int64_t factor = 0;
  std::vector<int64_t> total;  ///< words of it

  template <class Archive>
  void fields(Archive& archive) {
    archive(key), archive(draw), archive(factor), archive(total);
  }
};

struct Question {
  uint64_t version = kVersion;
  Asked what = Asked::kShape;
  WholeShape whole;               ///< from kColumns on
  int64_t columns = 0;            ///< likewise: D
  DataType type = {};             ///< likewise: as the rows are given
  Metric metric = {};             ///< likewise: shards scale their rows to length one for cosine
  ColumnScan scan{0};             ///< from kMoments on
  double max_weight = 1;          ///< likewise
  Workload workload;              ///< what is to come, which decides no answer
  std::vector<int64_t> clusters;  ///< of all models of the session, or the seeding, that asks
  std::vector<AskedModel> models;
  std::vector<AskedSeeds> seeds;
  std::vector<int64_t> rows;  ///< ascending
  int64_t most = 0;           ///< of the farthest rows
  bool label_sums = false;    ///< of a pass: they are wanted, too
  std::vector<AskedPick> picks;
  AskedSample sample;

  static constexpr uint64_t kVersion = 0x34736575716d6d61;  // "ammques4"

  template <class Archive>
  void fields(Archive& archive) {
    archive(version), archive(what);
    archive(whole.rows), archive(whole.weighted), archive(whole.largest_weight), archive(columns), archive(type),
        archive(metric);
    archive(scan.minimum), archive(scan.maximum), archive(scan.largest), archive(scan.low), archive(max_weight);
    archive(workload.max_clusters), archive(workload.all_clusters), archive(workload.passes);
    archive(workload.models), archive(workload.apart);
    archive(clusters), archive(models), archive(seeds), archive(rows), archive(most), archive(label_sums);
    archive(picks), archive(sample);
  }

  static Question decode(std::span<const std::byte> bytes);
  Bytes encode();
};

/// Returns whether they have the same shape, type and bits.
bool same_bits(const Matrix& a, const Matrix& b);

}  // namespace manymeans
