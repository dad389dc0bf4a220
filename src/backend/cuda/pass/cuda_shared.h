// Everything of an upload that its sessions share and never change.
#pragma once

#include "backend/backend.h"
#include "backend/cuda/bounding_boxes/boxed_points.h"
#include "backend/cuda/exact/sum_terms.h"
#include "backend/cuda/float32/float_kernels.h"
#include "backend/cuda/pass/cuda_plan.h"
#include "backend/cuda/points/point_slices.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/tensor/matrix_pack.h"
#include "backend/frame.h"

#include <memory>

namespace manymeans::cuda {

struct CudaShared {
  CudaShared(const Input& data, const CudaDevice& where, const BackendOptions& how, const Workload& workload);

  const Input& input;
  CudaDevice device;
  BackendOptions options;
  CudaPlan plan = {};
  Patience patience;  // of all streams

  Frame frame;
  DeviceFrame device_frame;
  FloatBound bound;
  HalfFrame half_frame;
  ColumnTerms terms;
  SumTerms sums;
  std::unique_ptr<PointSlices> slices;  // sessions take turns with them
  std::unique_ptr<BoundsLog> bounds_log = std::make_unique<BoundsLog>();
  std::unique_ptr<BoxedPoints> boxes;  // null but for ScreenKind::kBoundingBoxes

 private:
  void upload_frame(const Stream& stream);

  DeviceBuffer<double> centre_;
  DeviceBuffer<float> scaled_centres_;  // of both frames
};

}  // namespace manymeans::cuda
