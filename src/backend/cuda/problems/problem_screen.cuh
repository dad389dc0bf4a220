// Labels of many small problems by products of the matrix units in tf32, which has float32's exponents: no value needs
// a scale. Proof: docs/developer/screens.md, "Many problems on a GPU". A block has the prototypes of one model in its
// shared memory, and a warp has 32 rows in its registers.
#pragma once

#include "backend/cuda/device/point_value.cuh"
#include "backend/cuda/exact/nearest.cuh"
#include "backend/cuda/problems/problem_passes.h"
#include "backend/cuda/tensor/warp_product.cuh"

#include <cstdint>

namespace manymeans::cuda {

constexpr int kSideColumns = 8;                 ///< prototypes of a product
constexpr int kWarpRows = 32;                   ///< of two products of 16 rows
constexpr float kMaxScreened = 0x1p120F;        ///< scores below it cannot overflow
constexpr float kNoPrototype = 0x1p126F;        ///< the score of a column without a prototype
constexpr float kUnderflow = 0x1p-58F;          ///< what squares and flushed values can lack of a norm
constexpr float kBoundRounding = 1 + 0x1p-10F;  ///< tf32 values may be 2^-11 larger; and the rounding of a bound
constexpr float kNormRounding = 1 + 0x1p-12F;   ///< covers the rounding of sums of at most 128 squares, and of roots

/// Wrong by at most 2^-23 of itself.
__device__ __forceinline__ float root(float v) {
  float found = 0;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(found) : "f"(v));
  return found;
}

/// x - centre, rounded once more than exactly.
__device__ __forceinline__ float centred(double x, float centre) {
  return __double2float_rn(__dsub_rn(x, widened(centre)));
}
__device__ __forceinline__ float centred(float x, float centre) {
  return __fsub_rn(x, centre);
}

/// Upper bounds over the prototypes of a model, in shared memory.
struct SideBounds {
  float norm;    ///< of |c'|
  float error;   ///< of |c' - c^|
  float offset;  ///< of |c'|^2 / 2
};

/// The floats of ProductSides.
__host__ __device__ constexpr int64_t side_values(int64_t width, int64_t tiles) {
  return width + tiles * kSideColumns * (2 + width);
}

/// The prototypes of a model in the shared memory of a block: c' = c - centre, and its tf32 value c^. Thread t of the
/// four that share a row has kWidth / 4 columns in sequence, two for each product.
template <int kWidth>
struct ProductSides {
  static constexpr int kSteps = kWidth / kSideColumns;  // products of a tile of prototypes
  static constexpr int kOfThread = kWidth / 4;

  float* centre;    // kWidth
  float4* offsets;  // (tiles, 4): |c'|^2 / 2 of a thread's two columns, twice
  float* values;    // (tiles, steps, 32 threads, 2), those of two steps side by side
  SideBounds* bounds;

  __device__ ProductSides(float* memory, int tiles, SideBounds* bounds)
      : centre(memory),
        offsets(reinterpret_cast<float4*>(memory + kWidth)),
        values(memory + kWidth + tiles * kSideColumns * 2),
        bounds(bounds) {}

  __device__ static int place_of(int c, int j) {
    const int thread = c % kSideColumns * 4 + j / kOfThread;
    const int within = j % kOfThread;
    const int step = within / 2;
    if constexpr (kSteps == 1) return (c / kSideColumns * 32 + thread) * 2 + within % 2;
    return ((c / kSideColumns * (kSteps / 2) + step / 2) * 32 + thread) * 4 + step % 2 * 2 + within % 2;
  }

  /// All threads of the block call it, in teams of kLanes.
  __device__ void build(const PassRange& range, bool float64, int d, int tiles) const {
    constexpr int kSampled = 8;  // prototypes whose mean is the centre; any centre would be right
    const int k = static_cast<int>(range.k);
    const int sampled = min(k, kSampled);
    for (int j = static_cast<int>(threadIdx.x); j < kWidth; j += static_cast<int>(blockDim.x)) {
      double sum = 0;
      for (int i = 0; i < sampled && j < d; ++i) sum += prototype_value(range, float64, k * i / sampled * d + j);
      centre[j] = __double2float_rn(sum / sampled);
    }
    if (threadIdx.x == 0) *bounds = {};
    __syncthreads();
    const int lane = static_cast<int>(threadIdx.x) % kLanes;
    const unsigned mask = 0xffU << (threadIdx.x % 32 / kLanes * kLanes);
    for (int c = static_cast<int>(threadIdx.x) / kLanes; c < tiles * kSideColumns;
         c += static_cast<int>(blockDim.x) / kLanes) {
      float norm = 0, error = 0;  // squared
      for (int j = lane; j < kWidth; j += kLanes) {
        const float v = c < k && j < d ? centred(prototype_value(range, float64, c * d + j), centre[j]) : 0;
        const float side = to_tf32(v);
        values[place_of(c, j)] = side;
        norm = __fmaf_rn(v, v, norm);
        error = __fmaf_rn(side - v, side - v, error);
      }
      for (int step = kLanes / 2; step > 0; step /= 2) {
        norm += __shfl_xor_sync(mask, norm, step);
        error += __shfl_xor_sync(mask, error, step);
      }
      if (lane != 0) continue;
      float* const pair = reinterpret_cast<float*>(offsets + c / 2) + c % 2;
      pair[0] = pair[2] = c < k ? norm / 2 : kNoPrototype;
      if (c >= k) continue;
      raise(bounds->norm, root(norm) * kNormRounding + kUnderflow);
      raise(bounds->error, root(error) * kNormRounding + 0x1p-23F * root(norm) + kUnderflow);
      raise(bounds->offset, norm / 2 * kNormRounding);
    }
    __syncthreads();
  }

