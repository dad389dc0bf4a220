// Device memory, pinned host memory, streams and events that free themselves, and the one place where an error of the
// CUDA runtime becomes an exception.
#pragma once

#include "backend/device/queue.h"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace manymeans::cuda {

using device::Answer;
using device::HandingOver;
using device::Patience;
using device::Settled;

/// Throws Error(kUnavailable) when the device is gone or full, Error(kInternal) for everything else; the message says
/// what was `doing` and what the runtime answered. Clears the runtime's last error.
void check(cudaError_t status, const char* doing);

/// Call after a kernel launch: throws if it could not be started. The next synchronisation sees errors of its run.
inline void check_launch(const char* doing) {
  check(cudaGetLastError(), doing);
}

namespace detail {
/// Bytes on the current device (nullptr for 0); where they do not fit, Error(kUnavailable) with bytes asked and free.
void* allocate_device(size_t bytes, const char* what);
void* allocate_pinned(size_t bytes, const char* what);
void free_device(void* memory) noexcept;
void free_pinned(void* memory) noexcept;

/// A sized array that is moved, never copied.
template <class T, void* (*Allocate)(size_t, const char*), void (*Free)(void*) noexcept>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  /// `what` names the array in the message that it does not fit.
  Buffer(size_t count, const char* what)
      : data_(static_cast<T*>(Allocate(count * sizeof(T), what))), size_(count), what_(what) {}
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer moved(std::move(other));
    swap(moved);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { Free(data_); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  size_t bytes() const { return size_ * sizeof(T); }
  bool empty() const { return size_ == 0; }
  /// At least `count` elements; what was there is lost if it has to grow. The device must be done with it.
  void reserve(size_t count, const char* what) {
    if (count <= size_) return;
    *this = Buffer();  // first free, then ask: both may not fit
    *this = Buffer(count, what);
  }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(what_, other.what_);
  }

  T* data_ = nullptr;
  size_t size_ = 0;
  const char* what_ = "";
};
}  // namespace detail

template <class T>
using DeviceBuffer = detail::Buffer<T, detail::allocate_device, detail::free_device>;

/// Host memory that the device reads and writes at the link's rate; elements can be read and written directly.
template <class T>
class PinnedBuffer : public detail::Buffer<T, detail::allocate_pinned, detail::free_pinned> {
 public:
  using detail::Buffer<T, detail::allocate_pinned, detail::free_pinned>::Buffer;
  T& operator[](size_t i) { return this->data()[i]; }
  const T& operator[](size_t i) const { return this->data()[i]; }
  std::span<T> span() { return {this->data(), this->size()}; }
};

/// Bytes of the current device's memory that may be taken.
int64_t free_device_memory();

/// Memory, streams and events of the calling thread's device.
const device::Runtime& runtime();

/// What lies there: CUDA calls memory by its address.
template <class T = void>
T* pointer_to(device::Address address) {
  return static_cast<T*>(static_cast<void*>(static_cast<std::byte*>(address.memory) + address.offset));
}

inline device::Address address_of(const void* pointer) {
  return {const_cast<void*>(pointer), 0};
}

/// A stream that does not wait for the default stream.
class Stream final : public device::Queue {
 public:
  Stream() : Stream(Patience()) {}
  explicit Stream(const Patience& patience);
  Stream(Stream&& other) noexcept
      : Queue(other), stream_(std::exchange(other.stream_, nullptr)), device_(other.device_) {}
  Stream& operator=(Stream&& other) = delete;
  ~Stream() override;

  operator cudaStream_t() const { return stream_; }  // NOLINT: a stream is used wherever the runtime takes one

  const device::Runtime& runtime() const override { return cuda::runtime(); }
  void bind_thread() const override { check(cudaSetDevice(device_), "choosing the device of a stream"); }
  void copy_to_device(device::Address to, const void* from, size_t bytes, const char* what) const override;
  void copy_to_host(void* to, device::Address from, size_t bytes, const char* what) const override;
  void fill(device::Address to, std::byte value, size_t bytes, const char* what) const override;
  void wait_for(const device::Event& event, const char* what) const override;
  bool reaches(const device::Queue& other) const override;

 private:
  bool is_done(const char* doing) const override;
  device::Unfinished unfinished() const noexcept override;

  cudaStream_t stream_ = nullptr;
  int device_ = 0;
};

/// All queues of this runtime are streams.
inline const Stream& stream_of(const device::Queue& queue) {
  return static_cast<const Stream&>(queue);
}

/// A point in a stream.
class Event final : public device::Event {
 public:
  Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() override;

  operator cudaEvent_t() const { return event_; }  // NOLINT
  void record(const device::Queue& queue) override;
  void try_record(const device::Queue& queue) noexcept override;

 private:
  bool is_reached(const char* doing) const override;

  cudaEvent_t event_ = nullptr;
};

/// Copies in stream order. `from` must stay as it is until the stream is done with it, wherever it lies: pageable
/// memory is staged by the runtime on some machines only. Settled, or device::Staging, see to that.
template <class T>
void copy_to_device(T* to, const std::type_identity_t<T>* from, size_t count, cudaStream_t stream, const char* what) {
  check(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyHostToDevice, stream), what);
}
/// Into pinned memory, in stream order; of other memory the runtime would wait for the stream, however long that takes.
template <class T>
void copy_to_host(PinnedBuffer<T>& to, const std::type_identity_t<T>* from, size_t count, cudaStream_t stream,
                  const char* what) {
  check(cudaMemcpyAsync(to.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost, stream), what);
}
/// Into any memory of the host: waits for the stream, and for the copy.
template <class T>
void read_back(T* to, const std::type_identity_t<T>* from, size_t count, const Stream& stream, const char* doing) {
  stream.synchronize(doing);
  check(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDeviceToHost, stream), doing);
  stream.synchronize(doing);
}
template <class T>
void fill_zero(T* data, size_t count, cudaStream_t stream, const char* what) {
  check(cudaMemsetAsync(data, 0, count * sizeof(T), stream), what);
}

}  // namespace manymeans::cuda
