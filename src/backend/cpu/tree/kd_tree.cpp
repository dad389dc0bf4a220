#include "backend/cpu/tree/kd_tree.h"

#include "backend/cpu/sums/term_scales.h"
#include "core/data_type.h"
#include "data/gather.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace manymeans {
namespace {

// Measured at D = 2 and 8: 16 costs more nodes than it saves distances, 64 the other way round.
constexpr int64_t kLeafRows = 32;
// A subtree and its rows should stay in the second cache while all models pass over it.
constexpr int64_t kSubtreeRows = 4096;
constexpr int64_t kMaxSubtrees = 1024;
constexpr int64_t kSamplePerSubtree = 64;
constexpr int64_t kChunkRows = int64_t{1} << 14;  // of the rows that are sorted into subtrees together
// A cut by sample that leaves less than this share on one side is replaced by an exact median.
constexpr int64_t kMinShare = 16;

// Rows with x[column] <= value go to the left.
template <class T>
struct Cut {
  int64_t column = -1;
  T value = 0;
};

// Cuts sets of rows, given by their numbers, in two.
template <class T>
class Splitter {
 public:
  Splitter(const T* values, int64_t d, int64_t most) : values_(values), d_(d), scratch_(static_cast<size_t>(most)) {}

  /// Brings rows of the left side to the front and returns their number; 0 if all rows are equal.
  int64_t split(uint32_t* rows, int64_t n, Cut<T>& cut) {
    cut = quick_cut(rows, n);
    int64_t left = cut.column < 0 ? 0 : partition(rows, n, cut);
    if (left > n / kMinShare && n - left > n / kMinShare) return left;
    // Repeated values, or a sample that misleads. Two exact cuts of a column leave at most half of the rows, or rows
    // with equal values there. The tree's depth thus stays within a multiple of log N + D.
    cut = exact_cut(rows, n);
    return cut.column < 0 ? 0 : partition(rows, n, cut);
  }

 private:
  T at(uint32_t row, int64_t j) const { return values_[static_cast<int64_t>(row) * d_ + j]; }

  // The column in which these rows reach farthest, the first of several; -1 if they are equal.
  int64_t widest_column(const uint32_t* rows, int64_t n) const {
    int64_t column = -1;
    double widest = 0;
    for (int64_t j = 0; j < d_; ++j) {
      T low = at(rows[0], j), high = low;
      for (int64_t i = 1; i < n; ++i) {
        low = std::min(low, at(rows[i], j));
        high = std::max(high, at(rows[i], j));
      }
      const double width = static_cast<double>(high) - static_cast<double>(low);
      if (width > widest) {
        widest = width;
        column = j;
      }
    }
    return column;
  }

  // The median of a sample, along the column in which the sample reaches farthest.
  Cut<T> quick_cut(const uint32_t* rows, int64_t n) {
    constexpr int64_t kMaxSample = 32;
    const int64_t count = std::min(n, std::clamp<int64_t>(n / 8, 16, kMaxSample));
    const int64_t step = n / count;
    uint32_t sample[kMaxSample];
    for (int64_t i = 0; i < count; ++i) sample[i] = rows[i * step];
    Cut<T> cut;
    cut.column = widest_column(sample, count);
    if (cut.column < 0) return cut;
    T keys[kMaxSample];
    for (int64_t i = 0; i < count; ++i) keys[i] = at(sample[i], cut.column);
    std::nth_element(keys, keys + (count - 1) / 2, keys + count);
    cut.value = keys[(count - 1) / 2];
    return cut;
  }

  Cut<T> exact_cut(const uint32_t* rows, int64_t n) {
    Cut<T> cut;
    cut.column = widest_column(rows, n);
    if (cut.column < 0) return cut;
    keys_.resize(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) keys_[static_cast<size_t>(i)] = at(rows[i], cut.column);
    std::nth_element(keys_.begin(), keys_.begin() + n / 2, keys_.end());
    const T median = keys_[static_cast<size_t>(n / 2)];
    int64_t less = 0, greater = 0;
    for (const T key : keys_) {
      less += key < median;
      greater += key > median;
    }
    // The median's equals go to the side that keeps the halves nearer to each other; neither may be empty.
    const bool below = greater == 0 || (less > 0 && std::min(less, n - less) > std::min(n - greater, greater));
    cut.value = below ? std::nextafter(median, -std::numeric_limits<T>::infinity()) : median;
    return cut;
  }

