// Streams, events and memory of CUDA, as device/queue.h speaks of them.
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/kept_memory.h"
#include "backend/cuda/runtime/kept_streams.h"

namespace manymeans::cuda {
namespace {

// Returns true if the status of a query means "done". Throws earlier errors.
bool answer_of(cudaError_t status, const char* doing) {
  if (status == cudaErrorNotReady) {
    cudaGetLastError();  // no error: the next call shall not report it
    return false;
  }
  check(status, doing);
  return true;
}

class CudaRuntime final : public device::Runtime {
 public:
  std::string_view name() const override { return "cuda"; }
  void* allocate(size_t bytes, const char* what) const override { return detail::allocate_device(bytes, what); }
  void free(void* memory) const noexcept override { detail::free_device(memory); }
  void* allocate_pinned(size_t bytes, const char* what) const override { return detail::allocate_pinned(bytes, what); }
  void free_pinned(void* memory) const noexcept override { detail::free_pinned(memory); }
  bool is_pinned(const void* address) const override {
    cudaPointerAttributes attributes;
    if (cudaPointerGetAttributes(&attributes, address) != cudaSuccess) {
      cudaGetLastError();
      return false;
    }
    return attributes.type == cudaMemoryTypeHost;
  }
  std::unique_ptr<device::Queue> make_queue(const Patience& patience) const override {
    return std::make_unique<Stream>(patience);
  }
  std::unique_ptr<device::Event> make_event() const override { return std::make_unique<Event>(); }
};

}  // namespace

const device::Runtime& runtime() {
  static const CudaRuntime kRuntime;
  return kRuntime;
}

Stream::Stream(const Patience& patience) : Queue(patience) {
  check(cudaGetDevice(&device_), "asking for the current device");
  check(take_stream(device_, &stream_), "making a stream");
}

Stream::~Stream() {
  if (stream_ == nullptr) return;
  if (!given_up() && keep_done_stream(device_, stream_)) return;  // mostly: a question takes a microsecond
  settle();
  if (!given_up() && !keep_done_stream(device_, stream_)) cudaStreamDestroy(stream_);
}

void Stream::copy_to_device(device::Address to, const void* from, size_t bytes, const char* what) const {
  check(cudaMemcpyAsync(pointer_to(to), from, bytes, cudaMemcpyHostToDevice, stream_), what);
}

void Stream::copy_to_host(void* to, device::Address from, size_t bytes, const char* what) const {
  check(cudaMemcpyAsync(to, pointer_to(from), bytes, cudaMemcpyDeviceToHost, stream_), what);
}

void Stream::fill(device::Address to, std::byte value, size_t bytes, const char* what) const {
  check(cudaMemsetAsync(pointer_to(to), static_cast<int>(value), bytes, stream_), what);
}

void Stream::wait_for(const device::Event& event, const char* what) const {
  check(cudaStreamWaitEvent(stream_, static_cast<const Event&>(event), 0), what);
}

bool Stream::reaches(const device::Queue& other) const {
  if (&other.runtime() != &cuda::runtime()) return false;
  return open_device_memory(stream_of(other).device_, device_);
}

bool Stream::is_done(const char* doing) const {
  return answer_of(cudaStreamQuery(stream_), doing);
}

device::Unfinished Stream::unfinished() const noexcept {
  const auto has_ended = [](void* stream) {
    const cudaError_t status = cudaStreamQuery(static_cast<cudaStream_t>(stream));
    cudaGetLastError();
    return status != cudaErrorNotReady;
  };
  return {stream_, has_ended};
}

Event::Event() {
  check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "making an event");
}

// Does not wait, as cudaStreamDestroy() does not.
Event::~Event() {
  cudaEventDestroy(event_);
}

void Event::record(const device::Queue& queue) {
  check(cudaEventRecord(event_, stream_of(queue)), "recording an event");
}

void Event::try_record(const device::Queue& queue) noexcept {
  cudaEventRecord(event_, stream_of(queue));
}

bool Event::is_reached(const char* doing) const {
  return answer_of(cudaEventQuery(event_), doing);
}

}  // namespace manymeans::cuda
