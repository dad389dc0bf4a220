// The right labels of the screen's check.
#include "backend/cuda/runtime/kernel_memory.h"
#include "core/distance.h"
#include "screen_check.h"

#include <cmath>
#include <limits>

namespace manymeans::test {
namespace {

constexpr int kTruthRows = 4;

// prototypes: (d, k), transposed. Rows 0, stride, 2 stride, ...
__global__ void label_kernel(const float* x, const float* prototypes, int64_t rows, int64_t stride, int d, int k,
                             uint32_t* out) {
  extern __shared__ double values[];  // (d, kTruthRows)
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kTruthRows;
  for (int i = static_cast<int>(threadIdx.x); i < d * kTruthRows; i += static_cast<int>(blockDim.x)) {
    const int64_t row = (first + i % kTruthRows) * stride;
    values[i] = row < rows ? static_cast<double>(x[row * d + i / kTruthRows]) : 0.0;
  }
  __syncthreads();
  double best[kTruthRows];
  uint32_t label[kTruthRows];
  for (int r = 0; r < kTruthRows; ++r) {
    best[r] = INFINITY;
    label[r] = ~0U;
  }
  for (int c = static_cast<int>(threadIdx.x); c < k; c += static_cast<int>(blockDim.x)) {
    double p[kTruthRows][8] = {};
    for (int j0 = 0; j0 < d; j0 += 8) {
#pragma unroll
      for (int l = 0; l < 8; ++l) {
        if (j0 + l < d) {
          const auto z = static_cast<double>(prototypes[static_cast<int64_t>(j0 + l) * k + c]);
#pragma unroll
          for (int r = 0; r < kTruthRows; ++r) {
            const double t = values[(j0 + l) * kTruthRows + r] - z;
            p[r][l] = __fma_rn(t, t, p[r][l]);
          }
        }
      }
    }
#pragma unroll
    for (int r = 0; r < kTruthRows; ++r) {
      const double d2 = ((p[r][0] + p[r][4]) + (p[r][2] + p[r][6])) + ((p[r][1] + p[r][5]) + (p[r][3] + p[r][7]));
      if (d2 < best[r]) {
        best[r] = d2;
        label[r] = static_cast<uint32_t>(c);
      }
    }
  }
  __shared__ double least[256];
  __shared__ uint32_t labels[256];
  for (int r = 0; r < kTruthRows; ++r) {
    __syncthreads();
    least[threadIdx.x] = best[r];
    labels[threadIdx.x] = label[r];
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
      if (static_cast<int>(threadIdx.x) < half) {
        const double there = least[threadIdx.x + half];
        const uint32_t its = labels[threadIdx.x + half];
        if (there < least[threadIdx.x] || (there == least[threadIdx.x] && its < labels[threadIdx.x])) {
          least[threadIdx.x] = there;
          labels[threadIdx.x] = its;
        }
      }
      __syncthreads();
    }
    if (threadIdx.x == 0 && (first + r) * stride < rows) out[first + r] = labels[0];
  }
}

// Some of them, against the reference's distance.
void check_truth(const ScreenData& data, const float* x, const std::vector<float>& prototypes, int64_t stride,
                 const std::vector<uint32_t>& labels) {
  std::vector<float> row(static_cast<size_t>(data.d));
  for (size_t i = 0; i < std::min<size_t>(labels.size(), 3); ++i) {
    const float* from = x + static_cast<int64_t>(i) * stride * data.d;
    CHECK_CUDA(cudaMemcpy(row.data(), from, row.size() * sizeof(float), cudaMemcpyDeviceToHost));
    uint32_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (int k = 0; k < data.k; ++k) {
      const float* c = &prototypes[static_cast<size_t>(k) * static_cast<size_t>(data.d)];
      const double d2 = canonical_distance(row.data(), c, data.d);
      if (d2 < least) best = static_cast<uint32_t>(k);
      least = std::min(least, d2);
    }
    if (best == labels[i]) continue;
    std::printf("the check itself is wrong at row %lld\n", static_cast<long long>(static_cast<int64_t>(i) * stride));
    std::exit(1);
  }
}

}  // namespace

std::vector<uint32_t> true_labels(const ScreenData& data, const float* x, const std::vector<float>& prototypes,
                                  int64_t stride) {
  std::vector<float> transposed(prototypes.size());
  const auto k = static_cast<size_t>(data.k);
  const auto d = static_cast<size_t>(data.d);
  for (size_t c = 0; c < k; ++c) {
    for (size_t j = 0; j < d; ++j) transposed[j * k + c] = prototypes[c * d + j];
  }
  const Device<float> on_device(transposed);
  const int64_t rows = (data.rows + stride - 1) / stride;
  const Device<uint32_t> truth(static_cast<size_t>(rows));
  const size_t shared = d * kTruthRows * sizeof(double);
  cuda::allow_all_shared_memory(label_kernel, "the check's labels");
  label_kernel<<<static_cast<unsigned>((rows + kTruthRows - 1) / kTruthRows), 256, shared>>>(
      x, on_device.data, data.rows, stride, data.d, data.k, truth.data);
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaDeviceSynchronize());
  std::vector<uint32_t> labels = truth.host();
  check_truth(data, x, prototypes, stride, labels);
  return labels;
}

}  // namespace manymeans::test
