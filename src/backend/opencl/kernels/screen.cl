// The float32 screen: for each row the column with the largest upper score, and whether that proves its label.
//
//   u_k = start_k + n slope_k + sum_j y_j z_kj,  n >= |y|
//
// A work-item takes WIDTH rows in the lanes of a vector and walks over the columns, COLUMNS at a time, of all models:
// one reading of a row serves the whole ensemble. For up to 16 columns of the points (D) the row's values stay in
// registers; else they are read again for every group, in neighbouring lanes, from caches. Groups of columns lie as
// (start, slope, error, z_0, z_1, ..) of COLUMNS numbers each. An index beside every score costs one instruction. Work
// per score is D + 6 vector instructions; reading is (D + 1) * 4 bytes a row.
//
// -D options: D (0: as the shape says), WIDTH (4, 8 or 16), COLUMNS.
#pragma OPENCL FP_CONTRACT OFF

typedef JOIN(float, WIDTH) Floats;
typedef JOIN(int, WIDTH) Ints;
#define LOAD JOIN(vload, WIDTH)
#define STORE JOIN(vstore, WIDTH)

// What COLUMNS columns have at one place.
typedef union {
  JOIN(float, COLUMNS) all;
  float of[COLUMNS];
} Columns;

// A GPU reads them at once, or reading would take longer than the products; a processor spreads each over a register.
Columns columns_at(__global const float* at) {
  Columns columns;
#if CONTIGUOUS
#pragma unroll
  for (int c = 0; c < COLUMNS; ++c) columns.of[c] = at[c];
#else
  columns.all = *(__global const JOIN(float, COLUMNS)*)at;
#endif
  return columns;
}

// Whether every lane of a comparison is true; all() is a branch a lane on some devices.
int every(Ints lanes) {
#if WIDTH == 16
  const int8 eight = lanes.lo & lanes.hi;
  const int4 four = eight.lo & eight.hi;
#elif WIDTH == 8
  const int4 four = lanes.lo & lanes.hi;
#else
  const int4 four = lanes;
#endif
  const int2 two = four.lo & four.hi;
  return two.x & two.y;
}

// What is known of WIDTH rows and one model.
typedef struct {
  Floats best, second;
  Ints column;  // of the best, among the model's
} TopTwo;

// The upper scores of all columns of a model.
INLINED TopTwo look(__global const float* group, long groups, __global const float* packed, const Floats* values,
                    Floats norm, long d) {
  TopTwo top;
  top.best = top.second = (Floats)(-INFINITY);
  top.column = (Ints)(0);
  for (int g = 0; g < groups; ++g, group += (d + 3) * COLUMNS) {
    Floats u[COLUMNS];
    const Columns starts = columns_at(group);
    const Columns slopes = columns_at(group + COLUMNS);
#pragma unroll
    for (int c = 0; c < COLUMNS; ++c) u[c] = fma(norm, (Floats)(slopes.of[c]), (Floats)(starts.of[c]));
#if D > 0
#pragma unroll
    for (int j = 0; j < D; ++j) {
      const Floats y = values[j];
#else
#if !CONTIGUOUS
#pragma unroll 8  // so that a GPU reads ahead: 0.29 to 0.18 ms for 500,000 rows of 54 columns and 64 prototypes on an H100
#endif
    for (int j = 0; j < d; ++j) {
      const Floats y = LOAD(0, packed + (long)j * MANYMEANS_PACKED_ROWS);
#endif
      const Columns z = columns_at(group + (3 + j) * COLUMNS);
#pragma unroll
      for (int c = 0; c < COLUMNS; ++c) u[c] = fma(y, (Floats)(z.of[c]), u[c]);
    }
#pragma unroll
    for (int c = 0; c < COLUMNS; ++c) {
      const Ints better = u[c] > top.best;
      const Floats lesser = better ? top.best : u[c];
      top.second = lesser > top.second ? lesser : top.second;
      top.best = better ? u[c] : top.best;
      top.column = better ? (Ints)(g * COLUMNS + c) : top.column;
    }
  }
  return top;
}

// u_b - 2 e_b less what the row itself is off by: the label is proved where this exceeds the second best. `error` is
// that of the best column, or more.
#define LOWER(best, error, norm, bound) \
  ((best) - 2.0f * (1.0f + 0x1p-20f) * (error) - ((bound).slack * (norm) * (norm) + (bound).underflow))

// Lanes that the largest error of the model's columns does not prove, looked at one by one with their own column's; a
// bit for each that is not proved either.
uint unproved_lanes(TopTwo top, Floats norms, ScoreBound bound, __global const float* columns, int lanes, long d) {
  float best[WIDTH], second[WIDTH], norm[WIDTH];
  int column[WIDTH];
  STORE(top.best, 0, best);
  STORE(top.second, 0, second);
  STORE(norms, 0, norm);
  STORE(top.column, 0, column);
  uint unproved = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    __global const float* const of_column =
        columns + column[lane] / COLUMNS * (d + 3) * COLUMNS + column[lane] % COLUMNS;
    const float error = norm[lane] * of_column[COLUMNS] + of_column[2 * COLUMNS];
    if (!(LOWER(best[lane], error, norm[lane], bound) > second[lane])) unproved |= 1U << lane;
  }
  return unproved;
}

