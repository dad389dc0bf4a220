// K-means of points in the plane in plain CUDA, float64: study 5, section 5 (listings 4 to 6, figures 4 to 6, table 1).
//
//   plane_kmeans [--step NAME] [--block THREADS] [--repeats R] [--rows N] [--clusters K] [--iterations I] ...
//
//   first-thread    The study's reduction: one thread of a block sums the block's points and adds the sums atomically.
//   all-threads     All threads of a block add to sums in shared memory atomically. The block's sums go on as above.
//   global-atomics  Each thread adds its point to the sums in global memory. The study expected this to be slower.
//
// A centroid that would move by at most the threshold stays. A fit ends when all stay. A cluster without points keeps
// its centroid; the study's listing moves it to the origin. Seconds measure the kernels alone.
#include "founding/founding_cuda.h"

namespace manymeans::founding {
namespace {

constexpr double kThreshold = 1e-6;
constexpr int64_t kSharedBytes = 48 << 10;  // every device gives a block 48 KiB

struct PlaneArrays {
  double *x, *y;
};

struct PlaneWork {
  PlaneArrays points, centroids;
  PlaneArrays before;  // the centroids that gave the labels
  PlaneArrays sums;
  int *labels, *counts;
  int* moved;  // how many centroids
  int64_t n;
  int k;
};

__device__ int64_t own_point() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ double squared_distance(double x, double y, double other_x, double other_y) {
  return (x - other_x) * (x - other_x) + (y - other_y) * (y - other_y);
}

__global__ void assign_points(PlaneWork work) {
  extern __shared__ double shared[];
  double *const centroid_x = shared, *const centroid_y = shared + work.k;
  // All threads copy. In the study the first thread does so alone.
  for (int c = threadIdx.x; c < work.k; c += blockDim.x) {
    centroid_x[c] = work.centroids.x[c];
    centroid_y[c] = work.centroids.y[c];
  }
  __syncthreads();
  const int64_t i = own_point();
  if (i >= work.n) return;  // not before the barrier, which waits for all threads of the block
  const double x = work.points.x[i], y = work.points.y[i];
  double least = squared_distance(x, y, centroid_x[0], centroid_y[0]);
  int nearest = 0;
  for (int c = 1; c < work.k; ++c) {
    const double distance = squared_distance(x, y, centroid_x[c], centroid_y[c]);
    if (distance < least) {
      least = distance;
      nearest = c;
    }
  }
  work.labels[i] = nearest;
}

// Sums in shared memory: k of x, k of y, then k counts.
struct PlaneSums {
  double *x, *y;
  int* counts;
};

__device__ PlaneSums block_sums(void* memory, int k) {
  double* const x = static_cast<double*>(memory);
  return {x, x + k, reinterpret_cast<int*>(x + 2 * k)};
}

__device__ void add_to_global(const PlaneWork& work, const PlaneSums& sums, int c) {
  if (sums.counts[c] == 0) return;
  atomicAdd(&work.sums.x[c], sums.x[c]);
  atomicAdd(&work.sums.y[c], sums.y[c]);
  atomicAdd(&work.counts[c], sums.counts[c]);
}

__global__ void sum_by_first_thread(PlaneWork work) {
  extern __shared__ double shared[];
  double *const x = shared, *const y = x + blockDim.x;
  const PlaneSums sums = block_sums(y + blockDim.x, work.k);
  int* const labels = sums.counts + work.k;
  const int64_t i = own_point();
  if (i < work.n) {
    x[threadIdx.x] = work.points.x[i];
    y[threadIdx.x] = work.points.y[i];
    labels[threadIdx.x] = work.labels[i];
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int c = 0; c < work.k; ++c) {
    sums.x[c] = sums.y[c] = 0;
    sums.counts[c] = 0;
  }
  const int64_t points = min(static_cast<int64_t>(blockDim.x), work.n - i);  // the last block may have fewer
  for (int t = 0; t < points; ++t) {
    sums.x[labels[t]] += x[t];
    sums.y[labels[t]] += y[t];
    ++sums.counts[labels[t]];
  }
  for (int c = 0; c < work.k; ++c) add_to_global(work, sums, c);
}

__global__ void sum_by_all_threads(PlaneWork work) {
  extern __shared__ double shared[];
  const PlaneSums sums = block_sums(shared, work.k);
  for (int c = threadIdx.x; c < work.k; c += blockDim.x) {
    sums.x[c] = sums.y[c] = 0;
    sums.counts[c] = 0;
  }
  __syncthreads();
  const int64_t i = own_point();
  if (i < work.n) {
    const int label = work.labels[i];
    atomicAdd(&sums.x[label], work.points.x[i]);
    atomicAdd(&sums.y[label], work.points.y[i]);
    atomicAdd(&sums.counts[label], 1);
  }
  __syncthreads();
  for (int c = threadIdx.x; c < work.k; c += blockDim.x) add_to_global(work, sums, c);
}

__global__ void sum_in_global_memory(PlaneWork work) {
  const int64_t i = own_point();
  if (i >= work.n) return;
  const int label = work.labels[i];
  atomicAdd(&work.sums.x[label], work.points.x[i]);
  atomicAdd(&work.sums.y[label], work.points.y[i]);
  atomicAdd(&work.counts[label], 1);
}

// One thread a centroid. Leaves the sums at zero for the next iteration.
__global__ void move_centroids(PlaneWork work) {
  const int c = static_cast<int>(own_point());
  if (c >= work.k) return;
  const double old_x = work.centroids.x[c], old_y = work.centroids.y[c];
  work.before.x[c] = old_x;
  work.before.y[c] = old_y;
  if (work.counts[c] > 0) {
    const double x = work.sums.x[c] / work.counts[c], y = work.sums.y[c] / work.counts[c];
    if (sqrt(squared_distance(x, y, old_x, old_y)) > kThreshold) {
      work.centroids.x[c] = x;
      work.centroids.y[c] = y;
      atomicAdd(work.moved, 1);
    }
  }
  work.sums.x[c] = work.sums.y[c] = 0;
  work.counts[c] = 0;
}

struct PlaneStep {
  std::string name;
  void (*sum)(PlaneWork);
  int bytes_a_point, bytes_a_cluster;  // of shared memory
};

const std::vector<PlaneStep> kSteps = {{"first-thread", sum_by_first_thread, 20, 20},
                                       {"all-threads", sum_by_all_threads, 0, 20},
                                       {"global-atomics", sum_in_global_memory, 0, 0}};

// Points on the device. On the host x and y of a point lie side by side.
class DevicePlane {
 public:
  explicit DevicePlane(size_t size) : DevicePlane(std::vector<double>(2 * size)) {}  // zeros
  explicit DevicePlane(const std::vector<double>& rows) : x_(every_second(rows, 0)), y_(every_second(rows, 1)) {}

