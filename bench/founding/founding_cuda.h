// The plain CUDA programs share this: errors and memory of the device, the time of kernels, and a report.
#pragma once

#include <manymeans/error.h>

#include "founding/founding_check.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace manymeans::founding {

inline void check(cudaError_t status, const std::string& what) {
  if (status != cudaSuccess) throw Error(ErrorCode::kInternal, "cuda", what + ": " + cudaGetErrorString(status));
}

/// Calls run_program() if there is a device. Else returns 77, which CTest counts as a skipped test.
inline int run_on_device(int argc, char** argv, const std::function<bool(Arguments&)>& run) {
  constexpr int kSkipped = 77;
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return run_program(argc, argv, run);
  const char* const why = status == cudaSuccess ? "the driver knows none" : cudaGetErrorString(status);
  std::fprintf(stderr, "[cuda] there is no CUDA device: %s; this program needs one\n", why);
  return kSkipped;
}

/// Values in the memory of the device.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t size) : size_(size) { check(cudaMalloc(&data_, bytes()), "memory of the device"); }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) { copy_from(values); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }

  T* data() const { return data_; }
  void copy_from(const std::vector<T>& values) {
    check(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice), "copy to the device");
  }
  std::vector<T> to_host() const {
    std::vector<T> values(size_);
    check(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost), "copy from the device");
    return values;
  }
  /// Sets every byte of the array to `value`.
  void set_bytes(int value) { check(cudaMemset(data_, value, bytes()), "filling memory of the device"); }

 private:
  size_t bytes() const { return size_ * sizeof(T); }

  T* data_ = nullptr;
  size_t size_;
};

/// Adds up the time of kernels. The device's queue has an event before and after them.
class KernelTimer {
 public:
  KernelTimer() {
    check(cudaEventCreate(&begin_), "event");
    check(cudaEventCreate(&end_), "event");
  }
  KernelTimer(const KernelTimer&) = delete;
  KernelTimer& operator=(const KernelTimer&) = delete;
  ~KernelTimer() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }

  /// Calls `launch`, which starts kernels, and waits for them.
  template <class Launch>
  void time(const Launch& launch) {
    check(cudaEventRecord(begin_), "event");
    launch();
    check(cudaGetLastError(), "start of a kernel");
    check(cudaEventRecord(end_), "event");
    check(cudaEventSynchronize(end_), "kernel");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_, end_), "event");
    seconds_ += 1e-3 * milliseconds;
  }
  double seconds() const { return seconds_; }

 private:
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
  double seconds_ = 0;
};

/// Returns the run with the median of `seconds`. A first run, which also loads the kernels, does not count.
template <class Run>
auto median_run(int64_t repeats, const Run& run) {
  std::vector<decltype(run())> results;
  run();
  for (int64_t repeat = 0; repeat < repeats; ++repeat) results.push_back(run());
  std::sort(results.begin(), results.end(), [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  return results[results.size() / 2];
}

/// Returns the step that the option names, or all steps.
template <class Step>
std::vector<Step> read_steps(Arguments& arguments, const std::vector<Step>& steps, const std::string& option = "step") {
  std::vector<std::string> names = {"all"};
  for (const Step& step : steps) names.push_back(step.name);
  const std::string name = arguments.word(option, names);
  std::vector<Step> chosen;
  for (const Step& step : steps) {
    if (name == "all" || name == step.name) chosen.push_back(step);
  }
  return chosen;
}

/// The number of blocks in which each item has a thread.
inline unsigned blocks_for(int64_t items, int64_t block) {
  return static_cast<unsigned>((items + block - 1) / block);
}

/// read_shape() with --points.
inline ExperimentShape read_points(Arguments& arguments) {
  ExperimentShape shape = read_shape(arguments);
  shape.points = arguments.word("points", kPointKinds);
  return shape;
}

inline int64_t filled_up(int64_t count, int64_t group) {
  return (count + group - 1) / group * group;
}

/// Row-major rows as one array for each column, filled up with zeros to `pitch` values.
inline std::vector<float> transposed(const std::vector<float>& rows, int64_t columns, int64_t pitch) {
  std::vector<float> result(columns * pitch);
  for (int64_t i = 0; i < static_cast<int64_t>(rows.size()) / columns; ++i) {
    for (int64_t j = 0; j < columns; ++j) result[j * pitch + i] = rows[i * columns + j];
  }
  return result;
}

/// The input of a program of k-means.
template <class T>
struct CudaProblem {
  explicit CudaProblem(const ExperimentShape& read)
      : shape(read), points(make_points<T>(read)), first(first_centroids(read, points, 0)) {}

  ExperimentShape shape;
  std::vector<T> points, first;  // first centroids
};

/// Its result.
template <class T>
struct DeviceFit {
  std::vector<T> before, after;  // centroids before and after the last iteration
  std::vector<int> labels;       // of the last iteration
  int64_t iterations = 0;
  double seconds = 0;  // of the kernels
  double seconds_with_transfers = 0;
};

/// Checks a fit and prints it. Returns true if it is right. Repeated labellings among the first centroids are checked
/// as one iteration.
template <class T>
bool report(ResultLine& line, const CudaProblem<T>& problem, const DeviceFit<T>& fit, double threshold = 0) {
  const int64_t d = problem.shape.columns;
  const auto view = [d](const std::vector<T>& rows) {
    return PointsView(rows.data(), static_cast<int64_t>(rows.size()) / d, d);
  };
  const RunVerdict verdict = check_kmeans({.points = view(problem.points),
                                           .first = view(problem.first),
                                           .before = view(fit.before),
                                           .after = view(fit.after),
                                           .iterations = fit.before == problem.first ? 1 : fit.iterations,
                                           .threshold = threshold,
                                           .labels = fit.labels},
                                          problem.shape.judge);
  line.add("seconds", fit.seconds);
  line.add("seconds_with_transfers", fit.seconds_with_transfers);
  line.add("iterations", fit.iterations);
  return verdict.print(line);
}

/// Returns the mean of each cluster's points. A cluster without points keeps its centroid.
inline std::vector<float> means_of(const std::vector<float>& points, const std::vector<int>& labels,
                                   std::vector<float> centroids, int64_t d) {
  std::vector<double> sums(centroids.size());
  std::vector<int64_t> counts(centroids.size() / d);
  for (size_t i = 0; i < labels.size(); ++i) {
    ++counts[labels[i]];
    for (int64_t j = 0; j < d; ++j) sums[labels[i] * d + j] += points[i * d + j];
  }
  for (size_t at = 0; at < sums.size(); ++at) {
    const auto count = static_cast<double>(counts[at / d]);
    if (count > 0) centroids[at] = static_cast<float>(sums[at] / count);
  }
  return centroids;
}

}  // namespace manymeans::founding
