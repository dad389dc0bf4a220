#include "backend/cpu/kernels/instruction_set.h"

#include <manymeans/error.h>
#include <manymeans/info.h>

#include "backend/backend.h"
#include "core/environment.h"

#include <array>
#include <string>

namespace manymeans {

#define MANYMEANS_REGISTER(name, maker) const CpuKernels& maker();
#include "registry/isa.inc"
#undef MANYMEANS_REGISTER

std::span<const InstructionSet> instruction_sets() {
#define MANYMEANS_REGISTER(name, maker) InstructionSet{name, maker},
  static const std::array kSets = {
#include "registry/isa.inc"
  };
#undef MANYMEANS_REGISTER
  return kSets;
}

const CpuKernels& choose_kernels(std::string_view name) {
  std::string where = "instruction set";
  std::string forced;
  if (name.empty()) {
    forced = environment::cpu_instruction_set();
    name = forced;
    where = "MANYMEANS_CPU_ISA";
  }
  std::string known;
  for (const InstructionSet& set : instruction_sets()) {
    const CpuKernels& kernels = set.kernels();
    if (name.empty() && kernels.supported()) return kernels;
    if (name == set.name) {
      if (kernels.supported()) return kernels;
      throw Error(ErrorCode::kUnavailable, where, "this machine has no " + std::string(kernels.description));
    }
    known += (known.empty() ? "" : ", ") + std::string(set.name);
  }
  throw Error(ErrorCode::kUsage, where, "there is no instruction set '" + std::string(name) + "'; known: " + known);
}

std::vector<Choice> cpu_instruction_sets() {
  std::vector<Choice> choices;
  for (const InstructionSet& set : instruction_sets()) {
    const CpuKernels& kernels = set.kernels();
    choices.push_back({std::string(set.name), kernels.description, kernels.supported()});
  }
  return choices;
}

}  // namespace manymeans
