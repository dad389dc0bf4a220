// Passes over the rows of all shards.
#pragma once

#include "backend/remote/remote_shards.h"
#include "backend/session.h"

#include <map>
#include <optional>
#include <span>
#include <vector>

namespace manymeans {

/// It has the statistics of all rows. Labels it only describes (LabelState), so that a shard that has forgotten them
/// can find them again.
class RemoteSession final : public Session, private RowQueries {
 public:
  RemoteSession(const Input& input, const RemoteShards& shards, std::span<const int64_t> k);

  int advance(std::span<PassModel> models, const PassLimits& limits) override;
  const Labels& labels(int /*slot*/) override { return no_labels_; }
  const Statistics& statistics(int slot) override { return of(slot).statistics; }
  Labels take_labels(int /*slot*/) override { return {}; }
  void fetch(std::span<const int> slots, std::span<const int> labels_of) override;
  std::vector<LabelSum> label_sums(std::span<const int> slots, int64_t first_row) override;
  void move_row(int slot, int64_t row, uint32_t label) override;
  void renumber(int slot, std::span<const uint32_t> new_label, std::span<const int64_t> kept) override;
  RowQueries& rows() override { return *this; }

 private:
  // A row that may be moved.
  struct Donor {
    uint32_t label = 0;
    Matrix values;  // 1 x D
  };
  struct Model {
    Statistics statistics;
    std::optional<LabelState> labels;   // none before the first pass
    std::optional<LabelSum> label_sum;  // fetched since the last pass
    std::map<int64_t, Donor> donors;    // by row
  };

  std::vector<DistantRow> farthest_rows(int slot, const Matrix& prototypes, int64_t count) override;
  std::vector<InertiaSum> inertias(std::span<const ModelPrototypes> models) override;
  std::vector<int64_t> inertia_limbs(int slot, const Matrix& prototypes, const SumFormat& format) override;
  std::vector<double> distances(int slot, const Matrix& prototypes) override;
  void transform(const Matrix& prototypes, Matrix& distances) override;

  Model& of(int slot) { return models_[static_cast<size_t>(slot)]; }
  Question question(Asked what) const;
  void ask_about(Question& question, int slot, const Matrix& prototypes);
  void read_pass(AnswerReader& answer, PassModel& model);
  void add_row(Statistics& statistics, int64_t row, const Matrix& values, uint32_t label, int sign) const;

  const Input& input_;
  const RemoteShards& shards_;
  std::vector<int64_t> clusters_;  // of all models, at first
  std::vector<Model> models_;
  Labels no_labels_;
};

}  // namespace manymeans
