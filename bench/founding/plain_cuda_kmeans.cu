// K-means in plain CUDA, improved step by step: the ladder of study 2 ("Maximizing Scheduling Throughput", "SOA vs
// AOS", "Auto Vectorization"; tables 1 to 3). One thread labels one point. The host sums the new centroids.
//
//   plain_cuda_kmeans [--step NAME] [--block THREADS] [--repeats R] [--rows N] [--columns D] [--clusters K] ...
//
//   fixed      Structure of arrays. 128 threads a block label points; 1024 a block add the counts of changed labels.
//   occupancy  256 and 512 threads a block. They fill the multiprocessors of the study's GTX 480.
//   aos        Array of structures: the coordinates of a point lie side by side.
//   float4     The same with four coordinates a load. Zeros pad a point to a multiple of four coordinates.
//
// The study's last step was the compiler option -O3; float4 says by hand what it hoped for. As there, a fit ends when
// at most a thousandth of the labels changed. Seconds measure the kernels alone.
#include "founding/founding_cuda.h"

namespace manymeans::founding {
namespace {

enum class Layout { kArrays, kStructures, kVectors };

constexpr double kThreshold = 0.001;               // share of labels
constexpr int64_t kSharedFloats = (48 << 10) / 4;  // every device gives a block 48 KiB

struct LayoutStep {
  std::string name;
  Layout layout;
  int block;      // threads of a block that labels
  int sum_block;  // threads of a block that adds counts; a power of two
};

const std::vector<LayoutStep> kSteps = {{"fixed", Layout::kArrays, 128, 1024},
                                        {"occupancy", Layout::kArrays, 256, 512},
                                        {"aos", Layout::kStructures, 256, 512},
                                        {"float4", Layout::kVectors, 256, 512}};

struct LayoutLabelling {
  const float* points;     // n x d; kArrays: d x n
  const float* centroids;  // k x d
  int64_t n;
  int k, d;
  int* labels;
  int* changed;  // a count for each block
};

template <Layout layout>
__device__ float squared_distance(const LayoutLabelling& work, int64_t i, const float* centroid) {
  float sum = 0;
  if constexpr (layout == Layout::kVectors) {
    const float4* point = reinterpret_cast<const float4*>(work.points + i * work.d);
    const float4* other = reinterpret_cast<const float4*>(centroid);
    for (int j = 0; j < work.d / 4; ++j) {
      const float4 x = point[j], c = other[j];
      sum += (x.x - c.x) * (x.x - c.x) + (x.y - c.y) * (x.y - c.y);
      sum += (x.z - c.z) * (x.z - c.z) + (x.w - c.w) * (x.w - c.w);
    }
  } else {
    for (int j = 0; j < work.d; ++j) {
      // Side by side, the threads of a warp read side by side from arrays; from structures they read d values apart.
      const float x = layout == Layout::kArrays ? work.points[j * work.n + i] : work.points[i * work.d + j];
      sum += (x - centroid[j]) * (x - centroid[j]);
    }
  }
  return sum;
}

template <Layout layout>
__global__ void find_nearest_cluster(LayoutLabelling work) {
  extern __shared__ float4 shared[];  // aligned for loads of four
  float* centroids = reinterpret_cast<float*>(shared);
  for (int at = threadIdx.x; at < work.k * work.d; at += blockDim.x) centroids[at] = work.centroids[at];
  __syncthreads();

  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  bool changed = false;
  if (i < work.n) {  // threads without a point wait below, too
    int nearest = 0;
    float least = squared_distance<layout>(work, i, centroids);
    for (int c = 1; c < work.k; ++c) {
      const float distance = squared_distance<layout>(work, i, centroids + c * work.d);
      if (distance < least) {
        least = distance;
        nearest = c;
      }
    }
    changed = work.labels[i] != nearest;
    work.labels[i] = nearest;
  }
  const int count = __syncthreads_count(changed);
  if (threadIdx.x == 0) work.changed[blockIdx.x] = count;
}

// The study's blocks add to one value without atomics, which loses counts when there are several.
__global__ void compute_delta(const int* changed, int count, int* total) {
  extern __shared__ int sums[];
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  sums[threadIdx.x] = at < count ? changed[at] : 0;
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) atomicAdd(total, sums[0]);
}

// Rows of `from` columns as rows of `to` columns, filled up with zeros.
std::vector<float> padded(const std::vector<float>& values, int64_t from, int64_t to) {
  const int64_t rows = static_cast<int64_t>(values.size()) / from;
  std::vector<float> result(static_cast<size_t>(rows * to));
  for (int64_t i = 0; i < rows; ++i) std::copy_n(&values[i * from], from, &result[i * to]);
  return result;
}

void start_labelling(const LayoutLabelling& work, const LayoutStep& step) {
  const unsigned blocks = blocks_for(work.n, step.block);
  const size_t bytes = static_cast<size_t>(work.k * work.d) * sizeof(float);
  switch (step.layout) {
    case Layout::kArrays: find_nearest_cluster<Layout::kArrays><<<blocks, step.block, bytes>>>(work); break;
    case Layout::kStructures: find_nearest_cluster<Layout::kStructures><<<blocks, step.block, bytes>>>(work); break;
    case Layout::kVectors: find_nearest_cluster<Layout::kVectors><<<blocks, step.block, bytes>>>(work); break;
  }
}

DeviceFit<float> fit(const CudaProblem<float>& problem, const LayoutStep& step) {
  const ElapsedTime watch;
  const int64_t n = problem.shape.rows, k = problem.shape.clusters, columns = problem.shape.columns;
  const int64_t d = step.layout == Layout::kVectors ? filled_up(columns, 4) : columns;
  const int blocks = static_cast<int>(blocks_for(n, step.block));
  const DeviceArray<float> points(step.layout == Layout::kArrays ? transposed(problem.points, columns, n)
                                                                 : padded(problem.points, columns, d));
  DeviceArray<float> centroids(k * d);
  DeviceArray<int> labels(n), changed(blocks), total(1);
  labels.set_bytes(0xff);  // -1: no label yet
  const LayoutLabelling work{points.data(), centroids.data(), n, static_cast<int>(k), static_cast<int>(d),
                             labels.data(), changed.data()};
  KernelTimer timer;
  DeviceFit<float> result;
  result.after = problem.first;
  for (bool settled = false; !settled && result.iterations < problem.shape.iterations; ++result.iterations) {
    result.before = result.after;
    centroids.copy_from(padded(result.before, columns, d));
    total.set_bytes(0);
    timer.time([&] {
      start_labelling(work, step);
      const unsigned sum_blocks = blocks_for(blocks, step.sum_block);
      compute_delta<<<sum_blocks, step.sum_block, step.sum_block * sizeof(int)>>>(changed.data(), blocks, total.data());
    });
    settled = total.to_host()[0] <= kThreshold * static_cast<double>(n);
    result.labels = labels.to_host();
    result.after = means_of(problem.points, result.labels, result.before, columns);
  }
  result.seconds = timer.seconds();
  result.seconds_with_transfers = watch.seconds();
  return result;
}

bool run(Arguments& arguments) {
  const ExperimentShape shape = read_points(arguments);
  const std::vector<LayoutStep> steps = read_steps(arguments, kSteps);
  const int64_t block = arguments.whole("block", 0, 0), repeats = arguments.whole("repeats", 3);
  arguments.check_all_used();
  if (filled_up(shape.columns, 4) * shape.clusters > kSharedFloats) {
    throw Error(ErrorCode::kUsage, "plain_cuda_kmeans", "the centroids do not fit in 48 KiB of shared memory");
  }
  const CudaProblem<float> problem(shape);
  bool right = true;
  for (LayoutStep step : steps) {
    if (block > 0) step.block = static_cast<int>(block);
    const DeviceFit<float> found = median_run(repeats, [&] { return fit(problem, step); });
    ResultLine line(arguments.program(), shape);
    line.add("step", step.name);
    line.add("block", int64_t{step.block});
    right = report(line, problem, found) && right;
  }
  return right;
}

}  // namespace
}  // namespace manymeans::founding

int main(int argc, char** argv) {
  return manymeans::founding::run_on_device(argc, argv, manymeans::founding::run);
}
