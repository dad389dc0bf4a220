// Backend "cuda": one device, the same bits.
#include <manymeans/error.h>

#include "backend/cuda/linear/linear_upload.h"
#include "backend/cuda/pass/pass_kernels.h"
#include "backend/cuda/points/copied_points.h"
#include "backend/cuda/problems/cuda_problems.h"
#include "backend/cuda/queries/assigned_distances.h"
#include "backend/cuda/queries/cuda_labeller.h"
#include "backend/cuda/queries/device_seeding.h"
#include "backend/cuda/queries/device_swap_scores.h"
#include "backend/cuda/runtime/kept_memory.h"
#include "backend/cuda/runtime/on_device.h"
#include "backend/device/device_session.h"
#include "backend/device/sessions_apart.h"
#include "backend/swap_scores.h"
#include "core/threads.h"
#include "prototype/prototype.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <string>

namespace manymeans {
namespace cuda {
namespace {

Error no_device(const std::string& why) {
  return Error(ErrorCode::kUnavailable, "backend cuda", "there is no CUDA device: " + why + "; use --backend cpu");
}

CudaDevice find_device(int index) {
  if (!device::devices_answer_now()) {
    throw Error(ErrorCode::kUnavailable, "backend cuda",
                "a device did not answer before, and work that it was given has not ended since; start a new process, "
                "or use --backend cpu");
  }
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    cudaGetLastError();
    throw no_device(status == cudaSuccess ? "the driver knows none" : cudaGetErrorString(status));
  }
  if (index >= count) {
    throw Error(ErrorCode::kUnavailable, "backend cuda",
                fmt::format("there is no device {}; there are {}", index, count));
  }
  CudaDevice device;
  device.index = index;
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, device.index), "asking for the device's properties");
  device.name = properties.name;
  device.major = properties.major;
  device.minor = properties.minor;
  device.multiprocessors = properties.multiProcessorCount;
  device.shared_bytes = properties.sharedMemPerBlockOptin;
  device.matrix_unit = matrix_unit_of(device.major, device.minor);
  check(cudaDeviceGetAttribute(&device.double_ratio, cudaDevAttrSingleToDoublePrecisionPerfRatio, device.index),
        "asking for the device's properties");
  device.double_ratio = std::max(1, device.double_ratio);
  return device;
}

class CudaUpload final : public Upload {
 public:
  CudaUpload(const Input& input, const CudaDevice& device, const BackendOptions& options, const Workload& workload)
      : shared_(input, device, options, workload) {}
  std::unique_ptr<Session> session(std::span<const int64_t> k, int threads) override {
    use_device(shared_.device);
    if (shared_.plan.bounds == BoundsUse::kAlways && k.size() > 1) return sessions_apart(k);
    check_room_for_counts(static_cast<int64_t>(k.size()));
    check_session_room(session_bytes(shared_.input, k, shared_.plan), shared_.plan.upload_bytes, shared_.options);
    if (threads <= 0) threads = thread_count(shared_.options.threads);
    device::DeviceSession::Parts parts;
    parts.memory = std::make_unique<device::SessionMemory>(shared_.input, runtime().make_queue(shared_.patience), k);
    const device::SessionMemory& memory = *parts.memory;
    parts.passes = std::make_unique<CudaPassKernels>(shared_, memory, k);
    parts.rows = std::make_unique<AssignedDistances>(shared_.input, memory.label_width(), stream_of(memory.queue()));
    return std::make_unique<device::DeviceSession>(std::move(parts), shared_.slices->rows(), k, threads);
  }
  // A step reads all points. Where they are not all on the device, the host's memory is faster than the link to it.
  std::unique_ptr<Seeding> seeding(std::span<const int64_t> k, ThreadPool&) override {
    use_device(shared_.device);
    const DevicePoints& points = shared_.slices->points();
    if (points.data == nullptr) return nullptr;
    SeedingOptions options;
    if (shared_.options.device_memory > 0) {
      options.memory_budget =
          std::max<int64_t>(1, shared_.options.device_memory - shared_.plan.upload_bytes - shared_.plan.session_bytes);
    }
    options.exact = shared_.plan.screen == ScreenKind::kNone;
    options.bound_scale = shared_.options.tuning.cuda.bound_scale;
    options.upload = this;
    return std::make_unique<DeviceSeeding>(shared_.input, points, static_cast<int>(k.size()), shared_.patience,
                                           options);
  }
  std::unique_ptr<SwapScores> swap_scores(int64_t k) override {
    use_device(shared_.device);
    int64_t free = free_device_memory();
    if (shared_.options.device_memory > 0) {
      free = std::min(free, shared_.options.device_memory - shared_.plan.upload_bytes);
    }
    free -= shared_.plan.session_bytes;  // of the trials, which come later
    const DevicePoints& points = shared_.slices->points();
    const SwapRoom room = SwapRoom::make(points, k, free);
    log_swaps(room.refusal);
    if (!room.refusal.empty()) return nullptr;
    return std::make_unique<DeviceSwapScores>(shared_.input, points, k, room, shared_.patience);
  }
  std::string plan() const override {
    const std::lock_guard lock(mutex_);
    return shared_.plan.text + shared_.bounds_log->text() + swaps_;
  }
  std::vector<std::string> warnings() const override {
    if (shared_.plan.warning.empty()) return {};
    return {shared_.plan.warning};
  }

