// Interface of a device to which work is handed over and waited for: memory, queues that copy and compute in order, and
// events. CUDA's streams implement it (cuda/runtime/), and so can OpenCL's queues: several kinds live in one program.
// Calls are coarse, so they are virtual.
#pragma once

#include "backend/device/given_up.h"
#include "backend/device/patience.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace manymeans::device {

class Event;
class Queue;

/// A place in a device's memory. `memory` is what the runtime calls it by, which need not be an address.
struct Address {
  void* memory = nullptr;
  size_t offset = 0;  ///< bytes

  friend Address operator+(Address a, size_t bytes) { return {a.memory, a.offset + bytes}; }
  explicit operator bool() const { return memory != nullptr; }
};

/// A kind of device; it outlives all that it makes. Where runtimes have a current device, this is the calling thread's.
class Runtime {
 public:
  virtual ~Runtime() = default;
  /// The backend's name, for messages.
  virtual std::string_view name() const = 0;

  // Memory; null for 0 bytes. `what` names it in the Error(kUnavailable) that says that it does not fit. Freeing waits
  // for no device that does not answer: it keeps the memory then.
  virtual void* allocate(size_t bytes, const char* what) const = 0;
  virtual void free(void* memory) const noexcept = 0;
  // Memory of the host that queues copy from and to while the host continues: an address.
  virtual void* allocate_pinned(size_t bytes, const char* what) const = 0;
  virtual void free_pinned(void* memory) const noexcept = 0;
  /// Returns whether the owner of this host memory has pinned it.
  virtual bool is_pinned(const void* address) const = 0;

  virtual std::unique_ptr<Queue> make_queue(const Patience& patience) const = 0;
  virtual std::unique_ptr<Event> make_event() const = 0;
};

/// Bytes that are moved, never copied, and free themselves. A queue must be done with them then (see Settled).
template <void* (Runtime::*kAllocate)(size_t, const char*) const, void (Runtime::*kFree)(void*) const noexcept>
class Bytes {
 public:
  Bytes() = default;
  Bytes(const Runtime& runtime, size_t bytes, const char* what)
      : runtime_(&runtime), memory_((runtime.*kAllocate)(bytes, what)), bytes_(bytes) {}
  Bytes(Bytes&& other) noexcept { swap(other); }
  Bytes& operator=(Bytes&& other) noexcept {
    Bytes moved(std::move(other));
    swap(moved);
    return *this;
  }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  ~Bytes() {
    if (memory_ != nullptr) (runtime_->*kFree)(memory_);
  }

  size_t bytes() const { return bytes_; }
  bool empty() const { return bytes_ == 0; }
  /// At least `bytes` bytes; former contents are lost if it has to grow.
  void reserve(const Runtime& runtime, size_t bytes, const char* what) {
    if (bytes <= bytes_) return;
    *this = Bytes();  // first free, then ask: both may not fit
    *this = Bytes(runtime, bytes, what);
  }

 protected:
  void* memory() const { return memory_; }

 private:
  void swap(Bytes& other) noexcept {
    std::swap(runtime_, other.runtime_);
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
  }

  const Runtime* runtime_ = nullptr;
  void* memory_ = nullptr;
  size_t bytes_ = 0;
};

class Buffer : public Bytes<&Runtime::allocate, &Runtime::free> {
 public:
  using Bytes::Bytes;
  Address at(size_t offset = 0) const { return {memory(), offset}; }
};

class PinnedBytes : public Bytes<&Runtime::allocate_pinned, &Runtime::free_pinned> {
 public:
  using Bytes::Bytes;
  std::byte* data() const { return static_cast<std::byte*>(memory()); }
  template <class T>
  T* as() const {
    return static_cast<T*>(memory());
  }
};

/// Throws what follows from an answer of await_answer(): Error(kInterrupted) if the caller wanted to stop, else
/// Error(kUnavailable) for a device that does not answer. `name` is the runtime's name.
void check_answer(const Waited& waited, const Patience& patience, int passes, const char* doing, std::string_view name);

