// The contract in its plainest form: the oracle that every other backend is compared with, bit for bit.
// One thread, every value widened to binary64 (exact), every distance computed, every sum from zero.
#pragma once

#include "backend/backend.h"

#include <vector>

namespace manymeans {

class ReferenceSession final : public Session {
 public:
  ReferenceSession(const Input& input, std::span<const int64_t> k) : input_(input) {
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
    std::vector<double> least;  // m_i of seeding
    SumFormat seed_format;
  };

  Model& model(int slot) { return models_[static_cast<size_t>(slot)]; }
  int64_t n() const { return input_.points.n; }
  int64_t d() const { return input_.points.d; }

  // One row of the points, valid until the next call.
  const double* point(int64_t row);
  void assign(PassModel& pass);
  // Adds sign times the row to its cluster's statistics.
  void add_row(Statistics& statistics, int64_t row, uint32_t label, int sign);
  // T_i for this least distance.
  WideInt seed_term(const Model& model, int64_t row, double least) const;

  const Input& input_;
  std::vector<Model> models_;
  std::vector<double> row_;
};

// All values of a matrix as binary64, row after row.
std::vector<double> widened(const Matrix& matrix);

}  // namespace manymeans
