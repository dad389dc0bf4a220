// Bytes of a label.
#pragma once

#include <cstdint>

namespace manymeans {

/// Of labels below k: 1, 2 or 4.
constexpr int label_width(int64_t k) {
  return k <= 256 ? 1 : (k <= 65536 ? 2 : 4);
}

/// use(T{}) for the type T of labels of this width.
template <class Use>
void with_label_type(int width, Use&& use) {
  switch (width) {
    case 1: return use(uint8_t{});
    case 2: return use(uint16_t{});
    default: return use(uint32_t{});
  }
}

}  // namespace manymeans
