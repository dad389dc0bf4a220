// Which table of kernels runs.
#pragma once

#include "backend/cpu/kernels/kernels.h"

#include <span>
#include <string_view>

namespace manymeans {

struct InstructionSet {
  std::string_view name;
  const CpuKernels& (*kernels)();
};

/// All that are built, best first.
std::span<const InstructionSet> instruction_sets();

/// The set of this name; if empty, of MANYMEANS_CPU_ISA; if that is unset, the first one that this machine supports.
/// Throws Error(kUsage) for an unknown name, Error(kUnavailable) for one that this machine lacks.
const CpuKernels& choose_kernels(std::string_view name);

}  // namespace manymeans
