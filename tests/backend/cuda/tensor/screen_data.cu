// Points and prototypes of the screen's check, and their packing.
#include "backend/cuda/tensor/matrix_bounds.h"
#include "screen_check.h"

#include <cmath>
#include <limits>

namespace manymeans::test {

using namespace cuda;

namespace {

constexpr double kScale = 0x1p11;

// About N(0, 1): eight 16-bit numbers added.
__host__ __device__ inline float noise(uint32_t stream, int64_t row, int column) {
  int sum = 0;
  for (int part = 0; part < 4; ++part) {
    const uint32_t u = mix((static_cast<uint64_t>(stream) << 56) ^ (static_cast<uint64_t>(row) << 20) ^
                           (static_cast<uint64_t>(column) << 4) ^ static_cast<uint64_t>(part) ^ 0x9e3779b97f4a7c15ULL);
    sum += static_cast<int>(u & 0xFFFF) + static_cast<int>(u >> 16) - 0xFFFF;
  }
  return static_cast<float>(sum) * 0x1.39p-16F * 0.5F;
}

__host__ __device__ inline float plain_value(const ScreenData& data, int64_t row, int column) {
  float x = noise(data.seed, row, column);
  if (data.centres > 0) {
    const int centre =
        static_cast<int>(mix(static_cast<uint64_t>(row) * 77 + data.seed) % static_cast<uint32_t>(data.centres));
    x += 1.5F * noise(data.seed + 1, centre, column);
  }
  return x;
}

// As pack_column.cuh does it: squares first, and then their roots.
__host__ __device__ inline void add_value(double y, __half h, int64_t j, int64_t d, HalfVector& squares) {
  const auto value = static_cast<double>(__half2float(h));
  squares.norm += y * y;
  squares.rest += (y - value) * (y - value);
  squares.growth += steps_with(j, d) * value * value;
}
__host__ __device__ inline HalfVector root_of(const HalfVector& squares, int64_t d) {
  constexpr double kUp = 1 + 0x1p-20;
  return {sqrt(squares.norm) * kUp, sqrt(squares.rest) * kUp, sqrt(squares.growth / steps_with(0, d)) * kUp};
}

// Rows between two prototypes of the first model, moved towards one by some part of a unit in float32.
__global__ void fill_ties(ScreenData data, const float* prototypes, float* out) {
  const int64_t row = blockIdx.x;
  const int a = static_cast<int>(mix(static_cast<uint64_t>(row) * 3 + 1) % static_cast<uint32_t>(data.k));
  const int b = static_cast<int>(mix(static_cast<uint64_t>(row) * 3 + 2) % static_cast<uint32_t>(data.k));
  const float off = ldexpf(static_cast<float>(row % 17 - 8), -static_cast<int>(row % 19) - 4);
  for (int j = static_cast<int>(threadIdx.x); j < data.d; j += static_cast<int>(blockDim.x)) {
    const float u = prototypes[static_cast<int64_t>(a) * data.d + j];
    const float v = prototypes[static_cast<int64_t>(b) * data.d + j];
    out[row * data.d + j] = 0.5F * (u + v) + off * (u - v) + 0.05F * noise(data.seed + 5, row, j);
  }
}

__global__ void fill_rows(ScreenData data, float* out) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * 4 + threadIdx.y;
  if (row >= data.rows) return;
  for (int j = static_cast<int>(threadIdx.x); j < data.d; j += 32) out[row * data.d + j] = plain_value(data, row, j);
}

__global__ void pack_rows(const float* x, int d, RadiusRule rule, FilledRows to) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * 4 + threadIdx.y;
  if (row >= to.rows) return;
  HalfVector sums;
  for (int j = static_cast<int>(threadIdx.x); j < to.padded_columns; j += 32) {
    const double y = j < d ? static_cast<double>(x[row * d + j]) * kScale : 0.0;
    const __half h = __double2half(y);
    to.values[row * to.padded_columns + j] = h;
    add_value(y, h, j, d, sums);
  }
  for (int step = 16; step > 0; step /= 2) {
    sums.norm += __shfl_xor_sync(~0U, sums.norm, step);
    sums.rest += __shfl_xor_sync(~0U, sums.rest, step);
    sums.growth += __shfl_xor_sync(~0U, sums.growth, step);
  }
  if (threadIdx.x != 0) return;
  const HalfVector row_as_half = root_of(sums, d);
  to.norms[row] = __double2float_ru(row_as_half.norm);
  to.radii[row] = __double2float_ru(rule.radius_of(row_as_half));
}
float up(double v) {
  const auto f = static_cast<float>(v);
  return f < v ? std::nextafter(f, std::numeric_limits<float>::infinity()) : f;
}

}  // namespace

