// Everything of an upload of linear models that its sessions share and never change.
#pragma once

#include "backend/backend.h"
#include "backend/cuda/linear/linear_plan.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/device/linear_rows.h"
#include "backend/device/row_slices.h"

#include <cstdint>
#include <memory>

namespace manymeans::cuda {

struct LinearShared {
  LinearShared(const Input& data, const CudaDevice& where, const BackendOptions& how, const Workload& workload);

  const Input& input;
  CudaDevice device;
  BackendOptions options;
  LinearPlan plan;
  Patience patience;                          // of all streams
  device::ProductFormats formats;             // on the device
  bool rests = true;                          // rests of products may be other than 0
  std::unique_ptr<device::RowSlices> slices;  // sessions take turns with them

  const SumFormat* sum_formats() const { return sum_formats_.data(); }

 private:
  void upload_formats(const Stream& stream);

  DeviceBuffer<double> tops_;
  DeviceBuffer<int32_t> exponents_;
  DeviceBuffer<SumFormat> sum_formats_;
};

}  // namespace manymeans::cuda
