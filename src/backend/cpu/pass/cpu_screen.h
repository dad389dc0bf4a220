// Screen and resolve: labels of one block of tiles and one model.
#pragma once

#include "backend/cpu/choose/cpu_plan.h"
#include "backend/cpu/pass/cpu_distances.h"
#include "backend/cpu/screen/packed_prototypes.h"
#include "core/threads.h"

#include <span>
#include <vector>

namespace manymeans {

/// A prototype that may be the nearest of a row of the block.
struct Candidate {
  int64_t row;
  uint32_t prototype;
};

/// Results of the screen for a block of rows, and scratch for resolving.
struct ScreenScratch {
  AlignedBuffer<float> best, second, third;      // per tile of the block: (spans, rows)
  AlignedBuffer<float> upper, lower, runner_up;  // per row
  std::vector<ScreenTile> tiles;
  std::vector<SpanCandidates> spans;  // of one tile
  std::vector<uint64_t> doubtful;     // per tile: the rows that are not proved
  int64_t unproved = 0;               // how many these are
  std::vector<Candidate> candidates;  // of unproved rows
  std::vector<double> least;          // distance to the nearest candidate so far
  std::vector<double> second_least;   // and to the one after it
  std::vector<float> fine_row;
  std::vector<CodedHit> hits;     // room for the hits of one tile
  int64_t hit_count = 0;          // that are there
  std::vector<float> thresholds;  // of one tile

  /// Makes room for blocks of `rows` rows, and models of up to `max_spans` spans.
  void reserve(int64_t rows, int64_t max_spans);
};

/// Scratch of one thread, and the labels that it found.
struct Worker {
  ScreenScratch screen;
  AlignedBuffer<std::byte> tiles;  // packed here if there is no packed copy
  std::vector<uint32_t> labels;    // in whole tiles
  std::vector<float> wide_f32;     // rows of narrow types
  std::vector<double> d2;          // distances of a block of rows
};

/// One model of a pass, ready for the kernels.
struct PassTarget {
  int slot = 0;
  const Matrix* prototypes = nullptr;
  PackedPrototypes packed;
  CodedPrototypes coded;  // with spans where the pass looks in bytes first
  bool carries = false;   // bounds, in this pass
};

/// A block of neighbouring tiles, as a thread works on it.
struct TileBlock {
  int64_t first_row = 0;
  int64_t rows = 0;
  std::span<const uint32_t> picked;  // some rows of a block: their places in it, gathered into tiles
  std::vector<Tile> tiles;
  std::span<const std::byte> ahead;  // what is read after this block

  int64_t row(int64_t i) const { return first_row + (picked.empty() ? i : picked[static_cast<size_t>(i)]); }
};

/// Finds labels of packed tiles, and resolves by canonical distances what it cannot prove. Owns the workers; knows
/// neither models nor statistics. Labels are left in the worker.
class CpuScreen {
 public:
  /// The plan must outlive it.
  CpuScreen(const CpuShared& shared, const SessionPlan& plan, int threads)
      : shared_(shared), plan_(plan), distances_(shared), workers_(static_cast<size_t>(threads)) {}

  /// Makes room for the threads. Call it before a worker is used.
  void prepare();
  Worker& worker(int w) { return workers_[static_cast<size_t>(w)]; }
  std::span<Worker> workers() { return workers_; }

  int64_t tile_rows() const { return shared_.plan.screen->tile_rows; }
  PassTarget make_target(int slot, const Matrix& prototypes, bool in_bytes, ThreadPool* pool = nullptr) const;
  TileBlock make_block(int64_t first_tile, int64_t last_tile) const;
  void load_tiles(TileBlock& block, Worker& worker) const;

  void find_labels(const PassTarget& target, const TileBlock& block, Worker& worker, PassResult& result) const;
  void find_all_labels(const PassTarget& target, const TileBlock& block, Worker& worker, PassResult& result) const;
  /// Finds labels from the labels of the pass before, which the worker has (cpu_look.cpp).
  void look_and_resolve(const PassTarget& target, const TileBlock& block, Worker& worker, PassResult& result) const;

 private:
  // The rows of one tile of a block whose best column is not proved.
  struct Unproved {
    const CertifyTask& task;
    int64_t at;     // of the tile's first row in the block
    uint64_t rows;  // bits
  };

  void screen_block(const PackedPrototypes& packed, const TileBlock& block, Worker& worker) const;
  void certify_block(const PassTarget& target, const TileBlock& block, Worker& worker, PassResult& result) const;
  void raise_lower_scores(const PassTarget& target, const TileBlock& block, const Unproved& unproved,
                          Worker& worker) const;
  void list_candidates(const PackedPrototypes& packed, const TileBlock& block, const Unproved& unproved,
                       Worker& worker) const;
  void resolve_block(const PassTarget& target, const TileBlock& block, Worker& worker, PassResult& result) const;
  float fine_row(const TileBlock& block, int64_t row_in_block, Worker& worker) const;
  void add_span_candidates(const PackedPrototypes& packed, const TileBlock& block, int64_t span, int64_t row_in_block,
                           Worker& worker) const;
  void resolve_hits(const PassTarget& target, const TileBlock& block, size_t tile, Worker& worker,
                    PassResult& result) const;

  const CpuShared& shared_;
  const SessionPlan& plan_;
  CpuDistances distances_;
  std::vector<Worker> workers_;
};

}  // namespace manymeans
