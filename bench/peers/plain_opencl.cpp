#include "peers/plain_opencl.h"

#include <manymeans/error.h>

#include <algorithm>
#include <chrono>
#include <string>

namespace manymeans::plain {
namespace {

using opencl::api;
using opencl::check;

constexpr size_t kGroup = 256;

const char* const kSource = R"CL(
#ifdef NATIVE
void add(volatile __global float* to, float value) {
  float before;
  asm volatile("atom.global.add.f32 %0, [%1], %2;" : "=f"(before) : "l"(to), "f"(value) : "memory");
}
#else
void add(volatile __global float* to, float value) {
  uint seen = as_uint(*to);
  for (uint before = ~seen; before != seen;) {
    before = seen;
    seen = atomic_cmpxchg((volatile __global uint*)to, before, as_uint(as_float(before) + value));
  }
}
#endif

__kernel void assign(__global const float* points, __global const float* prototypes, __global int* labels, int n, int d,
                     int k) {
  const int i = get_global_id(0);
  if (i >= n) return;
  float least = FLT_MAX;
  int label = 0;
  for (int c = 0; c < k; ++c) {
    float distance = 0;
    for (int j = 0; j < d; ++j) {
      const float difference = points[i * d + j] - prototypes[c * d + j];
      distance += difference * difference;
    }
    if (distance < least) {
      least = distance;
      label = c;
    }
  }
  labels[i] = label;
}

__kernel void accumulate(__global const float* points, __global const int* labels, __global float* sums,
                         __global int* counts, int n, int d) {
  const int i = get_global_id(0);
  if (i >= n) return;
  const int label = labels[i];
  for (int j = 0; j < d; ++j) add(sums + label * d + j, points[i * d + j]);
  atomic_inc(counts + label);
}
)CL";

template <class T>
void set(cl_kernel kernel, cl_uint place, const T& value) {
  constexpr size_t kBytes = sizeof(T);  // NOLINT(bugprone-sizeof-expression): of a handle, which is meant
  check(api().clSetKernelArg(kernel, place, kBytes, &value), "clSetKernelArg", "plain k-means");
}

}  // namespace

PlainKMeans::PlainKMeans(const opencl::OpenClDevice& device, bool native) : device_(device) {
  const char* const doing = "plain k-means";
  cl_int status = CL_SUCCESS;
  const cl_device_id id = device.facts().id;
  const char* source = kSource;
  queue_ = api().clCreateCommandQueue(device.context(), id, 0, &status);
  check(status, "clCreateCommandQueue", doing);
  program_ = api().clCreateProgramWithSource(device.context(), 1, &source, nullptr, &status);
  check(status, "clCreateProgramWithSource", doing);
  const std::string options = std::string("-cl-std=CL1.2 -cl-fast-relaxed-math") + (native ? " -DNATIVE" : "");
  check(api().clBuildProgram(program_, 1, &id, options.c_str(), nullptr, nullptr), "clBuildProgram", doing);
  assign_ = api().clCreateKernel(program_, "assign", &status);
  check(status, "clCreateKernel", doing);
  accumulate_ = api().clCreateKernel(program_, "accumulate", &status);
  check(status, "clCreateKernel", doing);
}

PlainKMeans::~PlainKMeans() {
  free_buffers();
  if (assign_ != nullptr) api().clReleaseKernel(assign_);
  if (accumulate_ != nullptr) api().clReleaseKernel(accumulate_);
  if (program_ != nullptr) api().clReleaseProgram(program_);
  if (queue_ != nullptr) api().clReleaseCommandQueue(queue_);
}