// `at` is a multiple of WIDTH; vstore() is an instruction for each byte in PoCL.
INLINED void store_labels(__global uchar* next, int width, long at, Ints labels, int lanes) {
  if (lanes == WIDTH) {
    if (width == 1) {
      *(__global JOIN(uchar, WIDTH)*)(next + at) = CONVERTED(labels, JOIN(uchar, WIDTH));
    } else if (width == 2) {
      *(__global JOIN(ushort, WIDTH)*)(next + 2 * at) = CONVERTED(labels, JOIN(ushort, WIDTH));
    } else {
      *(__global Ints*)(next + 4 * at) = labels;
    }
    return;
  }
  int label[WIDTH];
  STORE(labels, 0, label);
  for (int lane = 0; lane < lanes; ++lane) store_label(next, width, at + lane, (uint)label[lane]);
}

// Labels of all rows and models, and marks of those that are not proved. `first` is the first value of `packed`. The
// models are shared out among MODELS.
__kernel void screen(Shape shape, ScoreBound bound, long rows, __global const Range* ranges,
                     __global const uint* control, __global const float* packed, long first,
                     __global const float* columns, __global const int* states, __global uint* marks,
                     __global uchar* next) {
  if (control[0] != 0) return;
#if D > 0
  const long d = D;
#else
  const long d = shape.d;
#endif
  const int parts = MODELS;
  const int first_range = (long)shape.ranges * MODEL / parts;
  const int last_range = (long)shape.ranges * (MODEL + 1) / parts;
  packed += first;
  FOR_EACH(vector, (rows + WIDTH - 1) / WIDTH) {
    const long row = vector * WIDTH;
    const int lanes = (int)min(rows - row, (long)WIDTH);
    __global const float* const mine =
        packed + row / MANYMEANS_PACKED_ROWS * (d + 1) * MANYMEANS_PACKED_ROWS + row % MANYMEANS_PACKED_ROWS;
#if D > 0
    Floats values[D];
#pragma unroll
    for (int j = 0; j < D; ++j) values[j] = LOAD(0, mine + j * MANYMEANS_PACKED_ROWS);
#else
    const Floats* const values = 0;
#endif
    const Floats norm = LOAD(0, mine + d * MANYMEANS_PACKED_ROWS);
    for (int r = first_range; r < last_range; ++r) {
      const Range range = ranges[r];
      __global const float* const of_model = columns + range.first * (d + 3);
      const TopTwo top = look(of_model, (range.k + COLUMNS - 1) / COLUMNS, mine, values, norm, d);
      store_labels(next, shape.label_width, range.slot * shape.next_stride + row, top.column, lanes);
      uint unproved = ~0U >> (32 - lanes);
      if (states[r * kStates + kFar] == 0) {
        const Floats slope = (Floats)(as_float(states[r * kStates + kTopSlope]));
        const Floats error = norm * slope + (Floats)(as_float(states[r * kStates + kTopError]));
        if (lanes == WIDTH && every(LOWER(top.best, error, norm, bound) > top.second)) continue;
        unproved = unproved_lanes(top, norm, bound, of_model, lanes, d);
      }
      if (unproved != 0) atomic_or(marks + r * shape.mark_stride + row / 32, unproved << row % 32);
    }
  }
}
