// Factors become packed lines, and what is known of each line. Bound by memory: values are read once, turned in shared
// memory, written once.
#include "backend/cuda/runtime/dependent_launch.cuh"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/kernel_memory.h"
#include "backend/cuda/runtime/wait_point.cuh"
#include "product/cuda/packed_lines.cuh"
#include "product/cuda/packed_product.h"
#include "product/cuda/quick_proof.h"

#include <cooperative_groups.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kNoTop = -(1 << 20), kNoLowest = 1 << 20;
constexpr int kBlocksOfThread = 4;         // of kPackDepth values: a line of no more is finished by one thread
constexpr unsigned kMaxClusterBlocks = 8;  // that every device with clusters can have
constexpr unsigned kAll = ~0U;

template <class Value>
constexpr int kUnitValues = 16 / static_cast<int>(sizeof(Value));  // that are read and written at once
template <class Value>
constexpr int kTilePitch = kPackDepth + kUnitValues<Value>;

struct PackTasks {
  PackTask task[2];
  int32_t bands[2];   // of each task
  int32_t blocks[2];  // of kPackDepth values
};

template <class From>
__device__ __forceinline__ From read(const From* from) {
  return *from;
}
__device__ __forceinline__ float read(const Half* from) {
  return widened_half(from->bits);
}
__device__ __forceinline__ float read(const BFloat* from) {
  return __uint_as_float(uint32_t{from->bits} << 16);
}

// The block packs values [value, value + kPackDepth) of lines [line, line + kBandLines) of a task.
struct PackPlace {
  int32_t line;
  int64_t value;
};

// A thread reads all its values before it puts the first into shared memory: what it waits for is on its way together.
template <class From, class Value>
__device__ __forceinline__ void load_each(const PackTask& task, const PackPlace& place, Value* tile) {
  constexpr int kPitch = kTilePitch<Value>;
  constexpr int kEach = kBandLines * kPackDepth / kThreads;
  const auto* from = static_cast<const From*>(task.from);
  const bool along_lines = llabs(task.step) <= llabs(task.stride);
  const int thread = static_cast<int>(threadIdx.x);
  const int line_first = along_lines ? thread / kPackDepth : thread % kBandLines;
  const int value_first = along_lines ? thread % kPackDepth : thread / kBandLines;
  const int line_step = along_lines ? kThreads / kPackDepth : 0, value_step = along_lines ? 0 : kThreads / kBandLines;
  Value values[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int32_t line = place.line + line_first + i * line_step;
    const int64_t value = place.value + value_first + i * value_step;
    const bool there = line < task.lines && value < task.values;
    values[i] = there ? static_cast<Value>(read(from + line * task.stride + value * task.step)) : Value(0);
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    tile[(line_first + i * line_step) * kPitch + value_first + i * value_step] = values[i];
  }
}

// Loads whole lines with adjacent values that begin at multiples of 16 bytes.
template <class Value>
__device__ __forceinline__ void load_units(const PackTask& task, const PackPlace& place, Value* tile) {
  constexpr int kUnit = kUnitValues<Value>, kUnits = kPackDepth / kUnit;  // of a line
  constexpr int kEach = kBandLines * kUnits / kThreads;
  const int thread = static_cast<int>(threadIdx.x);
  const int at = thread % kUnits * kUnit;
  uint4 values[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int32_t line = place.line + thread / kUnits + i * (kThreads / kUnits);
    const auto* from = static_cast<const Value*>(task.from) + line * task.stride + place.value + at;
    values[i] = line < task.lines ? *reinterpret_cast<const uint4*>(from) : make_uint4(0, 0, 0, 0);
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int line = thread / kUnits + i * (kThreads / kUnits);
    *reinterpret_cast<uint4*>(tile + line * kTilePitch<Value> + at) = values[i];
  }
}