void PlainKMeans::upload(const Task& task) {
  task_ = task;
  free_buffers();
  const auto n = static_cast<size_t>(task.n);
  const auto values = static_cast<size_t>(task.k * task.d);
  const size_t bytes = n * static_cast<size_t>(task.d) * sizeof(float);
  points_ = buffer(bytes);
  prototypes_ = buffer(values * sizeof(float));
  labels_ = buffer(n * sizeof(int32_t));
  sums_ = buffer(values * sizeof(float));
  counts_ = buffer(static_cast<size_t>(task.k) * sizeof(int32_t));
  check(api().clEnqueueWriteBuffer(queue_, points_, CL_TRUE, 0, bytes, task.points, 0, nullptr, nullptr),
        "clEnqueueWriteBuffer", "plain k-means");
}

Answer PlainKMeans::fit(const float* initial) {
  const auto begin = std::chrono::steady_clock::now();
  Answer answer;
  answer.prototypes.assign(initial, initial + task_.k * task_.d);
  for (int iteration = 0; iteration < task_.iterations; ++iteration) {
    write(prototypes_, answer.prototypes);
    assign();
    accumulate(answer.prototypes);
  }
  write(prototypes_, answer.prototypes);
  assign();
  answer.labels.resize(static_cast<size_t>(task_.n));
  read(answer.labels, labels_);
  answer.passes = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return answer;
}

cl_mem PlainKMeans::buffer(size_t bytes) {
  cl_int status = CL_SUCCESS;
  const cl_mem made = api().clCreateBuffer(device_.context(), CL_MEM_READ_WRITE, bytes, nullptr, &status);
  check(status, "clCreateBuffer", "plain k-means");
  buffers_.push_back(made);
  return made;
}

void PlainKMeans::free_buffers() {
  for (const cl_mem one : buffers_) api().clReleaseMemObject(one);
  buffers_.clear();
}

void PlainKMeans::assign() {
  set(assign_, 0, points_);
  set(assign_, 1, prototypes_);
  set(assign_, 2, labels_);
  set(assign_, 3, static_cast<cl_int>(task_.n));
  set(assign_, 4, static_cast<cl_int>(task_.d));
  set(assign_, 5, static_cast<cl_int>(task_.k));
  run(assign_);
}

// A cluster without points keeps its prototype.
void PlainKMeans::accumulate(std::vector<float>& prototypes) {
  std::vector<float> sums(prototypes.size(), 0.0F);
  std::vector<int32_t> counts(static_cast<size_t>(task_.k), 0);
  write(sums_, sums);
  write(counts_, counts);
  set(accumulate_, 0, points_);
  set(accumulate_, 1, labels_);
  set(accumulate_, 2, sums_);
  set(accumulate_, 3, counts_);
  set(accumulate_, 4, static_cast<cl_int>(task_.n));
  set(accumulate_, 5, static_cast<cl_int>(task_.d));
  run(accumulate_);
  read(sums, sums_);
  read(counts, counts_);
  for (size_t i = 0; i < sums.size(); ++i) {
    const int32_t count = counts[i / static_cast<size_t>(task_.d)];
    if (count > 0) prototypes[i] = sums[i] / static_cast<float>(count);
  }
}

void PlainKMeans::run(cl_kernel kernel) {
  const size_t group = std::min(kGroup, static_cast<size_t>(device_.facts().largest_group));
  const size_t items = (static_cast<size_t>(task_.n) + group - 1) / group * group;
  check(api().clEnqueueNDRangeKernel(queue_, kernel, 1, nullptr, &items, &group, 0, nullptr, nullptr),
        "clEnqueueNDRangeKernel", "plain k-means");
}

template <class T>
void PlainKMeans::write(cl_mem to, const std::vector<T>& from) {
  check(api().clEnqueueWriteBuffer(queue_, to, CL_TRUE, 0, from.size() * sizeof(T), from.data(), 0, nullptr, nullptr),
        "clEnqueueWriteBuffer", "plain k-means");
}

template <class T>
void PlainKMeans::read(std::vector<T>& to, cl_mem from) {
  check(api().clEnqueueReadBuffer(queue_, from, CL_TRUE, 0, to.size() * sizeof(T), to.data(), 0, nullptr, nullptr),
        "clEnqueueReadBuffer", "plain k-means");
}

}  // namespace manymeans::plain
