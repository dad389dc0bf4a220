// The two nearest of some prototypes. In device memory, alike on all kinds of devices.
#pragma once

#include <cstdint>

namespace manymeans {

struct TwoNearest {
  double d2;         ///< to the nearest
  double second;     ///< to the second nearest
  uint32_t nearest;  ///< which that is, the lowest of equals
};

}  // namespace manymeans
