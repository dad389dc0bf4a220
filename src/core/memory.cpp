#include "core/memory.h"

#include "core/os/cgroup.h"
#include "core/os/machine.h"

#include <algorithm>

namespace manymeans {

int64_t available_memory() {
  return std::min(system_memory(), cgroup_memory());
}

bool fits_in_half(int64_t bytes) {
  constexpr int64_t kFew = int64_t{1} << 20;
  return bytes <= kFew || bytes <= available_memory() / 2;
}

}  // namespace manymeans
