// Labels of points with few columns in plain CUDA: study 3, section 4.1 (tables 4.1 and 4.2). One thread labels one
// point of at most 22 columns, which lies in its registers.
//
//   low_dimensional [--centroids PLACE] [--block THREADS] [--repeats R] [--rows N] [--columns D] [--clusters K] ...
//
//   shared    The centroids lie in shared memory, into which each block copies them.
//   unloaded  The same without the copy. Its labels mean nothing, and its time shows what the copy takes.
//   constant  They lie in constant memory, which has a cache of its own.
//   global    They lie in global memory, behind the caches.
//
// --iterations labellings are timed together.
#include "founding/founding_cuda.h"

#include <cmath>

namespace manymeans::founding {
namespace {

constexpr int kMaxColumns = 22;                    // the study's limit
constexpr int64_t kSharedFloats = (48 << 10) / 4;  // every device gives a block 48 KiB
constexpr int64_t kPitch = 32;                     // floats of a memory transaction: each column begins with one

__constant__ float constant_centroids[kSharedFloats];  // of 64 KiB; the same limit for all places

enum class Place { kShared, kConstant, kGlobal };

struct PointLabelling {
  const float* points;     // d x pitch: the threads of a warp read side by side
  const float* centroids;  // k x d
  int* labels;
  int64_t n, pitch;
  int k, d;
  bool loading;  // of the centroids into shared memory
};

// The number of columns is a template's, because registers have no index that is known at run time only.
template <int d, Place place>
__global__ void label_points(PointLabelling work) {
  extern __shared__ float shared_centroids[];
  if constexpr (place == Place::kShared) {
    if (work.loading) {
      for (int at = threadIdx.x; at < work.k * d; at += blockDim.x) shared_centroids[at] = work.centroids[at];
    }
    __syncthreads();
  }
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= work.n) return;
  float point[d];
#pragma unroll
  for (int j = 0; j < d; ++j) point[j] = work.points[j * work.pitch + i];

  float least = INFINITY;
  int nearest = 0;
  for (int c = 0; c < work.k; ++c) {
    float distance = 0;
#pragma unroll
    for (int j = 0; j < d; ++j) {
      float difference = point[j];
      if constexpr (place == Place::kShared) difference -= shared_centroids[c * d + j];
      if constexpr (place == Place::kConstant) difference -= constant_centroids[c * d + j];
      if constexpr (place == Place::kGlobal) difference -= work.centroids[c * d + j];
      distance += difference * difference;
    }
    if (distance < least) {
      least = distance;
      nearest = c;
    }
  }
  work.labels[i] = nearest;
}

struct PlaceStep {
  std::string name;
  Place place;
  bool loading;
};

const std::vector<PlaceStep> kSteps = {{"shared", Place::kShared, true},
                                       {"unloaded", Place::kShared, false},
                                       {"constant", Place::kConstant, true},
                                       {"global", Place::kGlobal, true}};

// Starts the kernel for work.d columns. The largest d is tried first.
template <int d>
void start(const PointLabelling& work, Place place, int block) {
  if constexpr (d > 1) {
    if (work.d < d) return start<d - 1>(work, place, block);
  }
  const unsigned blocks = blocks_for(work.n, block);
  const size_t bytes = work.k * d * sizeof(float);
  switch (place) {
    case Place::kShared: return label_points<d, Place::kShared><<<blocks, block, bytes>>>(work);
    case Place::kConstant: return label_points<d, Place::kConstant><<<blocks, block>>>(work);
    case Place::kGlobal: return label_points<d, Place::kGlobal><<<blocks, block>>>(work);
  }
}

DeviceFit<float> label(const CudaProblem<float>& problem, const PlaceStep& step, int block) {
  const ElapsedTime watch;
  const ExperimentShape& shape = problem.shape;
  const int64_t pitch = filled_up(shape.rows, kPitch);
  const DeviceArray<float> points(transposed(problem.points, shape.columns, pitch)), centroids(problem.first);
  const DeviceArray<int> labels(shape.rows);
  const size_t bytes = problem.first.size() * sizeof(float);
  check(cudaMemcpyToSymbol(constant_centroids, problem.first.data(), bytes), "copy to constant memory");
  const PointLabelling work{points.data(),
                            centroids.data(),
                            labels.data(),
                            shape.rows,
                            pitch,
                            static_cast<int>(shape.clusters),
                            static_cast<int>(shape.columns),
                            step.loading};
  KernelTimer timer;
  timer.time([&] {
    for (int64_t i = 0; i < shape.iterations; ++i) start<kMaxColumns>(work, step.place, block);
  });
  DeviceFit<float> result;
  result.labels = labels.to_host();
  result.iterations = shape.iterations;
  result.seconds = timer.seconds();
  result.seconds_with_transfers = watch.seconds();
  return result;
}

bool run(Arguments& arguments) {
  const ExperimentShape shape = read_points(arguments);
  const std::vector<PlaceStep> steps = read_steps(arguments, kSteps, "centroids");
  const auto block = static_cast<int>(arguments.whole("block", 256));
  const int64_t repeats = arguments.whole("repeats", 3);
  arguments.check_all_used();
  if (shape.columns > kMaxColumns) throw Error(ErrorCode::kUsage, "low_dimensional", "--columns is more than 22");
  if (shape.columns * shape.clusters > kSharedFloats) {
    throw Error(ErrorCode::kUsage, "low_dimensional", "the centroids do not fit in 48 KiB of shared memory");
  }
  CudaProblem<float> problem(shape);
  bool right = true;
  for (const PlaceStep& step : steps) {
    DeviceFit<float> found = median_run(repeats, [&] { return label(problem, step, block); });
    found.before = problem.first;
    found.after = means_of(problem.points, found.labels, problem.first, shape.columns);
    problem.shape.judge = step.loading ? shape.judge : "none";
    ResultLine line(arguments.program(), shape);
    line.add("step", step.name);
    line.add("block", int64_t{block});
    right = report(line, problem, found) && right;
  }
  return right;
}

}  // namespace
}  // namespace manymeans::founding

int main(int argc, char** argv) {
  return manymeans::founding::run_on_device(argc, argv, manymeans::founding::run);
}
