// The side of the fit: all shards, as what can be asked.
#pragma once

#include <manymeans/row_shards.h>

#include "backend/remote/answer.h"
#include "backend/remote/question.h"
#include "data/input.h"
#include "data/remote_rows.h"

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace manymeans {

/// The fields of an answer, one after the other. Throws Error(kBadData) where one is not what was asked for.
class AnswerReader {
 public:
  /// The merged answer of all shards to this question, about `all` rows (0: that is the question). Throws what the
  /// first shard with an error says, and Error(kUsage) where it is another question's or rows are missing.
  AnswerReader(const Answered& answered, int64_t all);
  /// Returns whether it is about `all` rows.
  bool has_rows(int64_t all) const { return answer_.rows[0].last == all; }
  /// Of `count` integers.
  std::span<const int64_t> integers(size_t count);
  /// Of `count` integers that are finite numbers, 0 or larger.
  std::vector<double> distances(size_t count);
  /// Of records of `width` integers.
  std::span<const int64_t> records(size_t width);

 private:
  const MergedField& next();

  Answer answer_;
  size_t at_ = 0;
};

/// Facts about all rows together, answer by answer.
class KnownRows {
 public:
  /// From the answer to Asked::kShape. Throws Error(kUsage) where shards differ.
  explicit KnownRows(AnswerReader shapes);
  /// As a question says it.
  explicit KnownRows(const Question& question);
  /// The answer to Asked::kColumns.
  void take_columns(AnswerReader columns);

  int64_t rows() const { return whole_.rows; }
  bool weighted() const { return whole_.weighted; }
  /// Above zero, as it was given.
  double smallest_weight() const { return smallest_weight_; }
  size_t shards() const { return shards_; }  ///< that have rows
  DataType type() const { return type_; }
  int64_t columns() const { return columns_; }
  /// All rows without their values, as they are given.
  PointsView points() const { return {nullptr, whole_.rows, columns_, type_}; }
  /// For all that follows: questions, and the input.
  void measure_by(Metric metric) { metric_ = metric; }
  /// A question that says it.
  Question question(Asked what) const;
  /// The input that it makes, without weights of rows.
  Input input() const;

 private:
  WholeShape whole_;
  double smallest_weight_ = std::numeric_limits<double>::infinity();  // not known from a question
  int64_t columns_ = 0;
  DataType type_ = DataType::kFloat32;
  Metric metric_ = Metric::kEuclidean;
  size_t shards_ = 0;
  ColumnScan scan_{0};
  double max_weight_ = 1;
};

class RemoteShards final : public RemoteRows {
 public:
  /// Asks for their shapes.
  explicit RemoteShards(const Ask& ask);

  const KnownRows& known() const { return known_; }
  /// Asks for what the columns span, and for weights. The input knows this object, which has to outlive it.
  Input input();
  /// Sets the metric of the fit, before input().
  void measure_by(Metric metric) { known_.measure_by(metric); }
  /// Sets the workload that later questions announce.
  void expect(const Workload& workload) { workload_ = workload; }

  Question question(Asked what) const;
  AnswerReader ask(Question question) const { return ask(ask_, std::move(question), known_.rows()); }

  /// The rows that an answer brings, with their values, which are kept for gather().
  std::vector<int64_t> take_rows(AnswerReader answer);

  /// RemoteRows.
  Matrix gather(std::span<const int64_t> rows) override;
  std::vector<MomentSums> sum_moments(const std::vector<MomentFormats>& formats) override;

 private:
  size_t words_of_row() const;
  static AnswerReader ask(const Ask& ask, Question question, int64_t all);

  const Ask& ask_;
  KnownRows known_;
  Workload workload_;
  std::map<int64_t, std::vector<int64_t>> kept_;  // the words of rows' values
};

}  // namespace manymeans
