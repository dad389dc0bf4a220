#include "backend/cuda/runtime/kept_memory.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>

namespace manymeans::cuda {
namespace {

// A device's; all null where it has no pools.
struct Pool {
  cudaMemPool_t pool = nullptr;
  // In which memory is taken and returned, and nothing else is done: so its order means nothing, and it is never
  // behind.
  cudaStream_t stream = nullptr;
  size_t kept = 0;
};

bool works(cudaError_t status) {
  if (status != cudaSuccess) cudaGetLastError();  // the next call shall not report it
  return status == cudaSuccess;
}

Pool make_pool(int device) {
  constexpr size_t kShare = 16;
  int has_pools = 0;
  size_t free = 0;
  size_t all = 0;
  Pool made;
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, device};
  uint64_t never_by_itself = UINT64_MAX;
  const bool made_all = works(cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, device)) &&
                        has_pools != 0 && works(cudaMemGetInfo(&free, &all)) &&
                        works(cudaMemPoolCreate(&made.pool, &properties)) &&
                        works(cudaMemPoolSetAttribute(made.pool, cudaMemPoolAttrReleaseThreshold, &never_by_itself)) &&
                        works(cudaStreamCreateWithFlags(&made.stream, cudaStreamNonBlocking));
  made.kept = all / kShare;
  return made_all ? made : Pool();
}

// Lives until the process ends, as what the driver has of it does.
struct Pools {
  std::mutex mutex;
  std::map<int, Pool> of_devices;

  Pool of(int device) {
    const std::lock_guard lock(mutex);
    const auto [at, is_new] = of_devices.try_emplace(device);
    if (is_new) at->second = make_pool(device);
    return at->second;
  }
  // All members are null before the first request for memory.
  Pool made_for(int device) {
    const std::lock_guard lock(mutex);
    const auto found = of_devices.find(device);
    return found == of_devices.end() ? Pool() : found->second;
  }
  // The current device's.
  Pool here() {
    int device = 0;
    return works(cudaGetDevice(&device)) ? of(device) : Pool();
  }
};

Pools& pools() {
  static auto* const kept = new Pools;
  return *kept;
}

// Pinned memory in use, and free blocks that wait for a request of about their size. Driver calls are made without the
// lock, since they may wait for a device.
class PinnedMemory {
 public:
  cudaError_t take(void** memory, size_t bytes) {
    const size_t whole_pages = (bytes + kPage - 1) / kPage * kPage;
    if (take_waiting(memory, whole_pages)) return cudaSuccess;
    cudaError_t status = cudaMallocHost(memory, whole_pages);
    if (status == cudaErrorMemoryAllocation && free_all_but(0)) {
      cudaGetLastError();
      status = cudaMallocHost(memory, whole_pages);
    }
    if (status != cudaSuccess) return status;
    try {
      const std::lock_guard lock(mutex_);
      bytes_of_.emplace(*memory, whole_pages);
      return status;
    } catch (const std::bad_alloc&) {
      works(cudaFreeHost(*memory));
      return cudaErrorMemoryAllocation;
    }
  }

  void give_back(void* memory) noexcept {
    constexpr size_t kMaxBytes = size_t{192} << 20;  // eight devices that points are copied to
    try {
      const std::lock_guard lock(mutex_);
      const auto known = bytes_of_.find(memory);
      waiting_.emplace(known->second, memory);
      bytes_waiting_ += known->second;
      bytes_of_.erase(known);
    } catch (const std::bad_alloc&) {
      works(cudaFreeHost(memory));
    }
    free_all_but(kMaxBytes);
  }

 private:
  static constexpr size_t kPage = 4096;
  using Waiting = std::multimap<size_t, void*>;

  // A program that resets the device takes the memory with it.
  static bool is_there(const void* memory) {
    cudaPointerAttributes where;
    return works(cudaPointerGetAttributes(&where, memory)) && where.type == cudaMemoryTypeHost;
  }

  bool take_waiting(void** memory, size_t bytes) {
    const std::lock_guard lock(mutex_);
    auto at = waiting_.lower_bound(bytes);
    while (at != waiting_.end() && at->first <= 2 * bytes) {
      const auto [size, place] = *at;
      const bool there = is_there(place);
      if (there) bytes_of_.emplace(place, size);
      bytes_waiting_ -= size;
      at = waiting_.erase(at);
      *memory = place;
      if (there) return true;
    }
    return false;
  }

