// The overhead of reading points again and again, in plain CUDA: study 3, section 4.2 (table 4.3). One thread labels
// one point of any number of columns, which stays in global memory.
//
//   read_overhead [--distances 1|2|4|8|12|16] [--block THREADS] [--repeats R] [--rows N] [--columns D] [--clusters K]
//   ...
//
// A thread keeps the distances to a group of centroids in registers. Each value of its point that it reads serves them
// all. A larger group hides the time of the read behind more arithmetic, and takes more registers. Each size of a group
// gives two lines: the step "unread" computes as many distances without reading the points, and its labels mean
// nothing. The difference of the two times is the overhead. --iterations labellings are timed together.
#include "founding/founding_cuda.h"

#include <cmath>

namespace manymeans::founding {
namespace {

constexpr int64_t kConstantFloats = (64 << 10) / 4;  // constant memory of every device
constexpr int64_t kPitch = 32;                       // floats of a memory transaction: each column begins with one

__constant__ float centroid_columns[kConstantFloats];  // d x group_columns, which are k filled up to whole groups

struct GroupLabelling {
  const float* points;  // d x pitch: the threads of a warp read side by side
  int* labels;
  int64_t n, pitch;
  int k, d, group_columns;
  bool reading;
};

template <int group>
__global__ void label_in_groups(GroupLabelling work) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= work.n) return;
  const auto unread = static_cast<float>(threadIdx.x);
  float least = INFINITY;
  int nearest = 0;
  for (int first = 0; first < work.k; first += group) {
    float distances[group] = {};
    for (int j = 0; j < work.d; ++j) {
      const float value = work.reading ? work.points[j * work.pitch + i] : unread;
#pragma unroll
      for (int c = 0; c < group; ++c) {
        const float difference = value - centroid_columns[j * work.group_columns + first + c];
        distances[c] += difference * difference;
      }
    }
#pragma unroll
    for (int c = 0; c < group; ++c) {
      if (first + c < work.k && distances[c] < least) {
        least = distances[c];
        nearest = first + c;
      }
    }
  }
  work.labels[i] = nearest;
}

struct GroupStep {
  std::string name;
  int64_t group;
  void (*kernel)(GroupLabelling);
};

const std::vector<GroupStep> kSteps = {{"1", 1, label_in_groups<1>},    {"2", 2, label_in_groups<2>},
                                       {"4", 4, label_in_groups<4>},    {"8", 8, label_in_groups<8>},
                                       {"12", 12, label_in_groups<12>}, {"16", 16, label_in_groups<16>}};

DeviceFit<float> label(const CudaProblem<float>& problem, const GroupStep& step, bool reading, int block) {
  const ElapsedTime watch;
  const ExperimentShape& shape = problem.shape;
  const int64_t pitch = filled_up(shape.rows, kPitch), group_columns = filled_up(shape.clusters, step.group);
  const DeviceArray<float> points(transposed(problem.points, shape.columns, pitch));
  const DeviceArray<int> labels(shape.rows);
  const std::vector<float> columns = transposed(problem.first, shape.columns, group_columns);
  check(cudaMemcpyToSymbol(centroid_columns, columns.data(), columns.size() * sizeof(float)),
        "copy to constant memory");
  const GroupLabelling work{points.data(),
                            labels.data(),
                            shape.rows,
                            pitch,
                            static_cast<int>(shape.clusters),
                            static_cast<int>(shape.columns),
                            static_cast<int>(group_columns),
                            reading};
  KernelTimer timer;
  timer.time([&] {
    for (int64_t i = 0; i < shape.iterations; ++i) step.kernel<<<blocks_for(shape.rows, block), block>>>(work);
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
  const std::vector<GroupStep> steps = read_steps(arguments, kSteps, "distances");
  const auto block = static_cast<int>(arguments.whole("block", 256));
  const int64_t repeats = arguments.whole("repeats", 3);
  arguments.check_all_used();
  if (shape.columns * filled_up(shape.clusters, 16) > kConstantFloats) {
    throw Error(ErrorCode::kUsage, "read_overhead", "the centroids do not fit in 64 KiB of constant memory");
  }
  CudaProblem<float> problem(shape);
  bool right = true;
  for (const GroupStep& step : steps) {
    for (const bool reading : {true, false}) {
      DeviceFit<float> found = median_run(repeats, [&] { return label(problem, step, reading, block); });
      found.before = problem.first;
      found.after = means_of(problem.points, found.labels, problem.first, shape.columns);
      problem.shape.judge = reading ? shape.judge : "none";
      ResultLine line(arguments.program(), shape);
      line.add("step", std::string(reading ? "read" : "unread"));
      line.add("distances", step.group);
      line.add("block", int64_t{block});
      right = report(line, problem, found) && right;
    }
  }
  return right;
}

}  // namespace
}  // namespace manymeans::founding

int main(int argc, char** argv) {
  return manymeans::founding::run_on_device(argc, argv, manymeans::founding::run);
}
