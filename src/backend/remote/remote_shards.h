// The side of the fit: all shards, as what can be asked.
#pragma once

#include <manymeans/shards.h>

#include "backend/remote/answer.h"
#include "backend/remote/question.h"
#include "data/input.h"
#include "data/remote_rows.h"

#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

/// The fields of an answer, one after the other. Throws Error(kInternal) where one has not the size that is expected.
class AnswerReader {
 public:
  explicit AnswerReader(Answer answer) : answer_(std::move(answer)) {}
  /// Of `count` integers.
  std::span<const int64_t> integers(size_t count);
  /// Of records of `width` integers.
  std::span<const int64_t> records(size_t width);

 private:
  const Field& next();

  Answer answer_;
  size_t at_ = 0;
};

class RemoteShards final : public RemoteRows {
 public:
  /// Asks for their shapes. Throws Error(kBadData) or Error(kUsage) where they cannot be the parts of one whole.
  explicit RemoteShards(const Ask& ask);

  /// All rows without their values.
  PointsView points() const { return {nullptr, whole_.rows, columns_, type_}; }
  size_t count() const { return count_; }
  /// Asks for what the columns span, and for weights. It knows this object, which has to outlive it.
  Input input();
  /// What questions say from now on of what is to come.
  void expect(const Workload& workload) { workload_ = workload; }

  /// A question about these rows.
  Question question(Asked what) const;
  /// Throws what the first shard with an error says.
  AnswerReader ask(Question question) const;

  /// RemoteRows.
  Matrix gather(std::span<const int64_t> rows) override;
  std::vector<MomentSums> sum_moments(const std::vector<MomentFormats>& formats) override;

 private:
  void take_shapes(std::span<const int64_t> records);

  const Ask& ask_;
  WholeShape whole_;
  int64_t columns_ = 0;
  DataType type_ = DataType::kFloat32;
  size_t count_ = 0;  // of shards that have rows
  ColumnScan scan_{0};
  double max_weight_ = 1;
  Workload workload_;
};

}  // namespace manymeans
