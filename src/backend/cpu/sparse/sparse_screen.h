// The screen of sparse points, and what decides where it does not.
//
// Scores are as in docs/developer/contract.md, "What a screen must prove", with the centre at zero, so that a row's
// zeros add nothing: S_k = x . c_k - |c_k|^2 / 2. All values are scaled by one power of two, so that none is above 1.
//
//   candidates   float32 scores of all prototypes, each with its bound: which may be the nearest
//   nearest      of these: binary64 scores over the values that are there, each with its bound; where two are left,
//                canonical distances of the row with its zeros
#pragma once

#include "backend/backend.h"
#include "backend/cpu/kernels/kernels.h"
#include "core/aligned_buffer.h"
#include "core/sparse_rows.h"
#include "core/threads.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

/// The contents of an upload of sparse points.
struct SparseShared {
  const Input& input;
  const SparseView& view;
  CpuKernels kernels;
  BackendOptions options;
  bool brute;   ///< no screen
  double most;  ///< no |x| is larger
};

/// One thread's row, and scratch for looking at it.
struct SparseScratch {
  WideSparseRow row;
  double norm = 0;  ///< that of SparseBounds; after SparseScreen::candidates()
  std::vector<float> values;
  std::vector<int64_t> offsets;
  AlignedBuffer<float> upper;
  std::vector<uint32_t> found;
  std::vector<double> scores, errors;
  AlignedBuffer<std::byte> dense;  ///< a row of the points' type, all zeros between two uses

  /// The row with its zeros; to be followed by clear().
  template <class T>
  const T* fill(int64_t d) {
    if (dense.size() == 0) {
      dense = AlignedBuffer<std::byte>(static_cast<size_t>(d) * sizeof(T));
      std::fill_n(dense.data(), dense.size(), std::byte{0});
    }
    T* out = reinterpret_cast<T*>(dense.data());
    for (size_t i = 0; i < row.values.size(); ++i) out[row.columns[i]] = static_cast<T>(row.values[i]);
    return out;
  }
  template <class T>
  void clear() {
    T* out = reinterpret_cast<T*>(dense.data());
    for (const int64_t column : row.columns) out[column] = 0;
  }
};

/// The bounds' data of a row, scaled.
struct SparseBounds {
  double norm = 0;    ///< at least |x| and |x~|
  double rest = 0;    ///< at least |x - x~|
  double square = 0;  ///< |x|^2
};

/// Prototypes as the screen sees them, and the functions that look at them. Several threads may ask at once.
class SparseScreen {
 public:
  explicit SparseScreen(const SparseShared& shared) : shared_(shared) {}

  /// For these prototypes from now on; they must stay where they are. `distinct`: of equal ones the first alone.
  void take(const Matrix& prototypes, bool distinct, ThreadPool& pool);
  /// Which prototypes may be the nearest to scratch.row; ascending.
  std::span<const uint32_t> candidates(SparseScratch& scratch) const;
  /// All values are multiplied with it.
  double factor() const { return factor_; }
  SparseBounds bounds_of(int64_t row) const;
  /// The prototypes that may be nearer to a row with these bounds than a canonical squared distance; ascending. It
  /// requires take() without `distinct`. It reads only the row's values in columns that some prototype has.
  std::span<const uint32_t> nearer(SparseScratch& scratch, int64_t row, const SparseBounds& bounds, double than) const;
  /// The label of scratch.row; `counts` learns how it was found.
  uint32_t nearest(SparseScratch& scratch, PassCounts& counts) const;

 private:
  struct Column {
    double half = 0;  // |c|^2 / 2, in the order of eight lanes
    double norm = 0;  // at least |c|
  };

  void choose_scale(ThreadPool& pool);
  void fill_table(ThreadPool& pool);
  void measure(int64_t place);
  void mark_columns();
  SparseBounds load(SparseScratch& scratch) const;
  void load_marked(SparseScratch& scratch, int64_t row) const;
  std::span<const uint32_t> screen(SparseScratch& scratch, const SparseBounds& row, float threshold, bool rank) const;
  std::span<const uint32_t> refine(SparseScratch& scratch, std::span<const uint32_t> places) const;
  template <class T>
  uint32_t resolve(SparseScratch& scratch, std::span<const uint32_t> candidates) const;
  int64_t columns() const { return static_cast<int64_t>(order_.size()); }
  double canonical() const;

  const SparseShared& shared_;
  const Matrix* prototypes_ = nullptr;
  std::vector<uint32_t> order_;  // the prototype of each place: the first of equal ones, ascending
  std::vector<uint32_t> all_;    // every prototype, if there is no screen
  std::vector<uint64_t> marks_;  // a bit a column: some prototype has it; for nearer()
  double factor_ = 1;            // a power of two
  double underflow_ = 0;         // of canonical distances, in scores
  int64_t stride_ = 0;
  AlignedBuffer<float> table_;  // D x stride
  AlignedBuffer<float> halves_, norms_, residuals_, fixed_;
  std::vector<Column> exact_;
};

}  // namespace manymeans