template <class Value>
__device__ void load_tile(const PackTask& task, const PackPlace& place, Value* tile) {
  constexpr bool kWide = sizeof(Value) == 8;
  const bool same_type = task.type == (kWide ? DataType::kFloat64 : DataType::kFloat32);
  const bool whole_units = task.step == 1 && task.stride % kUnitValues<Value> == 0 &&
                           place.value + kPackDepth <= task.values && reinterpret_cast<uintptr_t>(task.from) % 16 == 0;
  if (same_type && whole_units) return load_units<Value>(task, place, tile);
  switch (task.type) {
    case DataType::kFloat64: return load_each<double>(task, place, tile);
    case DataType::kFloat32: return load_each<float>(task, place, tile);
    case DataType::kUInt8: return load_each<uint8_t>(task, place, tile);
    case DataType::kInt8: return load_each<int8_t>(task, place, tile);
    case DataType::kFloat16: return load_each<Half>(task, place, tile);
    case DataType::kBFloat16: return load_each<BFloat>(task, place, tile);
  }
}

// ---- What is known of a line.

template <class Value>
class LaneMeasure;

template <>
class LaneMeasure<double> {
 public:
  __device__ __forceinline__ void add(double value) {
    const auto bits = static_cast<uint64_t>(__double_as_longlong(value));
    const int field = static_cast<int>(bits >> 52 & 0x7ff);
    const uint64_t fraction = bits & 0xfffffffffffff;
    squares_ = __fma_rn(value, value, squares_);
    if (field == 0x7ff) finite_ = 0;
    if (field == 0 && fraction == 0) return;
    const uint64_t mantissa = fraction | (field != 0 ? uint64_t{1} << 52 : 0);
    const int exponent = (field != 0 ? field : 1) - 1075;
    top_ = max(top_, exponent + 64 - __clzll(static_cast<long long>(mantissa)));
    lowest_ = min(lowest_, exponent + __ffsll(static_cast<long long>(mantissa)) - 1);
  }
  __device__ LineMeasure of_all_lanes() const {
    return {sum_of_lanes(squares_), __reduce_max_sync(kAll, top_), __reduce_min_sync(kAll, lowest_),
            __reduce_min_sync(kAll, finite_), 0};
  }
  static __device__ __forceinline__ double sum_of_lanes(double mine) {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) mine += __shfl_xor_sync(kAll, mine, offset);
    return mine;
  }

 private:
  double squares_ = 0;
  int top_ = kNoTop, lowest_ = kNoLowest, finite_ = 1;
};

// Measures float32. Counting zeros of every value would take longer than the memory does. So it keeps the bits of the
// largest magnitude and of the smallest power of two that is some value's lowest bit.
template <>
class LaneMeasure<float> {
 public:
  __device__ __forceinline__ void add(float value) {
    const uint32_t magnitude = __float_as_uint(value) & 0x7fffffff;
    const double wide = value;
    squares_ = __fma_rn(wide, wide, squares_);
    most_ = max(most_, magnitude);
    // Without its lowest bit a number is nearer to zero by that bit; a normal power of two has none but the hidden one.
    const float without = (magnitude & 0x7fffff) != 0 ? __uint_as_float(magnitude & (magnitude - 1)) : 0.0F;
    const uint32_t unit = __float_as_uint(__fsub_rn(__uint_as_float(magnitude), without));
    least_ = min(least_, magnitude != 0 ? unit : kNothing);
  }
  __device__ LineMeasure of_all_lanes() const {
    const uint32_t most = __reduce_max_sync(kAll, most_), least = __reduce_min_sync(kAll, least_);
    LineMeasure line = {LaneMeasure<double>::sum_of_lanes(squares_), kNoTop, kNoLowest, 1, 0};
    if (most == 0) return line;
    line.top = exponent_of(most) + 1;
    line.lowest = exponent_of(least);
    line.finite = most < kInfinity ? 1 : 0;
    return line;
  }

 private:
  static constexpr uint32_t kInfinity = 0x7f800000, kNothing = ~0U;

