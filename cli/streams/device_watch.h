// A device that does not answer shall not keep the program for ever.
#pragma once

#include <string>
#include <thread>

namespace manymeans::cli {

/// While it lives: where a device has been given up (devices_answer()) and the work has not come to its end seconds
/// later, since other threads of it wait in the driver, where nobody can reach them, the program says so and ends.
/// What a checkpoint holds by then is kept.
class DeviceWatch {
 public:
  /// Without a backend that has a device it does nothing. `saves`: there may be a checkpoint, of which it tells.
  explicit DeviceWatch(const std::string& backend, bool saves = false);

 private:
  std::jthread thread_;
};

/// The end of the program. Where a device does not answer, the usual end, which would wait for it, is left out.
int end_program(int exit_code);

}  // namespace manymeans::cli
