// Seeding on the device (k-means++ and k-means||): class Seeding of backend/backend.h, the same bits.
//
// A step of k-means++ reads one byte a value. The matrix units multiply an 8-bit copy of the points with 8-bit
// candidates. The products say which rows a candidate may lower; only these rows get a canonical distance. The proof is
// in docs/developer/screens.md, "Seeding on a GPU". A step is three kernels for all models: they draw candidates,
// compare all rows with them, and add the best. Choices depend on integers only, so run() queues step after step. The
// host learns at the end which rows became centres.
#pragma once

#include "backend/cuda/device/device_points.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/device/staging.h"
#include "backend/seeding.h"
#include "backend/upload.h"
#include "data/input.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace manymeans::cuda {

struct SeedFrame;
struct SeedModel;
struct SeedRows;
struct SeedStep;

struct SeedingOptions {
  bool exact = false;                           ///< every canonical distance, no screen
  int64_t columns_to_screen = 24;               ///< with fewer columns a screen costs more than it saves
  int64_t memory_budget = 0;                    ///< bytes that the screen may take; 0: what the device has free
  int64_t candidate_bytes = int64_t{64} << 20;  ///< that candidates of models taken together may take, but for marks
  double bound_scale = 1;                       ///< tests only: multiplies the screen's error bound
  Upload* upload = nullptr;                     ///< of the points: its passes add thousands of centres at once
};

/// Device memory while seeding: N (D + 8) bytes for the screen, N * 12 per model, N per model and step, and
/// up to SeedingOptions::candidate_bytes. Passes take the memory of a session, and N * 12 per model on the host.
class DeviceSeeding final : public Seeding {
 public:
  /// `input` describes the same points, which lie on the calling thread's device; both must outlive this. It has a
  /// stream of its own: whatever wrote the points has to be done. SeedingOptions::upload must outlive it too.
  DeviceSeeding(const Input& input, const DevicePoints& points, int slots, const Patience& patience,
                const SeedingOptions& options = {});
  ~DeviceSeeding() override;

  std::vector<double> begin(std::span<const SeedCentres> models) override;
  void fix_scale(int slot, double largest) override;
  void add(std::span<const SeedCentres> models) override;
  WideInt total(int slot) override;
  std::vector<int64_t> pick(int slot, std::span<const WideInt> targets) override;
  void trial(std::span<SeedTrial> trials) override;
  bool run(std::span<SeedRun> runs, int64_t steps) override;
  std::vector<int64_t> sample(int slot, const SeedSample& sample) override;
  std::vector<int64_t> cluster_weights(int slot) override;
  std::span<const double> least(int slot) override;

  /// Returns true if candidates are screened. Known after the first centre: without room for the copy there is no
  /// screen.
  bool screens() const { return screens_; }
  /// Canonical distances computed by trial() and add() so far, the first centres' left out: what the screen let pass.
  int64_t exact_distances();

 private:
  struct Model;
  struct Screen;
  struct Batch;

  void use_device() const;
  Model& model(int slot);
  SeedRows rows_of(int slot);
  SeedFrame frame() const;
  bool screen_fits() const;
  void make_screen();
  void make_room();
  void summarize(int slot, bool sums);
  void forget_trials();
  int add_tiles(int slot, int64_t candidates);
  int add_tiles(int slot, const Matrix& candidates, int64_t first, int64_t last);
  void make_room_for_batch(int marked_tiles);
  void place_batch(bool marks);
  void compare_batch();
  int64_t max_tiles() const;
  void try_together(std::span<SeedTrial> trials);
  void run_together(std::span<SeedRun> runs, int64_t steps);
  void make_steps(std::span<SeedRun> runs, SeedStep& step, int64_t last);
  SeedModel to_choose(int slot, int tile);
  SeedStep step_of(std::span<const SeedModel> models);
  static int64_t tried(const Model& model, const Matrix& centre);
  void add_tried(std::span<const SeedCentres> models);
  void lower(int slot, const Matrix& centres);
  bool lower_by_pass(int slot, const Matrix& centres);

  const Input& input_;
  DevicePoints points_;
  int device_ = 0;
  Stream stream_;
  SeedingOptions options_;
  bool screens_ = false;
  std::vector<Model> models_;
  DeviceBuffer<double> least_;      // n of each model
  DeviceBuffer<float> thresholds_;  // likewise
  DeviceBuffer<int64_t> blocks_;    // sums of each model
  DeviceBuffer<int64_t> totals_;    // likewise
  std::unique_ptr<Screen> screen_;
  std::unique_ptr<Batch> batch_;
  device::Staging staged_{runtime()};  // of centres and candidates, which are gone or others before the device is there
  DeviceBuffer<unsigned long long> counters_;  // exact distances; rows listed; a largest value
};

}  // namespace manymeans::cuda