  // Exponent of the highest bit.
  static __device__ __forceinline__ int exponent_of(uint32_t bits) {
    const int field = static_cast<int>(bits >> 23 & 0xff);
    return field != 0 ? field - 127 : 31 - __clz(static_cast<int>(bits)) - 149;
  }

  double squares_ = 0;
  uint32_t most_ = 0, least_ = kNothing;
};

// A block packs kPackDepth values of a band of lines. It calls measured(line, measure) for each line. Returns false if
// the band does not exist.
template <class Value, class Measured>
__device__ __forceinline__ bool pack_block(const PackTasks& tasks, const Measured& measured) {
  constexpr int kUnit = kUnitValues<Value>;
  __shared__ alignas(16) Value tile[kBandLines * kTilePitch<Value>];
  const PackTask& task = tasks.task[blockIdx.y];
  const int32_t band = static_cast<int32_t>(blockIdx.x) / tasks.blocks[blockIdx.y];
  const int32_t depth_block = static_cast<int32_t>(blockIdx.x) % tasks.blocks[blockIdx.y];
  if (band >= tasks.bands[blockIdx.y]) return false;
  const PackPlace place = {band * kBandLines, int64_t{depth_block} * kPackDepth};
  load_tile<Value>(task, place, tile);
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t block = task.first_value / kPackDepth + depth_block;
  const int64_t first_chunk = block * (kPackDepth * static_cast<int>(sizeof(Value)) / kChunkBytes);
#pragma unroll
  for (int i = 0; i < kBandLines / kWarps; ++i) {  // all at once, since sums of lanes are waited for
    const int line = static_cast<int>(threadIdx.x) / 32 + i * kWarps;
    LaneMeasure<Value> found;
    const int32_t to_line = task.first_line + place.line + line;
#pragma unroll
    for (int unit = lane; unit < kPackDepth / kUnit; unit += 32) {
      const Value* from = tile + line * kTilePitch<Value> + unit * kUnit;
#pragma unroll
      for (int v = 0; v < kUnit; ++v) found.add(from[v]);
      const int64_t chunk = first_chunk + unit / 4;
      if (chunk < task.to.chunks) {
        std::byte* to = task.to.values + (sizeof(Value) == 8 ? kValueSlices * task.to.slice_bytes : 0) +
                        unit_place(task.to.chunks, to_line, chunk) + unit % 4 * 16;
        *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
      }
    }
    const LineMeasure measure = found.of_all_lanes();
    if (lane == 0) measured(to_line, block, measure);
  }
  return true;
}

template <class Value>
__global__ void __launch_bounds__(kThreads) pack_kernel(const __grid_constant__ PackTasks tasks) {
  let_next_kernel_come();
  const PackedLines& to = tasks.task[blockIdx.y].to;
  pack_block<Value>(tasks, [&to](int32_t line, int64_t block, const LineMeasure& measure) {
    to.parts[block * to.padded + line] = measure;
  });
}

struct FinishTasks {
  PackedLines factor[2];
  LineRounding rounding;
  bool wide;
  uint4* cleared;  // before the screen counts what it does not prove
  int64_t cleared_units;
};

// Together what is known of two parts of a line.
__device__ __forceinline__ LineMeasure joined(const LineMeasure& a, const LineMeasure& b) {
  return {a.squares + b.squares, max(a.top, b.top), min(a.lowest, b.lowest), min(a.finite, b.finite), 0};
}

__device__ __forceinline__ void clear_counts(const FinishTasks& tasks) {
  const int64_t first = (int64_t{blockIdx.y} * gridDim.x + blockIdx.x) * kThreads + threadIdx.x;
  for (int64_t i = first; i < tasks.cleared_units; i += int64_t{gridDim.x} * gridDim.y * kThreads) {
    tasks.cleared[i] = make_uint4(0, 0, 0, 0);
  }
}

