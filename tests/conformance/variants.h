// Every way to compute that this build has on this machine, apart from the reference.
#pragma once

#include "backend/backend.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace manymeans::test {

/// A backend with one of its instruction sets and screens.
struct Target {
  std::string backend;
  std::string instruction_set = {};  // empty: the backend has no choice of them
  std::string screen_format = {};    // likewise
  int64_t slice_rows = 0;            // as if no more rows than about these fitted the device
  bool queued_passes = false;        // cuda: see CudaTuning
  bool score_thresholds = false;     // likewise

  std::string name() const {
    return backend + (instruction_set.empty() ? "" : "/" + instruction_set) +
           (screen_format.empty() ? "" : "/" + screen_format) + (slice_rows == 0 ? "" : "/slices") +
           (queued_passes ? "/queued" : "") + (score_thresholds ? "/thresholds" : "");
  }
  std::unique_ptr<Backend> make(const std::string& algorithm, int threads, double bound_scale = 1) const;
};

/// Whether a backend has this algorithm, for this many columns.
bool takes(std::string_view backend, std::string_view algorithm, int64_t columns);
/// The same; points in slices are never boxed, and on a device only the screen in fp16 carries bounds.
bool takes(const Target& target, std::string_view algorithm, int64_t columns);

/// Whether the environment asks for some targets alone (tests/README.md).
bool asks_for_some();

/// Whether the target's screen plays a part: on the cpu backend trees and exact distances are those of float32's
/// target.
bool tells_formats_apart(const Target& target, std::string_view algorithm);

/// Whether passes of this target begin with a look in bytes, under "auto" and from the second pass on.
bool looks_in_bytes(const Target& target, int64_t columns);

/// What can be tested here (with MANYMEANS_TEST_BACKEND=name set, of this backend; with MANYMEANS_TEST_TARGET=name, the
/// one of this name(), so that processes can share the work). What cannot is reported on the test's output, with the
/// reason.
std::vector<Target> targets();

/// A backend of tests alone (tests/backend/device/async_backend.h): every distance, on a device that is late.
std::vector<Target> async_targets();

}  // namespace manymeans::test
