// Labels and statistics of an ensemble's models on the CPU.
#pragma once

#include "backend/backend.h"
#include "backend/cpu/cpu_plan.h"
#include "backend/cpu/packed_points.h"
#include "backend/cpu/packed_prototypes.h"
#include "core/threads.h"

#include <memory>
#include <vector>

namespace manymeans {

/// The powers of two that turn w' x into limbs: what add_terms needs.
struct TermScales {
  bool fast = false;        ///< the kernels may be used: every limb is below 2^51 and every power is a normal number
  std::vector<double> top;  ///< per column
  double radix = 0;

  explicit TermScales(const Input& input);
};

/// Everything of an upload that its sessions share and never change.
struct CpuShared {
  const Input& input;
  const CpuKernels& kernels;
  BackendOptions options;
  PointsPlan plan;
  PackedPoints packed;
  TermScales scales;
};

/// A change of statistics made by one thread, and which clusters it touched.
struct Delta {
  Statistics statistics;
  std::vector<uint8_t> touched;
};

/// One row that moved; `from` is kNoLabel in the first pass.
struct Change {
  int64_t row;
  uint32_t from;
  uint32_t to;
};
constexpr uint32_t kNoLabel = ~uint32_t{0};

/// Scratch of one thread.
struct Worker {
  AlignedBuffer<std::byte> tiles;  // packed here where there is no packed copy
  AlignedBuffer<float> best, second;  // per tile of a group: (spans, rows)
  AlignedBuffer<float> upper, lower, runner_up;
  AlignedBuffer<int32_t> column;
  std::vector<ScreenTile> screen_tiles;
  std::vector<uint32_t> labels, old_labels;
  std::vector<int64_t> unproved;  // rows of the group
  std::vector<float> fine_row;       // of the row that is being resolved
  float fine_norm = 0;
  std::vector<uint32_t> candidates;
  std::vector<float> wide_f32;  // rows of narrow types
  std::vector<float> thresholds;
  std::vector<uint64_t> hits;
  std::vector<Delta> deltas;                 // by slot
  std::vector<std::vector<Change>> changes;  // by slot
  std::vector<PassResult> results;           // by position among the active models
};

/// D^2 sampling state of one model: the least distances and their integer sums.
struct SeedState {
  AlignedBuffer<double> least;  // m_i
  TermAdder adder;              // of the terms T_i
  std::vector<int64_t> blocks;  // sums of T over blocks of rows, kDistanceLimbs limbs each
};

class CpuSession final : public Session {
 public:
  CpuSession(const CpuShared& shared, std::span<const int64_t> k, int threads);

  int advance(std::span<PassModel> models, int n) override;
  const Labels& labels(int slot) override { return model(slot).labels; }
  const Statistics& statistics(int slot) override { return model(slot).statistics; }
  Labels take_labels(int slot) override;
  std::vector<DistantRow> farthest_rows(int slot, const Matrix& prototypes, int64_t count) override;
  void move_row(int slot, int64_t row, uint32_t label) override;
  void relabel(int slot, std::span<const uint32_t> new_label, std::span<const int64_t> kept) override;
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
    int64_t k = 0;
    bool labelled = false;
    Labels labels;
    Statistics statistics;
    SeedState seed;
  };
  // A group of neighbouring tiles, as a thread works on it.
  struct Group {
    int64_t first_row = 0;
    int64_t rows = 0;
    std::vector<Tile> tiles;
    std::span<const std::byte> ahead;  // what is read after this group
  };
  // One model of a pass, ready for the kernels.
  struct Target {
    int slot = 0;
    const Matrix* prototypes = nullptr;
    PackedPrototypes packed;
  };

  int64_t tile_rows() const { return shared_.plan.screen->tile_rows; }
  Model& model(int slot) { return models_[static_cast<size_t>(slot)]; }
  Target make_target(int slot, const Matrix& prototypes) const;
  std::vector<Target> make_targets(std::span<const PassModel> models);
  void prepare_workers(size_t active);

  // cpu_pass.cpp: screen and resolve.
  Group load_group(int64_t first_tile, int64_t last_tile, Worker& worker) const;
  void find_labels(const Target& target, const Group& group, Worker& worker, PassResult& result) const;
  void find_all_labels(const Target& target, const Group& group, Worker& worker, PassResult& result) const;
  void screen_group(const PackedPrototypes& packed, const Group& group, Worker& worker) const;
  void certify_group(const Target& target, const Group& group, Worker& worker, PassResult& result) const;
  void resolve_row(const Target& target, const Group& group, int64_t row_in_group, Worker& worker,
                   PassResult& result) const;
  void find_candidates(const PackedPrototypes& packed, int64_t row, int64_t row_in_group, Worker& worker) const;
  void add_span_candidates(const PackedPrototypes& packed, int64_t span, int64_t row, float threshold,
                           Worker& worker) const;
  uint32_t nearest(const Matrix& prototypes, int64_t row, std::span<const uint32_t> candidates, Worker& worker) const;
  uint32_t nearest_of_all(const Matrix& prototypes, int64_t row, Worker& worker) const;
  double distance(int64_t row, const Matrix& prototypes, int64_t k, Worker& worker) const;
  const float* row_f32(int64_t row, Worker& worker) const;

  // cpu_statistics.cpp: accumulate.
  void prefetch_row(int64_t row) const;
  void record_changes(int slot, const Group& group, int worker_index, PassResult& result);
  void apply_change(const Change& change, Worker& worker, Statistics& statistics, std::vector<uint8_t>* touched) const;
  void add_row(int64_t row, Worker& worker, int64_t* to, int64_t* from) const;
  void merge_deltas(std::span<const PassModel> models);
  void apply_by_label(int slot);

  // Calls body(worker, row, distance to the prototype of the row's label) for all rows.
  template <class Body>
  void for_each_distance(int slot, const Matrix& prototypes, Body&& body);

  // cpu_seeding.cpp
  int64_t seed_block_rows() const;
  void seed_begin(SeedState& state, const Matrix& centre);
  void seed_sum_blocks(SeedState& state);
  void seed_add_many(const Target& target);
  template <class Body>
  void for_each_hit(const Target& target, const SeedState& state, const Tile& tile, int64_t first_row, Worker& worker,
                    Body&& body) const;
  template <class Visit>
  void for_each_possible(std::span<const Target> targets, Visit&& visit);
  void seed_add_terms(const SeedState& state, int64_t row, double least, int sign, int64_t* limbs) const;

  const CpuShared& shared_;
  ThreadPool pool_;
  SessionPlan plan_;
  std::vector<Model> models_;
  std::vector<Worker> workers_;
};

}  // namespace manymeans