  // Frees the largest first. Returns true if it freed any.
  bool free_all_but(size_t bytes) noexcept {
    Waiting gone;
    {
      const std::lock_guard lock(mutex_);
      while (bytes_waiting_ > bytes) {
        const auto last = std::prev(waiting_.end());
        bytes_waiting_ -= last->first;
        gone.insert(waiting_.extract(last));
      }
    }
    for (const auto& [size, memory] : gone) {
      if (is_there(memory)) works(cudaFreeHost(memory));
    }
    return !gone.empty();
  }

  std::mutex mutex_;
  std::map<void*, size_t> bytes_of_;
  Waiting waiting_;
  size_t bytes_waiting_ = 0;
};

PinnedMemory& pinned_memory() {
  static auto* const kept = new PinnedMemory;
  return *kept;
}

// Until the host has seen that a pool's stream is done. It has nothing to do: the first answer is that it is.
cudaError_t see_done(cudaStream_t stream) {
  cudaError_t status = cudaStreamQuery(stream);
  while (status == cudaErrorNotReady) {
    cudaGetLastError();
    status = cudaStreamQuery(stream);
  }
  return status;
}

// Bytes that the driver holds for the pool, and bytes of them in use.
struct PoolBytes {
  uint64_t reserved = 0;
  uint64_t used = 0;

  uint64_t unused() const { return reserved - std::min(used, reserved); }
};

PoolBytes bytes_of(const Pool& pool) {
  PoolBytes bytes;
  if (pool.pool == nullptr) return bytes;
  if (!works(cudaMemPoolGetAttribute(pool.pool, cudaMemPoolAttrUsedMemCurrent, &bytes.used)) ||
      !works(cudaMemPoolGetAttribute(pool.pool, cudaMemPoolAttrReservedMemCurrent, &bytes.reserved))) {
    return {};
  }
  return bytes;
}

// Leaves at most `kept` bytes unused. The driver (13.0) trims returned memory only after a wait for the stream; a query
// is not enough. The query comes first, since a wait may not be long. The driver guarantees the min that it keeps, not
// the max: only the second call frees a block larger than `kept`.
void trim(const Pool& pool, size_t kept) {
  works(see_done(pool.stream));
  works(cudaStreamSynchronize(pool.stream));
  works(cudaMemPoolTrimTo(pool.pool, bytes_of(pool).used + kept));
  if (bytes_of(pool).unused() > kept) works(cudaMemPoolTrimTo(pool.pool, 0));
}

}  // namespace

cudaError_t take_device_memory(void** memory, size_t bytes) {
  const Pool here = pools().here();
  if (here.pool == nullptr) return cudaMalloc(memory, bytes);
  cudaError_t status = cudaMallocFromPoolAsync(memory, bytes, here.pool, here.stream);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    trim(here, 0);
    status = cudaMallocFromPoolAsync(memory, bytes, here.pool, here.stream);
  }
  return status == cudaSuccess ? see_done(here.stream) : status;
}

// By the device of the memory, which need not be the thread's.
void return_device_memory(void* memory) noexcept {
  cudaPointerAttributes where;
  const Pool its = works(cudaPointerGetAttributes(&where, memory)) ? pools().made_for(where.device) : Pool();
  works(its.pool == nullptr ? cudaFree(memory) : cudaFreeAsync(memory, its.stream));
}

void trim_device_memory() noexcept {
  int device = 0;
  if (!works(cudaGetDevice(&device))) return;
  const Pool here = pools().made_for(device);
  if (here.pool != nullptr) trim(here, here.kept);
}

bool open_device_memory(int device, int to) noexcept {
  if (device == to) return true;
  int possible = 0;
  const Pool its = pools().made_for(device);
  if (its.pool == nullptr || !works(cudaDeviceCanAccessPeer(&possible, to, device)) || possible == 0) return false;
  cudaMemAccessDesc access = {};
  access.location = {cudaMemLocationTypeDevice, to};
  access.flags = cudaMemAccessFlagsProtReadWrite;
  return works(cudaMemPoolSetAccess(its.pool, &access, 1));
}

cudaError_t ask_device_memory(DeviceMemory* memory) {
  const Pool here = pools().here();
  const cudaError_t status = cudaMemGetInfo(&memory->free, &memory->all);
  memory->free += bytes_of(here).unused();
  return status;
}

cudaError_t take_pinned_memory(void** memory, size_t bytes) {
  return pinned_memory().take(memory, bytes);
}

void return_pinned_memory(void* memory) noexcept {
  pinned_memory().give_back(memory);
}

}  // namespace manymeans::cuda
