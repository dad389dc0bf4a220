// D^2 sampling for k-means++ and k-means||, for all models of an ensemble in the same readings of the points.
//
//   look     which rows a candidate may come nearer to than their centres (screen), and how much the potential falls at
//            least and at most
//   fall     by how much it does fall: canonical distances of these rows, integer terms
//
// Most steps choose among their candidates by looks alone, and only the one that is chosen pays for distances.
#pragma once

#include "backend/cpu/pass/cpu_screen.h"
#include "backend/cpu/pass/seed_screen.h"
#include "backend/seed_choice.h"

#include <bit>
#include <cstdint>
#include <functional>
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
  std::vector<std::vector<int64_t>> draw(std::span<const SeedDraw> draws) override;
  void trial(std::span<SeedTrial> trials) override;
  std::vector<int64_t> choose(std::span<SeedTrial> trials) override;
  std::vector<int64_t> sample(int slot, const SeedSample& sample) override;
  std::vector<int64_t> cluster_weights(int slot) override;
  bool knows_cluster_weights() const override { return !shared_.input.memory.limited; }
  std::span<const double> least(int slot) override;

 private:
  // Rows of a tile that a centre may lower, some of them bits, and the distances of all; with `keep` they become the
  // least.
  struct FallingRows {
    uint64_t bits;
    const double* d2;
    bool keep;

    int64_t first() const { return std::countr_zero(bits); }
    int64_t count() const { return static_cast<int64_t>(std::bit_width(bits)) - first(); }
  };
  struct Scratch {
    SeedScratch screen = {};
    std::vector<uint64_t> words = {};    // by column
    std::vector<double> d2 = {};         // of a tile's rows
    std::vector<double> residuals = {};  // of a tile's rows to all centres
  };
  using Piece = std::function<void(int worker, size_t i, TileRange tiles)>;

  SeedModel& model(int slot) { return models_[static_cast<size_t>(slot)]; }
  const SeedModel& model(int slot) const { return models_[static_cast<size_t>(slot)]; }
  Worker& worker(int w) { return labels_.worker(w); }
  Scratch& scratch(int w) { return scratch_[static_cast<size_t>(w)]; }
  int64_t* block_of(SeedModel& state, int64_t tile) const {
    return state.blocks.data() + tile / block_tiles_ * kDistanceLimbs;
  }
  // How many tiles ahead rows are prefetched: about the time that memory takes for one.
  static constexpr int64_t kTilesAhead = 4;
  static RowWindow::GiveBack give_back_of(const SeedModel& state);

  void plan_pieces();
  void for_each_piece(std::span<const int> slots, const Piece& body);
  SeedTerms terms_of(const SeedModel& state) const;
  void add_term(const SeedModel& state, int64_t row, double least, int sign, int64_t* limbs) const;
  void sum_blocks(SeedModel& state);
  double begin_tile(SeedModel& state, const Matrix& centres, int64_t tile, int w);
  const double* distances(const Matrix& centres, int64_t k, int64_t tile, uint64_t rows, int w);
  const double* residuals(const Matrix& centres, int64_t tile, int w);
  void prefetch(int64_t tile, uint64_t rows) const;
  uint64_t lower(SeedModel& state, int64_t tile, const FallingRows& rows, int64_t* limbs) const;
  void accept(SeedModel& state, const Matrix& centre, int64_t tile, uint64_t rows, int w);
  void add_many(const SeedCentres& added);
  void begin_nearest(SeedModel& state);
  void add_tried(std::span<const SeedCentres> models);
  void add_untried(std::span<const SeedTrial> models);
  static std::vector<int> slots_of(std::span<const SeedLook> looks);
  std::vector<SeedLook> make_looks(std::span<const SeedTrial> trials);
  void remember(std::span<const SeedLook> looks);
  std::vector<std::vector<SeedGain>> look_at_all(std::span<const SeedLook> looks);
  std::vector<std::vector<WideInt>> falls(std::span<const SeedLook> looks, std::span<const std::vector<int64_t>> wanted,
                                          bool remembered);

  const CpuShared& shared_;
  ThreadPool& pool_;
  CpuDistances distances_;
  SessionPlan plan_;         // of `labels_`
  CpuScreen labels_;         // the nearest of many centres
  SeedScreen screen_;        // what a candidate may lower
  int64_t piece_tiles_ = 1;  // that a thread works on at a time
  int64_t block_tiles_ = 1;  // whose terms have a sum
  std::vector<Scratch> scratch_;
  std::vector<SeedModel> models_;
};

}  // namespace manymeans
