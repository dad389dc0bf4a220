// Work that a device did not end in time. Its memory cannot be freed: that would wait for the device, for ever.
//
// This state outlives a call, like the table of mapped ranges (core/mapped_range.h), for the same reason: destructors
// can reach nothing else. All fits of a process share the device that hangs.
#pragma once

#include "backend/device/patience.h"

namespace manymeans::device {

/// The unfinished work of a queue, as its runtime knows it.
struct Unfinished {
  void* queue;
  bool (*has_ended)(void* queue);  ///< in whatever way: a device that was reset answers with an error; never waits
};

/// From now on nothing waits for this work. Its queue is left alone, and so is all memory until it has come to its end.
void give_up(const Unfinished& work) noexcept;

/// While it lives, its thread hands work to the driver, which may wait for the device there. A kernel that is launched
/// for the first time is loaded when the device is idle. No query is possible meanwhile, so manymeans::devices_answer()
/// is false once that takes longer than a wait for `passes` passes may.
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

/// False while work that was given up is known to go on. It queries no device, so it never waits.
bool devices_answer() noexcept;

/// devices_answer(), but it queries the devices: work that was given up may have ended meanwhile.
bool devices_answer_now() noexcept;

}  // namespace manymeans::device
