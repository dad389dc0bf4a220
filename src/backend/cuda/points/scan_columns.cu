// Ranges, lowest bits and moments of the columns of points on a device: data/input.cpp is the same for the host.
#include "backend/cuda/device/limbs.cuh"
#include "backend/cuda/device/point_value.cuh"
#include "backend/cuda/points/scan_columns.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/on_device.h"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kBlocks = 1056;  // a few for each multiprocessor
constexpr unsigned long long kNoneBad = ~0ULL;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Threads of a block cover rows times a panel of columns, so that they read neighbours and keep to one column.
struct Panels {
  int width;  // columns of a panel
  int rows;   // that a block reads at once
  dim3 grid;  // ranges of rows, panels

  explicit Panels(const PointsView& points)
      : width(static_cast<int>(std::min<int64_t>(points.d, kThreads))), rows(kThreads / width) {
    const int64_t panels = (points.d + width - 1) / width;
    const int64_t most = (points.n + rows - 1) / rows;
    grid = dim3(static_cast<unsigned>(std::clamp<int64_t>(kBlocks / panels, 1, most)), static_cast<unsigned>(panels));
  }
};

// The place of a thread: columns beyond the last have no rows.
struct Place {
  int64_t row, step, column;

  __device__ Place(const DevicePoints& points, int width, int rows)
      : row(static_cast<int64_t>(blockIdx.x) * rows + static_cast<int>(threadIdx.x) / width),
        step(static_cast<int64_t>(gridDim.x) * rows),
        column(static_cast<int64_t>(blockIdx.y) * width + static_cast<int>(threadIdx.x) % width) {
    if (static_cast<int>(threadIdx.x) >= width * rows || column >= points.d) row = points.n;
  }
};

// Value of the lowest set bit of v, infinity for 0: v minus v with that bit cleared, which is exact.
__device__ __forceinline__ double lowest_bit_value(double v) {
  constexpr long long kMantissa = (1LL << 52) - 1;
  const double magnitude = fabs(v);
  const long long bits = __double_as_longlong(magnitude);
  const double cleared = (bits & kMantissa) != 0 ? __longlong_as_double(bits & (bits - 1)) : 0.0;
  return magnitude > 0 ? __dsub_rn(magnitude, cleared) : kInfinity;
}
__device__ __forceinline__ float lowest_bit_value(float v) {
  constexpr uint32_t kMantissa = (1U << 23) - 1;
  const float magnitude = fabsf(v);
  const uint32_t bits = __float_as_uint(magnitude);
  const float cleared = (bits & kMantissa) != 0 ? __uint_as_float(bits & (bits - 1)) : 0.0F;
  return magnitude > 0 ? __fsub_rn(magnitude, cleared) : kInfinity;
}

// Of a column's values. V: their type, as far as products with weights keep it.
template <class V>
struct Range {
  V minimum = kInfinity;
  V maximum = -kInfinity;
  V largest = 0;
  V low = kInfinity;

  __device__ __forceinline__ void take(V v, V term) {
    minimum = fmin(minimum, v);
    maximum = fmax(maximum, v);
    largest = fmax(largest, fabs(term));
    low = fmin(low, lowest_bit_value(term));
  }
  template <class U>
  __device__ __forceinline__ void join(const Range<U>& other) {
    minimum = fmin(minimum, static_cast<V>(other.minimum));
    maximum = fmax(maximum, static_cast<V>(other.maximum));
    largest = fmax(largest, static_cast<V>(other.largest));
    low = fmin(low, static_cast<V>(other.low));
  }
};
using FoundRange = Range<double>;

// ranges[blockIdx.x][column]: of the rows that the block reads. Some rows are loaded together.
template <class T, class V>
__global__ void ranges_kernel(DevicePoints points, int width, int rows, Range<V>* ranges, unsigned long long* bad) {
  constexpr int kTogether = 8;
  __shared__ __align__(16) unsigned char memory[kThreads * sizeof(Range<V>)];
  auto* shared = reinterpret_cast<Range<V>*>(memory);
  const Place place(points, width, rows);
  Range<V> mine;
  for (int64_t first = place.row; first < points.n; first += kTogether * place.step) {
    decltype(loaded<T>(points, 0)) values[kTogether];
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      const int64_t row = min(first + i * place.step, points.n - 1);
      values[i] = loaded<T>(points, row * points.d + place.column);
    }
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      const int64_t row = min(first + i * place.step, points.n - 1);
      const V v = static_cast<V>(widened(values[i]));
      if (!isfinite(v)) {
        atomicMin(bad, static_cast<unsigned long long>(row * points.d + place.column));
        continue;
      }
      mine.take(v, points.weights == nullptr ? v : static_cast<V>(__dmul_rn(points.weights[row], v)));
    }
  }
  shared[threadIdx.x] = mine;
  __syncthreads();
  const int column = static_cast<int>(threadIdx.x);
  if (column >= width || place.column >= points.d) return;
  for (int r = 1; r < rows; ++r) mine.join(shared[r * width + column]);
  ranges[blockIdx.x * points.d + place.column] = mine;
}

