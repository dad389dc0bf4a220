// Factors become packed lines, and what is known of each line. Bound by memory: values are read once, turned in shared
// memory, written once.
#include "backend/cuda/product/packed_lines.cuh"
#include "backend/cuda/product/packed_product.h"
#include "backend/cuda/runtime/device_memory.h"

#include <algorithm>
#include <cmath>

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kNoTop = -(1 << 20), kNoLowest = 1 << 20;

struct PackTasks {
  PackTask task[2];
  int32_t bands[2];   // of each task
  int32_t blocks[2];  // of kPackDepth values
};

template <class Value>
__device__ Value value_at(const PackTask& task, int64_t at) {
  switch (task.type) {
    case DataType::kFloat64: return static_cast<Value>(static_cast<const double*>(task.from)[at]);
    case DataType::kFloat32: return static_cast<Value>(static_cast<const float*>(task.from)[at]);
    case DataType::kUInt8: return static_cast<Value>(static_cast<const uint8_t*>(task.from)[at]);
    case DataType::kInt8: return static_cast<Value>(static_cast<const int8_t*>(task.from)[at]);
    case DataType::kFloat16: return static_cast<Value>(widened_half(static_cast<const uint16_t*>(task.from)[at]));
    case DataType::kBFloat16: break;
  }
  return static_cast<Value>(__uint_as_float(uint32_t{static_cast<const uint16_t*>(task.from)[at]} << 16));
}

__device__ void measure(double value, LineMeasure& to) {
  const auto bits = static_cast<uint64_t>(__double_as_longlong(value));
  const int field = static_cast<int>(bits >> 52 & 0x7ff);
  const uint64_t fraction = bits & 0xfffffffffffff;
  to.squares = __fma_rn(value, value, to.squares);
  if (field == 0x7ff) to.finite = 0;
  if (field == 0 && fraction == 0) return;
  const uint64_t mantissa = fraction | (field != 0 ? uint64_t{1} << 52 : 0);
  const int exponent = (field != 0 ? field : 1) - 1075;
  to.top = max(to.top, exponent + 64 - __clzll(static_cast<long long>(mantissa)));
  to.lowest = min(to.lowest, exponent + __ffsll(static_cast<long long>(mantissa)) - 1);
}

// The same in numbers of 32 bits.
__device__ void measure(float value, LineMeasure& to) {
  const uint32_t bits = __float_as_uint(value);
  const int field = static_cast<int>(bits >> 23 & 0xff);
  const uint32_t fraction = bits & 0x7fffff;
  const double wide = value;
  to.squares = __fma_rn(wide, wide, to.squares);
  if (field == 0xff) to.finite = 0;
  if (field == 0 && fraction == 0) return;
  const uint32_t mantissa = fraction | (field != 0 ? 1U << 23 : 0);
  const int exponent = (field != 0 ? field : 1) - 150;
  to.top = max(to.top, exponent + 32 - __clz(static_cast<int>(mantissa)));
  to.lowest = min(to.lowest, exponent + __ffs(static_cast<int>(mantissa)) - 1);
}

__device__ LineMeasure of_all_lanes(LineMeasure mine) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    mine.squares += __shfl_xor_sync(~0U, mine.squares, offset);
    mine.top = max(mine.top, __shfl_xor_sync(~0U, mine.top, offset));
    mine.lowest = min(mine.lowest, __shfl_xor_sync(~0U, mine.lowest, offset));
    mine.finite = min(mine.finite, __shfl_xor_sync(~0U, mine.finite, offset));
  }
  return mine;
}

// A block packs kPackDepth values of a band of lines.
template <class Value>
__global__ void __launch_bounds__(kThreads) pack_kernel(PackTasks tasks) {
  constexpr int kUnit = 16 / sizeof(Value);  // values that are written at once
  constexpr int kPitch = kPackDepth + kUnit;
  __shared__ alignas(16) Value tile[kBandLines * kPitch];
  const PackTask& task = tasks.task[blockIdx.y];
  const int32_t band = static_cast<int32_t>(blockIdx.x) / tasks.blocks[blockIdx.y];
  const int32_t depth_block = static_cast<int32_t>(blockIdx.x) % tasks.blocks[blockIdx.y];
  if (band >= tasks.bands[blockIdx.y]) return;
  const int32_t line_first = band * kBandLines;                   // among the task's lines
  const int64_t value_first = int64_t{depth_block} * kPackDepth;  // likewise
  const bool along_lines = llabs(task.step) <= llabs(task.stride);
#pragma unroll 4
  for (int at = static_cast<int>(threadIdx.x); at < kBandLines * kPackDepth; at += kThreads) {
    const int line = along_lines ? at / kPackDepth : at % kBandLines;
    const int l = along_lines ? at % kPackDepth : at / kBandLines;
    const bool there = line_first + line < task.lines && value_first + l < task.values;
    tile[line * kPitch + l] =
        there ? value_at<Value>(task, (line_first + line) * task.stride + (value_first + l) * task.step) : Value(0);
  }
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t block = task.first_value / kPackDepth + depth_block;
  const int64_t first_chunk = block * (kPackDepth * static_cast<int>(sizeof(Value)) / kChunkBytes);
  for (int line = static_cast<int>(threadIdx.x) / 32; line < kBandLines; line += kWarps) {
    LineMeasure found = {0, kNoTop, kNoLowest, 1, 0};
    const int32_t to_line = task.first_line + line_first + line;
#pragma unroll
    for (int unit = lane; unit < kPackDepth / kUnit; unit += 32) {
      const Value* from = tile + line * kPitch + unit * kUnit;
#pragma unroll
      for (int v = 0; v < kUnit; ++v) measure(from[v], found);
      const int64_t chunk = first_chunk + unit / 4;
      if (chunk < task.to.chunks) {
        std::byte* to = task.to.values + (sizeof(Value) == 8 ? kValueSlices * task.to.slice_bytes : 0) +
                        unit_place(task.to.chunks, to_line, chunk) + unit % 4 * 16;
        *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
      }
    }
    found = of_all_lanes(found);
    if (lane == 0) task.to.parts[block * task.to.padded + to_line] = found;
  }
}

