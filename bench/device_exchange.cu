// Three ways to add up int64 statistics over all CUDA devices of a machine, beside each other.
//
//   device_exchange [DEVICES [REPEATS]]
//
// all to all: each device sends its values to all others. Then it adds up the values that it got.
// scatter: each device reads one share of the values from all others, and writes its sum to all. join_statistics.cu
// does so.
// doubling: a tree, for a power of two of devices. In step s each device sends its sum so far to one other device. The
// numbers of the two devices differ in bit s.
// One thread enqueues all work. The time ends when the host knows that all devices have finished; `REPEATS` exchanges
// follow one another. Each way is checked. Devices must reach each other's memory.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

namespace {

constexpr int kThreads = 256, kMaxDevices = 16;

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "device_exchange: %s\n", cudaGetErrorString(status));
  std::exit(1);
}

struct Task {
  const int64_t* from[kMaxDevices];
  int64_t* to[kMaxDevices];
  int from_count, to_count;
  int64_t first, last;
};

/// The sum of all `from` into every `to`.
__global__ void add_kernel(Task task) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = task.first + static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < task.last; i += step) {
    int64_t sum = 0;
    for (int f = 0; f < task.from_count; ++f) sum += task.from[f][i];
    for (int t = 0; t < task.to_count; ++t) task.to[t][i] = sum;
  }
}

struct Device {
  int64_t* own;
  int64_t* sums;
  int64_t* inbox[kMaxDevices];  // what each other device sent, or what a step of a tree adds up
  cudaStream_t stream;
  cudaEvent_t sent[8];
};

