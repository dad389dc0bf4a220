// Lets a program that was linked with a new C library start with one of 2018 (glibc 2.28, RHEL 8).
//
// A linker takes the newest version of a function, although the old version does the same.
// MANYMEANS_OLD_FUNCTIONS in cmake/dependencies.cmake lists such functions.
// The linker turns calls of them, in static libraries too, into calls of __wrap_NAME.
// This file defines these as jumps to the old version, and functions that old libraries lack.
// `scripts/check_artefacts.py --glibc` finds functions that are missing here.
//
// Headers of the C library would declare the same names with attributes that do not fit.
#include <sys/syscall.h>

#include <cstddef>
#include <ctime>

#if defined(__x86_64__)
#define FIRST_VERSION "GLIBC_2.2.5"
#define JUMP(name) "jmp " name "@PLT\n"
#elif defined(__aarch64__)
#define FIRST_VERSION "GLIBC_2.17"
#define JUMP(name) "b " name "\n"
#endif
// Declares old_NAME: NAME as this version of the C library had it.
#define OLD_SYMBOL(name, version) ".symver old_" #name "," #name "@" version "\n"
// Defines __wrap_NAME for the whole library, whatever its arguments are, in a section that goes where nothing calls it.
#define OLD_SINCE(name, version)                                                                             \
  __asm__(OLD_SYMBOL(name, version) ".section .text.old_" #name                                              \
                                    ",\"ax\",%progbits\n"                                                    \
                                    ".globl __wrap_" #name "\n.hidden __wrap_" #name "\n.type __wrap_" #name \
                                    ",%function\n"                                                           \
                                    "__wrap_" #name ":\n" JUMP("old_" #name) ".text\n");
#define OLD(name) OLD_SINCE(name, FIRST_VERSION)
OLD_FUNCTIONS
#if defined(__x86_64__)
OLD_SINCE(dlmopen, "GLIBC_2.3.4")
#else
OLD(dlmopen)
#endif

extern "C" {

using Run = void (*)(int, char**, char**);
using Main = int (*)(int, char**, char**);

__asm__(OLD_SYMBOL(__libc_start_main, FIRST_VERSION));
int old___libc_start_main(Main, int, char**, Run, void (*)(), void (*)(), void*);
int pthread_cond_timedwait(void*, void*, const timespec*);
long syscall(long, ...);

#pragma GCC visibility push(hidden)  // nothing else in the process takes these
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
