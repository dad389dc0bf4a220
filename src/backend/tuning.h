// Switches of the backends that users do not have: for tests, fuzzers and benchmarks. They never change a result,
// except that tests scale a bound down to see whether anything notices.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace manymeans {

class Backend;
struct BackendOptions;

struct CpuTuning {
  std::string instruction_set = {};  ///< empty: MANYMEANS_CPU_ISA, else the best
  std::string screen_format = {};    ///< float32, bfloat16, int8-pair; empty: MANYMEANS_CPU_SCREEN, else by cost
  int64_t memory_budget = 0;         ///< bytes for what can be avoided (packed copy, per-thread sums); 0: default
  double bound_scale = 1;            ///< multiplies the screens' error bounds
  /// Seeding looks at the points in one byte a value, if a unit multiplies bytes; empty: if it pays.
  std::optional<bool> seeding_in_bytes = {};
  std::optional<bool> passes_in_bytes = {};  ///< the same of passes that know labels

  bool operator==(const CpuTuning&) const = default;
};

struct CudaTuning {
  std::string screen_format = {};  ///< float32, float16, float16-sync; empty: by shape
  /// Columns below a row's former best score are passed over; empty: for large models.
  std::optional<bool> score_thresholds = {};
  bool queued_passes = false;  ///< never a batch of passes in one kernel
  int64_t slice_rows = 0;      ///< as if no more rows than about these fitted the device; 0: what fits
  double bound_scale = 1;      ///< multiplies the screens' error bounds

  bool operator==(const CudaTuning&) const = default;
};

struct OpenClTuning {
  int64_t slice_rows = 0;  ///< as if no more rows than about these fitted the device; 0: what fits
  double bound_scale = 1;  ///< multiplies the screen's error bounds

  bool operator==(const OpenClTuning&) const = default;
};

struct Tuning {
  CpuTuning cpu = {};
  CudaTuning cuda = {};
  OpenClTuning opencl = {};
  std::optional<bool> duplicates = {};    ///< each distinct row once; empty: MANYMEANS_DUPLICATES, else where it pays
  std::optional<bool> models_apart = {};  ///< several devices share the models, not the rows; empty: where it pays
  /// Makes the backend, for any requested name.
  std::unique_ptr<Backend> (*test_backend)(const BackendOptions&) = nullptr;

  bool operator==(const Tuning&) const = default;
};

}  // namespace manymeans
