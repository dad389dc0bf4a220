// The contract in its plainest form: the oracle that every other backend is compared with, bit for bit.
// One thread, every value widened to binary64 (exact), every distance computed, every sum from zero. Code for a kind of
// prototype comes from its table (prototype/prototype.h), a block of rows a call.
#pragma once

#include "backend/seeding.h"
#include "backend/session.h"
#include "core/aligned_buffer.h"
#include "core/row_window.h"
#include "core/threads.h"
#include "prototype/prototype.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>
#include <vector>

namespace manymeans {

/// The rows, a block of neighbours after the other. Once *abort is set, every block ends in Error(kInterrupted).
class ReferencePoints {
 public:
  ReferencePoints(const Input& input, const std::atomic<bool>* abort);

  struct Block {
    int64_t first;
    RowBlock<double> rows;
  };
  int64_t n() const { return input_.points.n; }
  int64_t d() const { return input_.points.d; }
  const Prototype& prototype() const { return prototype_; }
  // Some rows, valid until the next call.
  Block block(int64_t first, int64_t count);
  // d2 of a block's rows to one prototype, or to the prototypes of their labels; valid until the next call.
  std::span<const double> distances(const Block& block, const double* prototype);
  std::span<const double> distances(const Block& block, std::span<const double> prototypes, const Labels& labels);
  // Calls body(block) for all rows, in order, and give_back(first, last) for rows that are done with.
  template <class Body>
  void for_each_block(const RowWindow::GiveBack& give_back, Body&& body) {
    RowPass pass(input_.memory.window, 0, n(), give_back);
    for (int64_t first = 0; first < n(); first += block_rows_) {
      check_abort(abort_);
      pass.begin(first);
      const int64_t last = std::min(n(), first + block_rows_);
      body(block(first, last - first));
      pass.done(first, last);
    }
  }

 private:
  std::span<const double> distances(const LabelledRows<double>& rows);

  const Input& input_;
  const Prototype& prototype_;
  const std::atomic<bool>* abort_;
  int64_t block_rows_;
  std::vector<double> values_, distances_;  // of a block
  std::vector<std::byte> fetched_;          // of sparse points of a block
  std::vector<uint32_t> labels_;
};

class ReferenceSession final : public Session, public RowQueries {
 public:
  ReferenceSession(const Input& input, size_t models, const std::atomic<bool>* abort)
      : input_(input), points_(input, abort), models_(models) {}

  int advance(std::span<PassModel> models, const PassLimits& limits) override;
  const Labels& labels(int slot) override { return model(slot).labels; }
  const Statistics& statistics(int slot) override { return model(slot).statistics; }
  Labels take_labels(int slot) override;
  void move_row(int slot, int64_t row, uint32_t label) override;
  void renumber(int slot, std::span<const uint32_t> new_label, std::span<const int64_t> kept) override;
  RowQueries& rows() override { return *this; }

  std::vector<DistantRow> farthest_rows(int slot, const Matrix& prototypes, int64_t count) override;
  std::vector<InertiaSum> inertias(std::span<const ModelPrototypes> models) override;
  std::vector<int64_t> inertia_limbs(int slot, const Matrix& prototypes, const SumFormat& format) override;
  std::vector<double> distances(int slot, const Matrix& prototypes) override;
  void transform(const Matrix& prototypes, Matrix& distances) override;

 private:
  struct Model {
    Labels labels;  // empty before the first pass
    Statistics statistics;
  };

  Model& model(int slot) { return models_[static_cast<size_t>(slot)]; }
  int64_t n() const { return points_.n(); }
  int64_t d() const { return points_.d(); }

  // Calls body(block) for all rows, in order; the model's labels of finished rows are released.
  template <class Body>
  void for_each_block(const Model& state, Body&& body) {
    points_.for_each_block([&](int64_t first, int64_t last) { state.labels.give_back(first, last - first); }, body);
  }
  void assign(PassModel& pass);
  // Calls body(row, d2) with the distance of every row to the prototype of its label.
  template <class Body>
  void for_each_distance(int slot, const Matrix& prototypes, Body&& body);
  // Adds sign times the rows to the statistics of the clusters that `labels` names.
  void add_rows(Statistics& statistics, const ReferencePoints::Block& block, const uint32_t* labels, int sign);

  const Input& input_;
  ReferencePoints points_;
  std::vector<Model> models_;
  std::vector<double> terms_;  // of a block
};

class ReferenceSeeding final : public Seeding {
 public:
  ReferenceSeeding(const Input& input, size_t models, const std::atomic<bool>* abort)
      : input_(input), points_(input, abort), models_(models) {}

  std::vector<double> begin(std::span<const SeedCentres> models) override;
  void fix_scale(int slot, double largest) override;
  void add(std::span<const SeedCentres> models) override;
  WideInt total(int slot) override;
  std::vector<int64_t> pick(int slot, std::span<const WideInt> targets) override;
  void trial(std::span<SeedTrial> trials) override;
  std::vector<int64_t> sample(int slot, const SeedSample& sample) override;
  std::span<const double> least(int slot) override;

 private:
  struct Model {
    AlignedBuffer<double> least;  // m_i
    SumFormat format;             // of the terms
  };

  Model& model(int slot) { return models_[static_cast<size_t>(slot)]; }
  // Calls body(row) for every row, in order.
  template <class Body>
  void for_each_row(const Model& state, Body&& body) {
    points_.for_each_block(give_back_of(state), [&](const ReferencePoints::Block& block) {
      for (int64_t i = 0; i < block.rows.count; ++i) body(block.first + i);
    });
  }
  // Calls body(row, d2) with the distance of every row to one prototype.
  template <class Body>
  void for_each_distance(const Model& state, const double* prototype, Body&& body) {
    points_.for_each_block(give_back_of(state), [&](const ReferencePoints::Block& block) {
      const std::span<const double> d2 = points_.distances(block, prototype);
      for (int64_t i = 0; i < block.rows.count; ++i) body(block.first + i, d2[static_cast<size_t>(i)]);
    });
  }
  static RowWindow::GiveBack give_back_of(const Model& state);
  // T_i for this least distance.
  WideInt term(const Model& state, int64_t row, double least) const;

  const Input& input_;
  ReferencePoints points_;
  std::vector<Model> models_;
};

// All values of a matrix as binary64, row after row.
std::vector<double> widened(const Matrix& matrix);

}  // namespace manymeans
