// Copies of many bytes from the host's memory to the device's, at the link's rate. Memory that is not pinned goes
// through pinned pieces. They are small, so that the device takes them from the processors' caches. Each thread fills
// its own places and hands them over; no thread waits for another.
#pragma once

#include "backend/device/queue.h"
#include "core/threads.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace manymeans::device {

/// To be used by one thread at a time. Its pieces must not go before the queue is done with them.
class Uploader {
 public:
  struct Host {
    int threads = 1;                           ///< that copy
    const std::atomic<bool>* abort = nullptr;  ///< see BackendOptions
  };
  /// For `most` bytes at a time.
  Uploader(const Runtime& runtime, size_t most, const Host& host);

  /// Enqueues a copy. As soon as this returns the source may go, or change, unless it is pinned: then it must stay
  /// until the queue has copied it.
  void send(Address to, const void* from, size_t bytes, const Queue& queue, const char* what);

 private:
  struct Sending;
  // Of pieces and the places that they go through.
  struct Ring {
    size_t piece;  // bytes
    int threads, places;

    static Ring of(size_t bytes, int threads);
  };

  const Runtime& runtime_;
  const std::atomic<bool>* abort_;
  Ring ring_;
  ThreadPool pool_;
  std::vector<std::unique_ptr<Event>> passed_;  // by the device: each place, a thread's side by side
  PinnedBytes memory_;                          // of all places, from the first bytes that are not pinned on
};

}  // namespace manymeans::device
