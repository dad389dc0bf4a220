// A session of several models that have nothing in common but the points: each has a session of its own, and passes of
// its own. For kernels that know one model only.
#pragma once

#include "backend/session.h"

#include <memory>
#include <utility>
#include <vector>

namespace manymeans::device {

class SessionsApart final : public Session, public RowQueries {
 public:
  /// One session for each model, in their order.
  explicit SessionsApart(std::vector<std::unique_ptr<Session>> sessions) : sessions_(std::move(sessions)) {}

  int advance(std::span<PassModel> models, const PassLimits& limits) override;
  const Labels& labels(int slot) override { return of(slot).labels(0); }
  void fetch(std::span<const int> slots, std::span<const int> labels_of) override;
  std::vector<LabelSum> label_sums(std::span<const int> slots, int64_t first_row) override;
  const Statistics& statistics(int slot) override { return of(slot).statistics(0); }
  ClusterSizes sizes(int slot) override { return of(slot).sizes(0); }
  bool update(int slot, const Matrix& before, Matrix& after) override { return of(slot).update(0, before, after); }
  Labels take_labels(int slot) override { return of(slot).take_labels(0); }
  void drop_labels(int slot) override { of(slot).drop_labels(0); }
  void move_row(int slot, int64_t row, uint32_t label) override { of(slot).move_row(0, row, label); }
  void renumber(int slot, std::span<const uint32_t> new_label, std::span<const int64_t> kept) override {
    of(slot).renumber(0, new_label, kept);
  }
  RowQueries& rows() override { return *this; }

  std::vector<DistantRow> farthest_rows(int slot, const Matrix& prototypes, int64_t count) override {
    return of(slot).rows().farthest_rows(0, prototypes, count);
  }
  std::vector<InertiaSum> inertias(std::span<const ModelPrototypes> models) override;
  std::vector<int64_t> inertia_limbs(int slot, const Matrix& prototypes, const SumFormat& format) override {
    return of(slot).rows().inertia_limbs(0, prototypes, format);
  }
  std::vector<double> distances(int slot, const Matrix& prototypes) override {
    return of(slot).rows().distances(0, prototypes);
  }
  void transform(const Matrix& prototypes, Matrix& distances) override {
    of(0).rows().transform(prototypes, distances);
  }

 private:
  Session& of(int slot) { return *sessions_[static_cast<size_t>(slot)]; }

  std::vector<std::unique_ptr<Session>> sessions_;
};

}  // namespace manymeans::device
