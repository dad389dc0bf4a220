// Kernels around the screen of seeding: first distances, the 8-bit copy, thresholds, sums, picking.
#pragma once

#include "backend/cuda/device/philox.cuh"
#include "backend/cuda/queries/seed_kernels.cuh"

#include <cstdint>

namespace manymeans::cuda {

// A row is not nearer to a candidate whose upper score is at most this. Rows without weight, and rows that are centres,
// have no use for a nearer one.
__device__ inline float threshold_of(const SeedFrame& frame, float square, double weight, double least) {
  if (!(weight > 0) || least == 0) return __int_as_float(0x7f800000);
  const double scaled = __dmul_rn(__dmul_rn(least, frame.scale), frame.scale);
  return __double2float_rd(static_cast<double>(square) - scaled * (0.5 + 0x1p-20) - frame.slack);
}

__device__ inline double block_max_or_sum(double v, bool max_wanted, double* scratch) {
  const auto merged = [&](double a, double b) { return max_wanted ? fmax(a, b) : a + b; };
  for (int offset = 16; offset > 0; offset /= 2) v = merged(v, __shfl_xor_sync(kAllLanes, v, offset));
  __syncthreads();
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = v;
  __syncthreads();
  double all = scratch[0];
  for (unsigned w = 1; w < blockDim.x / 32; ++w) all = merged(all, scratch[w]);
  return all;
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

/// A thread a column, rows evenly spread: a centre and a step that resolve the bulk of the sample. Far values are cut
/// off, which their radius says. Any centre and step are sound.
template <class T>
__global__ void seed_frame_kernel(DevicePoints points, SeedColumnsOfSample sample) {
  const auto& [count, scale, range, centre, step] = sample;
  const int64_t j = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (j >= points.d) return;
  if constexpr (sizeof(T) == 1) {  // codes can be the values themselves
    centre[j] = T(-1) > T(0) ? 128.0 : 0.0;
    step[j] = scale;
    return;
  }
  const auto* x = static_cast<const T*>(points.data) + j;
  const auto value = [&](int64_t i) { return widened(x[i * points.n / count * points.d]); };
  double sum = 0;
#pragma unroll 8
  for (int64_t i = 0; i < count; ++i) sum += value(i) / static_cast<double>(count);
  double mean_deviation = 0;
  double most = 0;
#pragma unroll 8
  for (int64_t i = 0; i < count; ++i) {
    const double deviation = fabs(value(i) - sum) * scale;
    mean_deviation += deviation / static_cast<double>(count);
    most = fmax(most, deviation);
  }
  constexpr double kHeadroom = 1.25;  // the largest of all rows is somewhat beyond that of the sample
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

// The bytes of a candidate's codes as multiply_rows() wants them.
__device__ inline int64_t fragment_byte(int64_t code_bytes, int column, int64_t j) {
  const int64_t tile = column / kSeedTileColumns;
  const int64_t lane = column % kSeedTileColumns * 4 + j % 64 / 16;
  return ((tile * (code_bytes / 64) + j / 64) * 32 + lane) * 16 + j % 16;
}

/// A block a column: the candidate in binary64, its codes and its numbers. C is float or double; `raw` is columns x d.
template <class C>
__global__ void seed_column_kernel(const __grid_constant__ SeedArguments a, const C* raw, SeedFrame frame,
                                   SeedColumnsOut out) {
  const auto& [screen, centres, fragments, columns] = out;
  __shared__ double scratch[32];
  const auto column = static_cast<int>(blockIdx.x);
  const int64_t d = a.points.d;
  const bool real = column % kSeedTileColumns < a.tile[column / kSeedTileColumns].columns;
  const C* c = raw + column * d;
  for (int64_t j = threadIdx.x; j < d; j += blockDim.x) centres[column * d + j] = real ? widened(c[j]) : 0.0;
  if (!screen) return;
  if (!real) {
    for (int64_t j = threadIdx.x; j < a.code_bytes; j += blockDim.x)
      fragments[fragment_byte(a.code_bytes, column, j)] = 0;
    if (threadIdx.x == 0) columns[column] = {0, 0, __int_as_float(static_cast<int>(0xff800000)), 0};
    return;
  }
  const auto z = [&](int64_t j) { return (widened(c[j]) - frame.centre[j]) * frame.scale; };
  double square = 0;
  double most = 0;
  for (int64_t j = threadIdx.x; j < d; j += blockDim.x) {
    square += z(j) * z(j);
    most = fmax(most, fabs(z(j) * frame.step[j]));
  }
  square = block_max_or_sum(square, false, scratch);
  most = block_max_or_sum(most, true, scratch);
  const float scale = __double2float_ru(most / 127);
  double error = 0;
  double norm = 0;
  for (int64_t j = threadIdx.x; j < a.code_bytes; j += blockDim.x) {
    double code = 0;
    if (j < d && scale > 0) {
      const double w = z(j) * frame.step[j];
      code = fmin(fmax(rint(w / scale), -127.0), 127.0);
      const double rest = __fma_rn(-static_cast<double>(scale), code, w);
      error += rest * rest;
      norm += code * code;
    }
    fragments[fragment_byte(a.code_bytes, column, j)] = static_cast<int8_t>(code);
  }
  error = block_max_or_sum(error, false, scratch);
  norm = block_max_or_sum(norm, false, scratch);
  if (threadIdx.x != 0) return;
  const double of_codes = sqrt(error) * (1 + 0x1p-20) + scale * sqrt(norm) * 0x1p-20;
  const double slope = (sqrt(square) + of_codes / frame.ratio) * (1 + 0x1p-18) * frame.bound_scale;
  columns[column] = {scale, __double2float_ru(slope), __double2float_ru(-square * (0.5 - 0x1p-18)), 0};
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

// The rows whose bit `column` is set among the kSeedSumRows from `first` on, as offsets; how many. A warp's work.
__device__ inline int list_hits(const DevicePoints& points, const unsigned* hits, int column, int64_t first,
                                uint16_t* queue) {
  constexpr int kWords = kSeedSumRows / 128;  // of four rows each, for a lane
  const int lane = static_cast<int>(threadIdx.x) % 32;
  unsigned marks[kWords];
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    const int64_t row = first + 4 * (lane + 32 * i);
    marks[i] = row < points.n ? hits[row / 4] >> column & 0x01010101u : 0u;
  }
  int count = 0;
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    if (!__any_sync(kAllLanes, marks[i] != 0)) continue;
    for (int b = 0; b < 4; ++b) {
      const bool mine = (marks[i] >> (8 * b) & 1) != 0;
      const unsigned ballot = __ballot_sync(kAllLanes, mine);
      if (mine) queue[count + __popc(ballot & ((1u << lane) - 1))] = static_cast<uint16_t>(4 * (lane + 32 * i) + b);
      count += __popc(ballot);
    }
  }
  __syncwarp();
  return count;
}

/// It becomes a centre: the rows that it lowers are marked, so only they are read. A
/// warp for each kSeedSumRows rows, whose sum is its own: few rows are marked, so waiting is all it does, and warps
/// that wait for one another would wait in turn.
template <class T>
__global__ void __launch_bounds__(kSeedThreads)
    seed_apply_kernel(DevicePoints points, SeedRows rows, SeedFrame frame, SeedChosen chosen) {
  const auto& [hits, column, centre] = chosen;
  __shared__ uint16_t queues[kSeedWarps][kSeedSumRows];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  uint16_t* queue = queues[threadIdx.x / 32];
  const int64_t block = static_cast<int64_t>(blockIdx.x) * kSeedWarps + threadIdx.x / 32;
  const int64_t first = block * kSeedSumRows;
  if (first >= points.n) return;
  const int count = list_hits(points, hits, column, first, queue);
  const auto* x = static_cast<const T*>(points.data);
  int64_t change[kDistanceLimbs] = {};
  for (int done = 0; done < count; done += 32) {
    const int left = min(32, count - done);
    double d2 = 0;
    for (int round = 0; round * 4 < left; ++round) {
      const int64_t row = first + queue[done + min(round * 4 + lane / 8, left - 1)];
      const double other = canonical_distance_by_eight(x + row * points.d, centre, points.d, lane & 7);
      if (round == (lane & 7)) d2 = other;
    }
    const int own = (lane & 7) * 4 + lane / 8;
    if (own < left) {
      const int64_t row = first + queue[done + own];
      const double weight = weight_of(points, row);
      add_limbs(rows.splitter, __dmul_rn(weight, rows.least[row]), -1, change);
      add_limbs(rows.splitter, __dmul_rn(weight, d2), 1, change);
      rows.least[row] = d2;
      if (rows.thresholds != nullptr) rows.thresholds[row] = threshold_of(frame, rows.squares[row], weight, d2);
    }
    __syncwarp();
  }
  if (count == 0) return;
#pragma unroll
  for (int g = 0; g < kDistanceLimbs; ++g) {
    const int64_t sum = warp_sum(change[g]);
    if (lane == 0) rows.blocks[block * kDistanceLimbs + g] += sum;
  }
}

struct LimbTriple {
  int64_t v[kDistanceLimbs] = {};

  __device__ void add(const LimbTriple& other) {
#pragma unroll
    for (int g = 0; g < kDistanceLimbs; ++g) v[g] += other.v[g];
  }
  // Limbs of terms that are not negative: sums of them never overflow, and recombine to the sum of the terms.
  __device__ bool exceeds(const Wide<3>& threshold, int bits) const {
    return threshold.less(recombined<3>(v, kDistanceLimbs, bits));
  }
};

// Inclusive prefixes over the warp.
__device__ inline LimbTriple warp_prefix(LimbTriple t) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int offset = 1; offset < 32; offset *= 2) {
    LimbTriple other;
#pragma unroll
    for (int g = 0; g < kDistanceLimbs; ++g) other.v[g] = __shfl_up_sync(kAllLanes, t.v[g], offset);
    if (lane >= offset) t.add(other);
  }
  return t;
}