  // Stable, and without branches that depend on the data.
  int64_t partition(uint32_t* rows, int64_t n, const Cut<T>& cut) {
    const T* column = values_ + cut.column;
    uint32_t* others = scratch_.data();
    int64_t left = 0, right = 0;
    for (int64_t i = 0; i < n; ++i) {
      const uint32_t row = rows[i];
      const bool goes_left = column[static_cast<int64_t>(row) * d_] <= cut.value;
      rows[left] = row;
      others[right] = row;
      left += goes_left;
      right += !goes_left;
    }
    std::copy_n(others, right, rows + left);
    return left;
  }

  const T* values_;
  int64_t d_;
  std::vector<uint32_t> scratch_;
  std::vector<T> keys_;
};

// A small tree over a sample of the rows; its leaves are the subtrees.
template <class T>
class SampleTree {
 public:
  SampleTree(const PointsView& points, int64_t subtrees) {
    const int64_t count = std::min(points.n, subtrees * kSamplePerSubtree);
    const Matrix sample = gather_rows(points, spread_rows(points.n, count));
    std::vector<uint32_t> rows(static_cast<size_t>(count));
    std::iota(rows.begin(), rows.end(), 0U);
    Splitter<T> splitter(sample.values<T>().data(), points.d, count);
    grow(splitter, rows.data(), count, subtrees, 0);
  }

  int64_t leaves() const { return leaves_; }
  /// The leaf of each row; several rows walk down side by side, since a step waits for the one before.
  void find_leaves(const T* rows, int64_t count, int64_t d, uint16_t* leaves) const {
    constexpr int64_t kSideBySide = 16;
    for (int64_t i = 0; i < count; i += kSideBySide) {
      const int64_t some = std::min(kSideBySide, count - i);
      uint32_t node[kSideBySide] = {};
      for (int64_t step = 0; step < depth_; ++step) {
        for (int64_t r = 0; r < some; ++r) {
          const Node& at = nodes_[node[r]];
          node[r] = at.child[rows[(i + r) * d + at.column] > at.value];
        }
      }
      for (int64_t r = 0; r < some; ++r) leaves[i + r] = nodes_[node[r]].leaf;
    }
  }

 private:
  struct Node {
    int32_t column = 0;
    T value = 0;
    uint16_t child[2] = {0, 0};  // a leaf's are itself
    uint16_t leaf = 0;
  };

  uint16_t grow(Splitter<T>& splitter, uint32_t* rows, int64_t n, int64_t subtrees, int64_t depth) {
    const auto index = static_cast<uint16_t>(nodes_.size());
    nodes_.emplace_back();
    depth_ = std::max(depth_, depth);
    Cut<T> cut;
    const int64_t left = subtrees > 1 && n > 1 ? splitter.split(rows, n, cut) : 0;
    if (left == 0) {
      nodes_[index].child[0] = nodes_[index].child[1] = index;
      nodes_[index].leaf = static_cast<uint16_t>(leaves_++);
      return index;
    }
    const uint16_t l = grow(splitter, rows, left, subtrees / 2, depth + 1);
    const uint16_t r = grow(splitter, rows + left, n - left, subtrees / 2, depth + 1);
    nodes_[index] = {static_cast<int32_t>(cut.column), cut.value, {l, r}, 0};
    return index;
  }

  std::vector<Node> nodes_;
  int64_t depth_ = 0;
  int64_t leaves_ = 0;
};

int64_t subtree_count(int64_t n) {
  int64_t count = 1;
  while (count < kMaxSubtrees && count * 2 * kSubtreeRows <= n) count *= 2;
  return count;
}

}  // namespace

