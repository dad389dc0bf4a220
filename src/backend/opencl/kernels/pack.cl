// The points and prototypes as the float32 screen sees them. Proof: docs/developer/screens.md, "Float32 on a GPU" and
// "Float32 in OpenCL".
//
// -D options: COLUMNS (columns of a group, see screen.cl).
#pragma OPENCL FP_CONTRACT OFF

// Rounded to float32, upwards.
float rounded_up(double v) {
  const float rounded = (float)v;
  if ((double)rounded >= v) return rounded;
  return as_float(as_int(rounded) + (rounded < 0 ? -1 : 1));
}

// y = (x - centre) * 2^exponent of each row, rounded, and its norm, rounded up.
__kernel void pack_points(RowBlock rows, long d, double scale, __global const uchar* points,
                          __global const double* centre, __global float* packed) {
  points += rows.points;
  FOR_EACH(row, rows.count) {
    __global float* const to =
        packed + row / MANYMEANS_PACKED_ROWS * (d + 1) * MANYMEANS_PACKED_ROWS + row % MANYMEANS_PACKED_ROWS;
    double sum = 0;
    for (long j = 0; j < d; ++j) {
      const double y = (value_at(points, row * d + j) - centre[j]) * scale;
      sum = fma(y, y, sum);
      to[j * MANYMEANS_PACKED_ROWS] = (float)y;
    }
    to[d * MANYMEANS_PACKED_ROWS] = rounded_up(sqrt(sum) * (1 + 0x1p-20) + 0x1p-70);
  }
}

// Columns of the prototypes, see screen.cl. `slope`, `square` and `absolute` are those of FloatBound. The second
// dimension is the model.
typedef struct {
  double slope;
  double square;
  double absolute;
  double scale;
} ColumnBound;

__kernel void pack_columns(Shape shape, ColumnBound bound, __global const Range* ranges, __global const uint* control,
                           __global const Prototype* prototypes, __global const double* centre,
                           __global float* columns, __global int* states) {
  if (control[0] != 0) return;
  const int r = MODEL;
  const Range range = ranges[r];
  const long d = shape.d;
  FOR_EACH(k, (range.k + COLUMNS - 1) / COLUMNS * COLUMNS) {
    const long column = range.first + k;
    __global float* const to = columns + column / COLUMNS * (d + 3) * COLUMNS + column % COLUMNS;
    double sum = 0;
    for (long j = 0; j < d; ++j) {
      double z = 0;
      if (k < range.k) z = ((double)prototypes[range.prototypes + k * d + j] - centre[j]) * bound.scale;
      sum = fma(z, z, sum);
      to[(3 + j) * COLUMNS] = fabs(z) < 0x1p62 ? (float)z : 0.0f;
    }
    const double norm = sqrt(sum) * (1 + 0x1p-20);
    const bool screenable = norm < 0x1p62;  // its square is below 2^126, within float32; false for NaN
    float start = -0x1p126f;                // never wins
    float slope = 0;
    float error = 0;
    if (!screenable) states[r * kStates + kFar] = 1;
    if (k < range.k && screenable) {
      const double half_square = sum / 2;
      const double off = bound.square * half_square + bound.absolute;
      start = rounded_up(off - half_square);
      slope = rounded_up(bound.slope * norm);
      error = rounded_up(off);
    }
    to[0] = start;
    to[COLUMNS] = slope;
    to[2 * COLUMNS] = error;
    // Numbers that are not negative are in the order of their bits.
    atomic_max((volatile __global int*)states + r * kStates + kTopSlope, as_int(slope));
    atomic_max((volatile __global int*)states + r * kStates + kTopError, as_int(error));
  }
}
