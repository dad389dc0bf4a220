// Device memory, pinned host memory, streams and events that free themselves, and the one place where an error of the
// CUDA runtime becomes an exception.
#pragma once

#include "backend/cuda/runtime/patience.h"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace manymeans::cuda {

/// Throws Error(kUnavailable) when the device is gone or full, Error(kInternal) for everything else; the message says
/// what was `doing` and what the runtime answered. Clears the runtime's last error.
void check(cudaError_t status, const char* doing);

/// After a kernel launch: whether it could be started. What happens while it runs is seen by the next synchronisation.
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

/// Throws what follows from an answer of await_answer(): Error(kInterrupted) if the caller wanted to stop, else
/// Error(kUnavailable) for a device that does not answer.
void check_answer(const Waited& waited, const Patience& patience, int passes, const char* doing);

/// A stream that does not wait for the default stream. Whoever waits for it has patience, but not for ever.
class Stream {
 public:
  Stream() : Stream(Patience()) {}
  explicit Stream(const Patience& patience);
  Stream(Stream&& other) noexcept
      : stream_(std::exchange(other.stream_, nullptr)), patience_(other.patience_), given_up_(other.given_up_) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(stream_, other.stream_);
    std::swap(patience_, other.patience_);
    std::swap(given_up_, other.given_up_);
    return *this;
  }
  ~Stream();

  operator cudaStream_t() const { return stream_; }  // NOLINT: a stream is used wherever the runtime takes one
  /// Waits for everything in the stream, which is at most so many passes; errors of kernels appear here. Throws
  /// Error(kInterrupted) or Error(kUnavailable), see check_answer(), when that takes too long.
  void synchronize(const char* doing, int passes = 1) const;
  /// The same before memory goes that the stream may use, whatever happened: a device that does not get there is given
  /// up, and then nothing of it is freed. (Two passes are queued where they take long; the grace covers more that are
  /// short.)
  void settle(int passes = 2) const noexcept;
  const Patience& patience() const { return patience_; }
  /// Its work will not be waited for any more.
  void give_up() const noexcept;

 private:
  cudaStream_t stream_ = nullptr;
  Patience patience_;
  mutable bool given_up_ = false;
};

/// To be declared after what the stream's work reads and writes, memory of the host or of the device: that does not go
/// before the work is done, also when an exception passes.
class Settled {
 public:
  explicit Settled(const Stream& stream) : stream_(stream) {}
  Settled(const Settled&) = delete;
  Settled& operator=(const Settled&) = delete;
  ~Settled() { stream_.settle(); }

 private:
  const Stream& stream_;
};

/// A point in a stream. Timing costs a little, so it is asked for.
class Event {
 public:
  explicit Event(bool timing = false);
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~Event();

  operator cudaEvent_t() const { return event_; }  // NOLINT
  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "recording an event"); }
  /// Waits for it with the patience of the stream in which it was recorded.
  void synchronize(const Stream& stream, const char* doing) const;
  /// Milliseconds from `start` to this event; both with timing, both reached.
  float since(const Event& start) const {
    float ms = 0;
    check(cudaEventElapsedTime(&ms, start.event_, event_), "timing");
    return ms;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Copies in stream order. `from` must stay as it is until the stream is done with it, wherever it lies: pageable
/// memory is staged by the runtime on some machines only. Settled, or StagedCopies, see to that.
template <class T>
void copy_to_device(T* to, const std::type_identity_t<T>* from, size_t count, cudaStream_t stream, const char* what) {
  check(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyHostToDevice, stream), what);
}
/// Into pinned memory, in stream order; of other memory the runtime would wait for the stream, however long that takes.
template <class T>
void copy_to_host(PinnedBuffer<T>& to, size_t at, const std::type_identity_t<T>* from, size_t count,
                  cudaStream_t stream, const char* what) {
  check(cudaMemcpyAsync(to.data() + at, from, count * sizeof(T), cudaMemcpyDeviceToHost, stream), what);
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
