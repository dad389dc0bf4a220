#include "backend/cuda/device/canonical.cuh"
#include "backend/cuda/device/limbs.cuh"
#include "backend/cuda/device/pass_device.cuh"
#include "backend/cuda/device/philox.cuh"
#include "backend/cuda/queries/assigned_distances.h"
#include "backend/cuda/queries/row_dispatch.cuh"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/launch.h"

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kLimbs = kDistanceLimbs;

// d2 of row number `first` + lane, first a multiple of 32; all lanes call it, rows beyond the last repeat the last.
template <class T, bool kEight>
__device__ double assigned_distance(const AssignedRows& rows, int64_t first, uint32_t* label) {
  using C = typename PrototypeOf<T>::type;
  const auto* x = static_cast<const T*>(rows.points.data);
  const auto* c = static_cast<const C*>(rows.prototypes);
  const int64_t d = rows.points.d;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t mine = min(first + lane, rows.count - 1) * rows.step;
  *label = load_label(rows.labels, 0, mine);
  if constexpr (!kEight) return canonical_distance(x + mine * d, c + *label * d, d);
  double result = 0;
  for (int i = 0; i < 8; ++i) {  // eight rows for eight neighbouring threads; each thread keeps one
    const int source = (lane & 24) + i;
    const int64_t row = min(first + source, rows.count - 1) * rows.step;
    const int64_t k = __shfl_sync(0xffffffffu, *label, source);
    const double d2 = canonical_distance_by_eight(x + row * d, c + k * d, d, lane & 7);
    if (i == (lane & 7)) result = d2;
  }
  return result;
}

// sums: limbs in the first format, limbs in the second, bits of the largest d2 with w' > 0. Grid-stride over 32
// rows at a time; limbs are kept in registers and meet once per block.
template <class T, bool kEight>
__global__ void __launch_bounds__(kThreads)
    sum_kernel(AssignedRows rows, TermSplitter a, TermSplitter b, int64_t* sums) {
  __shared__ int64_t scratch[kLimbs * 32];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t warps = static_cast<int64_t>(gridDim.x) * (kThreads / 32);
  int64_t first_sum[kLimbs] = {};
  int64_t second_sum[kLimbs] = {};
  double farthest = 0;
  for (int64_t first = (blockIdx.x * (kThreads / 32) + threadIdx.x / 32) * int64_t{32}; first < rows.count;
       first += warps * 32) {
    uint32_t label = 0;
    const double d2 = assigned_distance<T, kEight>(rows, first, &label);
    const int64_t at = first + lane;
    if (at >= rows.count) continue;
    const double weight = rows.points.weights == nullptr ? 1.0 : rows.points.weights[at * rows.step];
    if (!(weight > 0)) continue;  // its term is 0
    farthest = fmax(farthest, d2);
    const double v = __dmul_rn(weight, d2);
    add_limbs(a, v, 1, first_sum);
    add_limbs(b, v, 1, second_sum);
  }
  block_add(first_sum, sums, scratch);
  block_add(second_sum, sums + kLimbs, scratch);
  for (int offset = 16; offset > 0; offset /= 2) {
    farthest = fmax(farthest, __shfl_xor_sync(0xffffffffu, farthest, offset));
  }
  // Numbers that are not negative are in the order of their bits.
  if (lane == 0) {
    atomicMax(reinterpret_cast<unsigned long long*>(sums + 2 * kLimbs),
              static_cast<unsigned long long>(__double_as_longlong(farthest)));
  }
}

// sums: of the label terms' words. There are 2^32 rows at most, so none overflows.
__global__ void __launch_bounds__(kThreads)
    label_sum_kernel(LabelRows labels, int64_t first, int64_t count, int64_t* sums) {
  __shared__ int64_t scratch[4 * 32];
  int64_t words[4] = {};
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t row = blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x; row < count; row += stride) {
    const LabelSumWords term = device_label_term(first + row, load_label(labels, 0, row));
    words[0] += static_cast<uint32_t>(term.low);
    words[1] += static_cast<int64_t>(term.low >> 32);
    words[2] += static_cast<uint32_t>(term.high);
    words[3] += static_cast<int64_t>(term.high >> 32);
  }
  block_add(words, sums, scratch);
}

__global__ void __launch_bounds__(kThreads) widen_kernel(LabelRows labels, int64_t count, int32_t* out) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t row = blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x; row < count; row += stride) {
    out[row] = static_cast<int32_t>(load_label(labels, 0, row));
  }
}

// out[i] = d2 of row i; rows that farthest_rows() shall not see get 0 if `eligible`.
template <class T, bool kEight>
__global__ void __launch_bounds__(kThreads) distance_kernel(AssignedRows rows, bool eligible, double* out) {
  const int64_t warps = static_cast<int64_t>(gridDim.x) * (kThreads / 32);
  const int64_t of_warp = (blockIdx.x * (kThreads / 32) + threadIdx.x / 32) * int64_t{32};
  for (int64_t begin = of_warp; begin < rows.count; begin += warps * 32) {
    uint32_t label = 0;
    double d2 = assigned_distance<T, kEight>(rows, begin, &label);
    const int64_t row = begin + threadIdx.x % 32;
    if (row >= rows.count) continue;
    if (eligible && rows.points.weights != nullptr && !(rows.points.weights[row] > 0)) d2 = 0;
    out[row] = d2;
  }
}