/// Work in order. Waits for it have patience, but not for ever. A subclass settles its queue before it goes. Functions
/// that hand over work are const, as what is done to the device changes nothing that can be asked of the queue.
class Queue {
 public:
  virtual ~Queue() = default;
  virtual const Runtime& runtime() const = 0;
  /// Makes the calling thread one that may hand work to this: where runtimes have a current device, it is the queue's.
  virtual void bind_thread() const {}

  /// `from` must stay as it is until the queue is done with it, wherever it lies. Settled, or Staging, see to that.
  virtual void copy_to_device(Address to, const void* from, size_t bytes, const char* what) const = 0;
  /// Into pinned memory; of other memory the runtime may wait for the queue, however long that takes.
  virtual void copy_to_host(void* to, Address from, size_t bytes, const char* what) const = 0;
  virtual void fill(Address to, std::byte value, size_t bytes, const char* what) const = 0;
  /// Later work in this queue waits for the event, as it was recorded last.
  virtual void wait_for(const Event& event, const char* what) const = 0;

  /// Returns whether kernels on this queue's device can write into the memory of the other's. To be asked before they
  /// do.
  virtual bool reaches(const Queue& other) const {
    static_cast<void>(other);
    return false;
  }

  /// Into any memory of the host: waits for the queue, and for the copy.
  void read_back(void* to, Address from, size_t bytes, const char* doing) const;
  /// Waits for everything in the queue, at most `passes` passes; errors of kernels appear here. Throws
  /// Error(kInterrupted) or Error(kUnavailable), see check_answer(), when that takes too long.
  void synchronize(const char* doing, int passes = 1) const;
  /// Waits before memory goes that the queue may use, whatever happened. A device that does not get there is given up,
  /// and then nothing of it is freed. (Two passes are queued where they take long; the grace covers more that are
  /// short.)
  void settle(int passes = 2) const noexcept;
  const Patience& patience() const { return patience_; }
  /// Its work will not be waited for any more.
  void give_up() const noexcept;

 protected:
  explicit Queue(const Patience& patience) : patience_(patience) {}
  Queue(const Queue&) = default;
  Queue& operator=(const Queue&) = default;
  bool given_up() const { return given_up_; }

 private:
  /// Returns whether all is done; throws for what went wrong.
  virtual bool is_done(const char* doing) const = 0;
  /// Its unfinished work; without a queue there is nothing to wait for.
  virtual Unfinished unfinished() const noexcept = 0;

  Patience patience_;
  bool still_given_up() const noexcept;

  mutable bool given_up_ = false;
};

/// A point in a queue. One that was never recorded counts as reached.
class Event {
 public:
  virtual ~Event() = default;
  virtual void record(const Queue& queue) = 0;
  /// Records while an exception is under way: on a queue that cannot take it nothing works any more.
  virtual void try_record(const Queue& queue) noexcept = 0;
  /// Waits for it with the patience of the queue in which it was recorded.
  void synchronize(const Queue& queue, const char* doing) const;
  /// Waits and returns how that went, and gives nothing up.
  Waited await(const Queue& queue, const char* doing) const;

 protected:
  Event() = default;
  Event(const Event&) = default;
  Event& operator=(const Event&) = default;

 private:
  virtual bool is_reached(const char* doing) const = 0;
};

/// Declare it after the memory of host or device that the queue's work reads and writes. Such memory does not go before
/// the work is done, also when an exception passes.
class Settled {
 public:
  explicit Settled(const Queue& queue) : queue_(&queue) {}
  Settled(const Settled&) = delete;
  Settled& operator=(const Settled&) = delete;
  ~Settled() {
    if (queue_ != nullptr) queue_->settle();
  }
  /// The queue was waited for and has got no work since: where microseconds count, it is not asked again.
  void already() { queue_ = nullptr; }

 private:
  const Queue* queue_;
};

}  // namespace manymeans::device
