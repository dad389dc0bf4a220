#include "product/cpu/spare_memory.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

namespace manymeans {
namespace {

struct Spare {
  std::mutex busy;  // never waited for: in a forked child its owner may be gone
  std::array<AlignedBuffer<double>, 2> buffers;
};

// It outlives every call, those at exit included.
Spare& spare() {
  static Spare& all = *new Spare;
  return all;
}

bool smaller(const AlignedBuffer<double>& a, const AlignedBuffer<double>& b) {
  return a.size() < b.size();
}

}  // namespace

AlignedBuffer<double> take_memory(size_t count) {
  const std::unique_lock lock(spare().busy, std::try_to_lock);
  if (lock.owns_lock()) {
    auto& buffers = spare().buffers;
    std::ranges::sort(buffers, smaller);  // the smallest that is large enough
    for (AlignedBuffer<double>& buffer : buffers) {
      if (buffer.size() >= count && count > 0) return std::exchange(buffer, AlignedBuffer<double>());
    }
  }
  return AlignedBuffer<double>(count);
}

void keep_memory(AlignedBuffer<double> buffer) {
  if (buffer.size() * sizeof(double) > kMaxSpareBytes) return;
  const std::unique_lock lock(spare().busy, std::try_to_lock);
  if (!lock.owns_lock()) return;
  AlignedBuffer<double>& least = *std::ranges::min_element(spare().buffers, smaller);
  if (smaller(least, buffer)) std::swap(least, buffer);
}

}  // namespace manymeans
