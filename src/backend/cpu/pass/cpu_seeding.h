// D^2 sampling for k-means++ and k-means||, for all models of an ensemble in the same readings of the points.
//
//   look     which rows a candidate may come nearer to than their centres (screen), and how much the potential falls at
//            least and at most
//   fall     by how much it does fall: canonical distances of these rows, integer terms
//
// Most steps choose among their candidates by looks alone, and only the one that is chosen pays for distances.
#pragma once

#include "backend/cpu/pass/cpu_screen.h"
#include "backend/cpu/screen/coded_points.h"
#include "backend/seed_choice.h"

#include <algorithm>
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
  // The least distances of one model and their integer sums.
  struct Model {
    AlignedBuffer<double> least;  // m_i
    TermAdder adder;              // of the terms T_i
    bool in_lanes = false;        // the kernels make these terms, too
    std::vector<int64_t> blocks;  // sums of T over blocks of rows, kDistanceLimbs limbs each
    // With a packed copy: what a row's score must exceed, in whole tiles, and per tile how much a threshold may be
    // below the exact one.
    AlignedBuffer<float> thresholds;
    std::vector<double> slack;
    // Where centres come many at a time and memory has no limit: how many there are, and the nearest of each row.
    int64_t centres = 0;
    AlignedBuffer<uint32_t> nearest;
    // The candidates of the last trial, the column of each, and the rows that each may lower: a word for every tile and
    // column. The chosen candidate then needs no second look at all rows. Kept where memory has no limit.
    Matrix tried;
    std::vector<int64_t> column_of;
    int64_t columns = 0;
    std::vector<uint64_t> hits;
  };

  // A distinct centre, or candidate for one, as a column of the screen.
  struct Column {
    int64_t centre;  // the first with these bits
    int64_t place;   // among the words that the screen writes for a tile
    double slope;    // of its bound
    double error;
  };
  struct Look {
    int slot = 0;
    const Matrix* centres = nullptr;
    PackedPrototypes packed;  // or, in bytes,
    CodedCentres coded;
    bool screenable = false;
    std::vector<Column> columns;
  };
  // By how much a column lowers the potential, in the frame's units: at most by 2 excess, and at least by 2 (excess -
  // error).
  struct Gain {
    double excess = 0;
    double error = 0;
  };
  struct Tiles {
    int64_t first;
    int64_t last;
  };
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
    std::vector<HitsTile> tiles;            // of a piece
    std::vector<uint64_t> hits;             // of the tiles, by place
    std::vector<double> excess;             // by place
    std::vector<uint64_t> words;            // by column
    std::vector<float> thresholds;          // of a piece, where none are kept
    AlignedBuffer<std::byte> packed_tiles;  // of a piece, where none are kept
    std::vector<double> d2;                 // of a tile's rows
    std::vector<double> residuals;          // of a tile's rows to all centres
  };
  using Piece = std::function<void(int worker, size_t i, Tiles tiles)>;

  Model& model(int slot) { return models_[static_cast<size_t>(slot)]; }
  const Model& model(int slot) const { return models_[static_cast<size_t>(slot)]; }
  Worker& worker(int w) { return screen_.worker(w); }
  Scratch& scratch(int w) { return scratch_[static_cast<size_t>(w)]; }
  int64_t tile_rows() const { return screen_.tile_rows(); }
  int64_t tiles() const { return (shared_.input.points.n + tile_rows() - 1) / tile_rows(); }
  int64_t rows_of(int64_t tile) const { return std::min(tile_rows(), shared_.input.points.n - tile * tile_rows()); }
  uint64_t every_row(int64_t tile) const { return ~uint64_t{0} >> (64 - rows_of(tile)); }
  int64_t* block_of(Model& state, int64_t tile) const {
    return state.blocks.data() + tile / block_tiles_ * kDistanceLimbs;
  }
  // The first row of `rows` with the bits of row k of `wanted`; -1: there is none.
  static int64_t first_equal_row(const Matrix& rows, const Matrix& wanted, int64_t k);
  // How many tiles ahead rows are prefetched: about the time that memory takes for one.
  static constexpr int64_t kTilesAhead = 4;
  static RowWindow::GiveBack give_back_of(const Model& state);

  void make_copies(int64_t max_centres);
  void plan_pieces();
  void measure_tiles();
  void for_each_piece(std::span<const int> slots, const Piece& body);
  SeedTerms terms_of(const Model& state) const;
  void add_term(const Model& state, int64_t row, double least, int sign, int64_t* limbs) const;
  void sum_blocks(Model& state);
  double begin_tile(Model& state, const Matrix& centres, int64_t tile, int w);
  const double* distances(const Matrix& centres, int64_t k, int64_t tile, uint64_t rows, int w);
  const double* residuals(const Matrix& centres, int64_t tile, int w);
  void prefetch(int64_t tile, uint64_t rows) const;
  uint64_t lower(Model& state, int64_t tile, const FallingRows& rows, int64_t* limbs) const;
  void accept(Model& state, const Matrix& centre, int64_t tile, uint64_t rows, int w);
  void add_many(const SeedCentres& added);
  void begin_nearest(Model& state);
  void add_tried(std::span<const SeedCentres> models);
  void add_untried(std::span<const SeedTrial> models);

  // cpu_seeding_looks.cpp
  static std::vector<int> slots_of(std::span<const Look> looks);
  Look make_look(int slot, const Matrix& centres) const;
  void pack_look(Look& look) const;
  void code_look(Look& look) const;
  std::vector<Look> make_looks(std::span<const SeedTrial> trials);
  void remember(std::span<const Look> looks);
  double underflow() const;
  void begin_thresholds(Model& state, int64_t tile, double farthest) const;
  void renew_thresholds(Model& state, int64_t tile, uint64_t rows) const;
  void fill_tiles(const Model& state, Tiles some, Scratch& scratch) const;
  int64_t screen_tiles(const Look& look, Scratch& scratch) const;
  void look_at(const Look& look, Tiles some, Scratch& scratch, uint64_t* words) const;
  void look_at(const Look& look, Tiles some, Scratch& scratch, uint64_t* words, Gain* gains) const;
  std::vector<std::vector<Gain>> look_at_all(std::span<const Look> looks);
  std::vector<int64_t> contenders(const Look& look, std::span<const Gain> gains) const;
  std::vector<std::vector<WideInt>> falls(std::span<const Look> looks, std::span<const std::vector<int64_t>> wanted,
                                          bool remembered);

  const CpuShared& shared_;
  ThreadPool& pool_;
  CpuDistances distances_;
  SessionPlan plan_;            // of the screen
  CpuScreen screen_;            // for many centres
  PackedPoints own_packed_;     // where passes have no packed copy, but seeding profits from one
  const PackedPoints* packed_;  // one or the other
  CodedPoints own_coded_;       // where seeding alone looks at bytes first
  const CodedPoints* coded_ = nullptr;
  const CodedKernels* in_bytes_ = nullptr;
  bool exact_ = false;               // no screen
  bool kept_ = false;                // there is a packed copy, and thresholds are kept
  int64_t piece_tiles_ = 1;          // that a thread works on at a time
  int64_t block_tiles_ = 1;          // whose terms have a sum
  std::vector<float> tile_norms_;    // largest of each tile
  std::vector<float> tile_radii_;    // largest of each tile
  std::vector<float> tile_weights_;  // largest of each tile; empty without weights
  AlignedBuffer<float> weights_;     // at least w', in whole tiles; without weights one tile
  std::vector<Scratch> scratch_;
  std::vector<Model> models_;
};

}  // namespace manymeans
