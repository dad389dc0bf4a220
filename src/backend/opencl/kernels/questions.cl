// Canonical distances of rows to the prototypes that labels assign them to, and what is made of them.
#pragma OPENCL FP_CONTRACT OFF

#ifndef DISTANCE
#define DISTANCE canonical_distance
#define OF_CENTROIDS 1
#else
#define OF_CENTROIDS 0
#endif

// The labels of the rows: `first` is that of the first row, in labels.
typedef struct {
  Int64 d;
  Int64 first;
  Int64 prototypes;  // the first value
  Int32 width;
  Int32 unused;
} Assigned;

double assigned_distance(Assigned assigned, __global const uchar* points, __global const uchar* labels,
                         __global const Prototype* prototypes, long row) {
  const long label = load_label(labels, assigned.width, assigned.first + row);
  return DISTANCE(points, row * assigned.d, prototypes + assigned.prototypes + label * assigned.d, assigned.d);
}

// The power of two of the highest limb in a format, and that in one for terms twice as large.
typedef struct {
  Int32 top[2];
  Int32 bits;
  Int32 unused;
} TermFormats;

// Limbs in both formats, and the bits of the largest d2 with w' > 0.
#define NUMBERS_FOUND 7

// Two of number i as one.
long joined(int i, long a, long b) {
  return i < NUMBERS_FOUND - 1 ? (long)((ulong)a + (ulong)b) : max(a, b);
}

// Puts what the work-items of a group found into one place, and joins it to what is in `to`, or writes it there.
void join_group(const long* sums, __local long* scratch, __global long* to, bool add) {
  const int me = get_local_id(0);
  for (int i = 0; i < NUMBERS_FOUND; ++i) scratch[me * NUMBERS_FOUND + i] = sums[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = me; i < NUMBERS_FOUND; i += GROUP_ITEMS) {
    long all = add ? to[i] : 0;
    for (int item = 0; item < GROUP_ITEMS; ++item) all = joined(i, all, scratch[item * NUMBERS_FOUND + i]);
    to[i] = all;
  }
}

// Of every `step`-th row; returns the largest d2.
double add_terms_of_rows(Assigned assigned, RowBlock rows, TermFormats formats, long step, __global const uchar* points,
                         __global const double* weights, __global const uchar* labels,
                         __global const Prototype* prototypes, long* sums) {
  double farthest = 0;
  FOR_EACH(i, (rows.count + step - 1) / step) {
    const long row = i * step;
    const double w = weight_of(rows, weights, row);
    if (!(w > 0)) continue;
    const double d2 = assigned_distance(assigned, points, labels, prototypes, row);
    farthest = d2 > farthest ? d2 : farthest;
    for (int f = 0; f < 2; ++f) add_parts(scaled_by_power(w * d2, formats.top[f]), 3, formats.bits, sums + f * 3);
  }
  return farthest;
}

// Rows of few columns, eight at a time in the lanes of vectors: a work-item that is alone has these.
#if GROUP_ITEMS == 1 && OF_CENTROIDS
#define LANES_COLUMNS 8  // fewer than these: a partial sum of the distance has one column, or none