__device__ __forceinline__ void finish_line(const FinishTasks& tasks, const PackedLines& to, int line,
                                            const LineMeasure& found) {
  const bool finite = found.finite != 0;
  const bool zero = found.top == kNoTop;
  to.widths[line] = !finite ? kNeverExact : zero ? kAlwaysExact : found.top - found.lowest;
  const int exponent = finite && !zero ? found.top : 0;
  to.exponents[line] = exponent;
  if (tasks.wide) {
    to.bounds[line] = ldexp(1.0, exponent);  // infinite for the largest values: their entries are resolved
  } else {
    const double norm = sqrt(found.squares * tasks.rounding.squares_up) * (1 + 0x1p-40);
    const double bound = finite ? norm : HUGE_VAL;
    to.bounds[line] = bound;
    to.factors[line] = quick_factor(bound, tasks.rounding.factor_of_norm);
  }
}

// kLanes lanes finish a line.
template <int kLanes>
__global__ void __launch_bounds__(kThreads) finish_kernel(const __grid_constant__ FinishTasks tasks) {
  await_kernel_before();
  let_next_kernel_come();
  const PackedLines& to = tasks.factor[blockIdx.y];
  clear_counts(tasks);
  const int line = static_cast<int>(blockIdx.x * (kThreads / kLanes) + threadIdx.x / kLanes);
  if (line >= to.padded) return;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  LineMeasure found = {0, kNoTop, kNoLowest, 1, 0};
#pragma unroll 4
  for (int block = lane; block < to.blocks; block += kLanes) {
    found = joined(found, to.parts[int64_t{block} * to.padded + line]);
  }
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2) {
    found =
        joined(found, {__shfl_xor_sync(kAll, found.squares, offset), __shfl_xor_sync(kAll, found.top, offset),
                       __shfl_xor_sync(kAll, found.lowest, offset), __shfl_xor_sync(kAll, found.finite, offset), 0});
  }
  if (lane == 0) finish_line(tasks, to, line, found);
}

// Both for short lines of float32: the blocks of a band are a cluster, whose first block is told what all measured.
__global__ void __launch_bounds__(kThreads)
    pack_whole_kernel(const __grid_constant__ PackTasks tasks, const __grid_constant__ FinishTasks finish) {
  let_next_kernel_come();
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  __shared__ LineMeasure own[kBandLines], all[kMaxClusterBlocks][kBandLines];
  const auto cluster = cooperative_groups::this_cluster();
  cluster.barrier_arrive();
  clear_counts(finish);
  const bool there = pack_block<float>(
      tasks, [](int32_t line, int64_t, const LineMeasure& measure) { own[line % kBandLines] = measure; });
  __syncthreads();
  wait_point();
  cluster.barrier_wait();  // all blocks have come
  const auto blocks = static_cast<int>(cluster.num_blocks()), rank = static_cast<int>(cluster.block_rank());
  const int line = static_cast<int>(threadIdx.x);
  if (there && line < kBandLines) *cluster.map_shared_rank(&all[rank][line], 0) = own[line];
  wait_point();
  cluster.barrier_arrive();
  cluster.barrier_wait();
  wait_point();
  if (!there || rank != 0 || line >= kBandLines) return;
  LineMeasure found = all[0][line];
  for (int block = 1; block < blocks; ++block) found = joined(found, all[block][line]);
  finish_line(finish, finish.factor[blockIdx.y], static_cast<int>(blockIdx.x) / blocks * kBandLines + line, found);
#endif
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

PackTasks pack_tasks(std::span<const PackTask> tasks) {
  PackTasks all = {};
  for (size_t i = 0; i < tasks.size(); ++i) {
    const PackTask& task = tasks[i];
    const bool last = task.first_line + task.lines >= task.to.count;
    const int32_t end = last ? task.to.padded : task.first_line + task.lines;
    all.task[i] = task;
    all.bands[i] = (end - task.first_line) / kBandLines;
    all.blocks[i] = static_cast<int32_t>(std::max<int64_t>(1, (task.values + kPackDepth - 1) / kPackDepth));
  }
  return all;
}

dim3 grid_of(const PackTasks& tasks, size_t count) {
  int64_t most = 0;
  for (size_t i = 0; i < count; ++i) most = std::max(most, int64_t{tasks.bands[i]} * tasks.blocks[i]);
  return {static_cast<unsigned>(most), static_cast<unsigned>(count)};
}

FinishTasks finish_tasks(std::span<const PackedLines> factors, const LineRounding& rounding, bool wide,
                         std::span<std::byte> cleared) {
  FinishTasks all = {};
  for (size_t i = 0; i < factors.size(); ++i) all.factor[i] = factors[i];
  all.rounding = rounding;
  all.wide = wide;
  all.cleared = reinterpret_cast<uint4*>(cleared.data());
  all.cleared_units = static_cast<int64_t>(cleared.size() / sizeof(uint4));
  return all;
}

}  // namespace