// out[i] = the distance of row i / k to prototype i % k.
template <class T, bool kEight, class C>
__global__ void __launch_bounds__(kThreads)
    transform_kernel(DevicePoints points, const C* prototypes, int64_t k, C* out) {
  constexpr int kTogether = kEight ? 8 : 1;  // threads for a distance
  const auto* x = static_cast<const T*>(points.data);
  const int64_t count = points.n * k;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * (kThreads / kTogether);
  const int64_t mine = (blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x) / kTogether;
  const int64_t of_warp = mine - threadIdx.x % 32 / kTogether;
  for (int64_t i = mine, lowest = of_warp; lowest < count; i += stride, lowest += stride) {
    const int64_t at = min(i, count - 1);
    const T* row = x + at / k * points.d;
    const C* c = prototypes + at % k * points.d;
    double d2 = 0;
    if constexpr (kEight) {
      d2 = canonical_distance_by_eight(row, c, points.d, static_cast<int>(threadIdx.x % 8));
    } else {
      d2 = canonical_distance(row, c, points.d);
    }
    if (i < count && threadIdx.x % kTogether == 0) out[i] = static_cast<C>(__dsqrt_rn(d2));
  }
}

__device__ uint64_t shifted(uint64_t v, int by) {
  return by >= 64 ? 0 : v >> by;
}

// Counts the next digit of the rows in the running.
__global__ void __launch_bounds__(kThreads)
    digit_kernel(RowDistances all, DigitPrefix prefix, Digit digit, unsigned long long* counts) {
  __shared__ unsigned mine[kDigits];
  for (int i = static_cast<int>(threadIdx.x); i < kDigits; i += kThreads) mine[i] = 0;
  __syncthreads();
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t row = blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x; row < all.n; row += stride) {
    const auto bits = static_cast<uint64_t>(__double_as_longlong(all.d2[row]));
    if (bits == 0 || shifted(bits, prefix.distance_shift) != prefix.distance) continue;
    const auto number = static_cast<uint64_t>(row);
    if (shifted(number, prefix.row_shift) != prefix.row) continue;
    atomicAdd(&mine[((digit.of_row ? number : bits) >> digit.shift) & (kDigits - 1)], 1u);
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < kDigits; i += kThreads) {
    if (mine[i] != 0) atomicAdd(&counts[i], static_cast<unsigned long long>(mine[i]));
  }
}

// Lists the rows farther than `last`, and rows exactly as far up to its number; in any order.
__global__ void __launch_bounds__(kThreads)
    list_kernel(RowDistances all, LastRow last, LabelRows labels, FoundRows found) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t row = blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x; row < all.n; row += stride) {
    const auto mine = static_cast<uint64_t>(__double_as_longlong(all.d2[row]));
    if (mine == 0 || mine < last.bits || (mine == last.bits && row > last.row)) continue;
    const auto at = static_cast<int64_t>(atomicAdd(found.count, 1ull));
    if (at < found.capacity) found.rows[at] = {all.d2[row], row, load_label(labels, 0, row)};
  }
}

}  // namespace

void sum_terms(const AssignedRows& rows, const TermSplitter& a, const TermSplitter& b, int64_t* sums,
               cudaStream_t stream) {
  dispatch_rows(rows.points, [&]<class T, bool kEight>() {
    sum_kernel<T, kEight><<<grid_for(rows.count, kThreads), kThreads, 0, stream>>>(rows, a, b, sums);
  });
  check_launch("summing distances");
}

void sum_label_terms(const LabelRows& labels, int64_t first, int64_t count, int64_t* sums, cudaStream_t stream) {
  label_sum_kernel<<<grid_for(count, kThreads), kThreads, 0, stream>>>(labels, first, count, sums);
  check_launch("summing labels");
}

void widen_labels(const LabelRows& labels, int64_t count, int32_t* out, cudaStream_t stream) {
  widen_kernel<<<grid_for(count, kThreads), kThreads, 0, stream>>>(labels, count, out);
  check_launch("storing labels");
}

void find_distances(const AssignedRows& rows, bool eligible, double* out, cudaStream_t stream) {
  dispatch_rows(rows.points, [&]<class T, bool kEight>() {
    distance_kernel<T, kEight><<<grid_for(rows.count, kThreads), kThreads, 0, stream>>>(rows, eligible, out);
  });
  check_launch("computing distances");
}

void find_all_distances(const DevicePoints& points, const void* prototypes, int64_t k, void* out, cudaStream_t stream) {
  dispatch_rows(points, [&]<class T, bool kEight>() {
    using C = typename PrototypeOf<T>::type;
    const int64_t threads = points.n * k * (kEight ? 8 : 1);
    transform_kernel<T, kEight, C><<<grid_for(threads, kThreads), kThreads, 0, stream>>>(
        points, static_cast<const C*>(prototypes), k, static_cast<C*>(out));
  });
  check_launch("computing distances to all prototypes");
}

void count_digits(const RowDistances& all, const DigitPrefix& prefix, const Digit& digit, unsigned long long* counts,
                  cudaStream_t stream) {
  digit_kernel<<<grid_for(all.n, kThreads), kThreads, 0, stream>>>(all, prefix, digit, counts);
  check_launch("counting digits of distances");
}

void list_farthest(const RowDistances& all, const LastRow& last, const LabelRows& labels, const FoundRows& found,
                   cudaStream_t stream) {
  list_kernel<<<grid_for(all.n, kThreads), kThreads, 0, stream>>>(all, last, labels, found);
  check_launch("listing the farthest rows");
}

}  // namespace manymeans::cuda