// d2 of eight rows, of which so many are there, as canonical_distance() has it.
double8 assigned_distances(Assigned assigned, __global const uchar* points, __global const uchar* labels,
                           __global const Prototype* prototypes, long row, int count) {
  const long d = assigned.d;
  ulong label[8];
  vstore8(load_labels(labels, assigned.width, assigned.first + row, count), 0, label);
  double8 p[LANES_COLUMNS];
#pragma unroll
  for (int j = 0; j < LANES_COLUMNS; ++j) {
    p[j] = (double8)(0.0);
    if (j >= d) continue;
    double x[8], c[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      x[i] = value_at(points, (row + min(i, count - 1)) * d + j);
      c[i] = prototypes[assigned.prototypes + (long)label[i] * d + j];
    }
    const double8 t = vload8(0, x) - vload8(0, c);
    p[j] = t * t;
  }
  return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

double add_terms_of_lanes(Assigned assigned, RowBlock rows, TermFormats formats, __global const uchar* points,
                          __global const double* weights, __global const uchar* labels,
                          __global const Prototype* prototypes, long* sums) {
  const double factor[2] = {scaled_by_power(1.0, formats.top[0]), scaled_by_power(1.0, formats.top[1])};
  const long8 lane = (long8)(0, 1, 2, 3, 4, 5, 6, 7);
  double8 farthest = (double8)(0.0);
  long8 all[6];
  for (int i = 0; i < 6; ++i) all[i] = (long8)(0);
  FOR_EACH(vector, (rows.count + 7) / 8) {
    const long row = vector * 8;
    const int count = (int)min(rows.count - row, 8L);
    double8 w = (double8)(1.0);
    if (rows.weighted) {
      double of_row[8];
      for (int i = 0; i < 8; ++i) of_row[i] = weights[rows.weights + row + min(i, count - 1)];
      w = vload8(0, of_row);
    }
    const long8 counts = (lane < (long8)(count)) & (w > 0.0);
    double8 d2 = assigned_distances(assigned, points, labels, prototypes, row, count);
    d2 = counts ? d2 : (double8)(0.0);
    w = counts ? w : (double8)(0.0);
    farthest = d2 > farthest ? d2 : farthest;
#pragma unroll
    for (int f = 0; f < 2; ++f) add_parts_of_lanes(w * d2 * factor[f], 3, formats.bits, all + f * 3);
  }
  for (int i = 0; i < 6; ++i) sums[i] = (long)sum_of_words(as_ulong8(all[i]));
  double of_lane[8], most = 0;
  vstore8(farthest, 0, of_lane);
  for (int i = 0; i < 8; ++i) most = fmax(most, of_lane[i]);
  return most;
}
#endif

// What each group found.
__kernel void add_terms(Assigned assigned, RowBlock rows, TermFormats formats, long step, __global const uchar* points,
                        __global const double* weights, __global const uchar* labels,
                        __global const Prototype* prototypes, __global long* found) {
  __local long scratch[GROUP_ITEMS * NUMBERS_FOUND];
  long sums[NUMBERS_FOUND] = {0, 0, 0, 0, 0, 0, 0};
  double farthest;
  points += rows.points;
#ifdef LANES_COLUMNS
  if (step == 1 && assigned.d < LANES_COLUMNS && formats.bits <= MOST_LANE_BITS && abs(formats.top[0]) < 1000) {
    farthest = add_terms_of_lanes(assigned, rows, formats, points, weights, labels, prototypes, sums);
  } else
#endif
  {
    farthest = add_terms_of_rows(assigned, rows, formats, step, points, weights, labels, prototypes, sums);
  }
  sums[6] = as_long(farthest);
  join_group(sums, scratch, found + GROUP_NUMBER * NUMBERS_FOUND, false);
}

// Adds what `count` groups found to `sums`; one group.
__kernel void join_terms(__global const long* found, long count, __global long* sums, long at) {
  __local long scratch[GROUP_ITEMS * NUMBERS_FOUND];
  long mine[NUMBERS_FOUND] = {0, 0, 0, 0, 0, 0, 0};
  for (long group = get_local_id(0); group < count; group += GROUP_ITEMS) {
    for (int i = 0; i < NUMBERS_FOUND; ++i) mine[i] = joined(i, mine[i], found[group * NUMBERS_FOUND + i]);
  }
  join_group(mine, scratch, sums + at, true);
}

#if GROUP_ITEMS == 1
// Sums of the label terms' words of all rows, eight at a time.
void add_words_of_rows(__global const uchar* labels, int width, long at, long first, long count, long* sums) {
  const ulong8 lane = (ulong8)(0, 1, 2, 3, 4, 5, 6, 7);
  ulong8 all[4] = {(ulong8)(0), (ulong8)(0), (ulong8)(0), (ulong8)(0)};
  FOR_EACH(vector, (count + 7) / 8) {
    const long row = vector * 8;
    const int rows = (int)min(count - row, 8L);
    ulong8 words[4];
    label_words((ulong)(first + row) + lane, load_labels(labels, width, at + row, rows), words);
    const ulong8 there = as_ulong8(lane < (ulong8)(rows));
    for (int i = 0; i < 4; ++i) all[i] += words[i] & there;
  }
  for (int i = 0; i < 4; ++i) sums[i] = (long)sum_of_words(all[i]);
}
#else
void add_words_of_rows(__global const uchar* labels, int width, long at, long first, long count, long* sums) {
  FOR_EACH(row, count) {
    const uint4 term = label_term((ulong)(first + row), load_label(labels, width, at + row));
    sums[0] += term.x;
    sums[1] += term.y;
    sums[2] += term.z;
    sums[3] += term.w;
  }
}
#endif

// What each group found, as add_terms has it: sums of the label terms' words. Label 0 is at `at`, and its row is number
// `first` of all.
__kernel void add_label_terms(__global const uchar* labels, int width, long at, long first, long count,
                              __global long* found) {
  __local long scratch[GROUP_ITEMS * NUMBERS_FOUND];
  long sums[NUMBERS_FOUND] = {0, 0, 0, 0, 0, 0, 0};
  add_words_of_rows(labels, width, at, first, count, sums);
  join_group(sums, scratch, found + GROUP_NUMBER * NUMBERS_FOUND, false);
}

__kernel void distances(Assigned assigned, RowBlock rows, __global const uchar* points, __global const uchar* labels,
                        __global const Prototype* prototypes, __global double* out, long at) {
  points += rows.points;
  FOR_EACH(row, rows.count) out[at + row] = assigned_distance(assigned, points, labels, prototypes, row);
}

// out[i] = the distance of row i / k to prototype i % k.
__kernel void transform(long d, RowBlock rows, long k, __global const uchar* points,
                        __global const Prototype* prototypes, long first, __global Prototype* out, long at) {
  points += rows.points;
  prototypes += first;
  FOR_EACH(i, rows.count * k) {
    const double root = sqrt(DISTANCE(points, i / k * d, prototypes + i % k * d, d));
#if POINT_TYPE == 1
    out[at + i] = root;
#else
    out[at + i] = (float)root;
#endif
  }
}
