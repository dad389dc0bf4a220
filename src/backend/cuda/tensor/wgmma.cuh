// The matrix instruction of Hopper: m64nNk16, fp16 times fp16, added in float32, by four warps together.
//
// d: the thread's part of the 64 x N sums. With g = lane / 4 it has rows g and g + 8 of its warp's 16. Of every eight
// columns it has the two at 2 (lane % 4): d[4 j + 0, 1] are row g, columns 8 j + 2 (lane % 4) + 0, 1; d[4 j + 2, 3] row
// g + 8. The left side is in shared memory (a descriptor) or in registers; the right side in shared memory.
#pragma once

#include <cstdint>

namespace manymeans::cuda {

// clang-format off
// Operands of 32 sums, from number i on, and what an instruction calls them.
#define MANYMEANS_8_SUMS(i)                                                                                     \
  "+f"(d[(i) + 0]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3]), "+f"(d[(i) + 4]), "+f"(d[(i) + 5]), \
  "+f"(d[(i) + 6]), "+f"(d[(i) + 7])
#define MANYMEANS_32_SUMS(i) \
  MANYMEANS_8_SUMS(i), MANYMEANS_8_SUMS((i) + 8), MANYMEANS_8_SUMS((i) + 16), MANYMEANS_8_SUMS((i) + 24)
#define MANYMEANS_NAMES_0 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define MANYMEANS_NAMES_32 \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define MANYMEANS_NAMES_64 \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define MANYMEANS_NAMES_96 \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

/// d = (accumulate ? d : 0) + a b'. Asynchronous: fences, commits and waits are in ptx.cuh.
template <int kColumns>
__device__ void wgmma(float (&d)[kColumns / 2], uint64_t a, uint64_t b, int accumulate);
template <int kColumns>
__device__ void wgmma(float (&d)[kColumns / 2], const uint32_t (&a)[4], uint64_t b, int accumulate);

template <>
__device__ __forceinline__ void wgmma<64>(float (&d)[32], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\nwgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
      MANYMEANS_NAMES_0
      "}, %32, %33, p, 1, 1, 0, 0;\n}\n"
      : MANYMEANS_32_SUMS(0)
      : "l"(a), "l"(b), "r"(accumulate));
}

template <>
__device__ __forceinline__ void wgmma<64>(float (&d)[32], const uint32_t (&a)[4], uint64_t b, int accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\nwgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
      MANYMEANS_NAMES_0
      "}, {%32, %33, %34, %35}, %36, p, 1, 1, 0;\n}\n"
      : MANYMEANS_32_SUMS(0)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));
}

template <>
__device__ __forceinline__ void wgmma<128>(float (&d)[64], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\nwgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
      MANYMEANS_NAMES_0 ", " MANYMEANS_NAMES_32
      "}, %64, %65, p, 1, 1, 0, 0;\n}\n"
      : MANYMEANS_32_SUMS(0), MANYMEANS_32_SUMS(32)
      : "l"(a), "l"(b), "r"(accumulate));
}

template <>
__device__ __forceinline__ void wgmma<256>(float (&d)[128], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\nwgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
      MANYMEANS_NAMES_0 ", " MANYMEANS_NAMES_32 ", " MANYMEANS_NAMES_64 ", " MANYMEANS_NAMES_96
      "}, %128, %129, p, 1, 1, 0, 0;\n}\n"
      : MANYMEANS_32_SUMS(0), MANYMEANS_32_SUMS(32), MANYMEANS_32_SUMS(64), MANYMEANS_32_SUMS(96)
      : "l"(a), "l"(b), "r"(accumulate));
}
// clang-format on
#undef MANYMEANS_8_SUMS
#undef MANYMEANS_32_SUMS
#undef MANYMEANS_NAMES_0
#undef MANYMEANS_NAMES_32
#undef MANYMEANS_NAMES_64
#undef MANYMEANS_NAMES_96

}  // namespace manymeans::cuda
