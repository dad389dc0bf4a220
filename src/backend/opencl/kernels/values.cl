// Values of the points and prototypes, and the canonical distance: docs/developer/contract.md, "Distance and label".
// -D options: POINT_TYPE (the number of a DataType).
#pragma OPENCL FP_CONTRACT OFF

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#if POINT_TYPE == 1
typedef double Prototype;
#define WIDENED8(v) (v)
#else
typedef float Prototype;
#define WIDENED8(v) convert_double8(v)
#endif

// IEEE binary16 by integers: the exponent's bias differs by 112, and denormal numbers come out right too.
float half_value(uint bits) {
  const float magnitude = as_float((bits & 0x7fff) << 13) * 0x1p112f;
  return as_float(as_uint(magnitude) | (bits & 0x8000) << 16);
}

// Value `at` of the points, exact.
double value_at(__global const uchar* points, long at) {
#if POINT_TYPE == 0
  return ((__global const float*)points)[at];
#elif POINT_TYPE == 1
  return ((__global const double*)points)[at];
#elif POINT_TYPE == 2
  return half_value(((__global const ushort*)points)[at]);
#elif POINT_TYPE == 3
  return as_float((uint)((__global const ushort*)points)[at] << 16);
#elif POINT_TYPE == 4
  return points[at];
#else
  return ((__global const char*)points)[at];
#endif
}

// Eight values.
double8 values_at(__global const uchar* points, long at) {
#if POINT_TYPE == 0
  return convert_double8(vload8(0, (__global const float*)points + at));
#elif POINT_TYPE == 1
  return vload8(0, (__global const double*)points + at);
#elif POINT_TYPE == 3
  return convert_double8(as_float8(convert_uint8(vload8(0, (__global const ushort*)points + at)) << 16));
#elif POINT_TYPE == 4
  return convert_double8(vload8(0, points + at));
#elif POINT_TYPE == 5
  return convert_double8(vload8(0, (__global const char*)points + at));
#else
  return (double8)(value_at(points, at), value_at(points, at + 1), value_at(points, at + 2), value_at(points, at + 3),
                   value_at(points, at + 4), value_at(points, at + 5), value_at(points, at + 6),
                   value_at(points, at + 7));
#endif
}

double squared_step(double x, double c, double p) {
  const double t = x - c;
  return fma(t, t, p);
}

// d2 of the row whose values begin at x, and a prototype.
double canonical_distance(__global const uchar* points, long x, __global const Prototype* c, long d) {
  double8 p = 0.0;
  long j = 0;
  for (; j + 8 <= d; j += 8) {
    const double8 t = values_at(points, x + j) - WIDENED8(vload8(0, c + j));
    p = fma(t, t, p);
  }
  if (j < d) p.s0 = squared_step(value_at(points, x + j), c[j], p.s0);
  if (j + 1 < d) p.s1 = squared_step(value_at(points, x + j + 1), c[j + 1], p.s1);
  if (j + 2 < d) p.s2 = squared_step(value_at(points, x + j + 2), c[j + 2], p.s2);
  if (j + 3 < d) p.s3 = squared_step(value_at(points, x + j + 3), c[j + 3], p.s3);
  if (j + 4 < d) p.s4 = squared_step(value_at(points, x + j + 4), c[j + 4], p.s4);
  if (j + 5 < d) p.s5 = squared_step(value_at(points, x + j + 5), c[j + 5], p.s5);
  if (j + 6 < d) p.s6 = squared_step(value_at(points, x + j + 6), c[j + 6], p.s6);
  const double4 half_sums = p.lo + p.hi;
  const double2 last_two = half_sums.lo + half_sums.hi;
  return last_two.x + last_two.y;
}

// v * 2^e, rounded at most when the result is a denormal number; e within +-3000.
double scaled_by_power(double v, int e) {
  for (; e > 1000; e -= 1000) v *= 0x1p1000;
  for (; e < -1000; e += 1000) v *= 0x1p-1000;
  return v * as_double((long)(e + 1023) << 52);
}

// The nearest integer of |y| <= 2^62, ties to even; rint() is a function of many steps on some devices.
long nearest_integer(double y) {
  const double shift = copysign(0x1p52, y);
  return (long)(fabs(y) < 0x1p52 ? (y + shift) - shift : y);
}

double weight_of(RowBlock rows, __global const double* weights, long row) {
  return rows.weighted ? weights[rows.weights + row] : 1.0;
}

// Adds T(v) of an order-free sum in limbs: sums[g] weighs 2^(g * bits). `y` is v times the column's power of two. All
// parts have the sign of v, each remainder is exact, only the last limb rounds. Parts that were written one by one, to
// be added as vectors, would be waited for.
void add_parts(double y, int limbs, int bits, long* sums) {
  const double radix = as_double((long)(bits + 1023) << 52);
  for (int g = limbs - 1; g > 0; --g) {
    const long part = (long)y;
    sums[g] = (long)((ulong)sums[g] + (ulong)part);
    y = (y - (double)part) * radix;
  }
  sums[0] = (long)((ulong)sums[0] + (ulong)nearest_integer(y));
}

#if GROUP_ITEMS == 1
// The same of eight terms, each to the sums of its lane; for at most so many bits of a limb. Parts are rounded, not cut:
// y + 1.5 2^52 has the integer in its lowest bits, and what is left is exact, too. That needs no conversion, which
// processors have for vectors only with AVX-512.
#define MOST_LANE_BITS 50
#define LANE_ROUNDER 0x1.8p52

void add_parts_of_lanes(double8 y, int limbs, int bits, long8* sums) {
  const double radix = as_double((long)(bits + 1023) << 52);
#pragma unroll
  for (int g = limbs - 1; g >= 0; --g) {
    const double8 rounded = y + LANE_ROUNDER;
    sums[g] += as_long8(rounded) - as_long(LANE_ROUNDER);
    y = (y - (rounded - LANE_ROUNDER)) * radix;
  }
}
#endif
