// The interface of a session's screen. A screen owns what it keeps on the device. Its size is known before it is made:
// every implementation has a static `bytes(const SessionShape&)`.
#pragma once

#include "backend/cuda/device/pass_ranges.h"
#include "backend/cuda/device/point_slice.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/device/session_memory.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace manymeans::cuda {

using device::ModelMemory;

/// The data that a pass reads and writes, other than the points.
struct PassWork {
  PassRanges ranges;
  LabelRows current;                 ///< of all rows, from the pass before; they become this pass's labels
  LabelRows next;                    ///< of the slice at work, found by the pass
  const void* prototypes = nullptr;  ///< prototypes of the session's first model
};

class Screen {
 public:
  virtual ~Screen() = default;

  /// Numbers that the kernels of a pass exchange: zero when a pass or a slice begins (PassRanges::numbers).
  virtual std::span<uint32_t> numbers() = 0;
  /// Enqueues what all passes of the batch need.
  virtual void begin_batch(std::span<const ModelMemory> models, const Stream& stream) = 0;
  /// Before the slices of each pass.
  virtual void begin_pass() {}
  /// Enqueues what finds the labels of a slice's rows and adds the rows that changed to the statistics.
  virtual void enqueue(const PassWork& pass, const PointSlice& slice, const Stream& stream) = 0;
  /// After the slices of each pass.
  virtual void end_pass() {}

  /// Returns true if the screen decides between the passes of a batch by their results.
  virtual bool learns() const { return false; }
  /// Takes the counts of the batch's pass number `pass`, one for each of its models, in the order of the passes.
  virtual void learn(size_t /*pass*/, std::span<const PassCounters> /*found*/) {}
  /// Takes the counts of the batch's last pass, however it was computed.
  virtual void end_batch(std::span<const PassCounters> /*last*/) {}

  /// The labels of a slot got other numbers: what was kept of its rows is void.
  virtual void forget(int /*slot*/, const Stream& /*stream*/) {}
  /// Passes were made, or labels taken, without this screen: what was kept of any row for the next pass is void.
  virtual void forget_passes() {}

  /// Replaces one row's label in `current`, the labels of all rows. `label` must outlive the work of the stream.
  virtual void set_label(int slot, int64_t row, const uint32_t& label, const LabelRows& current, const Stream& stream);
  /// The labels of a slot in the order of the rows, until the next call. `scratch` has room for one slot's labels.
  virtual const void* labels_of(int slot, const LabelRows& current, void* scratch, const Stream& stream);
};

/// The address of a row's label.
inline std::byte* label_at(const LabelRows& labels, int slot, int64_t row) {
  return static_cast<std::byte*>(labels.base) + (slot * labels.stride + row) * labels.width;
}

}  // namespace manymeans::cuda
