// Canonical distances of rows to the prototypes that labels assign them to, and what is made of them.
#pragma OPENCL FP_CONTRACT OFF

#ifndef DISTANCE
#define DISTANCE canonical_distance
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

// What one work-item found: limbs in both formats, and the bits of the largest d2 with w' > 0.
__kernel void add_terms(Assigned assigned, RowBlock rows, TermFormats formats, long step, __global const uchar* points,
                        __global const double* weights, __global const uchar* labels,
                        __global const Prototype* prototypes, __global long* found) {
  long sums[7] = {0, 0, 0, 0, 0, 0, 0};
  double farthest = 0;
  points += rows.points;
  FOR_EACH(i, (rows.count + step - 1) / step) {
    const long row = i * step;
    const double w = weight_of(rows, weights, row);
    if (!(w > 0)) continue;
    const double d2 = assigned_distance(assigned, points, labels, prototypes, row);
    farthest = d2 > farthest ? d2 : farthest;
    for (int f = 0; f < 2; ++f) {
      long parts[3];
      split_term(scaled_by_power(w * d2, formats.top[f]), 3, formats.bits, parts);
      for (int g = 0; g < 3; ++g) sums[f * 3 + g] = (long)((ulong)sums[f * 3 + g] + (ulong)parts[g]);
    }
  }
  sums[6] = as_long(farthest);
  for (int i = 0; i < 7; ++i) found[ITEM * 7 + i] = sums[i];
}

// Adds what `count` work-items found to `sums`; a work-item a number.
__kernel void join_terms(__global const long* found, long count, __global long* sums, long at) {
  const int i = ITEM;
  ulong sum = 0;
  long most = 0;
  for (long item = 0; item < count; ++item) {
    const long value = found[item * 7 + i];
    sum += (ulong)value;
    most = max(most, value);
  }
  sums[at + i] = i < 6 ? (long)((ulong)sums[at + i] + sum) : max(sums[at + i], most);
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
