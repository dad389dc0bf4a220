#include "backend/cuda/device/pass_screen.h"

namespace manymeans::cuda {

void Screen::set_label(int slot, int64_t row, const uint32_t& label, const LabelRows& current, const Stream& stream) {
  copy_to_device(label_at(current, slot, row), reinterpret_cast<const std::byte*>(&label),
                 static_cast<size_t>(current.width), stream, "a label");
}

const void* Screen::labels_of(int slot, const LabelRows& current, void* /*scratch*/, const Stream& /*stream*/) {
  return label_at(current, slot, 0);
}

}  // namespace manymeans::cuda
