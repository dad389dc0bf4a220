// A device for tests: the host's memory, and a thread as its queue that is always a little late. Whoever forgets to
// wait reads old values, and the thread sanitizer says so too.
#pragma once

#include "backend/device/queue.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace manymeans::test {

const device::Runtime& async_runtime();

template <class T>
T* pointer_to(device::Address address) {
  return reinterpret_cast<T*>(static_cast<std::byte*>(address.memory) + address.offset);
}

class AsyncEvent final : public device::Event {
 public:
  void record(const device::Queue& queue) override;
  void try_record(const device::Queue& queue) noexcept override { record(queue); }
  /// Whether the queue is where this was recorded last.
  std::function<bool()> reached() const {
    return [at = at_, wanted = recorded_] { return *at >= wanted; };
  }

 private:
  bool is_reached(const char*) const override { return reached()(); }

  int recorded_ = 0;
  std::shared_ptr<std::atomic<int>> at_ = std::make_shared<std::atomic<int>>(0);
};

class AsyncQueue final : public device::Queue {
 public:
  explicit AsyncQueue(const device::Patience& patience) : Queue(patience), thread_([this] { work(); }) {}
  ~AsyncQueue() override {
    settle();
    enqueue(nullptr);
    thread_.join();
  }

  void enqueue(std::function<void()> work) const {
    const std::lock_guard lock(mutex_);
    works_.push_back(std::move(work));
    more_.notify_one();
  }
  const device::Runtime& runtime() const override { return async_runtime(); }
  void copy_to_device(device::Address to, const void* from, size_t bytes, const char*) const override {
    enqueue([=] { std::memcpy(pointer_to<void>(to), from, bytes); });
  }
  void copy_to_host(void* to, device::Address from, size_t bytes, const char*) const override {
    enqueue([=] { std::memcpy(to, pointer_to<void>(from), bytes); });
  }
  void fill(device::Address to, std::byte value, size_t bytes, const char*) const override {
    enqueue([=] { std::memset(pointer_to<void>(to), static_cast<int>(value), bytes); });
  }
  bool reaches(const device::Queue& other) const override { return &other.runtime() == &runtime(); }
  void wait_for(const device::Event& event, const char*) const override {
    enqueue([reached = static_cast<const AsyncEvent&>(event).reached()] {
      while (!reached()) std::this_thread::yield();
    });
  }

 private:
  // Sleeps now and then, so that whoever enqueues is ahead; work stays in the list until it is done.
  void work() {
    std::unique_lock lock(mutex_);
    for (unsigned turn = 0;; ++turn) {
      more_.wait(lock, [this] { return !works_.empty(); });
      const std::function<void()> next = works_.front();
      if (!next) return;
      lock.unlock();
      if (turn % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
      next();
      lock.lock();
      works_.pop_front();
    }
  }
  bool is_done(const char*) const override {
    const std::lock_guard lock(mutex_);
    return works_.empty();
  }
  device::Unfinished unfinished() const noexcept override {
    return {const_cast<AsyncQueue*>(this), [](void* queue) { return static_cast<AsyncQueue*>(queue)->is_done(""); }};
  }

  mutable std::mutex mutex_;
  mutable std::condition_variable more_;
  mutable std::deque<std::function<void()>> works_;
  std::thread thread_;
};

inline void AsyncEvent::record(const device::Queue& queue) {
  static_cast<const AsyncQueue&>(queue).enqueue([at = at_, mine = ++recorded_] { *at = mine; });
}

class AsyncRuntime final : public device::Runtime {
 public:
  std::string_view name() const override { return "async"; }
  void* allocate(size_t bytes, const char*) const override {
    return bytes == 0 ? nullptr : std::memset(::operator new(bytes), 0xcd, bytes);  // nobody clears it
  }
  void free(void* memory) const noexcept override {
    if (device::devices_answer_now()) ::operator delete(memory);
  }
  void* allocate_pinned(size_t bytes, const char* what) const override { return allocate(bytes, what); }
  void free_pinned(void* memory) const noexcept override { free(memory); }
  bool is_pinned(const void*) const override { return false; }
  std::unique_ptr<device::Queue> make_queue(const device::Patience& patience) const override {
    return std::make_unique<AsyncQueue>(patience);
  }
  std::unique_ptr<device::Event> make_event() const override { return std::make_unique<AsyncEvent>(); }
};

inline const device::Runtime& async_runtime() {
  static const AsyncRuntime kRuntime;
  return kRuntime;
}

}  // namespace manymeans::test
