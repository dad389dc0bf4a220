// The matrix unit of binary64: what a thread gives to it, and its products.
#pragma once

#include <cstddef>

namespace manymeans::cuda {

template <class Value>
struct Unit;  // 16 bytes of a line: values of a thread, for one product of the matrix unit

template <>
struct Unit<float> {
  static constexpr int kValues = 4;
  static __device__ __forceinline__ void load(const std::byte* from, double* to, int step) {
    const auto unit = *reinterpret_cast<const float4*>(from);
    to[0] = unit.x;
    to[step] = unit.y;
    to[2 * step] = unit.z;
    to[3 * step] = unit.w;
  }
};

template <>
struct Unit<double> {
  static constexpr int kValues = 2;
  static __device__ __forceinline__ void load(const std::byte* from, double* to, int step) {
    const auto unit = *reinterpret_cast<const double2*>(from);
    to[0] = unit.x;
    to[step] = unit.y;
  }
};

// By products of 8 x 8 entries of four values each, which every device with the unit has.
template <int kValues>
__device__ __forceinline__ void multiply_add_fours(double (&c)[4], const double (&a)[2 * kValues],
                                                   const double (&b)[kValues]) {
#pragma unroll
  for (int v = 0; v < kValues; ++v) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                   : "+d"(c[2 * h]), "+d"(c[2 * h + 1])
                   : "d"(a[2 * v + h]), "d"(b[v]));
    }
  }
}

// c += a b^T of 16 x 8 entries. Of a[2 v + h] the row is lane / 4 + 8 h, of b[v] the column lane / 4; which value of
// the line value v is, the lanes agree on. Every product is exact, every sum rounds once, to nearest.
__device__ __forceinline__ void multiply_add(double (&c)[4], const double (&a)[8], const double (&b)[4]) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, "
      "{%12, %13, %14, %15}, {%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]), "d"(b[1]),
        "d"(b[2]), "d"(b[3]));
#else
  multiply_add_fours<4>(c, a, b);
#endif
}

__device__ __forceinline__ void multiply_add(double (&c)[4], const double (&a)[4], const double (&b)[2]) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
  multiply_add_fours<2>(c, a, b);
#endif
}

}  // namespace manymeans::cuda
