#define XXH_INLINE_ALL
#include "data/content_hash.h"

#include "core/data_type.h"

#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace manymeans {

ContentHash content_hash(const PointsView& points, ThreadPool& pool, const RowWindow& window, int64_t first_row) {
  constexpr int64_t kRows = 4096;
  constexpr size_t kBytes = size_t{1} << 22;  // of rows that are fetched: fewer rows where they are long
  const size_t size = static_cast<size_t>(points.d) * size_of(points.type);
  const auto most = static_cast<int64_t>(std::max<size_t>(1, kBytes / std::max<size_t>(1, size)));
  std::vector<ContentHash> sums(static_cast<size_t>(pool.size()));
  window.for_each_range(pool, points.n, std::min(kRows, most), [&](int worker, int64_t first, int64_t last) {
    ContentHash sum = 0;
    std::vector<std::byte> space;
    const std::byte* bytes = row_bytes(points, first, last - first, space);
    for (int64_t row = first; row < last; ++row, bytes += size) {
      const XXH128_hash_t hash = XXH3_128bits_withSeed(bytes, size, static_cast<uint64_t>(first_row + row));
      sum += static_cast<ContentHash>(hash.high64) << 64 | hash.low64;
    }
    sums[static_cast<size_t>(worker)] += sum;
  });
  ContentHash total = 0;
  for (const ContentHash sum : sums) total += sum;
  return total;
}

}  // namespace manymeans
