// The screen of k-means++. It finds the rows that a candidate may come nearer to than their centres. It bounds by how
// much the potential falls: docs/developer/screens.md, "Seeding".
#pragma once

#include "backend/cpu/pass/cpu_screen.h"
#include "backend/cpu/screen/coded_points.h"
#include "backend/seed_choice.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

/// The least distances of one model and their integer sums.
struct SeedModel {
  AlignedBuffer<double> least;  // m_i
  TermAdder adder;              // of the terms T_i
  bool in_lanes = false;        // the kernels make these terms, too
  std::vector<int64_t> blocks;  // sums of T over blocks of rows, kDistanceLimbs limbs each
  // Where the screen keeps thresholds: what a row's score must exceed, in whole tiles, and per tile how much a
  // threshold may be below the exact one.
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

/// A distinct centre, or candidate for one, as a column of the screen.
struct SeedColumn {
  int64_t centre;  // the first with these bits
  int64_t place;   // among the words that the screen writes for a tile
  double slope;    // of its bound
  double error;
};
/// The centres or candidates of one model, as the screen needs them.
struct SeedLook {
  int slot = 0;
  const Matrix* centres = nullptr;
  PackedPrototypes packed;  // or, in bytes,
  CodedCentres coded;
  bool screenable = false;
  std::vector<SeedColumn> columns;
};
/// By how much a column lowers the potential, in the frame's units: at most by 2 excess, and at least by 2 (excess -
/// error).
struct SeedGain {
  double excess = 0;
  double error = 0;
};

/// Some neighbouring tiles.
struct TileRange {
  int64_t first;
  int64_t last;
};

/// Memory of a thread that looks at tiles.
struct SeedScratch {
  std::vector<HitsTile> tiles;            // of a piece
  std::vector<uint64_t> hits;             // of the tiles, by place
  std::vector<double> excess;             // by place
  std::vector<float> thresholds;          // of a piece, where none are kept
  AlignedBuffer<std::byte> packed_tiles;  // of a piece, where none are kept
};

/// Some tiles, screened for one model.
struct TilesOfLook {
  const SeedModel& state;
  const SeedLook& look;
  TileRange some;
  SeedScratch& scratch;
};

/// The screen of a seeding: the points in the form that every step reads, and bounds for tiles of them.
class SeedScreen {
 public:
  SeedScreen(const CpuShared& shared, int64_t max_centres, ThreadPool& pool);

  bool exact() const { return exact_; }  ///< nothing is screened: all rows are looked at
  bool kept() const { return kept_; }    ///< there is a packed copy, and models keep their thresholds
  int64_t value_bytes() const { return static_cast<int64_t>(in_bytes_ != nullptr ? 1 : sizeof(float)); }
  SeedScratch scratch(int64_t piece_tiles) const;

  int64_t tile_rows() const { return tile_rows_; }
  int64_t tiles() const { return (shared_.input.points.n + tile_rows_ - 1) / tile_rows_; }
  int64_t rows_of(int64_t tile) const { return std::min(tile_rows_, shared_.input.points.n - tile * tile_rows_); }
  uint64_t every_row(int64_t tile) const { return ~uint64_t{0} >> (64 - rows_of(tile)); }

  /// Sets the thresholds of a tile that has its first centres, and by how much they may be below the exact ones. Bounds
  /// of the least distances still hold once those have fallen.
  void begin_thresholds(SeedModel& state, int64_t tile, double farthest) const;
  /// Renews the thresholds of the rows from the first to the last one in `rows`.
  void renew_thresholds(SeedModel& state, int64_t tile, uint64_t rows) const;

  SeedLook look(int slot, const Matrix& centres) const;
  /// Writes the rows that each column may lower: a word for each tile and column.
  void find_rows(const TilesOfLook& at, uint64_t* words) const;
  /// Adds the excess of the rows that find_rows() has just found to the gains of the columns, and the maximal
  /// overestimate of their upper scores.
  void add_gains(const TilesOfLook& at, const uint64_t* words, SeedGain* gains) const;
  /// The columns that may lower the potential most, by candidate. NaN counts as one of them.
  std::vector<int64_t> contenders(const SeedModel& state, const SeedLook& look, std::span<const SeedGain> gains) const;

 private:
  void make_copies(int64_t max_centres, ThreadPool& pool);
  void measure_tiles(ThreadPool& pool);
  void pack(SeedLook& look) const;
  void code(SeedLook& look) const;
  double underflow() const;
  void fill_tiles(const SeedModel& state, TileRange some, SeedScratch& scratch) const;
  int64_t screen_tiles(const SeedLook& look, SeedScratch& scratch) const;

  const CpuShared& shared_;
  int64_t tile_rows_;
  PackedPoints own_packed_;     // where passes have no packed copy, but seeding profits from one
  const PackedPoints* packed_;  // one or the other
  CodedPoints own_coded_;       // where seeding alone looks at bytes first
  const CodedPoints* coded_ = nullptr;
  const CodedKernels* in_bytes_ = nullptr;
  bool exact_;
  bool kept_ = false;
  std::vector<float> tile_norms_;    // largest of each tile
  std::vector<float> tile_radii_;    // largest of each tile
  std::vector<float> tile_weights_;  // largest of each tile; empty without weights
  AlignedBuffer<float> weights_;     // at least w', in whole tiles; without weights one tile
};

/// The first row of `rows` with the bits of row k of `wanted`; -1: there is none.
int64_t first_equal_row(const Matrix& rows, const Matrix& wanted, int64_t k);

}  // namespace manymeans
