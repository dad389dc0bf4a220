// A caller that has changed the floating-point environment, as other libraries do.
#pragma once

#include <cfenv>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace manymeans::test {

/// Rounding up, and denormals flushed where the machine can, until destroyed.
class HostileEnvironment {
 public:
  HostileEnvironment() {
    std::fesetround(FE_UPWARD);
#if defined(__SSE2__)
    control_ = _mm_getcsr();
    _mm_setcsr(control_ | kFlush);
#endif
  }
  ~HostileEnvironment() {
#if defined(__SSE2__)
    _mm_setcsr(control_);
#endif
    std::fesetround(FE_TONEAREST);
  }
  HostileEnvironment(const HostileEnvironment&) = delete;
  HostileEnvironment& operator=(const HostileEnvironment&) = delete;

  bool still_holds() const {
#if defined(__SSE2__)
    if ((_mm_getcsr() & kFlush) != kFlush) return false;
#endif
    return std::fegetround() == FE_UPWARD;
  }

 private:
#if defined(__SSE2__)
  static constexpr unsigned kFlush = 0x8040;  // flush to zero, denormals are zero
  unsigned control_ = 0;
#endif
};

/// Traps: every floating-point exception ends the process, as feenableexcept() in a caller wants it. Where flags are
/// `pending`, they were raised before that.
class TrappingEnvironment {
 public:
#if defined(__GLIBC__) && defined(__SSE2__)
  static constexpr bool kAvailable = true;
#else
  static constexpr bool kAvailable = false;
#endif

  explicit TrappingEnvironment([[maybe_unused]] bool pending = false) {
    std::fegetenv(&before_);
#if defined(__GLIBC__) && defined(__SSE2__)
    std::feclearexcept(FE_ALL_EXCEPT);
    if (pending) _mm_setcsr(_mm_getcsr() | kFlags);
    feenableexcept(FE_ALL_EXCEPT);
#endif
  }
  ~TrappingEnvironment() { std::fesetenv(&before_); }
  TrappingEnvironment(const TrappingEnvironment&) = delete;
  TrappingEnvironment& operator=(const TrappingEnvironment&) = delete;

  /// Whether all traps are set, and the flags are what they were.
  static bool still_holds([[maybe_unused]] bool pending) {
#if defined(__GLIBC__) && defined(__SSE2__)
    return fegetexcept() == FE_ALL_EXCEPT && (_mm_getcsr() & kFlags) == (pending ? kFlags : 0U);
#else
    return true;
#endif
  }

 private:
  static constexpr unsigned kFlags = FE_ALL_EXCEPT;  // the same bits in MXCSR
  std::fenv_t before_;
};

/// Raises every floating-point exception, of SSE and of long double's unit.
inline void raise_all_exceptions() {
  volatile double zero = 0, large = 0x1p1000, small = 0x1p-1060, third = 3;
  volatile double result = zero / zero;
  result = 1 / zero;
  result = large * large;
  result = small * small;
  result = small / third;
  volatile long double wide_zero = 0, wide_third = 3;
  volatile long double wide = wide_zero / wide_zero;
  wide = 1 / wide_zero;
  wide = 1 / wide_third;
  static_cast<void>(result);
  static_cast<void>(wide);
}

/// Whether arithmetic here rounds to nearest even and keeps denormals, by doing some.
inline bool environment_is_the_contracts() {
  volatile double one = 1, small = 0x1p-54, least = 0x1p-1074, normal = 0x1p-1022;
  volatile float least_float = 0x1p-149f;
  const bool nearest = one + small == 1 && one - small == 1;
  // As integers and sums of normal size, so that flushed comparisons cannot hide flushed values.
  const double back = least * 0x1p1023;
  const double halved = normal * 0.5;
  const float float_back = least_float * 0x1p126f;
  return nearest && back == 0x1p-51 && halved * 0x1p1023 == 1.0 && float_back == 0x1p-23f;
}

}  // namespace manymeans::test
