// The points of an upload in an order that puts neighbours together, and a box around each 128 of them: what lets a
// pass label most points of few columns without looking at them.
#pragma once

#include "backend/cuda/device/device_points.h"
#include "backend/cuda/exact/accumulate.h"
#include "backend/cuda/runtime/device_memory.h"

#include <cuda_runtime.h>

#include <cstdint>

namespace manymeans::cuda {

constexpr int64_t kBoxRows = 128;
constexpr int64_t kMostBoxColumns = 4;  ///< more, and the boxes are too wide to tell prototypes apart
constexpr int64_t kMostBoxPoints = int64_t{1} << 31;

/// Boxes of so many points.
inline int64_t boxes_of(int64_t n) {
  return (n + kBoxRows - 1) / kBoxRows;
}

/// How boxes are cut: all places in order of the first column, each run of rows[1] places in order of the second, and
/// so on; the last runs hold boxes next to each other. rows[0] is the number of places, all are multiples of kBoxRows.
struct BoxRuns {
  int64_t rows[kMostBoxColumns] = {};

  /// About as many runs for each column as there are boxes to the power 1 / d.
  static BoxRuns make(int64_t n, int64_t d);
};

/// What kernels know of boxed points. Rows are padded to whole boxes by repeating the last.
struct BoxedRows {
  const void* values = nullptr;     ///< (boxes * kBoxRows, d), float or double
  const double* weights = nullptr;  ///< w' of Input, or null
  const uint32_t* order = nullptr;  ///< n: the row of the points that stands at each place
  const double* boxes = nullptr;    ///< (2 d + 1, boxes): middles, half widths, sum of squared half widths
  const int64_t* sums = nullptr;    ///< (limbs * d + 1, boxes): limb g of column j at g * d + j; integer weight
  bool float64 = false;
  int64_t n = 0;
  int64_t d = 0;
  int64_t count = 0;  ///< of boxes
};

/// Device memory: bytes(); while it is made, making_bytes() more. Up to kMostBoxPoints points of kMostBoxColumns
/// columns. Which order is chosen changes no answer.
class BoxedPoints {
 public:
  /// Sorts in the stream; waits for it.
  BoxedPoints(const DevicePoints& points, const ColumnTerms& terms, int weight_shift, const Stream& stream);

  const BoxedRows& rows() const { return rows_; }

  static int64_t bytes(int64_t n, int64_t d, DataType type, bool weighted, int limbs);
  static int64_t making_bytes(int64_t n);

 private:
  void sort(const DevicePoints& points, const Stream& stream);

  DeviceBuffer<std::byte> values_;
  DeviceBuffer<double> weights_, boxes_;
  DeviceBuffer<uint32_t> order_;
  DeviceBuffer<int64_t> sums_;
  BoxedRows rows_;
};

}  // namespace manymeans::cuda
