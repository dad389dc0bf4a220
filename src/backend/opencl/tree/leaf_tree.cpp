#include "backend/opencl/tree/leaf_tree.h"

#include "backend/opencl/kernels/kernel_types.h"
#include "core/data_type.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace manymeans::opencl {
namespace {

constexpr int64_t kLeafRows = MANYMEANS_LEAF_ROWS;
constexpr int64_t kNodeRows = kLeafRows * MANYMEANS_NODE_LEAVES;
constexpr int64_t kAloneRows = int64_t{1} << 14;  // one thread cuts this many to the end

struct Places {
  int64_t first, last;

  int64_t rows() const { return last - first; }
};

// T is float, or double for float64 points.
template <class T>
class Cutter {
 public:
  Cutter(const PointsView& points, std::vector<uint32_t>& order)
      : points_(points), order_(order), row_(static_cast<size_t>(points.d)) {}

  /// Brings the lower half to the front, in whole nodes or leaves, and returns where the upper half begins.
  int64_t cut(Places places) {
    const int64_t unit = places.rows() > kNodeRows ? kNodeRows : kLeafRows;
    const int64_t left = (places.rows() + unit - 1) / unit / 2 * unit;
    const int64_t column = widest_column(places);
    keys_.resize(static_cast<size_t>(places.rows()));
    uint32_t* const rows = order_.data() + places.first;
    for (size_t i = 0; i < keys_.size(); ++i) {
      keys_[i].row = rows[i];
      widen(points_.data, points_.type, rows[i] * points_.d + column, 1, &keys_[i].value);
    }
    std::nth_element(keys_.begin(), keys_.begin() + left, keys_.end(),
                     [](const Key& a, const Key& b) { return a.value < b.value; });
    for (size_t i = 0; i < keys_.size(); ++i) rows[i] = keys_[i].row;
    return places.first + left;
  }

  void cut_to_the_end(Places places) {
    if (places.rows() <= kLeafRows) return;
    const int64_t middle = cut(places);
    cut_to_the_end({places.first, middle});
    cut_to_the_end({middle, places.last});
  }

  /// Writes the box of the rows; the factors cover the roundings.
  void write_box(Places places, double* box) {
    const auto d = static_cast<size_t>(points_.d);
    std::vector<T> low(d, std::numeric_limits<T>::infinity()), high(d, -low[0]);
    for (int64_t place = places.first; place < places.last; ++place) include(place, low, high);
    double squares = 0;
    for (size_t j = 0; j < d; ++j) {
      const double least = low[j], most = high[j];
      box[j] = least + (most - least) / 2;
      box[d + j] = std::max(most - box[j], box[j] - least) * (1 + 0x1p-51);
      squares += box[d + j] * box[d + j];
    }
    box[2 * d] = squares * (1 + 0x1p-40);
  }

 private:
  struct Key {
    T value;
    uint32_t row;
  };

  void include(int64_t place, std::vector<T>& low, std::vector<T>& high) {
    widen(points_.data, points_.type, order_[static_cast<size_t>(place)] * points_.d, points_.d, row_.data());
    for (size_t j = 0; j < row_.size(); ++j) {
      low[j] = std::min(low[j], row_[j]);
      high[j] = std::max(high[j], row_[j]);
    }
  }

  int64_t widest_column(Places places) {
    constexpr int64_t kSample = 32;
    const auto d = static_cast<size_t>(points_.d);
    std::vector<T> low(d, std::numeric_limits<T>::infinity()), high(d, -low[0]);
    const int64_t step = std::max<int64_t>(1, places.rows() / kSample);
    for (int64_t place = places.first; place < places.last; place += step) include(place, low, high);
    size_t widest = 0;
    for (size_t j = 1; j < d; ++j) {
      if (high[j] - low[j] > high[widest] - low[widest]) widest = j;
    }
    return static_cast<int64_t>(widest);
  }

  const PointsView& points_;
  std::vector<uint32_t>& order_;
  std::vector<T> row_;
  std::vector<Key> keys_;
};

// Cuts level by level, each piece on one thread, until pieces are small; these go to the end.
template <class T>
void sort_places(const PointsView& points, int64_t block_rows, std::vector<uint32_t>& order, ThreadPool& pool) {
  std::vector<Places> pieces;
  for (int64_t first = 0; first < points.n; first += block_rows) {
    pieces.push_back({first, std::min(points.n, first + block_rows)});
  }
  bool large = true;
  while (large) {
    large = false;
    std::vector<Places> halves(2 * pieces.size());
    pool.for_each_range(static_cast<int64_t>(pieces.size()), 1, [&](int, int64_t first, int64_t) {
      const Places piece = pieces[static_cast<size_t>(first)];
      Cutter<T> cutter(points, order);
      int64_t middle = piece.last;
      if (piece.rows() > kAloneRows) {
        middle = cutter.cut(piece);
      } else {
        cutter.cut_to_the_end(piece);
      }
      halves[static_cast<size_t>(2 * first)] = {piece.first, middle};
      halves[static_cast<size_t>(2 * first + 1)] = {middle, piece.last};
    });
    pieces.clear();
    for (size_t i = 0; i < halves.size(); i += 2) {
      if (halves[i + 1].rows() == 0) continue;  // done
      pieces.insert(pieces.end(), {halves[i], halves[i + 1]});
      large = true;
    }
  }
}

template <class T>
std::vector<double> boxes_of(const PointsView& points, std::vector<uint32_t>& order, int64_t rows, ThreadPool& pool) {
  const int64_t count = (points.n + rows - 1) / rows;
  const int64_t size = 2 * points.d + 1;
  std::vector<double> boxes(static_cast<size_t>(count * size));
  pool.for_each_range(count, std::max<int64_t>(1, kAloneRows / rows), [&](int, int64_t first, int64_t last) {
    Cutter<T> cutter(points, order);
    for (int64_t box = first; box < last; ++box) {
      cutter.write_box({box * rows, std::min(points.n, (box + 1) * rows)}, boxes.data() + box * size);
    }
  });
  return boxes;
}

}  // namespace

LeafTree LeafTree::build(const PointsView& points, int64_t block_rows, ThreadPool& pool) {
  LeafTree tree;
  tree.order.resize(static_cast<size_t>(points.n));
  std::iota(tree.order.begin(), tree.order.end(), 0U);
  as_float_type(points.type, [&]<class T>(T) {
    sort_places<T>(points, block_rows, tree.order, pool);
    tree.leaves = boxes_of<T>(points, tree.order, kLeafRows, pool);
    tree.nodes = boxes_of<T>(points, tree.order, kNodeRows, pool);
  });
  return tree;
}

int64_t LeafTree::bytes(int64_t n, int64_t d) {
  return n * 4 + (leaves_of(n) + nodes_of(leaves_of(n))) * (2 * d + 1) * 8;
}

BoxBound box_bound(int64_t d, double scale) {
  const auto columns = static_cast<double>(d);
  const double relative = (columns + 8) * 0x1p-52;
  const double canonical = (columns / 8 + 8) * 0x1p-52;
  return {scale * relative, scale * 2 * (1 + relative), scale * 2.25 * canonical, scale * 36 * canonical,
          scale * columns * 0x1p-1070};
}

int64_t leaves_of(int64_t rows) {
  return (rows + kLeafRows - 1) / kLeafRows;
}

int64_t nodes_of(int64_t leaves) {
  return (leaves + MANYMEANS_NODE_LEAVES - 1) / MANYMEANS_NODE_LEAVES;
}

}  // namespace manymeans::opencl
