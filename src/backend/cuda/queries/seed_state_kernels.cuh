// Kernels of seeding that do not choose: first distances, the 8-bit copy, thresholds and sums, codes of candidates.
#pragma once

#include "backend/cuda/queries/seed_device.cuh"

#include <cmath>
#include <cstdint>

namespace manymeans::cuda {

// A row is not nearer to a candidate whose upper score is at most this. Rows without weight, and rows that are centres,
// have no use for a nearer one.
__device__ inline float threshold_of(const SeedFrame& frame, float square, double weight, double least) {
  if (!(weight > 0) || least == 0) return __int_as_float(0x7f800000);
  const double scaled = __dmul_rn(__dmul_rn(least, frame.scale), frame.scale);
  return __double2float_rd(static_cast<double>(square) - scaled * (0.5 + 0x1p-20) - frame.slack);
}

template <class T, bool kEight>
__global__ void __launch_bounds__(kSeedThreads) seed_first_kernel(DevicePoints points, SeedFirst first_centres) {
  const auto& [centres, count, least, most] = first_centres;
  const auto* x = static_cast<const T*>(points.data);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kSeedThreads;
  double largest = 0;
  for (int64_t first = blockIdx.x * static_cast<int64_t>(kSeedThreads) + threadIdx.x / 32 * 32; first < points.n;
       first += stride) {
    const int64_t row = first + lane;
    double mine = __longlong_as_double(0x7ff0000000000000ll);
    for (int64_t c = 0; c < count; ++c) {
      const double* centre = centres + c * points.d;
      if constexpr (kEight) {
        for (int i = 0; i < 8; ++i) {
          const int64_t at = min(first + (lane & 24) + i, points.n - 1);
          const double d2 = canonical_distance_by_eight(x + at * points.d, centre, points.d, lane & 7);
          if (i == (lane & 7)) mine = fmin(mine, d2);
        }
      } else {
        mine = fmin(mine, canonical_distance(x + min(row, points.n - 1) * points.d, centre, points.d));
      }
    }
    if (row >= points.n) continue;
    least[row] = mine;
    largest = fmax(largest, __dmul_rn(weight_of(points, row), mine));
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    largest = fmax(largest, __shfl_xor_sync(kAllLanes, largest, offset));
  }
  if (lane == 0) atomicMax(most, static_cast<unsigned long long>(__double_as_longlong(largest)));
}

constexpr int kFrameColumns = 32;  ///< of a block
constexpr int kFrameParts = 32;    ///< of the sample, a warp each

// Sums or maxima over a block's parts of the sample, for each of its columns.
__device__ inline double merge_parts(double v, bool max_wanted) {
  __shared__ double parts[kFrameParts][kFrameColumns];
  __syncthreads();
  parts[threadIdx.x / kFrameColumns][threadIdx.x % kFrameColumns] = v;
  __syncthreads();
  double all = 0;
  for (int part = 0; part < kFrameParts; ++part) {
    const double other = parts[part][threadIdx.x % kFrameColumns];
    all = max_wanted ? fmax(all, other) : all + other;
  }
  return all;
}

// Of a column with this mean, its range at most 255.
struct WholeColumn {
  double minimum = 0;
  double range = 0;
  double mean = 0;
};

// Exact codes for whole numbers: the finest step with room for them on either side of the mean. So a column counts by
// its own range only. The many zeros of counts and indicators have small codes.
__device__ inline void code_whole_numbers(const WholeColumn& column, double scale, double& centre, double& step) {
  int each = 1;  // codes a unit
  while (each < 128 && 2 * each * column.range <= 128) each *= 2;
  const double codes = column.range * each;
  const double wanted = rint((column.mean - column.minimum) * each);
  const double below = fmin(fmax(wanted, fmax(codes - 127, 0.0)), fmin(codes, 128.0));
  centre = column.minimum + below / each;
  step = scale / each;
}

/// A lane a column, rows evenly spread: a centre and a step that resolve the bulk of the sample. Far values are cut
/// off, which their radius says. Any centre and step are sound.
template <class T>
__global__ void __launch_bounds__(kFrameColumns* kFrameParts)
    seed_frame_kernel(DevicePoints points, SeedColumnsOfSample sample) {
  const auto& [count, scale, range, minimum, centre, step] = sample;
  const int64_t j = blockIdx.x * static_cast<int64_t>(kFrameColumns) + threadIdx.x % kFrameColumns;
  const int part = static_cast<int>(threadIdx.x) / kFrameColumns;
  const bool real = j < points.d;
  const auto* x = static_cast<const T*>(points.data) + (real ? j : 0);
  const auto value = [&](int64_t i) { return widened(x[i * points.n / count * points.d]); };
  double sum = 0;
  double broken = 0;
#pragma unroll 8
  for (int64_t i = part; i < count; i += kFrameParts) {
    sum += value(i) / static_cast<double>(count);
    if (value(i) != rint(value(i))) broken = 1;
  }
  sum = merge_parts(sum, false);
  broken = merge_parts(broken, true);
  double mean_deviation = 0;
  double most = 0;
#pragma unroll 8
  for (int64_t i = part; i < count; i += kFrameParts) {
    const double deviation = fabs(value(i) - sum) * scale;
    mean_deviation += deviation / static_cast<double>(count);
    most = fmax(most, deviation);
  }
  mean_deviation = merge_parts(mean_deviation, false);
  most = merge_parts(most, true);
  if (!real || part > 0) return;
  const bool whole = broken == 0 && range[j] <= 255 && minimum[j] == rint(minimum[j]);
  if (whole || range[j] == 0) {
    code_whole_numbers({minimum[j], range[j], sum}, scale, centre[j], step[j]);
    return;
  }
  constexpr double kHeadroom = 1.25;  // allows for rows beyond the largest of the sample
  constexpr double kCut = 8;          // times the mean deviation: more than six standard deviations of a normal
  double span = fmin(fmin(most * kHeadroom, mean_deviation * kCut), range[j] * scale);
  if (!(span > 0)) span = range[j] * scale;
  centre[j] = sum;
  step[j] = fmax(span / 127, 0x1p-60);
}

/// A warp a row: codes, at least |y - coded y| and ratio * |codes| as radius, at most |y|^2 / 2.
template <class T>
__global__ void __launch_bounds__(kSeedThreads)
    seed_encode_kernel(DevicePoints points, SeedFrame frame, SeedEncoding encoding) {
  const auto& [row_step, count, code_bytes, codes, radii, squares, norms] = encoding;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t warps = static_cast<int64_t>(gridDim.x) * kSeedWarps;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kSeedWarps + threadIdx.x / 32; i < count; i += warps) {
    const auto* x = static_cast<const T*>(points.data) + i * row_step * points.d;
    double square = 0;
    double residual = 0;
    double norm = 0;
#pragma unroll 4
    for (int64_t j = lane; j < code_bytes; j += 32) {
      int code = 0;
      if (j < points.d) {
        const double y = (widened(x[j]) - frame.centre[j]) * frame.scale;
        const double step = frame.step[j];
        code = static_cast<int>(fmin(fmax(rint(y / step), -128.0), 127.0));
        const double rest = __fma_rn(-step, code, y);
        square += y * y;
        residual += rest * rest;
        norm += code * code;
      }
      if (codes != nullptr) codes[i * code_bytes + j] = static_cast<int8_t>(code);
    }
    square = warp_sum(square);
    residual = warp_sum(residual);
    norm = warp_sum(norm);
    if (lane != 0) continue;
    const double distance = sqrt(residual) * (1 + 0x1p-20) + sqrt(square) * 0x1p-48;
    radii[i] = __double2float_ru(fmax(distance, sqrt(norm) * frame.ratio * (1 + 0x1p-20)));
    squares[i] = __double2float_rd(square * (0.5 - 0x1p-20));
    if (norms != nullptr) norms[i] = static_cast<float>(sqrt(norm));
  }
}

