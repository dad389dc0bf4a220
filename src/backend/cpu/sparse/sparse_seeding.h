// D^2 sampling for k-means++ and k-means|| over sparse points. Centres are rows, so a canonical distance takes the
// values of two rows; and the screen says for which rows one is needed at all.
#pragma once

#include "backend/cpu/sparse/sparse_screen.h"
#include "backend/seed_choice.h"
#include "backend/seeding.h"

#include <vector>

namespace manymeans {

class SparseSeeding final : public Seeding {
 public:
  SparseSeeding(const SparseShared& shared, std::span<const int64_t> k, ThreadPool& pool)
      : shared_(shared), pool_(pool), screen_(shared), workers_(static_cast<size_t>(pool.size())), models_(k.size()) {}

  std::vector<double> begin(std::span<const SeedCentres> models) override;
  void fix_scale(int slot, double largest) override;
  void add(std::span<const SeedCentres> models) override;
  WideInt total(int slot) override { return terms_of(model(slot)).total(); }
  std::vector<int64_t> pick(int slot, std::span<const WideInt> targets) override;
  void trial(std::span<SeedTrial> trials) override;
  std::vector<int64_t> sample(int slot, const SeedSample& sample) override;
  std::span<const double> least(int slot) override { return model(slot).least; }

 private:
  // A row that a centre is nearer to than all before.
  struct NearerCentre {
    int64_t row;
    double d2;
    uint32_t centre;
  };
  struct Model {
    std::vector<double> least;    // m_i
    TermAdder adder;              // of the terms T_i
    std::vector<int64_t> blocks;  // sums of T over blocks of rows, kDistanceLimbs limbs each
    // The candidates of the last trial and the rows nearest to them: the one that is chosen needs no second look.
    Matrix tried;
    std::vector<std::vector<NearerCentre>> nearer;  // by thread; none where they were too many
  };
  struct Worker {
    SparseScratch scratch;
    std::vector<int64_t> limbs;  // by candidate
    std::vector<NearerCentre> nearer;
  };

  Model& model(int slot) { return models_[static_cast<size_t>(slot)]; }
  SeedTerms terms_of(const Model& state) const;
  void take(const Matrix& centres);
  void sum_blocks(Model& state);
  void lower(Model& state, const Matrix& centres);
  bool add_tried(Model& state, const Matrix& centre);
  void try_candidates(Model& state, SeedTrial& trial);
  size_t max_falls() const;
  void remember(Model& state, const Matrix& candidates);
  // Calls body(worker, NearerCentre) for each row and each of `centres` that is nearer than the row's least distance.
  template <class Body>
  void for_each_nearer_centre(const Model& state, const Matrix& centres, Body&& body);

  const SparseShared& shared_;
  ThreadPool& pool_;
  SparseScreen screen_;
  std::vector<SparseBounds> bounds_;  // of all rows, scaled by this factor
  double factor_ = 0;
  std::vector<Worker> workers_;
  std::vector<Model> models_;
};

}  // namespace manymeans