__device__ inline LimbTriple from_lane(const LimbTriple& t, int lane) {
  LimbTriple result;
#pragma unroll
  for (int g = 0; g < kDistanceLimbs; ++g) result.v[g] = __shfl_sync(kAllLanes, t.v[g], lane);
  return result;
}

// One level of a search for the first item whose inclusive prefix exceeds the threshold; all lanes call it. Lane l has
// item l (0 beyond the last); `before` is the sum of what lies before them and grows to the sum before the item found.
__device__ inline int find_lane(const LimbTriple& own, const Wide<3>& threshold, int bits, LimbTriple& before) {
  LimbTriple prefix = warp_prefix(own);
  prefix.add(before);
  const unsigned over = __ballot_sync(kAllLanes, prefix.exceeds(threshold, bits));
  const int found = over != 0 ? __ffs(static_cast<int>(over)) - 1 : 31;
  if (found > 0) before = from_lane(prefix, found - 1);
  return found;
}

// Items begin .. end - 1 in 32 parts of `part` items: the sum of this lane's part.
template <class Item>
__device__ LimbTriple part_sum(int64_t begin, int64_t part, int64_t end, Item&& item) {
  LimbTriple sum;
  const int64_t first = begin + static_cast<int64_t>(threadIdx.x % 32) * part;
#pragma unroll 8
  for (int64_t i = 0; i < part; ++i) {
    if (first + i < end) sum.add(item(first + i));
  }
  return sum;
}

