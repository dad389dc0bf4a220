// The column statistics that one reading of the points finds.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace manymeans {

/// Value of the lowest set bit of v, infinity for 0: v minus v with that bit cleared, which is exact.
inline double value_of_lowest_bit(double v) {
  constexpr uint64_t kMantissa = (uint64_t{1} << 52) - 1;
  const double magnitude = std::fabs(v);
  const auto bits = std::bit_cast<uint64_t>(magnitude);
  const double cleared = (bits & kMantissa) != 0 ? std::bit_cast<double>(bits & (bits - 1)) : 0;
  return magnitude > 0 ? magnitude - cleared : std::numeric_limits<double>::infinity();
}

/// Terms are w' * x, or x without weights. `low` is the smallest value of the lowest set bit of any term, infinity
/// where all are 0.
struct ColumnScan {
  std::vector<double> minimum, maximum, largest, low;

  explicit ColumnScan(int64_t d)
      : minimum(static_cast<size_t>(d), kInfinity),
        maximum(static_cast<size_t>(d), -kInfinity),
        largest(static_cast<size_t>(d), 0),
        low(static_cast<size_t>(d), kInfinity) {}

  /// Merges the statistics of column j from another scan.
  void take(size_t j, double its_minimum, double its_maximum, double its_largest, double its_low) {
    minimum[j] = std::min(minimum[j], its_minimum);
    maximum[j] = std::max(maximum[j], its_maximum);
    largest[j] = std::max(largest[j], its_largest);
    low[j] = std::min(low[j], its_low);
  }
  void merge(const ColumnScan& other) {
    for (size_t j = 0; j < low.size(); ++j) {
      take(j, other.minimum[j], other.maximum[j], other.largest[j], other.low[j]);
    }
  }
  /// Merges the scans of all ranks through `comm` (a Comm).
  template <class Ranks>
  void merge_ranks(Ranks& comm) {
    comm.min(std::span(minimum));
    comm.max(std::span(maximum));
    comm.max(std::span(largest));
    comm.min(std::span(low));
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
};

/// The scan of points on a device. `bad` is the number of the first value that is not finite, counted through rows; -1
/// if all are finite.
struct DeviceScan {
  ColumnScan columns;
  int64_t bad = -1;
};

}  // namespace manymeans
