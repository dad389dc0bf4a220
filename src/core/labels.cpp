#include <manymeans/points.h>

#include <algorithm>
#include <cstring>

namespace manymeans {
namespace {

template <class T>
void read_as(const std::byte* from, int64_t count, uint32_t* out) {
  const T* typed = reinterpret_cast<const T*>(from);
  for (int64_t i = 0; i < count; ++i) out[i] = typed[i];
}

template <class T>
void write_as(std::byte* to, int64_t count, const uint32_t* labels) {
  T* typed = reinterpret_cast<T*>(to);
  for (int64_t i = 0; i < count; ++i) typed[i] = static_cast<T>(labels[i]);
}

}  // namespace

Labels::Labels(int64_t n, int64_t k)
    : n_(n),
      width_(k <= 256 ? 1 : (k <= 65536 ? 2 : 4)),
      bytes_(static_cast<size_t>(n) * static_cast<size_t>(width_)) {}

void Labels::read(int64_t first, int64_t count, uint32_t* out) const {
  const std::byte* from = bytes_.data() + first * width_;
  switch (width_) {
    case 1: return read_as<uint8_t>(from, count, out);
    case 2: return read_as<uint16_t>(from, count, out);
    default: return read_as<uint32_t>(from, count, out);
  }
}

void Labels::write(int64_t first, int64_t count, const uint32_t* labels) {
  std::byte* to = bytes_.data() + first * width_;
  switch (width_) {
    case 1: return write_as<uint8_t>(to, count, labels);
    case 2: return write_as<uint16_t>(to, count, labels);
    default: return write_as<uint32_t>(to, count, labels);
  }
}

}  // namespace manymeans