  PlaneArrays view() const { return {x_.data(), y_.data()}; }
  std::vector<double> to_host() const {
    const std::vector<double> x = x_.to_host(), y = y_.to_host();
    std::vector<double> rows;
    for (size_t i = 0; i < x.size(); ++i) rows.insert(rows.end(), {x[i], y[i]});
    return rows;
  }

 private:
  static std::vector<double> every_second(const std::vector<double>& rows, size_t first) {
    std::vector<double> values(rows.size() / 2);
    for (size_t i = 0; i < values.size(); ++i) values[i] = rows[2 * i + first];
    return values;
  }

  DeviceArray<double> x_, y_;
};

DeviceFit<double> fit(const CudaProblem<double>& problem, const PlaneStep& step, int block) {
  const ElapsedTime watch;
  const int64_t n = problem.shape.rows, k = problem.shape.clusters;
  const DevicePlane points(problem.points), centroids(problem.first), before(k), sums(k);
  DeviceArray<int> labels(n), counts(k), moved(1);
  counts.set_bytes(0);
  const PlaneWork work{points.view(),      centroids.view(), before.view(), sums.view(),
                       labels.data(),      counts.data(),    moved.data(),  n,
                       static_cast<int>(k)};
  const unsigned blocks = blocks_for(n, block);
  KernelTimer timer;
  DeviceFit<double> result;
  for (bool settled = false; !settled && result.iterations < problem.shape.iterations; ++result.iterations) {
    moved.set_bytes(0);
    timer.time([&] {
      assign_points<<<blocks, block, k * 2 * sizeof(double)>>>(work);
      step.sum<<<blocks, block, block * step.bytes_a_point + k * step.bytes_a_cluster>>>(work);
      move_centroids<<<blocks_for(k, block), block>>>(work);
    });
    settled = moved.to_host()[0] == 0;
  }
  result.labels = labels.to_host();
  result.before = before.to_host();
  result.after = centroids.to_host();
  result.seconds = timer.seconds();
  result.seconds_with_transfers = watch.seconds();
  return result;
}

bool run(Arguments& arguments) {
  const ExperimentShape shape = read_points(arguments);
  const std::vector<PlaneStep> steps = read_steps(arguments, kSteps);
  const auto block = static_cast<int>(arguments.whole("block", 256));
  const int64_t repeats = arguments.whole("repeats", 3);
  arguments.check_all_used();
  if (shape.columns != 2) throw Error(ErrorCode::kUsage, "plane_kmeans", "a point of the plane has two columns");
  if ((block + shape.clusters) * 20 > kSharedBytes) {
    throw Error(ErrorCode::kUsage, "plane_kmeans", "a block's points and sums do not fit in 48 KiB of shared memory");
  }
  const CudaProblem<double> problem(shape);
  bool right = true;
  for (const PlaneStep& step : steps) {
    const DeviceFit<double> found = median_run(repeats, [&] { return fit(problem, step, block); });
    ResultLine line(arguments.program(), shape);
    line.add("step", step.name);
    line.add("block", int64_t{block});
    right = report(line, problem, found, kThreshold) && right;
  }
  return right;
}

}  // namespace
}  // namespace manymeans::founding

int main(int argc, char** argv) {
  return manymeans::founding::run_on_device(argc, argv, manymeans::founding::run);
}