std::vector<float> prototypes_of(const ScreenData& data, int model) {
  std::vector<float> out(static_cast<size_t>(data.k) * static_cast<size_t>(data.d));
  const int averaged = std::max(1, data.averaged);
  for (int k = 0; k < data.k; ++k) {
    for (int j = 0; j < data.d; ++j) {
      float sum = 0;
      for (int i = 0; i < averaged; ++i) {
        const auto row = static_cast<int64_t>(mix(static_cast<uint64_t>((model * data.k + k) * averaged + i) + 12345) %
                                              static_cast<uint64_t>(data.rows));
        sum += data.averaged > 0 ? plain_value(data, row, j) : noise(data.seed + 2, k, j);
      }
      out[static_cast<size_t>(k) * static_cast<size_t>(data.d) + static_cast<size_t>(j)] =
          sum / static_cast<float>(averaged);
    }
  }
  // A few that repeat the first, and must never get a label.
  if (data.k >= 8) std::copy_n(out.begin(), data.d, out.end() - data.d);
  return out;
}

void fill_points(const ScreenData& data, const std::vector<float>& first, float* out) {
  if (data.averaged > 0) {
    fill_rows<<<static_cast<unsigned>((data.rows + 3) / 4), dim3(32, 4)>>>(data, out);
    CHECK_CUDA(cudaGetLastError());
    return;
  }
  const Device<float> prototypes(first);
  fill_ties<<<static_cast<unsigned>(data.rows), 32>>>(data, prototypes.data, out);
  CHECK_CUDA(cudaDeviceSynchronize());
}

void pack_points(const float* x, int d, const RadiusRule& rule, const FilledRows& to) {
  pack_rows<<<static_cast<unsigned>((to.rows + 3) / 4), dim3(32, 4)>>>(x, d, rule, to);
  CHECK_CUDA(cudaDeviceSynchronize());
}

void pack_model(const ScreenData& data, const std::vector<float>& prototypes, int model, const ColumnShape& shape,
                HostColumns& out) {
  const auto [tile, padded, rule, scale, by_number] = shape;
  std::vector<double> squares(static_cast<size_t>(data.k));
  std::vector<uint32_t> order;
  for (int k = 0; k < data.k; ++k) {
    const float* c = &prototypes[static_cast<size_t>(k) * static_cast<size_t>(data.d)];
    for (int j = 0; j < data.d; ++j) squares[static_cast<size_t>(k)] += std::pow(static_cast<double>(c[j]) * kScale, 2);
    bool repeats = false;  // only the last one can
    if (k > 0 && k == data.k - 1) repeats = std::equal(c, c + data.d, prototypes.begin());
    if (!repeats) order.push_back(static_cast<uint32_t>(k));
  }
  if (!by_number) {
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return squares[a] < squares[b]; });
  }
  const size_t first = out.order.size();
  const size_t count =
      (order.size() + static_cast<size_t>(tile) - 1) / static_cast<size_t>(tile) * static_cast<size_t>(tile);
  const size_t end = first + count;
  out.values.resize(end * static_cast<size_t>(padded), __half(0.0F));
  out.offsets.resize(end, kNeverWins);
  out.slopes.resize(end, 0);
  out.errors.resize(end, 0);
  out.order.resize(end, ~0U);
  for (size_t i = 0; i < order.size(); ++i) {
    const float* c = &prototypes[static_cast<size_t>(order[i]) * static_cast<size_t>(data.d)];
    HalfVector sums;
    for (int j = 0; j < data.d; ++j) {
      const double z = static_cast<double>(c[j]) * kScale;
      const __half h = __double2half(z);
      out.values[(first + i) * static_cast<size_t>(padded) + static_cast<size_t>(j)] = h;
      add_value(z, h, j, data.d, sums);
    }
    const MatrixBound bound = matrix_bound(root_of(sums, data.d), data.d, rule);
    out.offsets[first + i] = static_cast<float>(-sums.norm / 2);
    out.slopes[first + i] = up(scale * bound.slope);
    out.errors[first + i] = up(scale * bound.error);
    out.order[first + i] = order[i];
  }
  ColumnRange range;
  range.slot = model;
  range.first = static_cast<int32_t>(first);
  range.count = static_cast<int32_t>(count);
  range.slack = up(scale * matrix_slack(data.d));
  range.underflow = 0x1p-100F;
  out.ranges.push_back(range);
}

}  // namespace manymeans::test
