// The tensor-core screen by itself, on data made for it: what manymeans_screen_check runs.
#pragma once

#include "backend/cuda/device/matrix_operands.h"
#include "backend/cuda/tensor/matrix_bounds.h"

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#define CHECK_CUDA(call)                                                          \
  do {                                                                            \
    const cudaError_t status = (call);                                            \
    if (status != cudaSuccess) {                                                  \
      std::printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
      std::exit(1);                                                               \
    }                                                                             \
  } while (false)

namespace manymeans::test {

template <class T>
struct Device {
  T* data = nullptr;
  size_t size = 0;
  Device() = default;
  explicit Device(size_t count) : size(count) { CHECK_CUDA(cudaMalloc(&data, std::max<size_t>(1, count) * sizeof(T))); }
  explicit Device(const std::vector<T>& from) : Device(from.size()) { copy(from); }
  Device(Device&& other) noexcept : data(std::exchange(other.data, nullptr)), size(std::exchange(other.size, 0)) {}
  Device& operator=(Device&& other) noexcept {
    std::swap(data, other.data);
    std::swap(size, other.size);
    return *this;
  }
  ~Device() { cudaFree(data); }
  void copy(const std::vector<T>& from) {
    CHECK_CUDA(cudaMemcpy(data, from.data(), size * sizeof(T), cudaMemcpyHostToDevice));
  }
  void fill(int byte) { CHECK_CUDA(cudaMemset(data, byte, size * sizeof(T))); }
  std::vector<T> host() const {
    std::vector<T> out(size);
    CHECK_CUDA(cudaMemcpy(out.data(), data, size * sizeof(T), cudaMemcpyDeviceToHost));
    return out;
  }
};

/// Data: a function of (row, column), the same on host and device.
struct ScreenData {
  int64_t rows;
  int d;
  int k;
  int models;
  int centres;   // of the mixture; 0: one
  int averaged;  // rows that a prototype is the mean of; 0: rows stand between two prototypes, a few units off
  uint32_t seed;
};

__host__ __device__ inline uint32_t mix(uint64_t v) {
  v ^= v >> 31;
  v *= 0x7fb5d329728ea185ULL;
  v ^= v >> 27;
  v *= 0x81dadef4bc2dd44dULL;
  return static_cast<uint32_t>(v >> 32);
}

std::vector<float> prototypes_of(const ScreenData& data, int model);
/// `first`: the prototypes of the first model.
void fill_points(const ScreenData& data, const std::vector<float>& first, float* out);

struct HostColumns {
  std::vector<__half> values;
  std::vector<float> offsets, slopes, errors;
  std::vector<uint32_t> order;
  std::vector<cuda::ColumnRange> ranges;
};

/// Packed rows that are to be filled, see PackedRows.
struct FilledRows {
  __half* values;
  float* radii;
  float* norms;
  int64_t rows;
  int padded_columns;
};
/// As plain as it can be: the centre is 0.
void pack_points(const float* x, int d, const cuda::RadiusRule& rule, const FilledRows& to);
struct ColumnShape {
  int tile;
  int padded;
  cuda::RadiusRule rule;
  double bound_scale;
  bool by_number;  ///< as the backend has models of one tile without thresholds; else by norm
};
void pack_model(const ScreenData& data, const std::vector<float>& prototypes, int model, const ColumnShape& shape,
                HostColumns& out);

/// The labels of rows 0, stride, 2 stride, ... by canonical distances of all prototypes, computed on the device.
std::vector<uint32_t> true_labels(const ScreenData& data, const float* x, const std::vector<float>& prototypes,
                                  int64_t stride);

struct ScreenOutcome {
  double certified = 0;  // share
  double listed = 0;
  double overflow = 0;
  double marked = 0;
  double candidates = 0;  // per listed row
  int64_t wrong = 0;      // among the rows looked at
  int64_t looked_at = 0;
  double ms = 0;
};

struct ScreenWays {
  int64_t max_listed = 4'000'000;  ///< what does not fit into the list is marked
  std::optional<float> fall;       ///< thresholds are so far below the best score of a screen before
  double bound_scale = 1;
  int repeats = 0;
  double max_work = 1e13;  ///< distances times columns, for the truth
};
ScreenOutcome run_screen(const ScreenData& data, const ScreenWays& ways);

/// Whether the matrix units add as the bound assumes.
bool probe_matrix_units();

}  // namespace manymeans::test
