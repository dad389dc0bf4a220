// Column statistics that a fit needs before it begins: extremes and lowest bits (ColumnScan), and the sums of Moments.
// They use the vectors of the processor at hand. A value takes less than a nanosecond, where one value at a time takes
// three and eight.
#pragma once

#include "core/column_scan.h"
#include "core/moments.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace manymeans {

/// Of neighbouring columns what has been seen of each: the smallest and the largest value, and the smallest value of a
/// lowest set bit.
template <class T>
struct ColumnExtremes {
  T *minimum, *maximum, *low;
};

/// How the values of neighbouring columns are split, as MomentAdder does it: arrays of a number a column.
struct MomentColumns {
  const double* centre;
  const double* top_y;   ///< what y = x - centre is multiplied with, so that its first limb is the integer part
  const double* top_yy;  ///< the same of y * y
  double radix;          ///< of the limbs
  double* sums;          ///< limbs 2, 1, 0 of y, then of y * y: six arrays of `stride`, of integers
  int64_t stride;
};

/// One instruction set's functions. `x` has `rows` rows of `width` values after each other.
struct ColumnLanes {
  const char* name;
  /// Return whether all values are finite.
  bool (*scan_floats)(const float* x, int64_t rows, int64_t width, const ColumnExtremes<float>& seen);
  bool (*scan_doubles)(const double* x, int64_t rows, int64_t width, const ColumnExtremes<double>& seen);
  void (*sum_floats)(const float* x, int64_t rows, int64_t width, const MomentColumns& columns);
  void (*sum_doubles)(const double* x, int64_t rows, int64_t width, const MomentColumns& columns);
};
/// Those that this processor can run, the best one first.
std::span<const ColumnLanes> column_lanes();

/// Returns the number of neighbouring rows to read as one. Their values are a multiple of eight, so vectors have no
/// rest. In a row of many columns the rest is small.
inline int64_t together_for_lanes(int64_t d) {
  constexpr int64_t kManyColumns = 512;
  return d < kManyColumns ? 8 / std::gcd(d, int64_t{8}) : 1;
}

/// Scans rows in pieces; of one thread.
template <class T>
class ColumnScanner {
 public:
  explicit ColumnScanner(int64_t d, const ColumnLanes& lanes = column_lanes()[0]);
  /// Takes rows; false: some value is not finite, and nothing that was seen holds.
  bool add(const T* x, int64_t rows);
  /// Gives what was seen. For columns without weights: `largest` stays as it is.
  void merge_into(ColumnScan& scan) const;

 private:
  bool scan(const T* x, int64_t rows, int64_t width);

  int64_t d_, together_;
  const ColumnLanes& lanes_;
  std::vector<T> minimum_, maximum_, low_;  // of `together_` rows
};

/// Adds up the moments of rows in pieces; of one thread.
template <class T>
class MomentSummer {
 public:
  explicit MomentSummer(std::span<const MomentFormats> formats, const ColumnLanes& lanes = column_lanes()[0]);
  void add(const T* x, int64_t rows);
  /// The sums of all rows so far, a MomentSums a column.
  const std::vector<MomentSums>& sums();

 private:
  void add_rows(const T* x, int64_t rows, int64_t width);
  void add_one_by_one(const T* x, int64_t rows);
  void carry();

  int64_t d_, together_;
  const ColumnLanes& lanes_;
  std::vector<MomentAdder> adders_;
  std::vector<MomentSums> sums_;
  int64_t most_ = 0;   // terms whose limbs a double holds the sum of; 0: too few to be worth it
  int64_t added_ = 0;  // to a place of parts_
  double radix_ = 0;
  std::vector<double> centre_, top_y_, top_yy_, parts_;  // of `together_` rows
};

}  // namespace manymeans
