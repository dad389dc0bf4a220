// Work that a device did not end in time. What it uses cannot be freed: that would wait for the device, for ever.
//
// Like the table of mapped ranges (core/mapped_range.h) this is state that outlives a call, for the same reason:
// destructors can reach nothing else, and what hangs is a device, which all fits of a process share.
#pragma once

#include "backend/cuda/runtime/patience.h"

#include <cuda_runtime_api.h>

namespace manymeans::cuda {

/// Nobody waits for this stream any more. It is left alone, and so is all memory until it has come to its end.
void give_up(cudaStream_t stream) noexcept;

/// While it lives, its thread hands work to the driver, which may wait for the device there: a kernel that is launched
/// for the first time is loaded when the device is idle. Nothing can be asked meanwhile, so manymeans::devices_answer()
/// is false once that takes longer than a wait for so many passes may.
class HandingOver {
 public:
  HandingOver(const Patience& patience, int passes);
  ~HandingOver();
  HandingOver(const HandingOver&) = delete;
  HandingOver& operator=(const HandingOver&) = delete;

  bool takes_too_long() const;

 private:
  const Patience& patience_;
  const int passes_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// False while a stream that was given up is known to be at work. Asks nobody, so it never waits.
bool devices_answer() noexcept;

/// The same, but asks the devices: work that was given up may have ended meanwhile.
bool devices_answer_now() noexcept;

}  // namespace manymeans::cuda
