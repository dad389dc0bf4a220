// Linear models: the nearest of a row, by every canonical residual. Docs: docs/developer/contract.md, "Linear models";
// device/linear_rows.h has the same for compilers of C++.
//
// GROUP models stand value by value beside each other, widened, in the lanes of a vector, so that a row's value is read
// once for all of them. A row and a group of D features take D products, min(D, 8) - 1 additions of lanes and six
// instructions more; of up to eight features (F) each has a lane of the sum of its own, and the row stays in registers.
//
// -D options: POINT_TYPE, F (features, 0: as the shape says), GROUP (4 or 8).
#pragma OPENCL FP_CONTRACT OFF

typedef JOIN(double, GROUP) Doubles;
typedef JOIN(long, GROUP) Longs;
#define LOAD JOIN(vload, GROUP)
#define STORE JOIN(vstore, GROUP)

#define MOST_RESIDUAL 0x1p1000  // squared residuals that are no smaller count as this

// The squared residual of the row whose values begin at x, and a model.
double squared_residual(__global const uchar* points, long x, __global const Prototype* model, long d) {
  const long features = d - 1;
  double8 p = 0.0;
  long j = 0;
  for (; j + 8 <= features; j += 8) p = fma(WIDENED8(vload8(0, model + j)), values_at(points, x + j), p);
  if (j < features) p.s0 = fma((double)model[j], value_at(points, x + j), p.s0);
  if (j + 1 < features) p.s1 = fma((double)model[j + 1], value_at(points, x + j + 1), p.s1);
  if (j + 2 < features) p.s2 = fma((double)model[j + 2], value_at(points, x + j + 2), p.s2);
  if (j + 3 < features) p.s3 = fma((double)model[j + 3], value_at(points, x + j + 3), p.s3);
  if (j + 4 < features) p.s4 = fma((double)model[j + 4], value_at(points, x + j + 4), p.s4);
  if (j + 5 < features) p.s5 = fma((double)model[j + 5], value_at(points, x + j + 5), p.s5);
  if (j + 6 < features) p.s6 = fma((double)model[j + 6], value_at(points, x + j + 6), p.s6);
  const double4 half_sums = p.lo + p.hi;
  const double2 last_two = half_sums.lo + half_sums.hi;
  const double residual = value_at(points, x + features) - (last_two.x + last_two.y + (double)model[features]);
  const double squared = residual * residual;
  return squared < MOST_RESIDUAL ? squared : MOST_RESIDUAL;
}

// What questions.cl measures.
#define DISTANCE squared_residual

// Value i of k models, of d values each, where it stands in groups. Models that fill up the last group win nothing.
void pack_value(long i, long k, long d, __global const Prototype* from, __global double* groups) {
  const long model = i / d;
  const long j = i % d;
  const double filling = j == d - 1 ? INFINITY : 0.0;
  groups[(model / GROUP * d + j) * GROUP + model % GROUP] = model < k ? (double)from[i] : filling;
}

long values_in_groups(long k, long d) { return (k + GROUP - 1) / GROUP * GROUP * d; }

// The models of a batch in groups. MODEL says which.
__kernel void pack_batch(Shape shape, __global const Range* ranges, __global const uint* control,
                         __global const Prototype* prototypes, __global double* groups) {
  if (control[0] != 0) return;
  const Range range = ranges[MODEL];
  FOR_EACH(i, values_in_groups(range.k, shape.d)) {
    pack_value(i, range.k, shape.d, prototypes + range.prototypes, groups + range.first * shape.d);
  }
}

// The sum of eight lanes, of which only the first F are not empty where there are so few features. An empty lane is +0,
// which changes no sum but -0, and that not for long: an intercept is added, which is never -0.
Doubles sum_of_lanes(const Doubles* p) {
#if F > 0
#define HAS(lane) (F > lane)
#else
#define HAS(lane) 1
#endif
  Doubles even = HAS(4) ? p[0] + p[4] : p[0];
  if (HAS(2)) even += HAS(6) ? p[2] + p[6] : p[2];
  if (!HAS(1)) return even;
  Doubles odd = HAS(5) ? p[1] + p[5] : p[1];
  if (HAS(3)) odd += HAS(7) ? p[3] + p[7] : p[3];
  return even + odd;
}

// Of lanes that have looked at every GROUP-th model each.
uint join_lanes(Doubles best, Longs group) {
  double bests[GROUP];
  long groups[GROUP];
  STORE(best, 0, bests);
  STORE(group, 0, groups);
  double least = MOST_RESIDUAL;
  uint nearest = 0;
  for (int lane = 0; lane < GROUP; ++lane) {
    const uint model = (uint)groups[lane] * GROUP + (uint)lane;
    const bool lower = bests[lane] == least && least < MOST_RESIDUAL && model < nearest;
    if (bests[lane] < least || lower) {
      least = bests[lane];
      nearest = model;
    }
  }
  return nearest;
}

// The nearest of k models to a row.
uint nearest_model(__global const uchar* points, long x, long d, __global const double* groups, long k) {
  Doubles best = (Doubles)(MOST_RESIDUAL);
  Longs group = (Longs)(0);
#if F > 0
  const long features = F;
  double values[F];
#pragma unroll
  for (int j = 0; j < F; ++j) values[j] = value_at(points, x + j);
#else
  const long features = d - 1;
#endif
  const Doubles y = (Doubles)(value_at(points, x + features));
  for (long g = 0; g * GROUP < k; ++g, groups += d * GROUP) {
    Doubles p[8] = {(Doubles)(0.0), (Doubles)(0.0), (Doubles)(0.0), (Doubles)(0.0),
                    (Doubles)(0.0), (Doubles)(0.0), (Doubles)(0.0), (Doubles)(0.0)};
#if F > 0
#pragma unroll
    for (int j = 0; j < F; ++j) p[j] = fma(LOAD(j, groups), (Doubles)(values[j]), p[j]);
#else
    for (long j = 0; j < features; j += 8) {
#pragma unroll
      for (int l = 0; l < 8; ++l) {
        if (j + l < features) p[l] = fma(LOAD(j + l, groups), (Doubles)(value_at(points, x + j + l)), p[l]);
      }
    }
#endif
    const Doubles residual = y - (sum_of_lanes(p) + LOAD(features, groups));
    const Doubles squared = residual * residual;
    const Longs better = squared < best;
    best = better ? squared : best;
    group = better ? (Longs)(g) : group;
  }
  return join_lanes(best, group);
}

// The label of every row. MODEL says of which model of the batch.
__kernel void label_by_residuals(Shape shape, RowBlock rows, __global const Range* ranges, __global ulong* counters,
                                 __global const uint* control, __global const uchar* points,
                                 __global const double* groups, __global uchar* next) {
  if (control[0] != 0) return;
  const int r = MODEL;
  const Range range = ranges[r];
  points += rows.points;
  groups += range.first * shape.d;
  FOR_EACH(row, rows.count) {
    const uint nearest = nearest_model(points, row * shape.d, shape.d, groups, range.k);
    store_label(next, shape.label_width, range.slot * shape.next_stride + row, nearest);
  }
  if (ITEM == 0) {
    counters += shape.counters + r * kCounters;
    add_global(counters + kResolved, (ulong)rows.count);
    add_global(counters + kCandidates, (ulong)(rows.count * range.k));
  }
}
