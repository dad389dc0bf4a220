// Ranges, lowest bits and moments of the columns of points on a device: data/input.cpp is the same for the host.
#include "backend/cuda/device/limbs.cuh"
#include "backend/cuda/device/point_value.cuh"
#include "backend/cuda/points/scan_columns.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/on_device.h"

#include <algorithm>

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kBlocks = 1056;  // a few for each multiprocessor
constexpr unsigned long long kNoneBad = ~0ULL;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

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

struct Range {
  double minimum, maximum, largest, low;
};

// Value of the lowest set bit of v, infinity for 0: v minus v with that bit cleared, which is exact.
__device__ __forceinline__ double lowest_bit_value(double v) {
  constexpr long long kMantissa = (1LL << 52) - 1;
  const double magnitude = fabs(v);
  const long long bits = __double_as_longlong(magnitude);
  const double cleared = (bits & kMantissa) != 0 ? __longlong_as_double(bits & (bits - 1)) : 0.0;
  return magnitude > 0 ? __dsub_rn(magnitude, cleared) : kInfinity;
}

// ranges[blockIdx.x][column]: of the rows that the block reads.
__global__ void ranges_kernel(DevicePoints points, int width, int rows, Range* ranges, unsigned long long* bad) {
  __shared__ Range shared[kThreads];
  const Place place(points, width, rows);
  Range mine = {kInfinity, -kInfinity, 0, kInfinity};
  for (int64_t row = place.row; row < points.n; row += place.step) {
    const int64_t at = row * points.d + place.column;
    const double v = load_double(points, at);
    if (!isfinite(v)) {
      atomicMin(bad, static_cast<unsigned long long>(at));
      continue;
    }
    mine.minimum = fmin(mine.minimum, v);
    mine.maximum = fmax(mine.maximum, v);
    const double term = points.weights == nullptr ? v : __dmul_rn(points.weights[row], v);
    mine.largest = fmax(mine.largest, fabs(term));
    mine.low = fmin(mine.low, lowest_bit_value(term));
  }
  shared[threadIdx.x] = mine;
  __syncthreads();
  const int column = static_cast<int>(threadIdx.x);
  if (column >= width || place.column >= points.d) return;
  for (int r = 1; r < rows; ++r) {
    const Range& other = shared[r * width + column];
    mine.minimum = fmin(mine.minimum, other.minimum);
    mine.maximum = fmax(mine.maximum, other.maximum);
    mine.largest = fmax(mine.largest, other.largest);
    mine.low = fmin(mine.low, other.low);
  }
  ranges[blockIdx.x * points.d + place.column] = mine;
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

}  // namespace

DeviceScan scan_columns(const PointsView& points, std::span<const double> weights) {
  const OnDevice here(points.place.device);
  const Stream stream;
  const Panels panels(points);
  DeviceBuffer<double> device_weights(weights.size(), "the weights");
  const size_t d = static_cast<size_t>(points.d);
  DeviceBuffer<Range> ranges(panels.grid.x * d, "the columns' ranges");
  DeviceBuffer<unsigned long long> bad(1, "the columns' ranges");
  const Settled settled(stream);
  copy_to_device(device_weights.data(), weights.data(), weights.size(), stream, "the weights");
  copy_to_device(bad.data(), &kNoneBad, 1, stream, "the columns' ranges");
  ranges_kernel<<<panels.grid, kThreads, 0, stream>>>(device_points(points, device_weights.data()), panels.width,
                                                      panels.rows, ranges.data(), bad.data());
  check_launch("reading the columns' ranges");
  std::vector<Range> found(ranges.size());
  unsigned long long first_bad = kNoneBad;
  read_back(found.data(), ranges.data(), found.size(), stream, "reading the columns' ranges");
  read_back(&first_bad, bad.data(), 1, stream, "reading the columns' ranges");

  DeviceScan scan{ColumnScan(points.d), first_bad == kNoneBad ? -1 : static_cast<int64_t>(first_bad)};
  for (size_t i = 0; i < found.size(); ++i) {
    scan.columns.take(i % d, found[i].minimum, found[i].maximum, found[i].largest, found[i].low);
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