// The ranges of all blocks; a warp a column.
template <class V>
__global__ void join_kernel(const Range<V>* ranges, int64_t blocks, int64_t d, FoundRange* found) {
  const int64_t column = static_cast<int64_t>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  if (column >= d) return;
  FoundRange mine;
  for (int64_t block = threadIdx.x % 32; block < blocks; block += 32) mine.join(ranges[block * d + column]);
  for (int step = 16; step > 0; step /= 2) {
    FoundRange other;
    other.minimum = __shfl_xor_sync(~0U, mine.minimum, step);
    other.maximum = __shfl_xor_sync(~0U, mine.maximum, step);
    other.largest = __shfl_xor_sync(~0U, mine.largest, step);
    other.low = __shfl_xor_sync(~0U, mine.low, step);
    mine.join(other);
  }
  if (threadIdx.x % 32 == 0) found[column] = mine;
}

struct MomentSplitters {
  double centre;
  TermSplitter y, yy;
};

__global__ void moments_kernel(DevicePoints points, int width, int rows, const MomentSplitters* splitters,
                               MomentSums* sums) {
  const Place place(points, width, rows);
  if (place.row >= points.n) return;
  const MomentSplitters splitter = splitters[place.column];
  int64_t sum[kDistanceLimbs] = {};
  int64_t squares[kDistanceLimbs] = {};
  for (int64_t row = place.row; row < points.n; row += place.step) {
    const double y = __dsub_rn(load_double(points, row * points.d + place.column), splitter.centre);
    add_limbs(splitter.y, y, 1, sum);
    add_limbs(splitter.yy, __dmul_rn(y, y), 1, squares);
  }
  for (int g = 0; g < kDistanceLimbs; ++g) {
    atomic_add(&sums[place.column].y[g], sum[g]);
    atomic_add(&sums[place.column].yy[g], squares[g]);
  }
}

DevicePoints device_points(const PointsView& points, const double* weights) {
  return {points.data, points.type, points.n, points.d, weights};
}

template <class T, class V>
void find_ranges(const DevicePoints& points, const Panels& panels, FoundRange* found, unsigned long long* bad,
                 const Stream& stream) {
  DeviceBuffer<Range<V>> of_blocks(panels.grid.x * static_cast<size_t>(points.d), "the columns' ranges");
  const Settled settled(stream);
  ranges_kernel<T, V><<<panels.grid, kThreads, 0, stream>>>(points, panels.width, panels.rows, of_blocks.data(), bad);
  check_launch("reading the columns' ranges");
  const auto blocks = static_cast<unsigned>((points.d * 32 + kThreads - 1) / kThreads);
  join_kernel<V><<<blocks, kThreads, 0, stream>>>(of_blocks.data(), panels.grid.x, points.d, found);
  check_launch("reading the columns' ranges");
}

}  // namespace

DeviceScan scan_columns(const PointsView& points, std::span<const double> weights) {
  const OnDevice here(points.place.device);
  const Stream stream;
  const Panels panels(points);
  DeviceBuffer<double> device_weights(weights.size(), "the weights");
  const auto d = static_cast<size_t>(points.d);
  DeviceBuffer<FoundRange> ranges(d, "the columns' ranges");
  DeviceBuffer<unsigned long long> bad(1, "the columns' ranges");
  const Settled settled(stream);
  copy_to_device(device_weights.data(), weights.data(), weights.size(), stream, "the weights");
  copy_to_device(bad.data(), &kNoneBad, 1, stream, "the columns' ranges");
  const DevicePoints rows = device_points(points, device_weights.data());
  if (!weights.empty()) {
    find_ranges<AnyType, double>(rows, panels, ranges.data(), bad.data(), stream);
  } else {
    dispatch_type(points.type, [&]<class T>(T) {
      using V = std::conditional_t<sizeof(T) == sizeof(double), double, float>;
      find_ranges<T, V>(rows, panels, ranges.data(), bad.data(), stream);
    });
  }
  std::vector<FoundRange> found(d);
  unsigned long long first_bad = kNoneBad;
  read_back(found.data(), ranges.data(), d, stream, "reading the columns' ranges");
  read_back(&first_bad, bad.data(), 1, stream, "reading the columns' ranges");

  DeviceScan scan{ColumnScan(points.d), first_bad == kNoneBad ? -1 : static_cast<int64_t>(first_bad)};
  for (size_t j = 0; j < d; ++j) {
    scan.columns.take(j, found[j].minimum, found[j].maximum, found[j].largest, found[j].low);
  }
  return scan;
}

std::vector<MomentSums> sum_moments(const PointsView& points, std::span<const MomentFormats> formats) {
  const OnDevice here(points.place.device);
  const Stream stream;
  const Panels panels(points);
  std::vector<MomentSplitters> made;
  for (const MomentFormats& format : formats) {
    made.push_back({format.centre, TermSplitter(format.y), TermSplitter(format.yy)});
  }
  DeviceBuffer<MomentSplitters> splitters(made.size(), "the columns' moments");
  DeviceBuffer<MomentSums> sums(formats.size(), "the columns' moments");
  const Settled settled(stream);
  copy_to_device(splitters.data(), made.data(), made.size(), stream, "the columns' moments");
  fill_zero(sums.data(), sums.size(), stream, "the columns' moments");
  moments_kernel<<<panels.grid, kThreads, 0, stream>>>(device_points(points, nullptr), panels.width, panels.rows,
                                                       splitters.data(), sums.data());
  check_launch("adding up the columns' moments");
  std::vector<MomentSums> result(formats.size());
  read_back(result.data(), sums.data(), result.size(), stream, "adding up the columns' moments");
  return result;
}

}  // namespace manymeans::cuda
