// Finds the model with the smallest canonical residual for every row. A thread takes a row, whose values stay in
// registers (up to 16 features) or in the first cache. A block takes the models through its shared memory, widened,
// four at a time.
//
// Bound: binary64. A row and a model of D features take D products, min(D, 8) - 1 additions of lanes, and four more
// (intercept, residual, square, comparison): 11 operations at D = 4, 19 at 8, 27 at 16. An H200 does 1.7e13 of them a
// second, so 1M rows, D = 4 and 400 models cannot take less than 0.26 ms. Four models a step need one load from shared
// memory for every two products, which keeps that unit free. With float32 it would be twice as fast and prove little if
// residuals are small compared with the target. Every label is canonical this way, and nothing is left to resolve.
#include "backend/cuda/device/pass_device.cuh"
#include "backend/cuda/linear/linear_kernels.h"
#include "backend/cuda/linear/model_rows.cuh"
#include "backend/cuda/runtime/device_memory.h"

#include <algorithm>

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kTileValues = 4096;  // binary64, in shared memory: seven blocks have room for theirs

// The output for the nearest models of one range's rows.
struct LabelOutput {
  using Best = device::NearestModel;

  PassRanges ranges;
  LabelRows next;

  __device__ bool idle() const { return stopped(ranges); }
  __device__ LinearModels models() const {
    const PassRange& range = ranges.at[blockIdx.y];
    return {range.prototypes, range.k, ranges.float64};
  }
  __device__ void take(int64_t row, const device::NearestModel& best) const {
    store_label(next, ranges.at[blockIdx.y].slot, row, best.model);
  }
  __device__ void count(int64_t rows, int64_t k) const {
    PassCounters& counters = ranges.counters[blockIdx.y];
    atomicAdd(&counters.resolved, static_cast<unsigned long long>(rows));
    atomicAdd(&counters.candidates, static_cast<unsigned long long>(rows * k));
  }
};

// And of some centres.
struct LeastOutput {
  using Best = device::NearestModel;

  LinearModels centres;
  bool first;
  double* least;

  __device__ bool idle() const { return false; }
  __device__ LinearModels models() const { return centres; }
  __device__ void take(int64_t row, const device::NearestModel& best) const {
    least[row] = first ? best.squared : fmin(least[row], best.squared);
  }
  __device__ void count(int64_t, int64_t) const {}
};

struct TwoOutput {
  using Best = device::TwoNearestModels;

  LinearModels among;
  TwoNearest* out;

  __device__ bool idle() const { return false; }
  __device__ LinearModels models() const { return among; }
  __device__ void take(int64_t row, const device::TwoNearestModels& best) const { out[row] = best.found; }
  __device__ void count(int64_t, int64_t) const {}
};

// Models [first, first + count) of d values in groups.
__device__ void load_tile(const LinearModels& models, int64_t first, int64_t count, int d, double* tile) {
  const ModelValues from(models, first, d);
  const int values = device::features_in_groups(d - 1) + 1;
  for (int i = static_cast<int>(threadIdx.x); i < count * values; i += kThreads) {
    const int64_t model = i / values;
    const int j = i % values;
    const int64_t at = model * d + (j == values - 1 ? d - 1 : j);
    tile[device::place_in_groups(model, j, values)] = j < d - 1 || j == values - 1 ? from(at) : 0;
  }
}

// The models that a tile holds, a multiple of a group.
struct Tiles {
  const LinearModels& models;
  int64_t together;
  double* tile;
};

// The nearest of all models of d values; all threads of the block call it.
template <int F, class Best, class Row>
__device__ Best nearest_of(const Row& x, double y, int d, const Tiles& tiles) {
  Best best;
  const int features = device::features_in_groups(d - 1);
  const int64_t k = tiles.models.k;
  for (int64_t first = 0; first < k; first += tiles.together) {
    const int64_t here = min(tiles.together, k - first);
    __syncthreads();  // the tile before may still be read
    load_tile(tiles.models, first, here, d, tiles.tile);
    __syncthreads();
    for (int64_t g = 0; g < here; g += device::kGroupModels) {
      double said[device::kGroupModels];
      device::predict_group<F>(x, features, tiles.tile + g * (features + 1), said);
      device::take_group(y, said, static_cast<uint32_t>(first + g), static_cast<uint32_t>(k), best);
    }
  }
  return best;
}

// A thread a row; blockIdx.y is the range.
template <int F, class Output>
__global__ void __launch_bounds__(kThreads) nearest_kernel(DevicePoints points, Output output, int64_t together) {
  if (output.idle()) return;
  extern __shared__ __align__(16) double tile[];
  const LinearModels models = output.models();
  const Tiles tiles{models, together, tile};
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const RowValues values(points, min(row, points.n - 1));
  const auto d = static_cast<int>(points.d);
  const double y = values(d - 1);
  typename Output::Best best;
  if constexpr (F > 0) {
    best = nearest_of<F, typename Output::Best>(FewValues<F>(values, d - 1), y, d, tiles);
  } else {
    best = nearest_of<F, typename Output::Best>(values, y, d, tiles);
  }
  if (row < points.n) output.take(row, best);
  if (threadIdx.x == 0) output.count(min(static_cast<int64_t>(kThreads), points.n - row), models.k);
}

// `most`: models of a range.
template <class Output>
void launch(const DevicePoints& points, const Output& output, int ranges, int64_t most, cudaStream_t stream) {
  constexpr int64_t kGroup = device::kGroupModels;
  const int64_t values = device::features_in_groups(static_cast<int>(points.d) - 1) + 1;
  const int64_t fitting = std::max<int64_t>(1, kTileValues / (kGroup * values)) * kGroup;
  const int64_t together = std::min(fitting, (most + kGroup - 1) / kGroup * kGroup);
  const auto bytes = static_cast<size_t>(together * values) * sizeof(double);
  const dim3 grid(static_cast<unsigned>((points.n + kThreads - 1) / kThreads), static_cast<unsigned>(ranges));
  device::dispatch_features(points.d - 1, [&]<int F>() {
    nearest_kernel<F, Output><<<grid, kThreads, bytes, stream>>>(points, output, together);
  });
  check_launch("finding the nearest models");
}

}  // namespace

void label_by_residuals(const DevicePoints& points, const PassRanges& ranges, const LabelRows& next,
                        cudaStream_t stream) {
  launch(points, LabelOutput{ranges, next}, ranges.count, ranges.max_clusters, stream);
}

void lower_by_residuals(const DevicePoints& points, const LinearModels& models, bool first, double* least,
                        cudaStream_t stream) {
  launch(points, LeastOutput{models, first, least}, 1, models.k, stream);
}

void find_two_nearest(const DevicePoints& points, const LinearModels& models, TwoNearest* out, cudaStream_t stream) {
  launch(points, TwoOutput{models, out}, 1, models.k, stream);
}

}  // namespace manymeans::cuda
