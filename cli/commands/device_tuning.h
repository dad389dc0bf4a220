// manymeans bench --tune: which numbers suit a device.
#pragma once

#include <cstdint>
#include <string>

namespace manymeans::cli {

struct TuningTask {
  std::string backend;  ///< "opencl" or "opencl:1"
  std::string only;     ///< one parameter; empty: all
  int64_t rows = 0;
  int64_t clusters = 0;
  int threads = 0;
};

/// Measures one parameter after the other, each with the best values of those before, and prints what it finds. Changes
/// the process's environment.
void tune(const TuningTask& task);

}  // namespace manymeans::cli
