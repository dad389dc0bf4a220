// Arithmetic that the host repeats, to find out whether a device computes as the contract asks.
#pragma OPENCL FP_CONTRACT OFF

#ifdef CHECK_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// Eight answers for each triple, as bits.
__kernel void check_doubles(__global const double* triples, __global ulong* answers, long count) {
  FOR_EACH(i, count) {
    const double a = triples[3 * i];
    const double b = triples[3 * i + 1];
    const double c = triples[3 * i + 2];
    __global ulong* const out = answers + 8 * i;
    out[0] = as_ulong(fma(a, b, c));
    out[1] = as_ulong(a * b + c);
    out[2] = as_ulong(a - b);
    out[3] = as_ulong(a / b);
    out[4] = as_ulong(sqrt(fabs(a)));
    out[5] = as_uint((float)a);
    out[6] = as_ulong((double)as_float((uint)as_ulong(b) & 0xbfffffffU));
     out[7] = as_ulong((double)as_long(c)) + (ulong)(long)rint(as_double(as_ulong(c) % 0x43d0000000000000UL));
  }
}
#endif

// The same of float32; what underflows may be zero, and the host forgives that.
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
