// Copies of many bytes from the host's memory to the device's, at the link's rate. Memory that nobody has pinned goes
// through pieces that are: small ones, so that the device takes them from the processors' caches. Threads fill pieces,
// each for itself. The calling thread alone speaks to the device, and sends some pieces together, since a copy takes
// the device some microseconds more than its bytes.
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

  const Runtime& runtime_;
  const std::atomic<bool>* abort_;
  int64_t batch_;                               // pieces that are sent together
  std::vector<std::unique_ptr<Event>> passed_;  // by the device: the places of each batch
  std::vector<std::atomic<int64_t>> turns_;     // of each place, see uploader.cpp
  ThreadPool pool_;
  PinnedBytes memory_;  // of all places, from the first bytes that are not pinned on
};

}  // namespace manymeans::device
