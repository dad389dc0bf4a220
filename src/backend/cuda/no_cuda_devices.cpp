// Stands in for cuda_devices.cu, device_rows.cu, given_up.cpp and scan_columns.cu where CUDA is not built.
#include <manymeans/error.h>
#include <manymeans/fit.h>

#include "backend/devices.h"
#include "core/device_rows.h"
#include "data/column_scan.h"

namespace manymeans {
namespace {

Error no_cuda() {
  return Error(ErrorCode::kUnavailable, "points",
               "they lie in the memory of a CUDA device, which this build cannot read (CMake option MANYMEANS_CUDA); "
               "copy them to the host's memory");
}

}  // namespace

std::vector<std::string> cuda_devices() {
  return {};
}

bool devices_answer() {
  return true;
}

int cuda_device_of(const void*) {
  return -1;
}

void await_device_points(const PointsView&) {
  throw no_cuda();
}

void fetch_device_bytes(const PointsView&, size_t, size_t, void*) {
  throw no_cuda();
}

void fetch_device_rows(const PointsView&, std::span<const int64_t>, void*) {
  throw no_cuda();
}

DeviceScan scan_device_columns(const PointsView&, std::span<const double>) {
  throw no_cuda();
}

std::vector<MomentSums> sum_device_moments(const PointsView&, std::span<const MomentFormats>) {
  throw no_cuda();
}

}  // namespace manymeans
