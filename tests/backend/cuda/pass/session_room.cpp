// What a session says that it will take of the device's memory, and what it allocates: the same bytes, for every screen
// and many shapes. A program of its own, because it stands in for the CUDA runtime's allocations and so needs no
// device.
#include "backend/cuda/bounding_boxes/bounding_box_screen.h"
#include "backend/cuda/exact/exact_stage.h"
#include "backend/cuda/float32/float_screen.h"
#include "backend/cuda/pass/make_screen.h"
#include "backend/cuda/pass/session_arrays.h"
#include "backend/cuda/tensor/tensor_screen.h"
#include "backend/device/session_memory.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

namespace {
int64_t allocated = 0;
}

// Buffers get an address that nobody reads or writes.
extern "C" {
cudaError_t __wrap_cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t __wrap_cudaMalloc(void** memory, size_t bytes) {
  allocated += static_cast<int64_t>(bytes);
  *memory = std::malloc(1);
  return cudaSuccess;
}
cudaError_t __wrap_cudaFree(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
cudaError_t __wrap_cudaMallocHost(void** memory, size_t bytes) {
  *memory = std::malloc(bytes);
  return cudaSuccess;
}
cudaError_t __wrap_cudaFreeHost(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
cudaError_t __wrap_cudaMemsetAsync(void*, int, size_t, cudaStream_t) {
  return cudaSuccess;
}
cudaError_t __wrap_cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = nullptr;
  return cudaSuccess;
}
}

namespace manymeans::cuda {
namespace {

void make(ScreenKind kind, const SessionShape& shape) {
  BoundsLog log;
  const Stream stream;
  switch (kind) {
    case ScreenKind::kNone: AllDistances(shape, {}); return;
    case ScreenKind::kFloat: FloatScreen(shape, {}, {}); return;
    case ScreenKind::kMatrix: TensorScreen(shape, {}, {}, log, stream); return;
    case ScreenKind::kBoundingBoxes: BoundingBoxScreen(shape, {}); return;
  }
}

void expect_as_said(ScreenKind kind, const SessionShape& shape) {
  Input input;
  input.points = PointsView(nullptr, shape.rows, shape.d, shape.float64 ? DataType::kFloat64 : DataType::kFloat32);
  input.limbs = shape.limbs;
  allocated = 0;
  const device::SessionMemory memory(input, runtime().make_queue({}), shape.k);
  ASSERT_EQ(allocated, device::SessionMemory::bytes(input, shape.k));
  allocated = 0;
  const SessionArrays arrays(shape);
  ASSERT_EQ(allocated, SessionArrays::bytes(shape));
  allocated = 0;
  make(kind, shape);
  ASSERT_EQ(allocated, screen_bytes(kind, shape))
      << "screen " << static_cast<int>(kind) << ", " << shape.rows << " rows, " << shape.slice_rows << " of a slice, "
      << shape.d << " columns, " << shape.models() << " models of at most " << shape.max_clusters() << " clusters";
}

SessionShape shape_of(const std::vector<int64_t>& k, int64_t rows, int64_t slice_rows, int64_t d) {
  SessionShape shape;
  shape.k = k;
  shape.rows = rows;
  shape.slice_rows = std::min(rows, slice_rows);
  shape.d = d;
  shape.limbs = 1 + static_cast<int>(rows % 4);
  shape.float64 = rows % 2 == 0;
  shape.column_multiple = float_column_multiple(d);
  return shape;
}

void try_tensor_cores(SessionShape shape) {
  shape.padded_columns = static_cast<int32_t>(padded(shape.d, kDepthBlock));
  for (const MatrixUnit unit : {MatrixUnit::kSync, MatrixUnit::kHopper}) {
    for (const bool thresholds : {false, true}) {
      for (const BoundsUse bounds : {BoundsUse::kNever, BoundsUse::kAlways, BoundsUse::kWhenTheyPay}) {
        shape.unit = unit;
        shape.score_thresholds = thresholds;
        shape.bounds = bounds;
        expect_as_said(ScreenKind::kMatrix, shape);
      }
    }
  }
}

TEST(CudaSessionRoom, IsWhatItSays) {
  const std::vector<std::vector<int64_t>> models = {{1}, {64}, {65}, {1024}, {70'000}, {100, 300}, {64, 64, 64, 7}};
  for (const std::vector<int64_t>& k : models) {
    for (const int64_t d : {1, 2, 4, 16, 17, 128, 800}) {
      for (const int64_t rows : {1, 127, 1000, 70'000, 5'000'001}) {
        for (const int64_t slice_rows : {int64_t{4096}, int64_t{1} << 40}) {
          SessionShape shape = shape_of(k, rows, slice_rows, d);
          expect_as_said(ScreenKind::kNone, shape);
          expect_as_said(ScreenKind::kFloat, shape);
          try_tensor_cores(shape);
          shape.bounding_boxes = boxes_of(rows);
          expect_as_said(ScreenKind::kBoundingBoxes, shape);
        }
      }
    }
  }
}

}  // namespace
}  // namespace manymeans::cuda
