// Labels and statistics of an ensemble's models on the CPU.
#pragma once

#include "backend/backend.h"
#include "backend/bounds_policy.h"
#include "backend/cpu/choose/cpu_plan.h"
#include "backend/cpu/pass/cpu_accumulator.h"
#include "backend/cpu/pass/cpu_tree.h"
#include "backend/cpu/screen/carried_bounds.h"
#include "backend/cpu/screen/packed_prototypes.h"
#include "core/threads.h"

#include <memory>
#include <vector>

namespace manymeans {

/// A prototype that may be the nearest of a row of the block.
struct Candidate {
  int64_t row;
  uint32_t prototype;
};

/// What the screen leaves of a block of rows, and what resolving needs.
struct ScreenScratch {
  AlignedBuffer<float> best, second, third;      // per tile of the block: (spans, rows)
  AlignedBuffer<float> upper, lower, runner_up;  // per row
  std::vector<ScreenTile> tiles;
  std::vector<SpanCandidates> spans;  // of one tile
  std::vector<uint64_t> doubtful;     // per tile: the rows that are not proved
  int64_t unproved = 0;               // how many these are
  std::vector<Candidate> candidates;  // of these
  std::vector<double> least;          // distance to the nearest candidate so far
  std::vector<double> second_least;   // and to the one after it
  std::vector<float> fine_row;
  std::vector<CodedHit> hits;     // room for those of one tile
  int64_t hit_count = 0;          // that are there
  std::vector<float> thresholds;  // likewise

  /// Makes room for blocks of so many rows, and models of so many spans.
  void reserve(int64_t rows, int64_t max_spans);
};

/// What bounds that are carried need of a block of rows.
struct BoundsScratch {
  AlignedBuffer<float> nearest, others;  // of the rows that were screened
  std::vector<uint32_t> to_screen;       // places of the rows that may not keep their label
  std::vector<uint8_t> lack_classes;     // of these
  std::vector<uint32_t> chosen;          // which of these are tightened
  std::vector<double> assigned_d2;       // the distances of the chosen to their assigned prototypes
  std::vector<TighteningTrials> trials;  // by slot
  std::vector<uint32_t> kept;            // labels of the block, so far
  AlignedBuffer<std::byte> gathered;     // tiles of the rows to screen

  /// Makes room for so many rows that are screened together, in tiles of so many bytes, and so many that are searched.
  void reserve(int64_t screened_rows, size_t bytes_of_tiles, int64_t searched_rows);
};

/// Scratch of one thread.
struct Worker {
  ScreenScratch screen;
  BoundsScratch bounds;
  AlignedBuffer<std::byte> tiles;   // packed here where there is no packed copy
  std::vector<uint32_t> labels;     // in whole tiles
  std::vector<float> wide_f32;      // rows of narrow types
  std::vector<double> d2;           // distances of a block of rows
  std::vector<PassResult> results;  // by position among the active models
};

class CpuSession final : public Session, public RowQueries {
 public:
  CpuSession(const CpuShared& shared, std::span<const int64_t> k, int threads);
  /// The same on the threads of a pool that outlives it.
  CpuSession(const CpuShared& shared, std::span<const int64_t> k, ThreadPool& pool);

  int advance(std::span<PassModel> models, const PassLimits& limits) override;
  const Labels& labels(int slot) override {
    tree_.write_labels(model(slot));
    return model(slot).labels;
  }
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
  bool two_nearest(const Matrix& prototypes, const TakeTwoNearest& take) override;

  // One model of a pass, ready for the kernels.
  struct Target {
    int slot = 0;
    const Matrix* prototypes = nullptr;
    PackedPrototypes packed;
    CodedPrototypes coded;  // with spans where the pass looks in bytes first
  };
  /// Labels of all rows, without statistics: Labeller::label(). The points are as they came, so rows may lie anywhere.
  bool label_only(const Target& target, Labels& labels, double* d2);

 private:
  CpuSession(const CpuShared& shared, std::span<const int64_t> k, std::unique_ptr<ThreadPool> pool);

  friend class CpuSeeding;  // which screens and resolves rows as a pass does

  // What bounds need to know of a model.
  struct Bounded {
    BoundsPolicy policy;
    TighteningChoice tightening;
    bool carries = false;  // bounds, in this pass
    CarriedBounds bounds;
    bool began = false;  // with them, at the latest now
  };
  // A block of neighbouring tiles, as a thread works on it.
  struct TileBlock {
    int64_t first_row = 0;
    int64_t rows = 0;
    std::span<const uint32_t> picked;  // some rows of a block: their places in it, gathered into tiles
    std::vector<Tile> tiles;
    std::span<const std::byte> ahead;  // what is read after this block

    int64_t row(int64_t i) const { return first_row + (picked.empty() ? i : picked[static_cast<size_t>(i)]); }
  };

