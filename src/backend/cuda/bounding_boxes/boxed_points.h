// The points of an upload, ordered so that neighbours are together, and a box around each 128 of them. Boxes let a pass
// label most points of few columns without reading them.
#pragma once

#include "backend/cuda/device/device_points.h"
#include "backend/cuda/device/device_room.h"
#include "backend/cuda/exact/accumulate.h"
#include "backend/cuda/runtime/device_memory.h"

#include <cuda_runtime.h>

#include <cstdint>

namespace manymeans::cuda {

constexpr int64_t kBoxRows = 128;
constexpr int64_t kMaxBoxColumns = 4;  ///< more, and the boxes are too wide to tell prototypes apart
constexpr int64_t kMaxBoxPoints = int64_t{1} << 31;

/// The number of boxes of `n` points.
inline int64_t boxes_of(int64_t n) {
  return (n + kBoxRows - 1) / kBoxRows;
}

/// The cut into boxes. All rows[0] places are in order of the first column, each run of rows[1] places in order of the
/// second, and so on. The last runs hold neighbouring boxes. All numbers are multiples of kBoxRows.
struct BoxRuns {
  int64_t rows[kMaxBoxColumns] = {};

  /// For each column, makes about as many runs as the number of boxes to the power 1 / d.
  static BoxRuns make(int64_t n, int64_t d);
};

/// Boxed points as kernels read them. Rows are padded to whole boxes by repeating the last.
struct BoxedRows {
  const void* values = nullptr;     ///< (boxes * kBoxRows, d), float or double
  const double* weights = nullptr;  ///< w' of Input, or null
  const uint32_t* order = nullptr;  ///< n: the row of the points at each place
  const double* boxes = nullptr;    ///< (2 d + 1, boxes): middles, half widths, sum of squared half widths
  const int64_t* sums = nullptr;    ///< (limbs * d + 1, boxes): limb g of column j at g * d + j; integer weight
  bool float64 = false;
  int64_t n = 0;
  int64_t d = 0;
  int64_t count = 0;   ///< of boxes
  int64_t number = 0;  ///< of the first row among the rows of all ranks
};

/// The arrays that BoxedRows points to, writable. add_up_boxes() fills the sums.
struct BoxArrays {
  void* values = nullptr;
  double* weights = nullptr;
  double* boxes = nullptr;
};

/// Fills `order` with the rows of the points, neighbours next to each other. May swap it for other memory, and waits
/// for the stream.
void sort_points(const DevicePoints& points, DeviceBuffer<uint32_t>& order, const Stream& stream);
/// Puts the points into boxes, in the order that rows.order says. `rows` points to `arrays`.
void fill_boxes(const DevicePoints& points, const BoxedRows& rows, const BoxArrays& arrays, cudaStream_t stream);
/// Adds up the boxes' rows.
void add_up_boxes(const BoxedRows& rows, const ColumnTerms& terms, int weight_shift, int64_t* sums,
                  cudaStream_t stream);

/// Device memory: bytes(); while it is made, making_bytes() more. Up to kMaxBoxPoints points of kMaxBoxColumns
/// columns. Which order is chosen changes no answer.
class BoxedPoints {
 public:
  /// The points' part of what its memory follows from.
  struct Shape {
    int64_t n = 0;
    int64_t d = 0;
    bool float64 = false;
    bool weighted = false;
    int limbs = 1;
  };

  /// Sorts in the stream; waits for it.
  BoxedPoints(const DevicePoints& points, const ColumnTerms& terms, int weight_shift, const Stream& stream);

  const BoxedRows& rows() const { return rows_; }

  static int64_t bytes(const Shape& shape) {
    return DeviceRoom::counted([&](DeviceRoom& room) {
      BoxedPoints points;
      points.lay_out_order(shape, room);
      points.lay_out(shape, room);
    });
  }
  static int64_t making_bytes(int64_t n);

 private:
  BoxedPoints() = default;
  void lay_out_order(const Shape& shape, DeviceRoom& room);
  void lay_out(const Shape& shape, DeviceRoom& room);  // when the points are sorted

  DeviceBuffer<std::byte> values_;
  DeviceBuffer<double> weights_, boxes_;
  DeviceBuffer<uint32_t> order_;
  DeviceBuffer<int64_t> sums_;
  BoxedRows rows_;
};

}  // namespace manymeans::cuda
