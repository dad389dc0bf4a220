// Which prototypes can be nearest to a point of a box. Proof: docs/developer/screens.md, "kd-tree".
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

namespace manymeans::cuda {

/// Allowances of a comparison: roundings of its sums, and the canonical slack.
struct BoxBound {
  double of_square = 0;  ///< times the squared distance of either prototype to the box's middle
  double of_reach = 0;   ///< times the box's reach
  double of_near = 0;    ///< canonical, times that of the nearest prototype
  double of_half = 0;    ///< canonical, times the sum of the squared half widths
  double underflow = 0;

  /// `scale`: tests only; multiplies all of it, the reach of the box included.
  static BoxBound make(int64_t d, double scale) {
    const auto columns = static_cast<double>(d);
    const double relative = (columns + 8) * 0x1p-52;
    const double canonical = (columns / 8 + 8) * 0x1p-52;
    return {scale * relative, scale * 2 * (1 + relative), scale * 2.25 * canonical, scale * 36 * canonical,
            scale * columns * 0x1p-1070};
  }
};

/// All points with |x_j - middle_j| <= half_j.
template <int D>
struct Box {
  double middle[D];
  double half[D];
  double half_square;  ///< at least the sum of half_j^2
};

/// The squared distance of a prototype to the middle.
template <int D>
__host__ __device__ inline double square_to_middle(const Box<D>& box, const double (&c)[D]) {
  double square = 0;
  for (int j = 0; j < D; ++j) {
    const double t = box.middle[j] - c[j];
    square = fma(t, t, square);
  }
  return square;
}

/// A prototype with which others are compared, and what all these comparisons share.
template <int D>
struct NearPrototype {
  double c[D];
  double square;  ///< square_to_middle()
  double fixed;   ///< of the bound

  __host__ __device__ void compare_by(const BoxBound& bound, const Box<D>& box, double square_of_c) {
    square = square_of_c;
    fixed = fma(bound.of_square + bound.of_near, square, fma(bound.of_half, box.half_square, bound.underflow));
  }
};

/// Returns true if every point of the box is nearer to `near`, any prototype, than to `c`, in canonical distance.
/// Returns false for near itself, and for NaN.
template <int D>
__host__ __device__ inline bool falls_out(const BoxBound& bound, const Box<D>& box, const NearPrototype<D>& near,
                                          const double (&c)[D]) {
  double square = 0;
  double reach = 0;
  for (int j = 0; j < D; ++j) {
    const double t = box.middle[j] - c[j];
    square = fma(t, t, square);
    reach = fma(box.half[j], fabs(near.c[j] - c[j]), reach);
  }
  return square - near.square > fma(bound.of_reach, reach, fma(bound.of_square, square, near.fixed));
}

}  // namespace manymeans::cuda
