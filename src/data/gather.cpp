#include "data/gather.h"

#include "core/data_type.h"
#include "data/remote_rows.h"

#include <algorithm>
#include <cstring>

namespace manymeans {

namespace {

constexpr int64_t kPieceBytes = int64_t{1} << 18;

// `copy` calls what it gets for all ranges of places among `rows`.
template <class Copy>
Matrix gather(const PointsView& points, std::span<const int64_t> rows, const Copy& copy) {
  Matrix result = Matrix::unwritten(static_cast<int64_t>(rows.size()), points.d, prototype_type(points.type));
  const void* values_there = points.data;
  std::vector<std::byte> fetched;  // of points on a device: these rows alone
  if (points.on_device()) {
    fetched.resize(rows.size() * static_cast<size_t>(points.d) * size_of(points.type));
    memory_space(points).fetch_rows(points, rows, fetched.data());
    values_there = fetched.data();
  }
  as_float_type(result.type(), [&]<class T>(T) {
    copy([&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        T* out = result.values<T>().data() + i * points.d;
        const int64_t row = points.on_device() ? i : rows[static_cast<size_t>(i)];
        widen(values_there, points.type, row * points.d, points.d, out);
        for (int64_t j = 0; j < points.d; ++j) out[j] += 0;  // no negative zeros
      }
    });
  });
  return result;
}

// This rank's rows among `rows`, counted from its first one.
std::vector<int64_t> own_rows(const Shard& shard, std::span<const int64_t> rows) {
  std::vector<int64_t> own;
  for (const int64_t row : rows) {
    if (shard.has(row)) own.push_back(row - shard.first);
  }
  return own;
}

// Calls place(i, rank, at) for every row i; `at` is its index among the given rows of its rank.
template <class Place>
void for_each_owner(const Shard& shard, std::span<const int64_t> rows, Place&& place) {
  std::vector<size_t> next(shard.ends.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto rank = static_cast<size_t>(shard.owner(rows[i]));
    place(i, rank, next[rank]++);
  }
}

}  // namespace

Matrix gather_rows(const PointsView& points, std::span<const int64_t> rows) {
  return gather(points, rows, [&](const auto& range) { range(0, std::ssize(rows)); });
}

Matrix gather_rows(const PointsView& points, std::span<const int64_t> rows, ThreadPool& pool) {
  const int64_t bytes = points.d * static_cast<int64_t>(sizeof(double));
  const int64_t together = std::max<int64_t>(1, kPieceBytes / bytes);
  return gather(points, rows, [&](const auto& range) {
    pool.for_each_range(std::ssize(rows), together, [&](int, int64_t first, int64_t last) { range(first, last); });
  });
}

Matrix gather_rows(const Input& input, std::span<const int64_t> rows) {
  if (input.remote != nullptr) return input.remote->gather(rows);
  return gather(input.host_points(), rows, [&](const auto& range) {
    for (int64_t i = 0; i < std::ssize(rows); ++i) {
      range(i, i + 1);
      input.memory.window.visited(rows[static_cast<size_t>(i)]);
    }
  });
}

Matrix gather_from_all(const Input& input, std::span<const int64_t> rows) {
  const Matrix own = gather_rows(input, own_rows(input.shard, rows));
  if (input.comm->alone()) return own;
  const std::vector<std::vector<std::byte>> parts = input.comm->gather(own.bytes());
  Matrix all(static_cast<int64_t>(rows.size()), input.points.d, own.type());
  const size_t size = static_cast<size_t>(input.points.d) * size_of(own.type());
  std::byte* out = all.values<std::byte>().data();
  for_each_owner(input.shard, rows, [&](size_t i, size_t rank, size_t at) {
    std::memcpy(out + i * size, parts[rank].data() + at * size, size);
  });
  return all;
}

std::vector<int64_t> weights_from_all(const Input& input, std::span<const int64_t> rows) {
  std::vector<int64_t> own;
  for (const int64_t row : own_rows(input.shard, rows)) own.push_back(input.integer_weight(row));
  const std::vector<std::vector<int64_t>> parts = input.comm->gather(std::span<const int64_t>(own));
  std::vector<int64_t> all(rows.size());
  for_each_owner(input.shard, rows, [&](size_t i, size_t rank, size_t at) { all[i] = parts[rank][at]; });
  return all;
}

std::vector<int64_t> spread_rows(int64_t n, int64_t count) {
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < count; ++i) {
    rows.push_back(static_cast<int64_t>(static_cast<__int128>(i) * n / count));
  }
  return rows;
}

}  // namespace manymeans