 private:
  // The bits of numbers that are not negative are in their order; NaN stays.
  __device__ static void raise(float& most, float value) {
    atomicMax(reinterpret_cast<unsigned*>(&most), __float_as_uint(value));
  }
};

/// The prototypes that may be nearest to a row: `column`, also `other`, or all.
struct Possible {
  int count;  ///< 1, 2 or kAll
  int column, other;
};
constexpr int kAll = 3;

/// Joins four values of each of four neighbouring threads. Thread t gets what the values [t] give.
template <class Join>
__device__ __forceinline__ float join_rows(const float (&values)[4], const Join& join) {
  const bool odd = threadIdx.x % 2 != 0, upper = threadIdx.x % 4 >= 2;
  const float low = join(odd ? values[1] : values[0], __shfl_xor_sync(~0U, odd ? values[0] : values[1], 1));
  const float high = join(odd ? values[3] : values[2], __shfl_xor_sync(~0U, odd ? values[2] : values[3], 1));
  return join(upper ? high : low, __shfl_xor_sync(~0U, upper ? low : high, 2));
}

/// Rows of a warp as left sides of products: -x' in tf32, x' = x - centre. A thread has its columns of the rows g,
/// g + 8, g + 16 and g + 24, where g is a quarter of its number in the warp.
template <int kWidth>
class RowSides {
  using Sides = ProductSides<kWidth>;
  static constexpr int kOfThread = Sides::kOfThread;
  static constexpr int kRows = 4;

 public:
  /// Row i of the thread begins at value places[i] of the points.
  __device__ __forceinline__ RowSides(const DevicePoints& points, const int64_t (&places)[kRows], const Sides& sides) {
    with_values(points, [&](const auto* values) { load(points, values, places, sides); });
  }

