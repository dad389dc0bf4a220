// The tensor-core screen of a session: fp16 scores, a second product for rows whose list overflowed, float32, and
// canonical distances. docs/developer/screens.md, "Tensor cores".
#pragma once

#include "backend/cuda/device/pass_screen.h"
#include "backend/cuda/exact/exact_stage.h"
#include "backend/cuda/float32/float_screen.h"
#include "backend/cuda/margins/row_margins.h"
#include "backend/cuda/tensor/prototype_columns.h"
#include "backend/cuda/tensor/row_memory.h"
#include "backend/cuda/tensor/score_falls.h"

#include <cstdint>
#include <optional>
#include <span>

namespace manymeans::cuda {

/// The best scores of a pass, and how far they are expected to fall until the next.
class RowScores {
 public:
  static int64_t bytes(const SessionShape& shape) {
    return DeviceRoom::counted([&](DeviceRoom& room) { RowScores().lay_out(shape, room); });
  }
  explicit RowScores(const SessionShape& shape);

  /// `used`: columns below the thresholds are passed over.
  ScoreThresholds thresholds(const PassWork& pass, const float* shifts, bool used);
  /// Guesses the falls of a pass that uses thresholds.
  void guess(const PackedRows& rows, const PackedColumns& columns, const ScreenOutput& output, int64_t max_clusters,
             const Stream& stream);

 private:
  RowScores() = default;
  void lay_out(const SessionShape& shape, DeviceRoom& room);

  int64_t stride_ = 0;
  DeviceBuffer<float> lowers_, sampled_falls_;
  DeviceBuffer<ScoreDrop> falls_;
};

class TensorScreen final : public Screen {
 public:
  /// A session's frames for all screens.
  struct Frames {
    HalfFrame half;
    FloatFrame full;
    double bound_scale = 1;                 ///< tests only
    std::optional<bool> always_thresholds;  ///< likewise, see RowMemory
  };

  static int64_t bytes(const SessionShape& shape);
  TensorScreen(const SessionShape& shape, const Frames& frames, const ExactStage::Sums& sums, BoundsLog& log,
               const Stream& stream);

  std::span<uint32_t> numbers() override { return exact_.numbers(); }
  void begin_batch(std::span<const ModelMemory> models, const Stream& stream) override;
  void begin_pass() override { memory_.begin_pass(); }
  void enqueue(const PassWork& pass, const PointSlice& slice, const Stream& stream) override;
  void end_pass() override { memory_.end_pass(); }

  bool learns() const override { return memory_.learns(); }
  void learn(size_t pass, std::span<const PassCounters> found) override { memory_.learn(pass, found); }
  void end_batch(std::span<const PassCounters> last) override { memory_.end_batch(last); }
  void forget(int, const Stream&) override { memory_.forget(); }
  void forget_passes() override { memory_.forget(); }
  void set_label(int slot, int64_t row, const uint32_t& label, const LabelRows& current, const Stream& stream) override;

  // For the persistent kernel, which does the same with the points in shared memory.
  MatrixPackTask pack_task(const PassWork& pass) { return columns_.pack_task(pass, exact_.far_from_matrix()); }
  AccumulateTask accumulate_task(const PassWork& pass, const DevicePoints& points) {
    return exact_.accumulate_task(pass, points);
  }

 private:
  ScreenOutput output(const PassWork& pass);
  void screen_rows(const PassWork& pass, const PointSlice& slice, const Stream& stream);
  void screen_rows_left(const PassWork& pass, const PackedRows& points, const PackedColumns& columns,
                        const Stream& stream);

  int64_t d_;
  int multiprocessors_;
  PrototypeColumns columns_;
  ExactStage exact_;
  RowMemory memory_;
  std::optional<RowScores> scores_;
  std::optional<RowMargins> margins_;
  std::optional<SecondLook> second_look_;
};

}  // namespace manymeans::cuda