  int64_t tile_rows() const { return shared_.plan.screen->tile_rows; }
  CpuModel& model(int slot) { return models_[static_cast<size_t>(slot)]; }
  Bounded& bounded(int slot) { return bounded_[static_cast<size_t>(slot)]; }
  Target make_target(int slot, const Matrix& prototypes, ThreadPool* pool = nullptr) const;
  std::vector<Target> make_targets(std::span<const PassModel> models);
  void prepare_workers(size_t active);
  void prepare_model(CpuModel& m);
  void label_all(std::span<const PassModel> models, std::span<const Target> targets);
  int64_t tiles_between_sorts(size_t models) const;

  // cpu_pass.cpp: screen and resolve.
  TileBlock make_block(int64_t first_tile, int64_t last_tile) const;
  void load_tiles(TileBlock& block, Worker& worker) const;
  void find_labels(const Target& target, const TileBlock& block, Worker& worker, PassResult& result) const;
  void find_all_labels(const Target& target, const TileBlock& block, Worker& worker, PassResult& result) const;
  void screen_block(const PackedPrototypes& packed, const TileBlock& block, Worker& worker) const;
  void certify_block(const Target& target, const TileBlock& block, Worker& worker, PassResult& result) const;
  // The rows of one tile of a block whose best column is not proved.
  struct Unproved {
    const CertifyTask& task;
    int64_t at;     // of the tile's first row in the block
    uint64_t rows;  // bits
  };
  void raise_lower_scores(const Target& target, const TileBlock& block, const Unproved& unproved, Worker& worker) const;
  void list_candidates(const PackedPrototypes& packed, const TileBlock& block, const Unproved& unproved,
                       Worker& worker) const;
  float fine_row(const TileBlock& block, int64_t row_in_block, Worker& worker) const;
  void add_span_candidates(const PackedPrototypes& packed, const TileBlock& block, int64_t span, int64_t row_in_block,
                           Worker& worker) const;
  void resolve_block(const Target& target, const TileBlock& block, Worker& worker, PassResult& result) const;

  // cpu_look.cpp: rows whose labels few prototypes may take over, found in bytes.
  bool begins_with_look(int slot) const;
  void look_and_resolve(const Target& target, const TileBlock& block, Worker& worker, PassResult& result);
  void resolve_hits(const Target& target, const TileBlock& block, size_t tile, Worker& worker,
                    PassResult& result) const;
  void learn_from_look(CpuModel& m, const PassResult& result) const;

  bool is_acceptable(const TileBlock& block, Worker& worker) const;
  void label_new_rows(const Target& target, TileBlock& block, Worker& worker, PassResult& result) const;

  // cpu_bounds.cpp: rows whose label cannot have changed are not screened.
  void follow_prototypes(std::span<const PassModel> models, std::span<const Target> targets);
  void record_changes(const Target& target, const TileBlock& block, const Worker& worker, int w, PassResult& result);
  void label_block(const Target& target, TileBlock& block, int worker_index, PassResult& result);
  void make_room_for_bounds(int slot);
  void learn_from_pass(const PassModel& active);
  void list_rows_to_screen(const Target& target, const TileBlock& block, Worker& worker, PassResult& result);
  void tighten(const Target& target, const TileBlock& block, Worker& worker, PassResult& result);
  void label_whole_block(const Target& target, const TileBlock& block, int worker_index, PassResult& result);
  void label_rows_to_screen(const Target& target, const TileBlock& block, Worker& worker, PassResult& result);
  void renew_bounds(Bounded& m, const TileBlock& block, Worker& worker) const;

  // Labelled rows and their distances to the prototypes of their labels.
  struct DistanceBlock : LabelledBlock {
    const double* d2 = nullptr;
  };
  // Calls body(worker, block) for blocks of all rows.
  template <class Body>
  void for_each_distance(int slot, const Matrix& prototypes, Body&& body);
  DistanceBlock distances_of(int slot, const Matrix& prototypes, int64_t first, int64_t count, Worker& worker);
  template <class T>
  void transform_rows(int64_t first, int64_t last, const Matrix& prototypes, Worker& worker, Matrix& distances) const;
  double farthest_of_sample(int slot, const Matrix& prototypes);
  InertiaSum inertia(int slot, const Matrix& prototypes);
  InertiaSum inertia_near(int slot, const Matrix& prototypes, const SumFormat& guess);

  const CpuShared& shared_;
  CpuDistances distances_;
  std::unique_ptr<ThreadPool> own_pool_;  // null where another's is used
  ThreadPool& pool_;
  SessionPlan plan_;
  std::vector<CpuModel> models_;
  std::vector<Bounded> bounded_;
  std::vector<Worker> workers_;
  CpuAccumulator accumulator_;
  CpuTree tree_;
};

}  // namespace manymeans