// Returns the place of a byte of a candidate's codes for multiply_rows().
__device__ inline int64_t fragment_byte(int64_t code_bytes, int column, int64_t j) {
  const int64_t tile = column / kSeedTileColumns;
  const int64_t lane = column % kSeedTileColumns * 4 + j % 64 / 16;
  return ((tile * (code_bytes / 64) + j / 64) * 32 + lane) * 16 + j % 16;
}

constexpr int kCoders = 128;  ///< threads that code a candidate together

// Two numbers of a candidate: sums over the kCoders threads of each team of a block, or a sum and a maximum; all of its
// threads call it.
struct CoderNumbers {
  double sum = 0;
  double other = 0;

  __device__ void merge(const CoderNumbers& more, bool other_is_maximum) {
    sum += more.sum;
    other = other_is_maximum ? fmax(other, more.other) : other + more.other;
  }
};
__device__ inline CoderNumbers merge_coders(CoderNumbers own, bool other_is_maximum) {
  constexpr int kWarps = kCoders / 32;
  __shared__ CoderNumbers scratch[32];
  for (int offset = 16; offset > 0; offset /= 2) {
    own.merge({__shfl_xor_sync(kAllLanes, own.sum, offset), __shfl_xor_sync(kAllLanes, own.other, offset)},
              other_is_maximum);
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = own;
  __syncthreads();
  const CoderNumbers* team = scratch + threadIdx.x / kCoders * kWarps;
  CoderNumbers all = team[0];
  for (int w = 1; w < kWarps; ++w) all.merge(team[w], other_is_maximum);
  return all;
}

// Columns of a candidate that a thread has in registers: what it loads of them, it loads at once.
constexpr int kCodedTogether = 4;

// The columns first, first + kCoders, ... of a candidate in the frame: calls use(j, y, step) for those that are there.
template <class Value, class Use>
__device__ void for_each_coordinate(const SeedArguments& a, const SeedFrame& frame, Value&& value, Use&& use) {
  for (int64_t first = threadIdx.x % kCoders; first < a.points.d; first += kCodedTogether * kCoders) {
    double y[kCodedTogether];
    double step[kCodedTogether];
#pragma unroll
    for (int i = 0; i < kCodedTogether; ++i) {
      const int64_t j = min(first + i * kCoders, a.points.d - 1);
      y[i] = (value(j) - frame.centre[j]) * frame.scale;
      step[i] = frame.step[j];
    }
#pragma unroll
    for (int i = 0; i < kCodedTogether; ++i) {
      if (first + i * kCoders < a.points.d) use(first + i * kCoders, y[i], step[i]);
    }
  }
}

// The codes and numbers of a candidate, by kCoders threads; all threads of the block call it, each team for a column of
// its own. A column that is not real is padding. `value(j)`: the candidate in binary64.
template <class Value>
__device__ void code_candidate(const SeedArguments& a, const SeedFrame& frame, int column, bool real, Value&& value) {
  const SeedCandidates& to = a.candidates;
  const auto thread = static_cast<int64_t>(threadIdx.x % kCoders);
  CoderNumbers size;  // |y|^2, and the largest |step * y|
  if (real) {
    for_each_coordinate(a, frame, value,
                        [&](int64_t, double y, double step) { size.merge({y * y, fabs(y * step)}, true); });
  }
  size = merge_coders(size, true);
  const float scale = __double2float_ru(size.other / 127);
  const double inverse = scale > 0 ? 1 / static_cast<double>(scale) : 0;
  for (int64_t j = (real ? a.points.d : 0) + thread; j < a.code_bytes; j += kCoders) {
    to.fragments[fragment_byte(a.code_bytes, column, j)] = 0;
  }
  CoderNumbers squares;  // of what the codes lack, and of the codes
  if (real) {
    for_each_coordinate(a, frame, value, [&](int64_t j, double y, double step) {
      const double w = y * step;
      const double code = fmin(fmax(rint(w * inverse), -127.0), 127.0);  // any code is sound
      const double rest = __fma_rn(-static_cast<double>(scale), code, w);
      squares.merge({rest * rest, code * code}, false);
      to.fragments[fragment_byte(a.code_bytes, column, j)] = static_cast<int8_t>(code);
    });
  }
  squares = merge_coders(squares, false);
  if (thread != 0) return;
  const double of_codes = sqrt(squares.sum) * (1 + 0x1p-20) + scale * sqrt(squares.other) * 0x1p-20;
  const double slope = (sqrt(size.sum) + of_codes / frame.ratio) * (1 + 0x1p-18) * frame.bound_scale;
  to.columns[column] =
      real ? SeedColumn{scale, __double2float_ru(slope), __double2float_ru(-size.sum * (0.5 - 0x1p-18)), 0}
           : SeedColumn{0, 0, __int_as_float(static_cast<int>(0xff800000)), 0};
}

/// A block of kCoders threads a column. C: the prototypes' type.
template <class C>
__global__ void __launch_bounds__(kCoders)
    seed_column_kernel(const __grid_constant__ SeedArguments a, const __grid_constant__ SeedFrame frame) {
  const auto column = static_cast<int>(blockIdx.x);
  const bool real = column % kSeedTileColumns < a.candidates.tiles[column / kSeedTileColumns].columns;
  const C* centre = static_cast<const C*>(a.candidates.centres) + column * a.points.d;
  code_candidate(a, frame, column, real, [&](int64_t j) { return widened(centre[j]); });
}

/// A block for each kSeedSumRows rows: thresholds and, if `sums`, the limbs of their terms and (added to) the total.
__global__ void __launch_bounds__(kSeedThreads)
    seed_summary_kernel(DevicePoints points, SeedRows rows, SeedFrame frame, bool sums) {
  __shared__ int64_t scratch[kDistanceLimbs * 32];
  __shared__ int64_t block_sum[kDistanceLimbs];
  if (threadIdx.x < kDistanceLimbs) block_sum[threadIdx.x] = 0;
  __syncthreads();
  int64_t limbs[kDistanceLimbs] = {};
  for (int i = static_cast<int>(threadIdx.x); i < kSeedSumRows; i += kSeedThreads) {
    const int64_t row = static_cast<int64_t>(blockIdx.x) * kSeedSumRows + i;
    if (row >= points.n) break;
    const double least = rows.least[row];
    const double weight = weight_of(points, row);
    if (rows.thresholds != nullptr) rows.thresholds[row] = threshold_of(frame, rows.squares[row], weight, least);
    if (sums) add_limbs(rows.splitter, __dmul_rn(weight, least), 1, limbs);
  }
  if (!sums) return;
  block_add(limbs, block_sum, scratch);
  if (threadIdx.x < kDistanceLimbs) {
    rows.blocks[static_cast<int64_t>(blockIdx.x) * kDistanceLimbs + threadIdx.x] = block_sum[threadIdx.x];
    atomic_add(&rows.total[threadIdx.x], block_sum[threadIdx.x]);
  }
}

}  // namespace manymeans::cuda
