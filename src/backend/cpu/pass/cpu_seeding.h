// D^2 sampling for k-means++ and k-means||, for all models of an ensemble in the same readings of the points.
#pragma once

#include "backend/cpu/pass/cpu_session.h"
#include "backend/seed_choice.h"

#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

class CpuSeeding final : public Seeding {
 public:
  CpuSeeding(const CpuShared& shared, std::span<const int64_t> k, ThreadPool& pool);

  std::vector<double> begin(std::span<const SeedCentres> models) override;
  void fix_scale(int slot, double largest) override;
  void add(std::span<const SeedCentres> models) override;
  WideInt total(int slot) override;
  std::vector<int64_t> pick(int slot, std::span<const WideInt> targets) override;
  void trial(std::span<SeedTrial> trials) override;
  std::vector<int64_t> sample(int slot, const SeedSample& sample) override;
  std::span<const double> least(int slot) override;

 private:
  using Target = CpuSession::Target;

  // The least distances of one model and their integer sums.
  struct Model {
    AlignedBuffer<double> least;  // m_i
    TermAdder adder;              // of the terms T_i
    std::vector<int64_t> blocks;  // sums of T over blocks of rows, kDistanceLimbs limbs each
    // The candidates of the last trial and which rows each lowers, a word for every tile and candidate: the one that is
    // chosen needs no second look at all rows. Kept where memory has no limit.
    Matrix tried;
    std::vector<uint64_t> lowered;
  };

  Model& model(int slot) { return models_[static_cast<size_t>(slot)]; }
  Worker& worker(int w) { return session_.workers_[static_cast<size_t>(w)]; }
  static RowWindow::GiveBack give_back_of(const Model& state);
  int64_t block_rows() const;
  SeedTerms terms_of(const Model& state) const;
  void add_term(const Model& state, int64_t row, double least, int sign, int64_t* limbs) const;
  double begin(Model& state, const Matrix& centres);
  void sum_blocks(Model& state);
  void add_many(const Target& target);
  void add_tried(std::span<const SeedCentres> models);
  void lower(Model& state, const Matrix& centre, int64_t row, Worker& worker);
  struct RowsOfTile {
    Tile tile;
    int64_t first;
  };
  template <class Body>
  void for_each_hit(const Target& target, const Model& state, const RowsOfTile& rows, Worker& worker,
                    Body&& body) const;
  template <class Visit>
  void for_each_possible(std::span<const Target> targets, Visit&& visit);

  const CpuShared& shared_;
  ThreadPool& pool_;
  CpuSession session_;  // for its screen
  std::vector<Model> models_;
};

}  // namespace manymeans
