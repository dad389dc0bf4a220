// What a session asks of its screen. A screen owns what it keeps on the device, and says how much that is before it is
// made: every implementation has a static `bytes(const SessionShape&)`.
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

/// What a pass reads and writes beside the points.
struct PassWork {
  PassRanges ranges;
  LabelRows current;                 ///< of all rows: those of the pass before, which become those of this one
  LabelRows next;                    ///< of the slice at work: those that the pass finds
  const void* prototypes = nullptr;  ///< where those of the session's first model begin
};

class Screen {
 public:
  virtual ~Screen() = default;

  /// What the kernels of a pass tell each other: zero when a pass or a slice begins (PassRanges::numbers).
  virtual std::span<uint32_t> numbers() = 0;
  /// Enqueues what all passes of the batch need.
  virtual void begin_batch(std::span<const ModelMemory> models, const Stream& stream) = 0;
  /// Before the slices of each pass.
  virtual void begin_pass() {}
  /// Enqueues what finds the labels of a slice's rows and adds the rows that changed to the statistics.
  virtual void enqueue(const PassWork& pass, const PointSlice& slice, const Stream& stream) = 0;
  /// After the slices of each pass.
  virtual void end_pass() {}

  /// Whether it decides between the passes of a batch by how they went.
  virtual bool learns() const { return false; }
  /// What pass number `pass` of the batch counted, one entry for each of its models, in the order of the passes.
  virtual void learn(size_t /*pass*/, std::span<const PassCounters> /*found*/) {}
  /// What the last pass of the batch counted, however it was computed.
  virtual void end_batch(std::span<const PassCounters> /*last*/) {}

  /// The labels of a slot got other numbers: what was kept of its rows is void.
  virtual void forget(int /*slot*/, const Stream& /*stream*/) {}
  /// Passes were made, or labels taken, without this screen: what was kept of any row for the next pass is void.
  virtual void forget_passes() {}

  /// Replaces the label of one row among those of all rows. `label` must outlive the work of the stream.
  virtual void set_label(int slot, int64_t row, const uint32_t& label, const LabelRows& current, const Stream& stream);
  /// The labels of a slot in the order of the rows, until the next call. `scratch` has room for those of one slot.
  virtual const void* labels_of(int slot, const LabelRows& current, void* scratch, const Stream& stream);
};

/// Where the label of a row stands.
inline std::byte* label_at(const LabelRows& labels, int slot, int64_t row) {
  return static_cast<std::byte*>(labels.base) + (slot * labels.stride + row) * labels.width;
}

}  // namespace manymeans::cuda
