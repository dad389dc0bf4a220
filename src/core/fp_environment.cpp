#include "core/fp_environment.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace manymeans {
namespace {

#if defined(__SSE2__)
// Bits of MXCSR: flush-to-zero (15) and denormals-are-zero (6).
constexpr unsigned kFlushBits = 0x8040;
unsigned read_control() {
  return _mm_getcsr();
}
void write_control(unsigned control) {
  _mm_setcsr(control);
}
#elif defined(__aarch64__)
// Bit 24 of FPCR: flush-to-zero.
constexpr unsigned kFlushBits = 1u << 24;
unsigned read_control() {
  unsigned long long control;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  return static_cast<unsigned>(control);
}
void write_control(unsigned control) {
  const unsigned long long value = control;
  __asm__ volatile("msr fpcr, %0" : : "r"(value));
}
#else
constexpr unsigned kFlushBits = 0;
unsigned read_control() {
  return 0;
}
void write_control(unsigned) {}
#endif

}  // namespace

FpEnvironmentGuard::FpEnvironmentGuard() noexcept {
  std::feholdexcept(&environment_);  // no traps, no flags
  std::fesetround(FE_TONEAREST);
  write_control(read_control() & ~kFlushBits);
}

// Flags that were raised in between are forgotten, so that no trap of the caller's springs now.
FpEnvironmentGuard::~FpEnvironmentGuard() {
  std::fesetenv(&environment_);
}

}  // namespace manymeans