class Exchange {
 public:
  Exchange(int devices, int64_t values) : devices_(static_cast<size_t>(devices)), values_(values) {
    for (int d = 0; d < devices; ++d) {
      bind(d);
      cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, d);
      check(cudaMalloc(&devices_[d].own, bytes()));
      check(cudaMalloc(&devices_[d].sums, bytes()));
      for (int64_t*& inbox : devices_[d].inbox)
        check(cudaMalloc(&inbox, &inbox - devices_[d].inbox < 2 * devices ? bytes() : 8));
      check(cudaStreamCreateWithFlags(&devices_[d].stream, cudaStreamNonBlocking));
      for (cudaEvent_t& event : devices_[d].sent) check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
      std::vector<int64_t> numbers(values);
      for (int64_t i = 0; i < values; ++i) numbers[i] = i * (d + 1);
      check(cudaMemcpy(devices_[d].own, numbers.data(), bytes(), cudaMemcpyHostToDevice));
    }
  }
  ~Exchange() {
    for (int d = 0; d < count(); ++d) {
      bind(d);
      cudaFree(devices_[d].own);
      cudaFree(devices_[d].sums);
      for (int64_t* inbox : devices_[d].inbox) cudaFree(inbox);
      cudaStreamDestroy(devices_[d].stream);
      for (cudaEvent_t event : devices_[d].sent) cudaEventDestroy(event);
    }
  }

  void all_to_all() {
    for (int d = 0; d < count(); ++d) {
      Task task = whole();
      add_from(task, devices_[d].own);
      for (int o = 0; o < count(); ++o) {
        if (o != d) add_to(task, devices_[o].inbox[d]);
      }
      launch(d, task);
    }
    meet(0);
    for (int d = 0; d < count(); ++d) {
      Task task = whole();
      for (int o = 0; o < count(); ++o) add_from(task, o == d ? devices_[d].own : devices_[d].inbox[o]);
      add_to(task, devices_[d].sums);
      launch(d, task);
    }
  }

  /// The shares are read from the others' memory, so a device need not send them.
  void scatter() {
    meet(0);
    for (int d = 0; d < count(); ++d) {
      Task task = whole();
      task.first = values_ * d / count();
      task.last = values_ * (d + 1) / count();
      for (int o = 0; o < count(); ++o) {
        add_from(task, devices_[o].own);
        add_to(task, devices_[o].sums);
      }
      launch(d, task);
    }
    meet(1);
  }

  void doubling() {
    int step = 0;
    for (int distance = 1; distance < count(); distance *= 2, ++step) {
      for (int d = 0; d < count(); ++d) {
        Task task = whole();
        add_from(task, step == 0 ? devices_[d].own : devices_[d].inbox[4 + step - 1]);
        add_to(task, devices_[d ^ distance].inbox[step]);
        launch(d, task);
      }
      meet(step);
      for (int d = 0; d < count(); ++d) {
        Task task = whole();
        add_from(task, step == 0 ? devices_[d].own : devices_[d].inbox[4 + step - 1]);
        add_from(task, devices_[d].inbox[step]);
        add_to(task, 2 * distance >= count() ? devices_[d].sums : devices_[d].inbox[4 + step]);
        launch(d, task);
      }
    }
  }

  double microseconds(int repeats, const std::function<void()>& once) {
    double least = 1e30;
    for (int round = 0; round < 6; ++round) {
      synchronise();
      const auto begin = std::chrono::steady_clock::now();
      for (int repeat = 0; repeat < repeats; ++repeat) once();
      synchronise();
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      least = std::min(least, 1e6 * took.count() / repeats);
    }
    return right() ? least : -1;
  }

 private:
  int count() const { return static_cast<int>(devices_.size()); }
  size_t bytes() const { return static_cast<size_t>(values_) * sizeof(int64_t); }
  static void bind(int d) { check(cudaSetDevice(d)); }
  Task whole() const {
    Task task = {};
    task.last = values_;
    return task;
  }
  static void add_from(Task& task, const int64_t* values) { task.from[task.from_count++] = values; }
  static void add_to(Task& task, int64_t* values) { task.to[task.to_count++] = values; }
  void launch(int d, const Task& task) {
    bind(d);
    const int64_t blocks =
        std::clamp<int64_t>((task.last - task.first + kThreads - 1) / kThreads, 1, int64_t{8} * multiprocessors_);
    add_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, devices_[d].stream>>>(task);
    check(cudaGetLastError());
  }
  /// Later work of each device waits for earlier work of all.
  void meet(int event) {
    for (int d = 0; d < count(); ++d) {
      bind(d);
      check(cudaEventRecord(devices_[d].sent[event], devices_[d].stream));
    }
    for (int d = 0; d < count(); ++d) {
      bind(d);
      for (int o = 0; o < count(); ++o) {
        if (o != d) check(cudaStreamWaitEvent(devices_[d].stream, devices_[o].sent[event], 0));
      }
    }
  }
  void synchronise() {
    for (int d = 0; d < count(); ++d) {
      bind(d);
      check(cudaStreamSynchronize(devices_[d].stream));
    }
  }
  bool right() {
    std::vector<int64_t> sums(values_);
    const int64_t factor = int64_t{count()} * (count() + 1) / 2;
    for (int d = 0; d < count(); ++d) {
      bind(d);
      check(cudaMemcpy(sums.data(), devices_[d].sums, bytes(), cudaMemcpyDeviceToHost));
      check(cudaMemset(devices_[d].sums, 0, bytes()));
      for (int64_t i = 0; i < values_; ++i) {
        if (sums[i] != i * factor) return false;
      }
    }
    return true;
  }

  std::vector<Device> devices_;
  int64_t values_;
  int multiprocessors_ = 1;
};

}  // namespace

int main(int argc, char** argv) {
  int devices = 0;
  check(cudaGetDeviceCount(&devices));
  if (argc > 1) devices = std::min(devices, std::atoi(argv[1]));
  const int repeats = argc > 2 ? std::atoi(argv[2]) : 20;
  for (int d = 0; d < devices; ++d) {
    check(cudaSetDevice(d));
    for (int o = 0; o < devices; ++o) {
      if (o != d) check(cudaDeviceEnablePeerAccess(o, 0));
    }
  }
  std::printf("%d devices, microseconds; -1: a wrong sum\n%12s %12s %12s %12s\n", devices, "bytes", "all to all",
              "scatter", "doubling");
  for (const int64_t bytes : {8 << 10, 64 << 10, 393 << 10, 1 << 20, 3100 << 10, 12600 << 10, 34 << 20, 135 << 20}) {
    Exchange exchange(devices, bytes / 8);
    const bool power = (devices & (devices - 1)) == 0;
    const double to_all = exchange.microseconds(repeats, [&] { exchange.all_to_all(); });
    const double scatter = exchange.microseconds(repeats, [&] { exchange.scatter(); });
    const double doubling = power ? exchange.microseconds(repeats, [&] { exchange.doubling(); }) : 0;
    std::printf("%12lld %12.1f %12.1f %12.1f\n", static_cast<long long>(bytes), to_all, scatter, doubling);
  }
}
