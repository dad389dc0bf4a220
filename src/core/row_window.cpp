#include "core/row_window.h"

#include "core/file_memory.h"

#include <algorithm>
#include <utility>

namespace manymeans {
namespace {

constexpr int64_t kChunksAhead = 4;

}  // namespace

RowWindow::RowWindow(const PointsView& points, bool in_file, int64_t chunk_rows, int64_t kept)
    : points_(points), in_file_(in_file), chunk_rows_(chunk_rows), kept_(kept) {
  if (in_file) map_small_pages(points.data, points.bytes());
}

void RowWindow::give_back(int64_t first, int64_t last) const {
  first = std::max(first, kept_);
  if (!in_file_ || !moves() || first >= last) return;
  const auto kept = static_cast<size_t>(kept_) * row_bytes();
  const auto* begin = static_cast<const std::byte*>(points_.data) + kept;
  manymeans::give_back(begin, points_.bytes() - kept, static_cast<size_t>(first) * row_bytes() - kept,
                       static_cast<size_t>(last - first) * row_bytes());
}

void RowWindow::fetch(int64_t first, int64_t last) const {
  if (!in_file_ || first >= last) return;
  const auto* begin = static_cast<const std::byte*>(points_.data) + static_cast<size_t>(first) * row_bytes();
  fetch_ahead(begin, static_cast<size_t>(last - first) * row_bytes());
}

RowWindow reading_window(const PointsView& points, int64_t memory) {
  constexpr int64_t kChunk = int64_t{1} << 20;
  if (points.on_device()) return {};
  const auto bytes = static_cast<int64_t>(points.bytes());
  if (storage_for(bytes, memory) == Storage::kMemory || !lies_in_file(points.data, points.bytes())) return {};
  return {points, true, std::max<int64_t>(1, kChunk / (bytes / points.n)), 0};
}

RowPass::RowPass(const RowWindow& window, int64_t first, int64_t last, RowWindow::GiveBack also)
    : window_(window), first_(first), last_(last), also_(std::move(also)), fetched_(first) {
  if (!window.moves() || first >= last) return;
  const int64_t size = window.chunk_rows();
  left_ = std::vector<std::atomic<int64_t>>(static_cast<size_t>((last - first + size - 1) / size));
  for (size_t c = 0; c < left_.size(); ++c) {
    left_[c].store(std::min(size, last - first - static_cast<int64_t>(c) * size), std::memory_order_relaxed);
  }
}

RowPass::~RowPass() {
  if (!left_.empty()) give_back(first_, last_);
}

void RowPass::begin(int64_t row) {
  if (left_.empty()) return;
  const int64_t size = window_.chunk_rows();
  const int64_t wanted = std::min(last_, row + kChunksAhead * size);
  int64_t fetched = fetched_.load(std::memory_order_relaxed);
  if (wanted < std::min(last_, fetched + size)) return;  // whole chunks at a time
  if (wanted > fetched && fetched_.compare_exchange_strong(fetched, wanted)) window_.fetch(fetched, wanted);
}

void RowPass::done(int64_t first, int64_t last) {
  if (left_.empty()) return;
  const int64_t size = window_.chunk_rows();
  for (int64_t c = (first - first_) / size; first < last; ++c) {
    const int64_t end = std::min(last_, first_ + (c + 1) * size);
    const int64_t count = std::min(last, end) - first;
    if (left_[static_cast<size_t>(c)].fetch_sub(count) == count) give_back(first_ + c * size, end);
    first += count;
  }
}

void RowPass::give_back(int64_t first, int64_t last) const {
  window_.give_back(first, last);
  if (also_) also_(first, last);
}

void RowWindow::for_each_range(ThreadPool& pool, int64_t n, int64_t grain,
                               const std::function<void(int, int64_t, int64_t)>& body, const GiveBack& also) const {
  RowPass pass(*this, 0, n, also);
  pool.for_each_range(n, this->grain(grain), [&](int worker, int64_t first, int64_t last) {
    pass.begin(first);
    body(worker, first, last);
    pass.done(first, last);
  });
}

}  // namespace manymeans