/// For each target, less than the total, the first row i with T_0 + .. + T_i > target. One block of kPickThreads
/// threads: a thread sums a range of blocks, then a warp a target searches, 32 parts at a time: ranges of ranges,
/// ranges, blocks, parts of a block, rows. Every level ends at a sum that exceeds what is sought, since the total does.
constexpr int kPickThreads = 1024;
__global__ void __launch_bounds__(kPickThreads)
    seed_pick_kernel(DevicePoints points, SeedRows rows, int64_t blocks, const __grid_constant__ SeedTargets targets,
                     int64_t* picked) {
  __shared__ LimbTriple ranges[kPickThreads];
  __shared__ LimbTriple warps[32];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const auto thread = static_cast<int64_t>(threadIdx.x);
  const int64_t range = (blocks + kPickThreads - 1) / kPickThreads;
  const auto block = [&](int64_t b) {
    LimbTriple t;
#pragma unroll
    for (int g = 0; g < kDistanceLimbs; ++g) t.v[g] = rows.blocks[b * kDistanceLimbs + g];
    return t;
  };
  LimbTriple mine;
#pragma unroll 4
  for (int64_t b = thread * range; b < min(blocks, (thread + 1) * range); ++b) mine.add(block(b));
  ranges[thread] = mine;
#pragma unroll
  for (int g = 0; g < kDistanceLimbs; ++g) mine.v[g] = warp_sum(mine.v[g]);
  if (lane == 0) warps[warp] = mine;
  __syncthreads();
  const int bits = rows.splitter.bits;
  const auto term = [&](int64_t row) {
    LimbTriple t;
    add_limbs(rows.splitter, __dmul_rn(weight_of(points, row), rows.least[row]), 1, t.v);
    return t;
  };
  for (int i = warp; i < targets.count; i += kPickThreads / 32) {
    const Wide<3> threshold = targets.target[i];
    LimbTriple before;
    const int of_warp = find_lane(warps[lane], threshold, bits, before);
    const int64_t r = of_warp * 32 + find_lane(ranges[of_warp * 32 + lane], threshold, bits, before);
    // A range has as many blocks as there are billions of rows, about: parts of parts until a part is one block.
    int64_t first = r * range;
    int64_t width = range;
    const int64_t end = min(blocks, (r + 1) * range);
    while (width > 1) {
      const int64_t part = (width + 31) / 32;
      first += find_lane(part_sum(first, part, min(end, first + width), block), threshold, bits, before) * part;
      width = part;
    }
    const int64_t row = first * kSeedSumRows;
    constexpr int64_t kPart = kSeedSumRows / 32;
    static_assert(kPart == 32);
    const int64_t part_row = row + find_lane(part_sum(row, kPart, points.n, term), threshold, bits, before) * kPart;
    const int64_t found = part_row + find_lane(part_sum(part_row, 1, points.n, term), threshold, bits, before);
    if (lane == 0) picked[i] = found;
  }
}

