// A session of several models that have nothing in common but the points: each has a session of its own, and passes of
// its own. For what is there for one model only: margins (carried_margins.h), where they are asked for by name.
#pragma once

#include "backend/backend.h"
#include "backend/cuda/pass/session_seeding.h"

#include <memory>
#include <vector>

namespace manymeans::cuda {

class SessionsApart final : public Session {
 public:
  /// One session for each of k, in their order.
  SessionsApart(const CudaShared& shared, std::span<const int64_t> k, std::vector<std::unique_ptr<Session>> sessions);

  int advance(std::span<PassModel> models, int n) override;
  const Labels& labels(int slot) override { return of(slot).labels(0); }
  void fetch(std::span<const int> slots) override;
  const Statistics& statistics(int slot) override { return of(slot).statistics(0); }
  Labels take_labels(int slot) override { return of(slot).take_labels(0); }
  std::vector<DistantRow> farthest_rows(int slot, const Matrix& prototypes, int64_t count) override {
    return of(slot).farthest_rows(0, prototypes, count);
  }
  void move_row(int slot, int64_t row, uint32_t label) override { of(slot).move_row(0, row, label); }
  void relabel(int slot, std::span<const uint32_t> new_label, std::span<const int64_t> kept) override {
    of(slot).relabel(0, new_label, kept);
  }
  InertiaSum inertia(int slot, const Matrix& prototypes) override { return of(slot).inertia(0, prototypes); }
  std::vector<int64_t> inertia(int slot, const Matrix& prototypes, const SumFormat& format) override {
    return of(slot).inertia(0, prototypes, format);
  }
  std::vector<double> distances(int slot, const Matrix& prototypes) override {
    return of(slot).distances(0, prototypes);
  }
  // What seeding holds of the points serves all models.
  void seed_add(std::span<const SeedCentres> models) override { seeding_.add(models); }
  WideInt seed_total(int slot) override { return seeding_.total(slot); }
  std::vector<int64_t> seed_pick(int slot, std::span<const uint64_t> u) override { return seeding_.pick(slot, u); }
  void seed_try(std::span<SeedTrial> trials) override { seeding_.trials(trials); }
  std::vector<int64_t> seed_sample(int slot, uint64_t key, uint32_t draw, int64_t factor) override {
    return seeding_.sample(slot, key, draw, factor);
  }
  void seed_end() override { seeding_.end(); }

 private:
  Session& of(int slot) { return *sessions_[static_cast<size_t>(slot)]; }

  std::vector<std::unique_ptr<Session>> sessions_;
  Stream stream_;
  SessionSeeding seeding_;
};

}  // namespace manymeans::cuda
