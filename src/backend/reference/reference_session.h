// The contract in its plainest form: the oracle that every other backend is compared with, bit for bit.
// One thread, every value widened to binary64 (exact), every distance computed, every sum from zero.
#pragma once

#include "backend/backend.h"
#include "core/aligned_buffer.h"
#include "core/row_window.h"
#include "core/threads.h"

#include <atomic>
#include <vector>

namespace manymeans {

class ReferenceSession final : public Session {
 public:
  /// Once *abort is set, every row ends in Error(kInterrupted).
  ReferenceSession(const Input& input, std::span<const int64_t> k, const std::atomic<bool>* abort)
      : input_(input), abort_(abort) {
    models_.resize(k.size());
    row_.resize(static_cast<size_t>(input.points.d));
  }

  int advance(std::span<PassModel> models, int n) override;
  const Labels& labels(int slot) override { return model(slot).labels; }
  const Statistics& statistics(int slot) override { return model(slot).statistics; }
  Labels take_labels(int slot) override;
  std::vector<DistantRow> farthest_rows(int slot, const Matrix& prototypes, int64_t count) override;
  void move_row(int slot, int64_t row, uint32_t label) override;
  void relabel(int slot, std::span<const uint32_t> new_label, std::span<const int64_t> kept) override;
  InertiaSum inertia(int slot, const Matrix& prototypes) override;
  std::vector<int64_t> inertia(int slot, const Matrix& prototypes, const SumFormat& format) override;
  std::vector<double> distances(int slot, const Matrix& prototypes) override;

  void seed_add(std::span<const SeedCentres> models) override;
  WideInt seed_total(int slot) override;
  std::vector<int64_t> seed_pick(int slot, std::span<const uint64_t> u) override;
  void seed_try(std::span<SeedTrial> trials) override;
  std::vector<int64_t> seed_sample(int slot, uint64_t key, uint32_t draw, int64_t factor) override;
  void seed_end() override;

 private:
  struct Model {
    Labels labels;  // empty before the first pass
    Statistics statistics;
    AlignedBuffer<double> least;  // m_i of seeding
    SumFormat seed_format;
  };

  Model& model(int slot) { return models_[static_cast<size_t>(slot)]; }
  int64_t n() const { return input_.points.n; }
  int64_t d() const { return input_.points.d; }

  // Calls body(row) for every row, in order; what a model knows of a row is done with then, too.
  template <class Body>
  void for_each_row(const Model& state, Body&& body) const {
    RowPass pass(input_.memory.window, 0, n(), [&](int64_t first, int64_t last) {
      state.labels.give_back(first, last - first);
      state.least.give_back(static_cast<size_t>(first), static_cast<size_t>(last - first));
    });
    for (int64_t i = 0; i < n(); ++i) {
      check_abort(abort_);
      pass.begin(i);
      body(i);
      pass.done(i, i + 1);
    }
  }
  // One row of the points, valid until the next call.
  const double* point(int64_t row);
  void assign(PassModel& pass);
  // Calls body(row, d2) with the distance of every row to the prototype of its label.
  template <class Body>
  void for_each_distance(int slot, const Matrix& prototypes, Body&& body);
  // Adds sign times the row to its cluster's statistics.
  void add_row(Statistics& statistics, int64_t row, uint32_t label, int sign);
  // T_i for this least distance.
  WideInt seed_term(const Model& model, int64_t row, double least) const;

  const Input& input_;
  const std::atomic<bool>* abort_;
  std::vector<Model> models_;
  std::vector<double> row_;
};

// All values of a matrix as binary64, row after row.
std::vector<double> widened(const Matrix& matrix);

}  // namespace manymeans
