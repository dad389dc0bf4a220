// Backend "opencl": any device with a driver for OpenCL 1.2, the same bits.
#include <manymeans/error.h>

#include "backend/device/device_session.h"
#include "backend/device/slice_planner.h"
#include "backend/opencl/kernels/kernel_sources.h"
#include "backend/opencl/linear/residual_passes.h"
#include "backend/opencl/pass/device_passes.h"
#include "backend/opencl/pass/device_rows.h"
#include "backend/opencl/problems/opencl_problems.h"
#include "backend/opencl/runtime/device_check.h"
#include "core/threads.h"
#include "prototype/prototype.h"

#include <fmt/format.h>

#include <utility>

namespace manymeans {
namespace opencl {
namespace {

// The device as this fit may use it: tried once in a process.
UsedDevice use(const OpenClDevice& device) {
  if (!computes_alike(device)) {
    throw Error(ErrorCode::kUnavailable, "backend opencl",
                device.facts().name + " computes otherwise than IEEE 754 asks; use --backend cpu");
  }
  return {device.facts(), launch_parameters(device.facts())};
}

class OpenClUpload final : public Upload {
 public:
  OpenClUpload(const Input& input, const OpenClDevice& device, const BackendOptions& options, const Workload& workload)
      : shared_(input, device, use(device), options, workload) {}
  std::unique_ptr<Session> session(std::span<const int64_t> k, int threads) override {
    const int64_t room = room_on(shared_.used.facts, shared_.options) - shared_.plan.upload_bytes;
    device::check_room("opencl", session_bytes(shared_.input, k, shared_.plan), room, "labels and statistics");
    if (threads <= 0) threads = thread_count(shared_.options.threads);
    device::DeviceSession::Parts parts;
    parts.memory =
        std::make_unique<device::SessionMemory>(shared_.input, shared_.device.make_queue(shared_.patience), k);
    const device::SessionMemory& memory = *parts.memory;
    if (shared_.plan.linear) {
      parts.passes = std::make_unique<ResidualPasses>(shared_, memory, k);
      parts.rows = std::make_unique<DeviceRows>(shared_, memory, linear_program(shared_));
    } else {
      parts.passes = std::make_unique<DevicePasses>(shared_, memory, k);
      parts.rows = std::make_unique<DeviceRows>(shared_, memory, shared_.exact_program(kExactSource));
    }
    return std::make_unique<device::DeviceSession>(std::move(parts), *shared_.slices, k, threads);
  }
  /// The host's, as the plan says.
  std::unique_ptr<Seeding> seeding(std::span<const int64_t>, ThreadPool&) override { return nullptr; }
  std::string plan() const override { return shared_.plan.text; }

 private:
  OpenClShared shared_;
};

class OpenClBackend final : public Backend {
 public:
  explicit OpenClBackend(const BackendOptions& options)
      : options_(options), facts_(facts_of_device(options.device)), threads_(thread_count(options.threads)) {
    check_algorithm(options.algorithm);
  }
  std::string_view name() const override { return "opencl"; }
  std::string instruction_set() const override { return facts_.version; }
  int threads() const override { return threads_; }
  bool keeps_to_device_memory() const override { return true; }
  std::unique_ptr<Upload> upload(const Input& input, const Workload& workload) override {
    check_kind(prototype_of(input));
    return std::make_unique<OpenClUpload>(input, open_device(options_.device), options_, workload);
  }
  double max_joined_products() const override { return 1e6; }
  std::unique_ptr<ProblemUpload> upload_problems(const Input& input, std::span<const ModelRows> models) override {
    const OpenClDevice& device = open_device(options_.device);
    return make_problem_upload(input, models, device, use(device), options_);
  }

 private:
  // There are kernels for these only.
  static void check_kind(const Prototype& prototype) {
    if (prototype.euclidean || prototype.linear) return;
    throw Error(ErrorCode::kUsage, "backend",
                fmt::format("opencl fits centroids and linear models, and these prototypes are of kind {}; use cpu or "
                            "reference",
                            prototype.name));
  }

  BackendOptions options_;
  DeviceFacts facts_;
  int threads_;
};

}  // namespace
}  // namespace opencl

std::unique_ptr<Backend> make_opencl_backend(const BackendOptions& options) {
  return std::make_unique<opencl::OpenClBackend>(options);
}

}  // namespace manymeans
