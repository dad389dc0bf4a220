// What a row adds to the sums of a linear model: docs/developer/contract.md, "Linear models". Behind accumulate.cl.
//
// -D options: PRODUCTS (else there is nothing here), RESTS (what products were rounded by may be other than 0).
#pragma OPENCL FP_CONTRACT OFF

#if PRODUCTS
// Pairs (i, j) with j >= i, row by row of the upper triangle; the last value of a row is the 1 behind it.
void add_terms_of_value(Shape shape, double weight, __global const uchar* points, long x, long i,
                        __global const double* tops, __global const int* exponents, SUMS_SPACE ulong* to,
                        SUMS_SPACE ulong* from) {
  const long d = shape.d;
  const double a = value_at(points, x + i);
  long term = 2 * (i * (d + 1) - i * (i - 1) / 2);
  for (long j = i; j <= d; ++j) {
    const double b = j == d ? 1.0 : value_at(points, x + j);
    const double product = a * b;
    const double weighted = weight * product;
    add_term(shape, weighted, term, tops, exponents, to, from);
#if RESTS
    const double rest = fma(weight, product, -weighted) + weight * fma(a, b, -product);
    add_term(shape, rest, term + 1, tops, exponents, to, from);
#endif
    term += 2;
  }
}
#endif