  // Without threads of their own: they take turns.
  std::unique_ptr<Session> sessions_apart(std::span<const int64_t> k) {
    std::vector<std::unique_ptr<Session>> sessions;
    for (const int64_t& count : k) sessions.push_back(session({&count, 1}, 1));
    return std::make_unique<device::SessionsApart>(std::move(sessions));
  }
  void log_swaps(const std::string& refusal) {
    const std::lock_guard lock(mutex_);
    swaps_ = refusal.empty() ? "; swaps scored on the device" : "; swaps scored by the host: " + refusal;
  }
  // The plan was made for a number of models, and its slices count on it.
  void check_room_for_counts(int64_t models) const {
    const int64_t rows = std::min(shared_.plan.slice_rows, shared_.input.points.n);
    if (rows <= max_slice_rows(shared_.plan.screen, models)) return;
    throw Error(ErrorCode::kInternal, "backend cuda",
                fmt::format("{} models were not planned for: their rows of a slice cannot be numbered", models));
  }

 private:
  CudaShared shared_;
  mutable std::mutex mutex_;
  std::string swaps_;  // which side scores the swaps of a search, for people
};

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(const BackendOptions& options) : options_(options), device_(find_device(options.device)) {
    threads_ = options.threads > 0 ? options.threads : usable_threads();
  }
  ~CudaBackend() override {
    if (device::devices_answer_now() && cudaSetDevice(device_.index) == cudaSuccess) trim_device_memory();
  }
  std::string_view name() const override { return "cuda"; }
  std::string instruction_set() const override { return fmt::format("sm_{}{}", device_.major, device_.minor); }
  int threads() const override { return threads_; }
  void bind_thread() override { use_device(device_); }
  double min_shared_products() const override { return 1e10; }  // 0.1 to 0.2 ms on a Hopper
  int64_t resident_rows(const Input& input, const Workload& workload) override {
    if (prototype_of(input).linear) return input.points.n;
    use_device(device_);
    device_.memory_free = free_device_memory();
    constexpr double kUsualRatio = 0;  // of fp16 to the norm; the upload measures it
    return make_cuda_plan(input, device_, options_, kUsualRatio, workload).resident_rows;
  }
  bool keeps_to_device_memory() const override { return true; }
  std::unique_ptr<CopiedPoints> copy(const PointsView& points, const Workload& /*workload*/) override {
    use_device(device_);
    int64_t room = free_device_memory();
    if (options_.device_memory > 0) room = std::min(room, options_.device_memory);
    const bool in_slices = options_.tuning.cuda.slice_rows > 0;
    if (in_slices || !CudaCopiedPoints::pays(points, room)) return nullptr;
    auto copied = std::make_unique<CudaCopiedPoints>(points, device_.index, options_);
    copied_ = copied->points().points.data;
    return copied;
  }
  std::unique_ptr<Upload> upload(const Input& input, const Workload& workload) override {
    const Prototype& prototype = prototype_of(input);
    check_kind(prototype);
    use_device(device_);
    device_.memory_free = free_device_memory();
    BackendOptions options = options_;
    if (options.device_memory > 0 && input.points.data == copied_) {
      options.device_memory -= static_cast<int64_t>(input.points.bytes());
    }
    if (prototype.linear) return make_linear_upload(input, device_, options, workload);
    return std::make_unique<CudaUpload>(input, device_, options, workload);
  }
  size_t bytes_side_by_side() override {
    use_device(device_);
    return std::max(Backend::bytes_side_by_side(), static_cast<size_t>(free_device_memory()) / 16);
  }
  // On an H200, larger ones take as long in sessions of their own.
  double max_joined_products() const override { return 5e8; }
  std::unique_ptr<ProblemUpload> upload_problems(const Input& input, std::span<const ModelRows> models) override {
    return make_problem_upload(input, models, device_, options_);
  }
  std::unique_ptr<Labeller> labeller(const std::shared_ptr<const Matrix>& prototypes) const override {
    return make_labeller(prototypes, device_.index);
  }

 private:
  static void check_kind(const Prototype& prototype) {
    if (prototype.euclidean || prototype.linear) return;
    throw Error(ErrorCode::kUsage, "backend",
                fmt::format("cuda fits centroids and linear models, and these prototypes are of kind {}; use cpu or "
                            "reference",
                            prototype.name));
  }

  CurrentDevice back_;  // of the thread that makes the backend and destroys it
  BackendOptions options_;
  CudaDevice device_;
  int threads_ = 1;
  const void* copied_ = nullptr;  // points that copy() put onto the device; an upload takes memory in addition
};

}  // namespace

void use_device(const CudaDevice& device) {
  check(cudaSetDevice(device.index), "choosing the device");
}

}  // namespace cuda

std::unique_ptr<Backend> make_cuda_backend(const BackendOptions& options) {
  return std::make_unique<cuda::CudaBackend>(options);
}

}  // namespace manymeans
