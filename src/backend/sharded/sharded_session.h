// Passes over the rows of all ranks.
#pragma once

#include "backend/joined/joined_session.h"
#include "data/input.h"

#include <memory>
#include <span>
#include <vector>

namespace manymeans {

/// A rank's session joined with the other ranks' sessions: statistics and counts are of all rows.
class ShardedSession final : public JoinedSession, private RowQueries {
 public:
  /// `local` is null where the rank has no rows.
  ShardedSession(const Input& input, std::unique_ptr<Session> local, std::span<const int64_t> k, int threads);

  /// Every rank does its part of a pass; one sum gives all of them the statistics, and each solves for itself. All
  /// ranks do as many passes as the one that may do the fewest; what else limits them is the same for all.
  int advance(std::span<PassModel> models, const PassLimits& limits) override;
  const Labels& labels(int slot) override { return local_ ? local_->labels(slot) : no_labels_; }
  void fetch(std::span<const int> slots, std::span<const int> labels_of) override;
  /// Of this rank's rows.
  std::vector<LabelSum> label_sums(std::span<const int> slots, int64_t first_row) override;
  Labels take_labels(int slot) override { return local_ ? local_->take_labels(slot) : Labels(); }
  void move_row(int slot, int64_t row, uint32_t label) override;
  void renumber(int slot, std::span<const uint32_t> new_label, std::span<const int64_t> kept) override;
  void reorder(int slot, std::span<const int64_t> order) override {
    if (local_) local_->reorder(slot, order);
  }
  RowQueries& rows() override { return *this; }

 private:
  void pass(std::span<PassModel> models) override;
  std::vector<DistantRow> farthest_rows(int slot, const Matrix& prototypes, int64_t count) override;
  std::vector<InertiaSum> inertias(std::span<const ModelPrototypes> models) override;
  std::vector<int64_t> inertia_limbs(int slot, const Matrix& prototypes, const SumFormat& format) override;
  std::vector<double> distances(int slot, const Matrix& prototypes) override;
  void transform(const Matrix& prototypes, Matrix& distances) override;
  /// Of this rank's rows, from its first on.
  bool two_nearest(const Matrix& prototypes, const TakeTwoNearest& take) override;

  void label_own_rows(std::span<PassModel> models);
  void add_up(std::span<PassModel> models);
  std::vector<int64_t> own_limbs(int slot, const Matrix& prototypes, const SumFormat& format);

  Comm& comm_;
  std::unique_ptr<Session> local_;
  Labels no_labels_;
};

}  // namespace manymeans
