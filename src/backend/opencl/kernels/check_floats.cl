// The same as check_doubles.cl in float32. No triple underflows: a device may then answer zero, which the bound allows
// for.
#pragma OPENCL FP_CONTRACT OFF

uint folded(uint all, uint answer) { return (all ^ answer) * 0x9e3779b1U; }

uint sum_of_lanes(uint8 v) {
  const uint4 four = v.lo + v.hi;
  const uint2 two = four.lo + four.hi;
  return two.x + two.y;
}

// By vectors, with what the screen does besides.
uint answer_of_vectors(__global const float* triples) {
  const float8 a = vload8(0, triples);
  const float8 b = vload8(1, triples);
  const float8 c = vload8(2, triples);
  uint all = folded(0, sum_of_lanes(as_uint8(fma(a, b, c))));
  all = folded(all, sum_of_lanes(as_uint8(a * b + c)));
  all = folded(all, sum_of_lanes(as_uint8(a > b ? a : c)));
  all = folded(all, sum_of_lanes(convert_uint8(convert_uchar8(as_int8(a) & 0xff))));
  return folded(all, sum_of_lanes(convert_uint8(convert_ushort8(as_int8(a) & 0xffff))));
}

__kernel void check_floats(__global const float* triples, __global uint* answers, long count) {
  FOR_EACH(i, count) {
    const float a = triples[3 * i];
    const float b = triples[3 * i + 1];
    const float c = triples[3 * i + 2];
    uint all = folded(0, as_uint(fma(a, b, c)));
    all = folded(all, as_uint(a * b + c));
    all = folded(all, as_uint(a - b));
    all = folded(all, as_uint(a * b));
    answers[i] = i % 8 == 0 ? folded(all, answer_of_vectors(triples + 3 * i)) : all;
  }
}
