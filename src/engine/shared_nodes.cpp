#include "engine/shared_nodes.h"

#include "data/gather.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace manymeans {

SharedNodes::SharedNodes(Comm& comm, std::span<const int64_t> held)
    : comm_(comm), held_(comm.gather(held)), rows_(held.size()), ranks_(held.size()) {
  for (const std::vector<int64_t>& part : held_) {
    for (size_t i = 0; i < part.size(); ++i) rows_[i] += part[i];
  }
  std::vector<size_t> order(rows_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](size_t node) { return rows_[node]; });
  std::vector<int64_t> loads(held_.size());
  for (const size_t node : order) {
    const auto least = std::ranges::min_element(loads);
    *least += rows_[node];
    ranks_[node] = static_cast<int>(least - loads.begin());
  }
}

std::vector<int64_t> SharedNodes::groups() const {
  std::vector<int64_t> groups = {0};
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (is_mine(i)) groups.push_back(groups.back() + rows_[i]);
  }
  return groups;
}

// Ranks hold rows in their order, so a node has first the rows of rank 0, then the rows of rank 1, and so on.
void SharedNodes::send(size_t bytes, const Make& make, std::byte* to) const {
  std::vector<int64_t> before(rows_.size());  // rows of each node on ranks that have sent them
  for (size_t root = 0; root < held_.size(); ++root) {
    std::vector<Run> wanted;
    int64_t sent = 0, place = 0;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const int64_t held = held_[root][i];
      if (is_mine(i)) {
        wanted.push_back({sent, held, place + before[i]});
        place += rows_[i];
      }
      sent += held;
      before[i] += held;
    }
    share({static_cast<int>(root), sent, bytes}, make, wanted, to);
  }
}

std::vector<uint32_t> SharedNodes::labels_of_held(std::span<const uint32_t> labels) const {
  const auto me = static_cast<size_t>(comm_.rank());
  std::vector<int64_t> before(rows_.size());
  for (size_t r = 0; r < me; ++r) {
    for (size_t i = 0; i < before.size(); ++i) before[i] += held_[r][i];
  }
  std::vector<uint32_t> own(static_cast<size_t>(std::accumulate(held_[me].begin(), held_[me].end(), int64_t{0})));
  const Make make = [&](int64_t first, int64_t last, std::byte* to) {
    std::memcpy(to, labels.data() + first, static_cast<size_t>(last - first) * sizeof(uint32_t));
  };
  for (size_t root = 0; root < held_.size(); ++root) {
    std::vector<Run> wanted;
    int64_t sent = 0, place = 0;
    for (size_t i = 0; i < rows_.size(); place += held_[me][i++]) {
      if (ranks_[i] != static_cast<int>(root)) continue;
      wanted.push_back({sent + before[i], held_[me][i], place});
      sent += rows_[i];
    }
    share({static_cast<int>(root), sent, sizeof(uint32_t)}, make, wanted,
          std::as_writable_bytes(std::span(own)).data());
  }
  return own;
}

void SharedNodes::share(const Stream& stream, const Make& make, std::span<const Run> wanted, std::byte* to) const {
  constexpr size_t kPieceBytes = size_t{1} << 24;
  const auto together = static_cast<int64_t>(std::max<size_t>(1, kPieceBytes / stream.bytes));
  std::vector<std::byte> piece;
  auto run = wanted.begin();
  for (int64_t first = 0; first < stream.count; first += together) {
    const int64_t last = std::min(stream.count, first + together);
    piece.resize(static_cast<size_t>(last - first) * stream.bytes);
    if (comm_.rank() == stream.root) make(first, last, piece.data());
    comm_.broadcast(std::span(piece), stream.root);
    for (; run != wanted.end() && run->first < last; ++run) {
      const int64_t begin = std::max(first, run->first), end = std::min(last, run->first + run->count);
      if (begin < end) {
        std::memcpy(to + static_cast<size_t>(run->to + begin - run->first) * stream.bytes,
                    piece.data() + static_cast<size_t>(begin - first) * stream.bytes,
                    static_cast<size_t>(end - begin) * stream.bytes);
      }
      if (run->first + run->count > last) break;  // the next piece has the rest
    }
  }
}

Matrix gather_shared_rows(const PointsView& points, const SharedNodes& shared, std::span<const int64_t> rows,
                          ThreadPool& pool) {
  if (shared.alone()) return gather_rows(points, rows, pool);
  Matrix all = Matrix::unwritten(shared.groups().back(), points.d, prototype_type(points.type));
  const auto make = [&](int64_t first, int64_t last, std::byte* to) {
    const auto some = rows.subspan(static_cast<size_t>(first), static_cast<size_t>(last - first));
    std::ranges::copy(gather_rows(points, some, pool).bytes(), to);
  };
  shared.send(static_cast<size_t>(points.d) * size_of(all.type()), make, all.values<std::byte>().data());
  return all;
}

}  // namespace manymeans
