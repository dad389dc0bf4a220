#include "system_faults.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <limits>

namespace {

std::atomic<bool> armed{false}, all_later{false};
std::atomic<int64_t> until_failure{0}, refused{0}, live{0};
std::atomic<int64_t> threads_left{std::numeric_limits<int64_t>::max()};

bool refuse() {
  if (!armed) return false;
  const int64_t left = --until_failure;
  const bool refuses = left == 0 || (left < 0 && all_later);
  if (refuses) {
    ++refused;
    errno = ENOMEM;
  }
  return refuses;
}

void* counted(void* memory) {
  if (memory != nullptr) ++live;
  return memory;
}

}  // namespace

// These stand in for the C library's functions of the same names, also in shared libraries; it offers its own as these.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* memory);

void* malloc(size_t size) {
  return refuse() ? nullptr : counted(__libc_malloc(size));
}
void* calloc(size_t count, size_t size) {
  return refuse() ? nullptr : counted(__libc_calloc(count, size));
}
void* realloc(void* memory, size_t size) {
  if (refuse()) return nullptr;
  void* result = __libc_realloc(memory, size);
  return memory == nullptr ? counted(result) : result;
}
void* memalign(size_t alignment, size_t size) {
  return refuse() ? nullptr : counted(__libc_memalign(alignment, size));
}
void* aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}
int posix_memalign(void** memory, size_t alignment, size_t size) {
  *memory = memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
void free(void* memory) {
  if (memory != nullptr) --live;
  __libc_free(memory);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  return threads_left-- <= 0 ? EAGAIN : create(thread, attributes, start, argument);
}
}

namespace manymeans::test {

void arm(MemoryFaults faults) {
  refused = 0;
  until_failure = faults.first;
  all_later = faults.all;
  armed = faults.first > 0;
}

int64_t disarm() {
  armed = false;
  return refused;
}

int64_t live_allocations() {
  return live;
}

void allow_threads(int64_t count) {
  threads_left = count;
}

}  // namespace manymeans::test