struct FinishTasks {
  PackedLines factor[2];
  double up;  // by which a sum of squares of so many values is rounded up
  bool wide;
};

// A warp finishes a line.
__global__ void __launch_bounds__(kThreads) finish_kernel(FinishTasks tasks) {
  const PackedLines& to = tasks.factor[blockIdx.y];
  const int line = static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / 32;
  if (line >= to.padded) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  LineMeasure found = {0, kNoTop, kNoLowest, 1, 0};
  for (int block = lane; block < to.blocks; block += 32) {
    const LineMeasure part = to.parts[int64_t{block} * to.padded + line];
    found.squares += part.squares;
    found.top = max(found.top, part.top);
    found.lowest = min(found.lowest, part.lowest);
    found.finite = min(found.finite, part.finite);
  }
  found = of_all_lanes(found);
  if (lane != 0) return;
  const bool finite = found.finite != 0;
  const bool zero = found.top == kNoTop;
  to.widths[line] = !finite ? kNeverExact : zero ? kAlwaysExact : found.top - found.lowest;
  if (tasks.wide) {
    const int exponent = finite && !zero ? found.top : 0;
    to.exponents[line] = exponent;
    to.bounds[line] = ldexp(1.0, exponent);  // infinite for the largest values: their entries are resolved
  } else {
    const double norm = sqrt(found.squares * tasks.up) * (1 + 0x1p-40);
    to.bounds[line] = finite ? norm : HUGE_VAL;
  }
}

// A thread slices two values: the four slices of y = x * 2^-exponent.
__global__ void __launch_bounds__(kThreads) slice_kernel(PackedLines lines, double first, double second) {
  const int64_t units = int64_t{lines.padded} * lines.chunks * 4;
  const int64_t stride = int64_t{gridDim.x} * kThreads;
  for (int64_t unit = int64_t{blockIdx.x} * kThreads + threadIdx.x; unit < units; unit += stride) {
    const int64_t band = unit / (int64_t{lines.chunks} * (kBandBytes / 16));
    const int line = static_cast<int>(band * kBandLines + unit % (kBandBytes / 16) / 4);
    const int exponent = lines.exponents[line];
    const double factor = ldexp(1.0, -(exponent / 2)), more = ldexp(1.0, -(exponent - exponent / 2));
    std::byte* to = lines.values + unit * 16;
    const auto x = *reinterpret_cast<const double2*>(to + kValueSlices * lines.slice_bytes);
    const double2 y = {x.x * factor * more, x.y * factor * more};
    const double2 high = {(y.x + first) - first, (y.y + first) - first};
    const double2 rest = {y.x - high.x, y.y - high.y};
    const double2 middle = {(rest.x + second) - second, (rest.y + second) - second};
    *reinterpret_cast<double2*>(to) = high;
    *reinterpret_cast<double2*>(to + lines.slice_bytes) = middle;
    *reinterpret_cast<double2*>(to + 2 * lines.slice_bytes) = {rest.x - middle.x, rest.y - middle.y};
    *reinterpret_cast<double2*>(to + 3 * lines.slice_bytes) = rest;
  }
}

}  // namespace

void pack_lines(std::span<const PackTask> tasks, bool wide, cudaStream_t stream) {
  PackTasks all = {};
  int64_t most = 0;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const PackTask& task = tasks[i];
    const bool last = task.first_line + task.lines >= task.to.count;
    const int32_t end = last ? task.to.padded : task.first_line + task.lines;
    all.task[i] = task;
    all.bands[i] = (end - task.first_line) / kBandLines;
    all.blocks[i] = static_cast<int32_t>(std::max<int64_t>(1, (task.values + kPackDepth - 1) / kPackDepth));
    most = std::max(most, int64_t{all.bands[i]} * all.blocks[i]);
  }
  const dim3 grid(static_cast<unsigned>(most), static_cast<unsigned>(tasks.size()));
  if (wide) {
    pack_kernel<double><<<grid, kThreads, 0, stream>>>(all);
  } else {
    pack_kernel<float><<<grid, kThreads, 0, stream>>>(all);
  }
  check_launch("packing the factors of a product");
}

void finish_lines(std::span<const PackedLines> factors, const LineRounding& rounding, bool wide, cudaStream_t stream) {
  FinishTasks all = {};
  int32_t most = 0;
  for (size_t i = 0; i < factors.size(); ++i) {
    all.factor[i] = factors[i];
    most = std::max(most, factors[i].padded);
  }
  all.up = rounding.squares_up;
  all.wide = wide;
  const dim3 grid(static_cast<unsigned>((most + kWarps - 1) / kWarps), static_cast<unsigned>(factors.size()));
  finish_kernel<<<grid, kThreads, 0, stream>>>(all);
  check_launch("measuring the factors of a product");
  if (!wide) return;
  for (const PackedLines& lines : factors) {
    const int64_t units = int64_t{lines.padded} * lines.chunks * 4;
    const auto blocks = static_cast<unsigned>(std::clamp<int64_t>((units + kThreads - 1) / kThreads, 1, 1 << 16));
    slice_kernel<<<blocks, kThreads, 0, stream>>>(lines, rounding.first_slice, rounding.second_slice);
    check_launch("slicing the factors of a product");
  }
}

}  // namespace manymeans::cuda
