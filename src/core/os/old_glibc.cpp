// Lets a program that was linked with a new C library start with one of 2018 (glibc 2.28, RHEL 8).
//
// A linker takes the newest version of a function, although the old version does the same.
// The list in cmake/dependencies.cmake turns calls of these functions, in libstdc++.a too, into calls of __wrap_NAME.
// This file defines the wrappers, and functions that old libraries lack.
// `scripts/check_artefacts.py --glibc` finds functions that are missing here.
//
// Headers of the C library would declare the same names with attributes that do not fit.
#include <sys/syscall.h>

#include <cstddef>
#include <ctime>

#if defined(__x86_64__)
#define FIRST_VERSION "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define FIRST_VERSION "GLIBC_2.17"
#endif
// Declares old_NAME, which is NAME as the first C library of this processor had it.
#define OLD(result, name, ...)                               \
  __asm__(".symver old_" #name "," #name "@" FIRST_VERSION); \
  result old_##name(__VA_ARGS__)

extern "C" {

using Run = void (*)(int, char**, char**);
using Main = int (*)(int, char**, char**);

OLD(int, __libc_start_main, Main, int, char**, Run, void (*)(), void (*)(), void*);
OLD(int, pthread_create, void*, const void*, void* (*)(void*), void*);
OLD(int, pthread_join, unsigned long, void**);
OLD(int, pthread_mutex_trylock, void*);
OLD(int, pthread_once, void*, void (*)());
OLD(int, pthread_sigmask, int, const void*, void*);
OLD(void*, dlopen, const char*, int);
OLD(void*, dlsym, void*, const char*);
OLD(char*, dlerror);
OLD(double, log, double);
OLD(double, pow, double, double);
int pthread_cond_timedwait(void*, void*, const timespec*);
long syscall(long, ...);

#pragma GCC visibility push(hidden)  // nothing else in the process takes these
int __wrap_pthread_create(void* thread, const void* how, void* (*run)(void*), void* given) {
  return old_pthread_create(thread, how, run, given);
}
int __wrap_pthread_join(unsigned long thread, void** result) {
  return old_pthread_join(thread, result);
}
int __wrap_pthread_mutex_trylock(void* mutex) {
  return old_pthread_mutex_trylock(mutex);
}
int __wrap_pthread_once(void* once, void (*run)()) {
  return old_pthread_once(once, run);
}
int __wrap_pthread_sigmask(int how, const void* set, void* before) {
  return old_pthread_sigmask(how, set, before);
}
void* __wrap_dlopen(const char* file, int mode) {
  return old_dlopen(file, mode);
}
void* __wrap_dlsym(void* library, const char* name) {
  return old_dlsym(library, name);
}
char* __wrap_dlerror() {
  return old_dlerror();
}
double __wrap_log(double x) {
  return old_log(x);
}
double __wrap_pow(double x, double y) {
  return old_pow(x, y);
}

// 0: libstdc++ always uses atomic operations. An old library cannot tell whether there is only one thread.
char __libc_single_threaded = 0;

int stat(const char* path, void* found) {
  return static_cast<int>(syscall(SYS_newfstatat, -100, path, found, 0));
}
int lstat(const char* path, void* found) {
  return static_cast<int>(syscall(SYS_newfstatat, -100, path, found, 0x100));
}
int fstat(int file, void* found) {
  return static_cast<int>(syscall(SYS_fstat, file, found));
}
int fstat64(int file, void* found) {
  return fstat(file, found);
}

// An old library waits by the clock of the day alone.
int pthread_cond_clockwait(void* condition, void* mutex, int clock, const timespec* until) {
  constexpr long kSecond = 1'000'000'000;
  timespec now{}, day{};
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &day);
  day.tv_sec += until->tv_sec - now.tv_sec;
  day.tv_nsec += until->tv_nsec - now.tv_nsec;
  const long carry = day.tv_nsec < 0 ? -1 : day.tv_nsec / kSecond;
  day.tv_sec += carry;
  day.tv_nsec -= carry * kSecond;
  return pthread_cond_timedwait(condition, mutex, &day);
}

// An old library leaves the constructors of a program to a function that is linked into it.
[[gnu::weak]] extern Run __init_array_start[], __init_array_end[];  // in programs, not in Python's extension
static void construct(int argc, char** argv, char** environment) {
  for (Run* run = __init_array_start; run != __init_array_end; ++run) (*run)(argc, argv, environment);
}
int __wrap___libc_start_main(Main main, int argc, char** argv, Run, void (*)(), void (*end)(), void* stack) {
  return old___libc_start_main(main, argc, argv, construct, nullptr, end, stack);
}
#pragma GCC visibility pop

}  // extern "C"
