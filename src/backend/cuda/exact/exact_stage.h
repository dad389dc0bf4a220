// The stage after every screen except bounding boxes. It computes canonical distances for the rows whose labels the
// screen could not prove, and the sums of the rows whose labels changed.
#pragma once

#include "backend/cuda/device/device_room.h"
#include "backend/cuda/device/pass_screen.h"
#include "backend/cuda/device/session_shape.h"
#include "backend/cuda/exact/accumulate.h"
#include "backend/cuda/exact/resolve.h"

#include <cstdint>
#include <span>

namespace manymeans::cuda {

/// Rows with few candidates that a pass can list; what does not fit is resolved by all distances.
int64_t few_capacity(int64_t rows, int64_t models);

/// Overflow rows of each model that there is room for: a multiple of kOverflowBlock.
int64_t overflow_capacity(int64_t rows, int64_t models);

/// Returns the entries of changed rows for sums by label order. Returns 0 if statistics are summed in another way: they
/// fit shared memory, they have too many limbs, or there are too few values for these kernels.
int64_t label_order_capacity(int64_t rows, int64_t columns, int limbs, int64_t max_clusters, int64_t models);

/// Returns true if the tensor-core screen gathers candidates of overflow rows of a model with `clusters` prototypes.
/// The rows of smaller models get all distances.
inline bool gathers_candidates(int64_t clusters, int64_t d) {
  return clusters * d > kDirectValues;
}

class ExactStage {
 public:
  struct Sums {
    ColumnTerms terms;
    int weight_shift = 0;
    int multiprocessors = 1;
  };

  static int64_t bytes(const SessionShape& shape) {
    return DeviceRoom::counted([&](DeviceRoom& room) { ExactStage().lay_out(shape, room); });
  }
  ExactStage(const SessionShape& shape, const Sums& sums);

  /// Numbers that the kernels of a pass exchange.
  std::span<uint32_t> numbers() { return {numbers_.data(), numbers_.size()}; }
  /// Per model: not 0 if a prototype is too far out for the tensor cores, or for float32.
  uint32_t* far_from_matrix() { return numbers_.data() + kNumbers + models_; }
  uint32_t* far_from_float() { return numbers_.data() + kNumbers + 2 * models_; }
  /// Not 0 where the screen in the tensor cores marked any row.
  const uint32_t* any_marked() const { return numbers_.data() + kMarked; }

  /// Where a screen that lists rows says what it found out.
  ScreenOutput output(const LabelRows& labels);
  uint32_t* marks() { return marks_.data(); }
  int64_t mark_stride() const { return mark_stride_; }
  void clear_marks(size_t models, const Stream& stream);
  uint32_t overflow_capacity() const { return overflow_.capacity; }

  /// After a screen that only marks rows: all canonical distances of the marked rows.
  void resolve_marks(const PassWork& pass, const PointSlice& slice, const Stream& stream);
  /// After a screen that lists rows: the distances of the candidates. `gathered`: overflow rows have known candidates.
  void resolve_few(const PassWork& pass, const PointSlice& slice, bool gathered, const Stream& stream);
  /// And then all distances of the rows that are marked still.
  void resolve_all(const PassWork& pass, const PointSlice& slice, bool gathered, const Stream& stream);
  /// Sums, counts and labels of the rows that changed.
  void accumulate(const PassWork& pass, const PointSlice& slice, const Stream& stream);
  AccumulateTask accumulate_task(const PassWork& pass, const DevicePoints& points);

 private:
  ExactStage() = default;
  void lay_out(const SessionShape& shape, DeviceRoom& room);
  ResolveTask resolve_task(const PassWork& pass, const PointSlice& slice);
  ResolveTask list_task(const PassWork& pass, const PointSlice& slice, bool gathered);

  // Places in numbers_; three for each model follow: its overflow rows, and whether it was too far out for the matrix
  // screen, and for the float32 screen.
  static constexpr size_t kFew = 0, kSplit = 1, kMarked = 2, kNumbers = 3;

  Sums sums_;
  size_t models_ = 0;
  int64_t mark_stride_ = 0;
  DeviceBuffer<uint32_t> numbers_;
  DeviceBuffer<uint32_t> marks_;
  DeviceBuffer<FewRow> few_;
  OverflowRows overflow_;  // into these:
  DeviceBuffer<OverflowRow> overflow_rows_;
  DeviceBuffer<uint16_t> overflow_values_;
  DeviceBuffer<uint32_t> overflow_found_, overflow_prototypes_;
  DeviceBuffer<SplitRow> split_;
  DeviceBuffer<SliceNearest> nearest_;
  DeviceBuffer<uint32_t> entries_, first_entries_, next_entries_;  // for sums by label order
};

/// The screen that proves nothing: every canonical distance.
class AllDistances final : public Screen {
 public:
  static int64_t bytes(const SessionShape& shape) { return ExactStage::bytes(shape); }
  AllDistances(const SessionShape& shape, const ExactStage::Sums& sums) : exact_(shape, sums) {}

  std::span<uint32_t> numbers() override { return exact_.numbers(); }
  void begin_batch(std::span<const ModelMemory>, const Stream&) override {}
  void enqueue(const PassWork& pass, const PointSlice& slice, const Stream& stream) override;

 private:
  ExactStage exact_;
};

}  // namespace manymeans::cuda
