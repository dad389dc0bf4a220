// A plain OpenCL k-means as it is found in many programs and lectures: one work-item a point, every distance, sums by
// atomic additions of float, and new prototypes by the host, in every iteration.
#pragma once

#include "backend/opencl/runtime/opencl_device.h"

#include <cstdint>
#include <vector>

namespace manymeans::plain {

struct Task {
  const float* points = nullptr;
  int64_t n = 0, d = 0, k = 0;
  int iterations = 0;
};

struct Answer {
  std::vector<float> prototypes;
  std::vector<int32_t> labels;  // with these
  double passes = 0;            // seconds without copying the points
};

class PlainKMeans {
 public:
  /// `native`: float is added by an instruction, which NVIDIA's compiler has; else by attempts to exchange, as
  /// OpenCL 1.2 has it. Throws Error where the kernels cannot be built.
  PlainKMeans(const opencl::OpenClDevice& device, bool native);
  PlainKMeans(const PlainKMeans&) = delete;
  PlainKMeans& operator=(const PlainKMeans&) = delete;
  ~PlainKMeans();

  /// Copies the points to the device; answers() follow.
  void upload(const Task& task);
  /// A model that begins with these prototypes.
  Answer fit(const float* initial);

 private:
  cl_mem buffer(size_t bytes);
  void free_buffers();
  void assign();
  void accumulate(std::vector<float>& prototypes);
  void run(cl_kernel kernel);
  template <class T>
  void write(cl_mem to, const std::vector<T>& from);
  template <class T>
  void read(std::vector<T>& to, cl_mem from);

  const opencl::OpenClDevice& device_;
  Task task_;
  cl_command_queue queue_ = nullptr;
  cl_program program_ = nullptr;
  cl_kernel assign_ = nullptr, accumulate_ = nullptr;
  std::vector<cl_mem> buffers_;
  cl_mem points_ = nullptr, prototypes_ = nullptr, labels_ = nullptr, sums_ = nullptr, counts_ = nullptr;
};

}  // namespace manymeans::plain
