// The built-in features, and the hardware of this machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace manymeans {

/// One thing that can be chosen by name.
struct Choice {
  std::string name;
  std::string description;
  bool available = false;  ///< built in, and this machine has what it needs
};

/// The abilities of this build on this machine.
struct Info {
  std::string version;
  std::string compiler;
  std::string build_type;
  int threads = 0;               ///< what `threads = 0` means here
  int64_t available_memory = 0;  ///< bytes that this process may still take
  std::vector<Choice> backends;
  std::vector<Choice> instruction_sets;  ///< best first
  std::vector<Choice> inits;
  std::vector<Choice> readers;
  std::vector<Choice> writers;
  std::vector<std::string> devices;
};
/// All of it. Drivers of devices are loaded, and a Python that has pyarrow may be started; that may take a second.
Info info();
/// All but `backends` and `devices`. No driver is loaded, no Python started: what it would read counts as available.
Info build_info();

/// Replaces the CMake option in errors about the backend "cuda", where this build has none. A program that knows of
/// another build calls this before other threads use the library.
void explain_missing_cuda(std::string why);

}  // namespace manymeans
