// Sums of products in binary64, for the screen of matrix products (docs/developer/screens.md, "Products").
//
// -D options: TILE_ROWS, BLOCK_DEPTH. A tile has 8 columns.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

// A work-item sums a tile. Value l of a panel of `a` is TILE_ROWS numbers, of `b` 8 of them. BLOCK_DEPTH products are
// summed by themselves before they meet the sums of others.
__kernel void add_products(__global const double* a, __global const double* b, __global double* sums, long tiles,
                           long panels_b, long depth) {
  const long tile = (long)get_global_id(0);
  if (tile >= tiles) return;
  a += tile / panels_b * depth * TILE_ROWS;
  b += tile % panels_b * depth * 8;
  sums += tile * TILE_ROWS * 8;
  for (long first = 0; first < depth; first += BLOCK_DEPTH) {
    const long end = min(first + (long)BLOCK_DEPTH, depth);
    double8 part[TILE_ROWS];
#pragma unroll
    for (int r = 0; r < TILE_ROWS; ++r) part[r] = (double8)(0.0);
    for (long l = first; l < end; ++l) {
      const double8 columns = vload8(l, b);
#pragma unroll
      for (int r = 0; r < TILE_ROWS; ++r) part[r] = fma((double8)(a[l * TILE_ROWS + r]), columns, part[r]);
    }
#pragma unroll
    for (int r = 0; r < TILE_ROWS; ++r) vstore8(vload8(r, sums) + part[r], r, sums);
  }
}
