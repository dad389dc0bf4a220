// The choices for the points of an upload: choose/cpu_plan.h makes them.
#pragma once

#include "backend/bounds_policy.h"
#include "backend/cpu/kernels/coded_kernels.h"
#include "backend/cpu/kernels/screen_kernels.h"
#include "backend/frame.h"

#include <cstdint>
#include <optional>
#include <string>

namespace manymeans {

/// Nanoseconds of a first look in bytes.
struct LookCosts {
  double column = 0;  ///< of a row and prototype
  double row = 0;     ///< of a row's distance to its assigned prototype
  double hit = 0;     ///< of a prototype that is left
};

struct PointsPlan {
  bool brute = false;  ///< canonical distances only
  const ScreenKernels* screen = nullptr;
  BoundsUse bounds = BoundsUse::kNever;    ///< carry bounds from pass to pass where memory allows
  double column_ns = 0;                    ///< about what the screen takes for a row and prototype
  const CodedKernels* in_bytes = nullptr;  ///< passes that know labels or guess them begin with a look in bytes
  LookCosts look;
  bool packed = false;  ///< packed copy kept for the fit; else tiles are packed in every pass
  bool tree = false;    ///< passes go over a kd-tree
  int64_t packed_bytes = 0;
  std::optional<Frame> frame;  ///< where choosing needed it
  std::string why;             ///< one sentence
};

}  // namespace manymeans
