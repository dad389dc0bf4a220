// A device that does not answer shall not keep the program for ever.
#pragma once

#include <string>
#include <thread>

namespace manymeans::cli {

/// Ends the program with a message, while it lives, if a device has been given up (devices_answer()) and the work has
/// not ended seconds later. Other threads of the work then wait in the driver, and cannot be reached. The contents of a
/// checkpoint are kept.
class DeviceWatch {
 public:
  /// Without a backend that has a device it does nothing. `saves`: there may be a checkpoint; the message says so.
  explicit DeviceWatch(const std::string& backend, bool saves = false);

 private:
  std::jthread thread_;
};

/// The end of the program. Where a device does not answer, the usual end, which would wait for it, is left out.
int end_program(int exit_code);

}  // namespace manymeans::cli