/// Lists the rows with u_i * total < factor * T_i * 2^64, in any order. A comparison in binary64 decides all but the
/// rows within 2^-40 of equality.
__global__ void __launch_bounds__(kSeedThreads)
    seed_sample_kernel(DevicePoints points, SeedRows rows, SeedDraw draw, SeedRowsFound found) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kSeedThreads;
  for (int64_t row = blockIdx.x * static_cast<int64_t>(kSeedThreads) + threadIdx.x; row < points.n; row += stride) {
    int64_t limbs[kDistanceLimbs] = {};
    add_limbs(rows.splitter, __dmul_rn(weight_of(points, row), rows.least[row]), 1, limbs);
    const auto term = recombined<3>(limbs, kDistanceLimbs, rows.splitter.bits);
    constexpr uint32_t kOversample = 5;  // Purpose::kOversample
    const uint64_t u = device_random_u64(draw.key, static_cast<uint64_t>(points.number + row), draw.draw, kOversample);
    const double number = __ull2double_rn(u);
    const double limit = term.to_double() * draw.ratio;
    if (number > limit * (1 + 0x1p-40)) continue;
    if (!(number < limit * (1 - 0x1p-40))) {
      const Wide<4> left = draw.total.times(u);
      const Wide<4> right = term.times(draw.factor);
      Wide<5> a;
      Wide<5> b;
      for (int i = 0; i < 4; ++i) {
        a.word[i] = left.word[i];
        b.word[i + 1] = right.word[i];
      }
      if (!a.less(b)) continue;
    }
    const auto at = static_cast<int64_t>(atomicAdd(found.length, 1ull));
    if (at < found.capacity) found.rows[at] = row;
  }
}

}  // namespace manymeans::cuda