template <class T>
class KdTree::Builder {
 public:
  Builder(KdTree& tree, const Input& input, const CpuKernels& kernels, const TermScales& scales, ThreadPool& pool)
      : tree_(tree), input_(input), kernels_(kernels), scales_(scales), pool_(pool), d_(input.points.d) {}

  void build() {
    const std::vector<int64_t> begin = sort_rows();
    const size_t count = begin.size() - 1;
    tree_.subtrees_.resize(count);
    std::vector<int64_t> leaf_rows(count);
    pool_.for_each_range(static_cast<int64_t>(count), 1, [&](int, int64_t first, int64_t) {
      const auto s = static_cast<size_t>(first);
      if (begin[s] == begin[s + 1]) return;
      Subtree subtree(*this, tree_.subtrees_[s], begin[s], begin[s + 1]);
      leaf_rows[s] = subtree.max_leaf_rows();
    });
    std::erase_if(tree_.subtrees_, [](const KdSubtree& subtree) { return subtree.nodes.empty(); });
    for (KdSubtree& subtree : tree_.subtrees_) {
      subtree.first_node = tree_.nodes_;
      tree_.nodes_ += static_cast<int64_t>(subtree.nodes.size());
    }
    tree_.max_leaf_rows_ = *std::max_element(leaf_rows.begin(), leaf_rows.end());
  }

 private:
  // Fills the order with the rows of one subtree after the other, ascending in each; returns where each begins.
  std::vector<int64_t> sort_rows() {
    const int64_t n = input_.points.n;
    const SampleTree<T> sample(input_.points, subtree_count(n));
    const int64_t leaves = sample.leaves();
    const int64_t chunks = (n + kChunkRows - 1) / kChunkRows;
    AlignedBuffer<uint16_t> leaf(static_cast<size_t>(n));
    std::vector<int64_t> at(static_cast<size_t>(chunks * leaves));  // first counts, then where a chunk's rows go
    pool_.for_each_range(chunks, 1, [&](int, int64_t chunk, int64_t) {
      const int64_t first = chunk * kChunkRows;
      const int64_t count = std::min(kChunkRows, n - first);
      std::vector<T> wide(input_.points.type == prototype_type(input_.points.type) ? 0
                                                                                   : static_cast<size_t>(count * d_));
      const T* rows = rows_as<T>(input_.points, first, count, wide.data());
      int64_t* counts = at.data() + chunk * leaves;
      sample.find_leaves(rows, count, d_, leaf.data() + first);
      for (int64_t i = first; i < first + count; ++i) ++counts[leaf[static_cast<size_t>(i)]];
    });
    std::vector<int64_t> begin;
    int64_t total = 0;
    for (int64_t l = 0; l < leaves; ++l) {
      begin.push_back(total);
      for (int64_t c = 0; c < chunks; ++c) total += std::exchange(at[static_cast<size_t>(c * leaves + l)], total);
    }
    begin.push_back(total);
    pool_.for_each_range(chunks, 1, [&](int, int64_t chunk, int64_t) {
      int64_t* next = at.data() + chunk * leaves;
      const int64_t end = std::min(n, (chunk + 1) * kChunkRows);
      for (int64_t i = chunk * kChunkRows; i < end; ++i) {
        tree_.order_[static_cast<size_t>(next[leaf[static_cast<size_t>(i)]]++)] = static_cast<uint32_t>(i);
      }
    });
    return begin;
  }

  // One subtree, on one thread.
  class Subtree {
   public:
    Subtree(Builder& builder, KdSubtree& out, int64_t begin, int64_t end)
        : b_(builder),
          out_(out),
          begin_(begin),
          rows_(builder.tree_.order_.data() + begin, builder.tree_.order_.data() + end),
          values_(rows_.size() * static_cast<size_t>(builder.d_)),
          index_(rows_.size()),
          splitter_(values_.data(), builder.d_, static_cast<int64_t>(rows_.size())) {
      load_rows();
      std::iota(index_.begin(), index_.end(), 0U);
      const size_t expected = rows_.size() / (kLeafRows / 3) + 2;
      out_.nodes.reserve(expected);
      out_.boxes.reserve(expected * box_size());
      out_.sums.reserve(expected * sum_size());
      grow(0, static_cast<int64_t>(rows_.size()));
      for (size_t node = 0; node < out_.nodes.size(); ++node) finish_box(out_.boxes.data() + box_size() * node);
      out_.nodes.shrink_to_fit();
    }
    int64_t max_leaf_rows() const { return max_leaf_rows_; }

