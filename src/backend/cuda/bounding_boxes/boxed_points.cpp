#include "backend/cuda/bounding_boxes/boxed_points.h"

namespace manymeans::cuda {

BoxedPoints::BoxedPoints(const DevicePoints& points, const ColumnTerms& terms, int weight_shift, const Stream& stream) {
  const Shape shape{points.n, points.d, points.type == DataType::kFloat64, points.weights != nullptr, terms.limbs};
  DeviceRoom room(DeviceRoom::Mode::kAllocate);
  lay_out_order(shape, room);
  sort_points(points, order_, stream);
  lay_out(shape, room);
  rows_.float64 = shape.float64;
  rows_.n = points.n;
  rows_.number = points.number;
  rows_.d = points.d;
  rows_.count = boxes_of(points.n);
  rows_.values = values_.data();
  rows_.weights = weights_.data();
  rows_.order = order_.data();
  rows_.boxes = boxes_.data();
  rows_.sums = sums_.data();
  const Settled settled(stream);  // an error may free what kernels still fill
  fill_boxes(points, rows_, {values_.data(), weights_.data(), boxes_.data()}, stream);
  add_up_boxes(rows_, terms, weight_shift, sums_.data(), stream);
  stream.synchronize("putting points into boxes");
}

void BoxedPoints::lay_out_order(const Shape& shape, DeviceRoom& room) {
  room.hold(order_, shape.n, "the points' order");
}

void BoxedPoints::lay_out(const Shape& shape, DeviceRoom& room) {
  const int64_t boxes = boxes_of(shape.n);
  const int64_t places = boxes * kBoxRows;
  room.hold(values_, places * shape.d * (shape.float64 ? 8 : 4), "the points in order");
  room.hold(weights_, shape.weighted ? places : 0, "the weights in order");
  room.hold(boxes_, (2 * shape.d + 1) * boxes, "the points' boxes");
  room.hold(sums_, (shape.limbs * shape.d + 1) * boxes, "the boxes' sums");
}

int64_t BoxedPoints::making_bytes(int64_t n) {
  constexpr int64_t kScratch = int64_t{32} << 20;  // of the sort, which needs some hundred bytes a block of rows
  return n * (8 + 8 + 4) + kScratch;
}

}  // namespace manymeans::cuda
