#include "backend/cuda/device/canonical.cuh"
#include "backend/cuda/device/limbs.cuh"
#include "backend/cuda/points/point_slices.h"
#include "backend/cuda/queries/assigned_distances.h"
#include "backend/cuda/queries/row_dispatch.cuh"
#include "backend/cuda/runtime/launch.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kLimbs = kDistanceLimbs;
constexpr size_t kSums = 2 * kLimbs + 1;  // of a model
constexpr int kDigitBits = 12;
constexpr int kDigits = 1 << kDigitBits;

struct Rows {
  DevicePoints points;
  DeviceLabels labels;
  const void* prototypes = nullptr;
  int64_t step = 1;   // every step-th row
  int64_t count = 0;  // rows 0, step, .., (count - 1) * step
};

// d2 of row number `first` + lane, first a multiple of 32; all lanes call it, rows beyond the last repeat the last.
template <class T, bool kEight>
__device__ double assigned_distance(const Rows& rows, int64_t first, uint32_t* label) {
  using C = typename PrototypeOf<T>::type;
  const auto* x = static_cast<const T*>(rows.points.data);
  const auto* c = static_cast<const C*>(rows.prototypes);
  const int64_t d = rows.points.d;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t mine = min(first + lane, rows.count - 1) * rows.step;
  *label = label_at(rows.labels, mine);
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
__global__ void __launch_bounds__(kThreads) sum_kernel(Rows rows, TermSplitter a, TermSplitter b, int64_t* sums) {
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
    a.add_fixed(v, 1, first_sum);
    b.add_fixed(v, 1, second_sum);
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

// out[i] = d2 of row i; rows that farthest_rows() shall not see get 0 if `eligible`.
template <class T, bool kEight>
__global__ void __launch_bounds__(kThreads) distance_kernel(Rows rows, bool eligible, double* out) {
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

// Which rows are in the running while the farthest are sought digit by digit: those whose distance begins with
// `distance` (its bits >> distance_shift), and, once that is complete, whose row number begins with `row`.
struct Prefix {
  uint64_t distance = 0;
  int distance_shift = 64;
  uint64_t row = 0;
  int row_shift = 64;
};

__device__ uint64_t shifted(uint64_t v, int by) {
  return by >= 64 ? 0 : v >> by;
}

// A digit of the row number, or of the distance.
struct Digit {
  bool of_row;
  int shift;
};

// Counts the next digit of the rows in the running.
__global__ void __launch_bounds__(kThreads)
    digit_kernel(const double* d2, int64_t n, Prefix prefix, Digit digit, unsigned long long* counts) {
  __shared__ unsigned mine[kDigits];
  for (int i = static_cast<int>(threadIdx.x); i < kDigits; i += kThreads) mine[i] = 0;
  __syncthreads();
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t row = blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x; row < n; row += stride) {
    const auto bits = static_cast<uint64_t>(__double_as_longlong(d2[row]));
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

struct Found {
  double distance;
  int64_t row;
  uint32_t label;
};

// The bits and the row number of the last of the farthest rows that were asked for; bits 0 (all rows) if there are
// fewer.
struct Last {
  uint64_t bits = 0;
  int64_t row = 0;
};

struct FoundRows {
  Found* rows;
  int64_t capacity;
  unsigned long long* count;
};

// Lists the rows farther than `last`, and of those exactly as far the ones up to it; in any order.
__global__ void __launch_bounds__(kThreads)
    list_kernel(const double* d2, int64_t n, Last last, DeviceLabels labels, FoundRows found) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t row = blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x; row < n; row += stride) {
    const auto mine = static_cast<uint64_t>(__double_as_longlong(d2[row]));
    if (mine == 0 || mine < last.bits || (mine == last.bits && row > last.row)) continue;
    const auto at = static_cast<int64_t>(atomicAdd(found.count, 1ull));
    if (at < found.capacity) found.rows[at] = {d2[row], row, label_at(labels, row)};
  }
}

// The digit in which the `wanted`-th row in the running lies, counted from the largest digit or from the smallest;
// takes the rows before that digit from `wanted`. -1: there are not so many.
int64_t find_digit(const std::vector<unsigned long long>& counts, bool from_largest, int64_t& wanted) {
  for (int64_t i = 0; i < kDigits; ++i) {
    const int64_t digit = from_largest ? kDigits - 1 - i : i;
    const auto here = static_cast<int64_t>(counts[static_cast<size_t>(digit)]);
    if (wanted <= here) return digit;
    wanted -= here;
  }
  return -1;
}

Last find_last(const double* d2, int64_t n, int64_t count, const Stream& stream) {
  DeviceBuffer<unsigned long long> counts(kDigits, "digits of distances");
  const Settled settled(stream);
  std::vector<unsigned long long> host(kDigits);
  Prefix prefix;
  int64_t wanted = count;
  const auto next_digit = [&](bool of_row, int shift) {
    fill_zero(counts.data(), counts.size(), stream, "clearing digits of distances");
    digit_kernel<<<grid_for(n, kThreads), kThreads, 0, stream>>>(d2, n, prefix, {of_row, shift}, counts.data());
    check_launch("counting digits of distances");
    read_back(host.data(), counts.data(), host.size(), stream, "counting digits of distances");
    return find_digit(host, !of_row, wanted);
  };
  for (int shift = 60; shift >= 0; shift -= kDigitBits) {
    const int64_t digit = next_digit(false, shift);
    if (digit < 0) return {0, n};
    prefix.distance = prefix.distance << kDigitBits | static_cast<uint64_t>(digit);
    prefix.distance_shift = shift;
  }
  const int width = std::bit_width(static_cast<uint64_t>(n - 1));
  for (int shift = (width + kDigitBits - 1) / kDigitBits * kDigitBits - kDigitBits; shift >= 0; shift -= kDigitBits) {
    const int64_t digit = next_digit(true, shift);
    prefix.row = prefix.row << kDigitBits | static_cast<uint64_t>(digit);
    prefix.row_shift = shift;
  }
  return {prefix.distance, static_cast<int64_t>(prefix.row)};
}

}  // namespace

void AssignedDistances::add_terms(const Assigned& assigned, const SumFormat& format, int64_t step,
                                  device::Address sums) {
  static_assert(sizeof(TermSums) == kSums * sizeof(int64_t));
  SumFormat larger = format;
  larger.shift -= 1;
  const DevicePoints points = points_of(input_, assigned.rows);
  const Rows rows{points, labels_of(assigned), pointer_to(assigned.prototypes), step, (points.n + step - 1) / step};
  dispatch_rows(points, [&]<class T, bool kEight>() {
    sum_kernel<T, kEight><<<grid_for(rows.count, kThreads), kThreads, 0, stream_>>>(
        rows, TermSplitter(format), TermSplitter(larger), pointer_to<int64_t>(sums));
  });
  check_launch("summing distances");
}

void AssignedDistances::distances(const Assigned& assigned, bool eligible, device::Address out) {
  const DevicePoints points = points_of(input_, assigned.rows);
  const Rows rows{points, labels_of(assigned), pointer_to(assigned.prototypes), 1, points.n};
  dispatch_rows(points, [&]<class T, bool kEight>() {
    distance_kernel<T, kEight>
        <<<grid_for(points.n, kThreads), kThreads, 0, stream_>>>(rows, eligible, pointer_to<double>(out));
  });
  check_launch("computing distances");
}

void AssignedDistances::transform(const device::Rows& rows, device::Address prototypes, int64_t k,
                                  device::Address out) {
  const DevicePoints points = points_of(input_, rows);
  dispatch_rows(points, [&]<class T, bool kEight>() {
    using C = typename PrototypeOf<T>::type;
    const int64_t threads = points.n * k * (kEight ? 8 : 1);
    transform_kernel<T, kEight, C><<<grid_for(threads, kThreads), kThreads, 0, stream_>>>(
        points, pointer_to<const C>(prototypes), k, pointer_to<C>(out));
  });
  check_launch("computing distances to all prototypes");
}

std::optional<std::vector<DistantRow>> AssignedDistances::farthest_rows(const Assigned& assigned, int64_t count) {
  const DevicePoints points = points_of(input_, assigned.rows);
  DeviceBuffer<double> d2(static_cast<size_t>(points.n), "distances of all rows");
  DeviceBuffer<Found> found(static_cast<size_t>(count), "the farthest rows");
  DeviceBuffer<unsigned long long> length(1, "the number of farthest rows");
  const Settled settled(stream_);
  const int grid = grid_for(points.n, kThreads);
  distances(assigned, true, {d2.data()});
  const Last last = find_last(d2.data(), points.n, count, stream_);
  fill_zero(length.data(), 1, stream_, "clearing a counter");
  list_kernel<<<grid, kThreads, 0, stream_>>>(d2.data(), points.n, last, labels_of(assigned),
                                              FoundRows{found.data(), count, length.data()});
  check_launch("listing the farthest rows");
  unsigned long long listed = 0;
  std::vector<Found> host(static_cast<size_t>(count));
  read_back(&listed, length.data(), 1, stream_, "listing the farthest rows");
  read_back(host.data(), found.data(), host.size(), stream_, "listing the farthest rows");
  host.resize(static_cast<size_t>(listed));
  std::vector<DistantRow> result;
  for (const Found& f : host) result.push_back({f.distance, f.row, f.label});
  std::sort(result.begin(), result.end(), DistantRow::is_farther);
  return result;
}

}  // namespace manymeans::cuda
