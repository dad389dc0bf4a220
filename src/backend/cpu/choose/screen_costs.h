// Which screen is the cheapest for a shape: a cost model of a few measured constants. Nothing here changes results.
#pragma once

#include "backend/backend.h"
#include "backend/cpu/kernels/kernels.h"
#include "backend/frame.h"

#include <optional>
#include <string>
#include <string_view>

namespace manymeans {

struct ScreenChoice {
  const ScreenKernels* screen = nullptr;
  std::string why;
  double column_ns = 0;        ///< about what a row and column take
  std::string warning;         ///< about a file of costs that cannot be used
  std::optional<Frame> frame;  ///< if the cost model asked for it
};

std::string_view name_of(ScreenFormat format);

/// The table's screen that the cost model finds cheapest for these points; or the one of this name, or of
/// the name in MANYMEANS_CPU_SCREEN (tests and benchmarks). Throws Error(kUnavailable) if this instruction set has none
/// of that name.
ScreenChoice choose_screen(const Input& input, const CpuKernels& kernels, std::string_view format,
                           const Workload& workload);

}  // namespace manymeans