   private:
    size_t box_size() const { return static_cast<size_t>(2 * b_.d_ + 1); }
    size_t sum_size() const { return static_cast<size_t>(b_.tree_.limbs_ * b_.d_); }

    void load_rows() {
      const PointsView& points = b_.input_.points;
      T* to = values_.data();
      if (points.type == prototype_type(points.type)) {
        const T* all = static_cast<const T*>(points.data);
        for (const uint32_t row : rows_) to = std::copy_n(all + static_cast<int64_t>(row) * b_.d_, b_.d_, to);
        return;
      }
      for (const uint32_t row : rows_) {
        widen(points.data, points.type, static_cast<int64_t>(row) * b_.d_, b_.d_, to);
        to += b_.d_;
      }
    }

    uint32_t grow(int64_t first, int64_t last) {
      const auto node = static_cast<uint32_t>(out_.nodes.size());
      out_.nodes.emplace_back();
      out_.nodes[node].begin = static_cast<uint32_t>(begin_ + first);
      out_.nodes[node].end = static_cast<uint32_t>(begin_ + last);
      out_.boxes.resize(out_.boxes.size() + box_size());
      out_.sums.resize(out_.sums.size() + sum_size());
      Cut<T> cut;
      const int64_t left = last - first > kLeafRows ? splitter_.split(index_.data() + first, last - first, cut) : 0;
      if (left == 0) {
        make_leaf(out_.nodes[node], node);
        return node;
      }
      grow(first, first + left);
      const uint32_t right = grow(first + left, last);
      out_.nodes[node].right = right;
      unite(node, node + 1, right);
      return node;
    }

    void make_leaf(KdNode& leaf, uint32_t node) {
      const int64_t count = leaf.rows();
      const int64_t d = b_.d_;
      max_leaf_rows_ = std::max(max_leaf_rows_, count);
      const uint32_t* index = index_.data() + (int64_t{leaf.begin} - begin_);
      T* tile = reinterpret_cast<T*>(b_.tree_.values_.data()) + int64_t{leaf.begin} * d;
      double* box = out_.boxes.data() + box_size() * node;
      for (int64_t j = 0; j < d; ++j) {
        T low = std::numeric_limits<T>::infinity(), high = -low;
        for (int64_t i = 0; i < count; ++i) {
          const T x = values_[static_cast<size_t>(static_cast<int64_t>(index[i]) * d + j)];
          tile[j * count + i] = x;
          low = std::min(low, x);
          high = std::max(high, x);
        }
        box[j] = static_cast<double>(low);
        box[d + j] = static_cast<double>(high);
      }
      for (int64_t i = 0; i < count; ++i) {
        const uint32_t row = rows_[index[i]];
        const auto place = static_cast<size_t>(leaf.begin + i);
        b_.tree_.order_[place] = row;
        b_.tree_.place_[row] = static_cast<uint32_t>(place);
        leaf.weight += b_.input_.integer_weight(row);
        if (!b_.input_.weights.empty()) b_.tree_.weights_[place] = b_.input_.weight(row);
      }
      add_rows(leaf, out_.sums.data() + sum_size() * node);
    }

