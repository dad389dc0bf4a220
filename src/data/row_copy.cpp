#include "data/row_copy.h"

#include "core/aligned_buffer.h"
#include "core/mapped_range.h"
#include "core/memory_space.h"
#include "core/threads.h"

#include <algorithm>
#include <cstddef>
#include <memory>

namespace manymeans {

void write_rows(const PointsView& points, int threads, const RowsTo& to, const WriteRows& write) {
  constexpr int64_t kGrain = 4096;
  await_points(points);
  ThreadPool pool(thread_count(threads));
  const auto write_range = [&](int, int64_t first, int64_t last) { write(first, last, to.values); };
  to.window.for_each_range(pool, points.n, kGrain, write_range, to.done);
  check_mapped(points.data);
}

RowCopy copy_rows(const PointsView& points, int threads, int64_t memory, const WriteRows& write, int64_t columns) {
  RowCopy result;
  result.view = {nullptr, points.n, columns == 0 ? points.d : columns, prototype_type(points.type)};
  const auto bytes = static_cast<int64_t>(result.view.bytes());
  const auto values = std::make_shared<AlignedBuffer<std::byte>>(result.view.bytes(), storage_for(bytes, memory));
  const size_t row = result.view.bytes() / static_cast<size_t>(std::max<int64_t>(1, points.n));
  const auto done = [&](int64_t first, int64_t last) {
    values->give_back(static_cast<size_t>(first) * row, static_cast<size_t>(last - first) * row);
  };
  write_rows(points, threads, {reading_window(points, memory), values->data(), done}, write);
  values->give_back(0, values->size());
  result.view.data = values->data();
  result.owner = values;
  return result;
}

}  // namespace manymeans