void pack_lines(std::span<const PackTask> tasks, bool wide, cudaStream_t stream) {
  const PackTasks all = pack_tasks(tasks);
  const dim3 grid = grid_of(all, tasks.size());
  if (wide) {
    pack_kernel<double><<<grid, kThreads, 0, stream>>>(all);
  } else {
    pack_kernel<float><<<grid, kThreads, 0, stream>>>(all);
  }
  check_launch("packing the factors of a product");
}

bool pack_whole_lines(std::span<const PackTask> tasks, const LineRounding& rounding, std::span<std::byte> cleared,
                      cudaStream_t stream) {
  constexpr const char* kDoing = "packing the factors of a product";
  PackTasks all = pack_tasks(tasks);
  const auto blocks = std::bit_ceil(static_cast<unsigned>(*std::ranges::max_element(all.blocks)));
  if (blocks > kMaxClusterBlocks || compiled_kernel(pack_whole_kernel, kDoing).architecture < 90) return false;
  PackedLines factors[2] = {};
  for (size_t i = 0; i < tasks.size(); ++i) {
    all.blocks[i] = static_cast<int32_t>(blocks);  // the last ones have zeros
    factors[i] = tasks[i].to;
  }
  cudaLaunchAttribute cluster;
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {blocks, 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = grid_of(all, tasks.size());
  config.blockDim = dim3(kThreads);
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = 1;
  const FinishTasks finish = finish_tasks({factors, tasks.size()}, rounding, false, cleared);
  check(cudaLaunchKernelEx(&config, pack_whole_kernel, all, finish), kDoing);
  return true;
}

void finish_lines(std::span<const PackedLines> factors, const LineRounding& rounding, bool wide,
                  std::span<std::byte> cleared, cudaStream_t stream) {
  const FinishTasks all = finish_tasks(factors, rounding, wide, cleared);
  int32_t most = 0, blocks = 0;
  for (const PackedLines& lines : factors) {
    most = std::max(most, lines.padded);
    blocks = std::max(blocks, lines.blocks);
  }
  const bool by_threads = blocks <= kBlocksOfThread;
  const int together = by_threads ? kThreads : kWarps;  // lines of a block of threads
  const dim3 grid(static_cast<unsigned>((most + together - 1) / together), static_cast<unsigned>(factors.size()));
  launch_dependent(by_threads ? finish_kernel<1> : finish_kernel<32>, {grid, kThreads, 0, stream},
                   "measuring the factors of a product", all);
  for (const PackedLines& lines : factors) {
    if (lines.slice_bytes == 0) continue;
    const int64_t units = int64_t{lines.padded} * lines.chunks * 4;
    const auto many = static_cast<unsigned>(std::clamp<int64_t>((units + kThreads - 1) / kThreads, 1, 1 << 16));
    slice_kernel<<<many, kThreads, 0, stream>>>(lines, rounding.first_slice, rounding.second_slice);
    check_launch("slicing the factors of a product");
  }
}

}  // namespace manymeans::cuda
