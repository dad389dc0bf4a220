#include "backend/cpu/screen_costs.h"

#include <manymeans/error.h>

#include <fmt/format.h>

namespace manymeans {

std::string_view name_of(ScreenFormat format) {
  switch (format) {
    case ScreenFormat::kBfloat16: return "bfloat16";
    case ScreenFormat::kBfloat16Pair: return "bfloat16-pair";
    case ScreenFormat::kFloat32: break;
  }
  return "float32";
}

ScreenChoice choose_screen(const Input&, const CpuKernels& kernels, std::string_view format, const Workload&) {
  if (format.empty()) return {&kernels.screens[0], "the only one"};
  for (int i = 0; i < kernels.screen_count; ++i) {
    if (name_of(kernels.screens[i].format) == format) return {&kernels.screens[i], "as asked"};
  }
  throw Error(ErrorCode::kUnavailable, "screen_format",
              fmt::format("instruction set {} has no {} screen", kernels.name, format));
}

}  // namespace manymeans
