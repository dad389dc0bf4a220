// A device for tests: the host's memory, and threads as its queue, one after the other, that are always a little late.
// Whoever forgets to wait reads old values, and the thread sanitizer says so too. And the smallest backend on it.
#pragma once

#include "backend/backend.h"
#include "backend/device/queue.h"

#include <chrono>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <thread>

namespace manymeans::test {

const device::Runtime& late_runtime();

/// Every canonical distance ("brute"); points in slices where options.tuning.cuda.slice_rows says so.
std::unique_ptr<Backend> make_late_backend(const BackendOptions& options);

template <class T>
T* pointer_to(device::Address address) {
  return reinterpret_cast<T*>(static_cast<std::byte*>(address.memory) + address.offset);
}

/// Work that a queue was given, over once all before it is over, too.
using LateWork = std::shared_future<void>;
inline bool is_over(const LateWork& work) {
  return !work.valid() || work.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

class LateEvent final : public device::Event {
 public:
  void record(const device::Queue& queue) override;
  void try_record(const device::Queue& queue) noexcept override { record(queue); }
  const LateWork& before() const { return before_; }

 private:
  bool is_reached(const char*) const override { return is_over(before_); }

  LateWork before_;
};

class LateQueue final : public device::Queue {
 public:
  explicit LateQueue(const device::Patience& patience) : Queue(patience) {}
  ~LateQueue() override { settle(); }

  // Sleeps now and then, so that whoever enqueues is ahead.
  void enqueue(std::function<void()> work) const {
    const bool sleeps = count_++ % 16 == 0;
    last_ = std::async(std::launch::async, [before = last_, work = std::move(work), sleeps] {
      if (before.valid()) before.wait();
      if (sleeps) std::this_thread::sleep_for(std::chrono::microseconds(50));
      work();
    });
  }
  const LateWork& last() const { return last_; }
  const device::Runtime& runtime() const override { return late_runtime(); }
  void copy_to_device(device::Address to, const void* from, size_t bytes, const char*) const override {
    enqueue([=] { std::memcpy(pointer_to<void>(to), from, bytes); });
  }
  void copy_to_host(void* to, device::Address from, size_t bytes, const char*) const override {
    enqueue([=] { std::memcpy(to, pointer_to<void>(from), bytes); });
  }
  void fill(device::Address to, std::byte value, size_t bytes, const char*) const override {
    enqueue([=] { std::memset(pointer_to<void>(to), static_cast<int>(value), bytes); });
  }
  void wait_for(const device::Event& event, const char*) const override {
    enqueue([before = static_cast<const LateEvent&>(event).before()] {
      if (before.valid()) before.wait();
    });
  }

 private:
  bool is_done(const char*) const override { return is_over(last_); }
  device::Unfinished unfinished() const noexcept override {
    return {const_cast<LateQueue*>(this), [](void* queue) { return is_over(static_cast<LateQueue*>(queue)->last_); }};
  }

  mutable LateWork last_;
  mutable unsigned count_ = 0;
};

inline void LateEvent::record(const device::Queue& queue) {
  before_ = static_cast<const LateQueue&>(queue).last();
}
class LateRuntime final : public device::Runtime {
 public:
  std::string_view name() const override { return "late"; }
  void* allocate(size_t bytes, const char*) const override {
    return bytes == 0 ? nullptr : std::memset(::operator new(bytes), 0xcd, bytes);  // nobody clears it
  }
  void free(void* memory) const noexcept override { ::operator delete(memory); }
  void* allocate_pinned(size_t bytes, const char* what) const override { return allocate(bytes, what); }
  void free_pinned(void* memory) const noexcept override { free(memory); }
  bool is_pinned(const void*) const override { return false; }
  std::unique_ptr<device::Queue> make_queue(const device::Patience& patience) const override {
    return std::make_unique<LateQueue>(patience);
  }
  std::unique_ptr<device::Event> make_event() const override { return std::make_unique<LateEvent>(); }
};

inline const device::Runtime& late_runtime() {
  static const LateRuntime kRuntime;
  return kRuntime;
}

}  // namespace manymeans::test
