// The one exception type of manymeans.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace manymeans {

/// The kind of an error. The values are the exit codes of the command line program.
enum class ErrorCode : int {
  kInternal = 1,     ///< a bug in manymeans: please report it
  kUsage = 2,        ///< a parameter is wrong, or parameters contradict each other
  kBadData = 3,      ///< a file or the values in it cannot be used
  kUnavailable = 4,  ///< no such device, not built in, out of memory, disk full
  kInterrupted = 5,  ///< stopped by the user before there was anything to return
};

/// Thrown by every function of the library that fails.
/// The message reads "[where] what was wrong, what was found; what would be right".
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& where, const std::string& what)
      : std::runtime_error("[" + where + "] " + what), code_(code) {}

  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace manymeans
