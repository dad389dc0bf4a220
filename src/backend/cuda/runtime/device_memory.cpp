#include "backend/cuda/runtime/device_memory.h"

#include <manymeans/error.h>

#include "backend/cuda/runtime/given_up.h"

#include <fmt/format.h>

namespace manymeans::cuda {
namespace {

bool device_is_missing(cudaError_t status) {
  return status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver || status == cudaErrorInvalidDevice ||
         status == cudaErrorDevicesUnavailable || status == cudaErrorNoKernelImageForDevice ||
         status == cudaErrorDeviceUninitialized || status == cudaErrorSystemDriverMismatch ||
         status == cudaErrorCompatNotSupportedOnDevice;
}

// The runtime's out-of-memory error says nothing; this says how much was asked for and how much there is.
[[noreturn]] void throw_out_of_memory(size_t bytes, const char* what, const char* where, const std::string& room) {
  throw Error(ErrorCode::kUnavailable, where,
              std::string(what) + " needs " + std::to_string(bytes) + " bytes, " + room +
                  "; use fewer points, columns or models at a time, or --backend cpu");
}

}  // namespace

void check(cudaError_t status, const char* doing) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // the next call shall not report it again
  const bool unavailable = status == cudaErrorMemoryAllocation || device_is_missing(status);
  throw Error(unavailable ? ErrorCode::kUnavailable : ErrorCode::kInternal, "cuda",
              std::string(doing) + ": " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")");
}

namespace detail {

void* allocate_device(size_t bytes, const char* what) {
  if (bytes == 0) return nullptr;
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, bytes);
  if (status != cudaErrorMemoryAllocation) {
    check(status, what);
    return memory;
  }
  cudaGetLastError();
  size_t free = 0;
  size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for the device's free memory");
  throw_out_of_memory(bytes, what, "cuda device memory",
                      "the device has " + std::to_string(free) + " of " + std::to_string(total) + " free");
}

void* allocate_pinned(size_t bytes, const char* what) {
  if (bytes == 0) return nullptr;
  void* memory = nullptr;
  const cudaError_t status = cudaMallocHost(&memory, bytes);
  if (status != cudaErrorMemoryAllocation) {
    check(status, what);
    return memory;
  }
  cudaGetLastError();
  throw_out_of_memory(bytes, what, "cuda pinned memory", "which the host cannot lock");
}

// Destructors cannot throw. An error here is one of earlier work, which the last synchronisation has reported. Freeing
// waits for the whole device, so what a device has that does not answer is left to the end of the process.
void free_device(void* memory) noexcept {
  if (memory != nullptr && devices_answer_now()) cudaFree(memory);
}

void free_pinned(void* memory) noexcept {
  if (memory != nullptr && devices_answer_now()) cudaFreeHost(memory);
}

}  // namespace detail

void check_answer(const Waited& waited, const Patience& patience, int passes, const char* doing) {
  if (waited.answer == Answer::kDone) return;
  if (waited.answer == Answer::kAborted) throw Error(ErrorCode::kInterrupted, "cuda", "given up by the caller");
  const bool wanted_to_stop = patience.in_a_hurry();
  throw Error(
      wanted_to_stop ? ErrorCode::kInterrupted : ErrorCode::kUnavailable, "cuda",
      fmt::format("{}: {}the device does not answer, after {:.0f} s of waiting for what takes {:.2g} s at most; "
                  "try a new process, and reset the device or use --backend cpu if it stays so",
                  doing, wanted_to_stop ? "asked to stop, but " : "", waited.time.count(),
                  passes * patience.usual.count()));
}

Stream::Stream(const Patience& patience) : patience_(patience) {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
}

Stream::~Stream() {
  if (stream_ == nullptr) return;
  settle();
  if (!given_up_) cudaStreamDestroy(stream_);
}

void Stream::synchronize(const char* doing, int passes) const {
  const auto done = [&] {
    const cudaError_t status = cudaStreamQuery(stream_);
    if (status == cudaErrorNotReady) {
      cudaGetLastError();  // no error: the next call shall not report it
      return false;
    }
    check(status, doing);
    return true;
  };
  const Waited waited = await_answer(done, patience_, passes);
  if (waited.answer == Answer::kTooLate) give_up();
  check_answer(waited, patience_, passes, doing);
}

// An error is one of earlier work, which whoever waits next is told again: then nothing is at work any more.
void Stream::settle(int passes) const noexcept {
  if (stream_ == nullptr || given_up_) return;
  const auto done = [&] {
    const cudaError_t status = cudaStreamQuery(stream_);
    cudaGetLastError();
    return status != cudaErrorNotReady;
  };
  if (await_end(done, patience_, passes).answer == Answer::kTooLate) give_up();
}

void Stream::give_up() const noexcept {
  if (given_up_) return;
  given_up_ = true;
  cuda::give_up(stream_);
}

Event::Event(bool timing) {
  check(cudaEventCreateWithFlags(&event_, timing ? cudaEventDefault : cudaEventDisableTiming), "making an event");
}

// Does not wait, as cudaStreamDestroy() does not.
Event::~Event() {
  if (event_ != nullptr) cudaEventDestroy(event_);
}

void Event::synchronize(const Stream& stream, const char* doing) const {
  const auto done = [&] {
    const cudaError_t status = cudaEventQuery(event_);
    if (status == cudaErrorNotReady) {
      cudaGetLastError();
      return false;
    }
    check(status, doing);
    return true;
  };
  const Waited waited = await_answer(done, stream.patience(), 1);
  if (waited.answer == Answer::kTooLate) stream.give_up();
  check_answer(waited, stream.patience(), 1, doing);
}

}  // namespace manymeans::cuda
