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

// What each group found.
__kernel void add_terms(Assigned assigned, RowBlock rows, TermFormats formats, long step, __global const uchar* points,
                        __global const double* weights, __global const uchar* labels,
                        __global const Prototype* prototypes, __global long* found) {
  __local long scratch[GROUP_ITEMS * NUMBERS_FOUND];
  long sums[NUMBERS_FOUND] = {0, 0, 0, 0, 0, 0, 0};
  double farthest = 0;
  points += rows.points;
  FOR_EACH(i, (rows.count + step - 1) / step) {
    const long row = i * step;
    const double w = weight_of(rows, weights, row);
    if (!(w > 0)) continue;
    const double d2 = assigned_distance(assigned, points, labels, prototypes, row);
    farthest = d2 > farthest ? d2 : farthest;
    for (int f = 0; f < 2; ++f) add_parts(scaled_by_power(w * d2, formats.top[f]), 3, formats.bits, sums + f * 3);
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

// Philox4x32-10: core/random.h.
uint4 philox(uint2 key, uint4 counter) {
  for (int round = 0; round < 10; ++round) {
    const uint high0 = mul_hi(0xD2511F53u, counter.x), low0 = 0xD2511F53u * counter.x;
    const uint high2 = mul_hi(0xCD9E8D57u, counter.z), low2 = 0xCD9E8D57u * counter.z;
    counter = (uint4)(high2 ^ counter.y ^ key.x, low2, high0 ^ counter.w ^ key.y, low0);
    key += (uint2)(0x9E3779B9u, 0xBB67AE85u);
  }
  return counter;
}

// The label term of a row: core/label_term.h, with kLabelSumKey and Purpose::kLabelSum.
uint4 label_term(ulong row, uint label) {
  return philox((uint2)(0x6d65616eu, 0x6d616e79u), (uint4)((uint)row, (uint)(row >> 32), label, 6));
}

// What each group found, as add_terms has it: sums of the label terms' words. Label 0 is at `at`, and its row is number
// `first` of all.
__kernel void add_label_terms(__global const uchar* labels, int width, long at, long first, long count,
                              __global long* found) {
  __local long scratch[GROUP_ITEMS * NUMBERS_FOUND];
  long sums[NUMBERS_FOUND] = {0, 0, 0, 0, 0, 0, 0};
  FOR_EACH(row, count) {
    const uint4 term = label_term((ulong)(first + row), load_label(labels, width, at + row));
    sums[0] += term.x;
    sums[1] += term.y;
    sums[2] += term.z;
    sums[3] += term.w;
  }
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
