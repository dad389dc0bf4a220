// Work that a device did not end in time. What it uses cannot be freed: that would wait for the device, for ever.
//
// Like the table of mapped ranges (core/mapped_range.h) this is state that outlives a call, for the same reason:
// destructors can reach nothing else, and what hangs is a device, which all fits of a process share.
#pragma once

#include "backend/device/patience.h"

namespace manymeans::device {

/// What a queue holds, as its runtime knows it.
struct Unfinished {
  void* queue;
  bool (*has_ended)(void* queue);  ///< in whatever way: a device that was reset answers with an error; never waits
};

/// Nobody waits for this work any more. Its queue is left alone, and so is all memory until it has come to its end.
void give_up(const Unfinished& work) noexcept;

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

/// False while work that was given up is known to go on. Asks nobody, so it never waits.
bool devices_answer() noexcept;

/// The same, but asks the devices: work that was given up may have ended meanwhile.
bool devices_answer_now() noexcept;

}  // namespace manymeans::device