    void add_rows(const KdNode& leaf, int64_t* sums) const {
      const Input& input = b_.input_;
      const LaneRows<T> rows = b_.tree_.template rows<T>(leaf);
      const double* weights = b_.tree_.weights() == nullptr ? nullptr : b_.tree_.weights() + leaf.begin;
      if (b_.scales_.fast) {
        const LaneTerms terms{input.limbs, b_.scales_.top.data(), b_.scales_.radix, sums};
        if constexpr (sizeof(T) == 8) {
          b_.kernels_.lanes.add_rows_f64(rows, weights, terms);
        } else {
          b_.kernels_.lanes.add_rows_f32(rows, weights, terms);
        }
        return;
      }
      for (int64_t j = 0; j < b_.d_; ++j) {
        for (int64_t i = 0; i < rows.rows; ++i) {
          const double weight = weights == nullptr ? 1.0 : weights[i];
          int64_t limbs[kMaxLimbs] = {};
          add_term(weight * static_cast<double>(rows.values[j * rows.rows + i]), input.columns[static_cast<size_t>(j)],
                   1, limbs);
          for (int g = 0; g < input.limbs; ++g) sums[g * b_.d_ + j] += limbs[g];
        }
      }
    }

    void unite(uint32_t node, uint32_t left, uint32_t right) {
      double* box = out_.boxes.data() + box_size() * node;
      const double* a = out_.boxes.data() + box_size() * left;
      const double* b = out_.boxes.data() + box_size() * right;
      for (int64_t j = 0; j < b_.d_; ++j) {
        box[j] = std::min(a[j], b[j]);
        box[b_.d_ + j] = std::max(a[b_.d_ + j], b[b_.d_ + j]);
      }
      for (size_t i = 0; i < sum_size(); ++i) {
        out_.sums[sum_size() * node + i] = out_.sums[sum_size() * left + i] + out_.sums[sum_size() * right + i];
      }
      out_.nodes[node].weight = out_.nodes[left].weight + out_.nodes[right].weight;
    }

    // From corners to middle and half width; the factors cover the roundings.
    void finish_box(double* box) const {
      double squares = 0;
      for (int64_t j = 0; j < b_.d_; ++j) {
        const double low = box[j], high = box[b_.d_ + j];
        const double middle = low + (high - low) / 2;
        const double half = std::max(high - middle, middle - low) * (1 + 0x1p-51);
        squares += half * half;
        box[j] = middle;
        box[b_.d_ + j] = half;
      }
      box[2 * b_.d_] = squares * (1 + 0x1p-40);
    }

    Builder& b_;
    KdSubtree& out_;
    int64_t begin_;
    std::vector<uint32_t> rows_;   // of the points
    std::vector<T> values_;        // of the rows above, row-major
    std::vector<uint32_t> index_;  // into the two above, in tree order
    Splitter<T> splitter_;
    int64_t max_leaf_rows_ = 0;
  };

  KdTree& tree_;
  const Input& input_;
  const CpuKernels& kernels_;
  const TermScales& scales_;
  ThreadPool& pool_;
  int64_t d_;
};

KdTree::KdTree(const Input& input, const CpuKernels& kernels, const TermScales& scales, ThreadPool& pool)
    : d_(input.points.d), limbs_(input.limbs) {
  const auto n = static_cast<size_t>(input.points.n);
  const bool wide = input.points.type == DataType::kFloat64;
  const size_t values = n * static_cast<size_t>(d_) + static_cast<size_t>(kLanePadding);
  values_ = AlignedBuffer<std::byte>(values * (wide ? sizeof(double) : sizeof(float)));
  order_ = AlignedBuffer<uint32_t>(n);
  place_ = AlignedBuffer<uint32_t>(n);
  if (!input.weights.empty()) weights_ = AlignedBuffer<double>(n);
  if (wide) {
    Builder<double>(*this, input, kernels, scales, pool).build();
  } else {
    Builder<float>(*this, input, kernels, scales, pool).build();
  }
}

int64_t KdTree::bytes(const Input& input) {
  const PointsView& points = input.points;
  const int64_t value = points.type == DataType::kFloat64 ? sizeof(double) : sizeof(float);
  const int64_t per_row = points.d * value + 2 * static_cast<int64_t>(sizeof(uint32_t) + sizeof(uint16_t)) +
                          (input.weights.empty() ? 0 : static_cast<int64_t>(sizeof(double)));
  const int64_t per_node = static_cast<int64_t>(sizeof(KdNode)) + (2 * points.d + 1 + input.limbs * points.d) * 8;
  return points.n * per_row + (points.n / (kLeafRows / 4) + 2) * per_node;
}

}  // namespace manymeans