  /// Returns the prototypes that may be nearest to row t of this thread, which is number t of four. `relative`:
  /// problem_rounding(). `scale`: tests only.
  __device__ __forceinline__ Possible possible(const Sides& sides, int tiles, float relative, float scale) const {
    const auto least = [](float a, float b) { return fminf(a, b); };
    float best[kRows] = {INFINITY, INFINITY, INFINITY, INFINITY};
    for_scores(sides, tiles,
               [&](int i, int /*part*/, float /*code*/, float score) { best[i] = fminf(best[i], score); });
    const SideBounds& bounds = *sides.bounds;
    const float size = norm_ * bounds.norm + bounds.offset;
    const float wrong = norm_ * bounds.error + error_ * bounds.norm + relative * size + 0x1p-44F * norm_ * norm_;
    const float limit = join_rows(best, least) + 2 * scale * kBoundRounding * wrong;
    float limits[kRows];
#pragma unroll
    for (int i = 0; i < kRows; ++i) limits[i] = __shfl_sync(~0U, limit, i, 4);
    // Sums of the codes of columns whose scores reach the limit. Four for a row, so that two columns are seldom in one.
    float codes[kRows][kParts] = {};
    for_scores(sides, tiles, [&](int i, int part, float code, float score) {
      if (score <= limits[i]) codes[i][part] += code;
    });
    float sums[kRows], most[kRows];
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      sums[i] = (codes[i][0] + codes[i][1]) + (codes[i][2] + codes[i][3]);
      most[i] = fmaxf(fmaxf(codes[i][0], codes[i][1]), fmaxf(codes[i][2], codes[i][3]));
    }
    const float sum = join_rows(sums, [](float a, float b) { return a + b; });
    const float last = join_rows(most, [](float a, float b) { return fmaxf(a, b); });
    const bool few = size < kMaxScreened && sum < 3 * kCode && last < 2 * kCode;
    return {few ? (sum < 2 * kCode ? 1 : 2) : kAll, static_cast<int>(last - kCode),
            static_cast<int>(sum - last - kCode)};
  }

 private:
  // A column's code is kCode + the column. Sums of the codes of all columns are exact.
  static constexpr float kCode = 4096;
  static constexpr int kParts = 4;
  static_assert(kMaxProblemClusters * (kCode + kMaxProblemClusters) <= 0x1p24F);

  // Calls take(i, part, code, score) for all scores of row i that this thread has. Neighbouring columns and tiles have
  // different parts.
  template <class Take>
  __device__ __forceinline__ void for_scores(const Sides& sides, int tiles, const Take& take) const {
    float code = kCode + static_cast<float>(threadIdx.x % 4 * 2);
    int tile = 0;
    for (; tile + 1 < tiles; tile += 2) {
      score_tile(sides, tile, [&](int i, int j, float score) { take(i, j, code + static_cast<float>(j), score); });
      code += kSideColumns;
      score_tile(sides, tile + 1,
                 [&](int i, int j, float score) { take(i, 2 + j, code + static_cast<float>(j), score); });
      code += kSideColumns;
    }
    if (tile == tiles) return;
    score_tile(sides, tile, [&](int i, int j, float score) { take(i, j, code + static_cast<float>(j), score); });
  }

  template <class Take>
  __device__ __forceinline__ void score_tile(const Sides& sides, int tile, const Take& take) const {
    const unsigned thread = threadIdx.x % 32;
    const float4 four = sides.offsets[tile * 4 + thread % 4];
    const float offsets[4] = {four.x, four.y, four.z, four.w};
    float scores[2][4];
    const auto step = [&](int s, float b0, float b1) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        multiply_tf32(scores[half], sides_[half][s], b0, b1, s == 0 ? offsets : scores[half]);
      }
    };
    if constexpr (Sides::kSteps == 1) {
      const float2 b = reinterpret_cast<const float2*>(sides.values)[tile * 32 + thread];
      step(0, b.x, b.y);
    } else {
#pragma unroll
      for (int s = 0; s < Sides::kSteps; s += 2) {
        const int at = (tile * (Sides::kSteps / 2) + s / 2) * 32;
        const float4 b = reinterpret_cast<const float4*>(sides.values)[at + thread];
        step(s, b.x, b.y);
        step(s + 1, b.z, b.w);
      }
    }
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int j = 0; j < 2; ++j) take(i, j, scores[i / 2][i % 2 * 2 + j]);
    }
  }

  template <class S>
  __device__ __forceinline__ void load(const DevicePoints& points, const S* all, const int64_t (&places)[kRows],
                                       const Sides& sides) {
    constexpr int kBytes = kOfThread * static_cast<int>(sizeof(S)) < 16 ? kOfThread * static_cast<int>(sizeof(S)) : 16;
    const int d = static_cast<int>(points.d);
    const int first = static_cast<int>(threadIdx.x % 4) * kOfThread;
    const bool whole = d == kWidth && reinterpret_cast<uintptr_t>(all) % kBytes == 0;
    float norms[kRows] = {}, errors[kRows] = {};  // squared
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      struct alignas(kBytes) Word {
        S values[kBytes / static_cast<int>(sizeof(S))];
      };
      union Part {
        Word words[kOfThread * sizeof(S) / kBytes];
        S values[kOfThread];
        __device__ Part() {}
      } part;
      const S* const from = all + places[i] + first;
      if (whole) {
#pragma unroll
        for (int w = 0; w < static_cast<int>(kOfThread * sizeof(S) / kBytes); ++w) {
          part.words[w] = reinterpret_cast<const Word*>(from)[w];
        }
      } else {
#pragma unroll
        for (int j = 0; j < kOfThread; ++j) part.values[j] = first + j < d ? from[j] : S(0.0F);
      }
#pragma unroll
      for (int j = 0; j < kOfThread; ++j) {
        float v = 0;
        if constexpr (sizeof(S) == sizeof(double)) {
          v = centred(part.values[j], sides.centre[first + j]);
        } else {
          v = centred(static_cast<float>(part.values[j]), sides.centre[first + j]);
        }
        const float side = to_tf32(v);
        sides_[i / 2][j / 2][i % 2 + j % 2 * 2] = -side;
        norms[i] = __fmaf_rn(v, v, norms[i]);
        errors[i] = __fmaf_rn(side - v, side - v, errors[i]);
      }
    }
    const auto add = [](float a, float b) { return a + b; };
    norm_ = root(join_rows(norms, add)) * kNormRounding + kUnderflow;
    error_ = root(join_rows(errors, add)) * kNormRounding + 0x1p-23F * norm_ + kUnderflow;
  }

  float sides_[2][Sides::kSteps][4];
  float norm_, error_;  // at least |x'| and |x' - x^| of row t
};

}  // namespace manymeans::cuda
