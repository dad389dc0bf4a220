#include "backend/cuda/linear/linear_upload.h"

#include "backend/cuda/linear/linear_passes.h"
#include "backend/cuda/linear/linear_questions.h"
#include "backend/cuda/linear/linear_shared.h"
#include "backend/device/device_session.h"
#include "backend/device/least_distances.h"
#include "core/threads.h"

#include <utility>

namespace manymeans::cuda {
namespace {

class LinearUpload final : public Upload {
 public:
  LinearUpload(const Input& input, const CudaDevice& device, const BackendOptions& options, const Workload& workload)
      : shared_(input, device, options, workload) {}

  std::unique_ptr<Session> session(std::span<const int64_t> k, int threads) override {
    use_device(shared_.device);
    check_session_room(linear_session_bytes(shared_.input, shared_.plan, k), shared_.plan.upload_bytes,
                       shared_.options);
    device::DeviceSession::Parts parts;
    parts.memory = std::make_unique<device::SessionMemory>(shared_.input, runtime().make_queue(shared_.patience), k);
    const device::SessionMemory& memory = *parts.memory;
    parts.passes = std::make_unique<LinearPassKernels>(shared_, memory, k);
    parts.rows = std::make_unique<AssignedResiduals>(shared_.input, memory.label_width(), stream_of(memory.queue()));
    if (threads <= 0) threads = thread_count(shared_.options.threads);
    return std::make_unique<device::DeviceSession>(std::move(parts), *shared_.slices, k, threads);
  }
  // A step reads all points. Where they are not all on the device, the host's memory is faster than the link to it.
  std::unique_ptr<Seeding> seeding(std::span<const int64_t> k, ThreadPool& pool) override {
    use_device(shared_.device);
    if (!shared_.slices->all().points) return nullptr;
    device::LeastDistances::Parts parts;
    parts.queue = runtime().make_queue(shared_.patience);
    parts.kernels = std::make_unique<ResidualSeedKernels>(shared_, stream_of(*parts.queue));
    return std::make_unique<device::LeastDistances>(shared_.input, *shared_.slices, std::move(parts), k.size(), pool);
  }
  std::string plan() const override { return shared_.plan.text; }

 private:
  LinearShared shared_;
};

}  // namespace

std::unique_ptr<Upload> make_linear_upload(const Input& input, const CudaDevice& device, const BackendOptions& options,
                                           const Workload& workload) {
  return std::make_unique<LinearUpload>(input, device, options, workload);
}

}  // namespace manymeans::cuda
