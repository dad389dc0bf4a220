// Arithmetic in binary64 that the host repeats, to find out whether a device computes as the contract asks.
// device_check.cpp has the host's.
#pragma OPENCL FP_CONTRACT OFF

// Any NaN is as good as another.
ulong bits_of(double v) { return isnan(v) ? 0x7ff8000000000000UL : as_ulong(v); }

ulong folded(ulong all, ulong answer) { return (all ^ answer) * 0x9e3779b97f4a7c15UL; }

ulong sum_of_lanes(double8 v) {
  const ulong8 bits = as_ulong8(v);
  const ulong4 four = bits.lo + bits.hi;
  const ulong2 two = four.lo + four.hi;
  return two.x + two.y;
}

// By vectors, of which no lane becomes NaN.
ulong answer_of_vectors(__global const double* triples) {
  const double8 a = vload8(0, triples);
  const double8 b = vload8(1, triples);
  const double8 rest = a - convert_double8(convert_float8(a));
  ulong all = folded(0, sum_of_lanes(fma(rest, rest, b)));
  all = folded(all, sum_of_lanes(rest * rest + b));
  all = folded(all, sum_of_lanes(convert_double8(vload8(0, (__global const uchar*)triples))));
  return folded(all, sum_of_lanes(convert_double8(vload8(0, (__global const char*)triples))));
}

// The answers for each triple, folded into one number: memory that is new takes longer than the arithmetic. Every eighth
// number has those for eight triples as vectors, too.
__kernel void check_doubles(__global const double* triples, __global ulong* answers, long count) {
  FOR_EACH(i, count) {
    const double a = triples[3 * i];
    const double b = triples[3 * i + 1];
    const double c = triples[3 * i + 2];
    ulong all = folded(0, bits_of(fma(a, b, c)));
    all = folded(all, bits_of(a * b + c));
    all = folded(all, bits_of(a - b));
    all = folded(all, bits_of(a / b));
    all = folded(all, bits_of(sqrt(fabs(a))));
    all = folded(all, as_uint((float)a));
    all = folded(all, bits_of((double)as_float((uint)as_ulong(b) & 0xbfffffffU)));
    const double at_most_two_to_62 = as_double(as_ulong(c) % 0x43d0000000000000UL);
    const long rounded = nearest_integer(copysign(at_most_two_to_62, a));
    all = folded(all, as_ulong((double)as_long(c)) + (ulong)rounded);
    answers[i] = i % 8 == 0 ? folded(all, answer_of_vectors(triples + 3 * i)) : all;
  }
}
