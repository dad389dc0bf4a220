// Everything of an upload that its sessions share and never change.
#pragma once

#include "backend/backend.h"
#include "backend/cuda/accumulate.h"
#include "backend/cuda/cuda_plan.h"
#include "backend/cuda/device_memory.h"
#include "backend/cuda/device_points.h"
#include "backend/cuda/float_screen.h"
#include "backend/cuda/matrix_pack.h"
#include "backend/frame.h"

namespace manymeans::cuda {

struct CudaShared {
  CudaShared(const Input& data, const CudaDevice& where, const BackendOptions& how);

  const Input& input;
  CudaDevice device;
  BackendOptions options;
  CudaPlan plan = {};

  DevicePoints points;
  Frame frame;
  DeviceFrame device_frame;
  FloatBound bound;
  DeviceBuffer<float> norms;  // with more than kLowColumns columns
  HalfFrame half_frame;
  PackedRows packed;  // for the matrix screen
  ColumnTerms terms;
  DeviceBuffer<int32_t> solve_shifts;

 private:
  void upload_points(cudaStream_t stream);
  void upload_frame(cudaStream_t stream);
  void upload_terms(cudaStream_t stream);

  void pack(cudaStream_t stream);

  DeviceBuffer<std::byte> point_bytes_;
  DeviceBuffer<uint16_t> halves_;
  DeviceBuffer<float> radii_, half_norms_;
  DeviceBuffer<double> weights_;
  DeviceBuffer<double> centre_;
  DeviceBuffer<float> scaled_centre_;
  DeviceBuffer<double> tops_;
  DeviceBuffer<int32_t> exponents_;
};

}  // namespace manymeans::cuda
