// Arrays for the kernels of a session's passes, in addition to the session's own memory.
#pragma once

#include "backend/device/device_kernels.h"
#include "backend/opencl/kernels/kernel_types.h"
#include "backend/opencl/pass/opencl_plan.h"
#include "backend/opencl/pass/opencl_shared.h"

#include <cstdint>
#include <span>
#include <vector>

namespace manymeans::opencl {

class PassArrays {
 public:
  /// `k`: of the session's models.
  PassArrays(const OpenClShared& shared, const device::SessionMemory& memory, std::span<const int64_t> k);
  /// Bytes that the arrays take of the device's memory.
  static int64_t bytes(const Input& input, std::span<const int64_t> k, const OpenClPlan& plan);

  /// Sends the places of the batch's models.
  void begin(const device::PassBatch& batch, const device::Queue& queue);
  /// The models of the batch at hand, and where its pass counts.
  Shape shape(const device::PassBatch& batch) const;
  /// The shape outside of a batch.
  Shape shape() const;
  Range range_of(const device::ModelMemory& model) const;

  std::span<const Range> models() const { return ranges_; }
  int64_t next_stride() const { return next_stride_; }
  int64_t mark_stride() const { return mark_stride_; }
  Address ranges() const { return ranges_there_.at(); }
  Address next() const { return next_.at(); }    ///< labels that a pass finds, of a slice of the rows: (models, rows)
  Address marks() const { return marks_.at(); }  ///< a bit for each of its rows that is not proved; zero between passes
  Address columns() const { return columns_.at(); }  ///< of prototypes: those of the screen, or groups of linear models
  Address states() const { return states_.at(); }
  Address slice() const { return slice_.at(); }  ///< packed rows, where they are not all on the device

 private:
  struct Sizes;

  const OpenClShared& shared_;
  const device::SessionMemory& memory_;
  int64_t next_stride_, mark_stride_;
  std::vector<Range> ranges_;
  device::Buffer ranges_there_, next_, marks_, columns_, states_, slice_;
};

/// Up to this many columns a row's values stay in registers.
constexpr int64_t kRegisterColumns = 16;
/// Prototypes of a model are padded to a multiple of this many columns; LaunchParameters::columns divides it.
constexpr int64_t kMaxColumnsTogether = 16;

}  // namespace manymeans::opencl
