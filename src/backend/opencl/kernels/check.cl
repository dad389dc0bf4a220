// Arithmetic that the host repeats, to find out whether a device computes as the contract asks.
#pragma OPENCL FP_CONTRACT OFF

#ifdef CHECK_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// Any NaN is as good as another.
ulong bits_of(double v) { return isnan(v) ? 0x7ff8000000000000UL : as_ulong(v); }

ulong folded(ulong all, ulong answer) { return (all ^ answer) * 0x9e3779b97f4a7c15UL; }

// Eight answers for each triple, folded into one number: memory that is new takes longer than the arithmetic.
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
    const long rounded = (long)rint(as_double(as_ulong(c) % 0x43d0000000000000UL));
    answers[i] = folded(all, as_ulong((double)as_long(c)) + (ulong)rounded);
  }
}
#endif

// The same of float32. No triple underflows: a device may then answer zero, which the bound allows for.
__kernel void check_floats(__global const float* triples, __global uint* answers, long count) {
  FOR_EACH(i, count) {
    const float a = triples[3 * i];
    const float b = triples[3 * i + 1];
    const float c = triples[3 * i + 2];
    __global uint* const out = answers + 4 * i;
    out[0] = as_uint(fma(a, b, c));
    out[1] = as_uint(a * b + c);
    out[2] = as_uint(a - b);
    out[3] = as_uint(a * b);
  }
}
