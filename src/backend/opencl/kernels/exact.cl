// Canonical distances of the rows that a screen could not prove, the end of a pass, and prototypes from statistics.
#pragma OPENCL FP_CONTRACT OFF

// The nearest of prototypes first, first + step, ... of k, the lowest of equals; *best becomes its distance.
uint nearest_of(__global const uchar* points, long x, __global const Prototype* prototypes, long d, long k, long first,
                long step, double* best) {
  uint found = 0;
  *best = INFINITY;
  for (long c = first; c < k; c += step) {
    const double d2 = canonical_distance(points, x, prototypes + c * d, d);
    if (d2 < *best) {
      *best = d2;
      found = (uint)c;
    }
  }
  return found;
}

uint nearest(__global const uchar* points, long x, __global const Prototype* prototypes, long d, long k) {
  double best;
  return nearest_of(points, x, prototypes, d, k, 0, 1, &best);
}

#if GROUP_ITEMS > 1
// The nearest of all prototypes by all work-items of a group, which need room for a number each of both kinds.
uint nearest_by_group(__global const uchar* points, long x, __global const Prototype* prototypes, long d, long k,
                      __local double* distances, __local uint* labels) {
  const uint me = get_local_id(0);
  double mine;
  labels[me] = nearest_of(points, x, prototypes, d, k, me, GROUP_ITEMS, &mine);
  distances[me] = mine;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint width = GROUP_ITEMS; width > 1; width = (width + 1) / 2) {
    const uint other = me + (width + 1) / 2;
    if (other < width && (distances[other] < distances[me] ||
                          (distances[other] == distances[me] && labels[other] < labels[me]))) {
      distances[me] = distances[other];
      labels[me] = labels[other];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const uint found = labels[0];
  barrier(CLK_LOCAL_MEM_FENCE);  // before they are written again
  return found;
}
#endif

// Every row that is marked gets all canonical distances; its mark goes. MODEL says which of the batch. A group lists
// the rows of some words; many are shared out, and of few the prototypes are, since a row alone takes k distances one
// after the other.
__kernel void resolve(Shape shape, RowBlock rows, __global const Range* ranges, __global ulong* counters,
                      __global const uint* control, __global const uchar* points, __global const Prototype* prototypes,
                      __global uint* marks, __global uchar* next) {
  __local ulong resolved;
#if GROUP_ITEMS > 1
  __local uint marked[GROUP_ITEMS * 32];  // rows, from the first of the group's words on
  __local uint count;
  __local double distances[GROUP_ITEMS];
  __local uint labels[GROUP_ITEMS];
#endif
  if (control[0] != 0) return;
  const int r = MODEL;
  const Range range = ranges[r];
  const uint me = get_local_id(0);
  const long found = range.slot * shape.next_stride;
  const long words = (rows.count + 31) / 32;
  points += rows.points;
  prototypes += range.prototypes;
  marks += r * shape.mark_stride;
  if (me == 0) resolved = 0;
  FOR_EACH_OF_GROUP(first, words) {
#if GROUP_ITEMS > 1
    if (me == 0) count = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (first + me < words) {
      for (uint bits = marks[first + me]; bits != 0; bits &= bits - 1) {
        marked[atomic_inc(&count)] = me * 32 + lowest_bit(bits);
        marks[first + me] = 0;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint all = count;
    if (all >= GROUP_ITEMS) {
      for (uint i = me; i < all; i += GROUP_ITEMS) {
        const long row = first * 32 + marked[i];
        const uint label = nearest(points, row * shape.d, prototypes, shape.d, range.k);
        store_label(next, shape.label_width, found + row, label);
      }
    } else {
      for (uint i = 0; i < all; ++i) {
        const long row = first * 32 + marked[i];
        const uint label = nearest_by_group(points, row * shape.d, prototypes, shape.d, range.k, distances, labels);
        if (me == 0) store_label(next, shape.label_width, found + row, label);
      }
    }
    if (me == 0) resolved += all;
    barrier(CLK_LOCAL_MEM_FENCE);
#else
    uint bits = marks[first];
    if (bits == 0) continue;
    marks[first] = 0;
    for (; bits != 0; bits &= bits - 1) {
      const long row = first * 32 + lowest_bit(bits);
      const uint label = nearest(points, row * shape.d, prototypes, shape.d, range.k);
      store_label(next, shape.label_width, found + row, label);
      ++resolved;
    }
#endif
  }
  if (me == 0 && resolved != 0) {
    counters += shape.counters + r * kCounters;
    add_global(counters + kResolved, resolved);
    add_global(counters + kCandidates, resolved * (ulong)range.k);
  }
}

// Every row, whatever the marks are.
__kernel void resolve_all(Shape shape, RowBlock rows, __global const Range* ranges, __global ulong* counters,
                          __global const uint* control, __global const uchar* points,
                          __global const Prototype* prototypes, __global uchar* next) {
  if (control[0] != 0) return;
  const int r = MODEL;
  const Range range = ranges[r];
  points += rows.points;
  FOR_EACH(row, rows.count) {
    const uint label = nearest(points, row * shape.d, prototypes + range.prototypes, shape.d, range.k);
    store_label(next, shape.label_width, range.slot * shape.next_stride + row, label);
  }
  if (ITEM == 0) {
    counters += shape.counters + r * kCounters;
    add_global(counters + kResolved, (ulong)rows.count);
    add_global(counters + kCandidates, (ulong)(rows.count * range.k));
  }
}

// One work-group, after everything else of a pass: whether the engine has to judge.
__kernel void end_pass(Shape shape, __global const Range* ranges, __global ulong* counters, __global uint* control,
                       __global const long* weights) {
  __local int judge;
  if (control[0] != 0) return;
  counters += shape.counters;
  if (get_local_id(0) == 0) judge = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (long i = get_local_id(0); i < shape.max_clusters * shape.ranges; i += get_local_size(0)) {
    const int r = i / shape.max_clusters;
    const long k = i % shape.max_clusters;
    if (k >= ranges[r].k || weights[ranges[r].weights + k] != 0) continue;
    add_global(counters + r * kCounters + kEmpty, 1);
    judge = 1;
  }
  for (int r = get_local_id(0); r < shape.ranges; r += get_local_size(0)) {
    const bool first_pass = ranges[r].first_pass && control[1] == 0;
    const ulong few = (ulong)((__global const long*)control)[1];
    if (!first_pass && counters[r * kCounters + kChanged] <= few) judge = 1;
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (get_local_id(0) == 0) {
    ++control[1];
    control[0] = judge;  // kGoesOn or kByPass
  }
}

// A number of seven words in two's complement, the lowest first: += value * 2^shift.
void add_shifted(ulong* word, long value, int shift) {
  const ulong sign = value < 0 ? ~0UL : 0UL;
  const int bit = shift % 64;
  uint carry = 0;
  for (int i = shift / 64, first = i; i < 7; ++i) {
    const ulong here = i == first ? (ulong)value : sign;
    const ulong below = i == first ? 0UL : (i == first + 1 ? (ulong)value : sign);
    const ulong term = bit == 0 ? here : here << bit | below >> (64 - bit);
    const ulong sum = word[i] + term;
    word[i] = sum + carry;
    carry = (sum < term) + (word[i] < carry);
  }
}

// RN(S) of limbs: rounded_sum() of core/fixed_point.h.
double rounded_sum(__global const long* limbs, int count, int bits, long stride) {
  if (count == 1) return (double)limbs[0];
  ulong word[7] = {0, 0, 0, 0, 0, 0, 0};
  for (int g = 0; g < count; ++g) add_shifted(word, limbs[g * stride], g * bits);
  const bool negative = (long)word[6] < 0;
  if (negative) {
    ulong carry = 1;
    for (int i = 0; i < 7; ++i) {
      word[i] = ~word[i] + carry;
      carry = word[i] < carry;
    }
  }
  int high = 6;
  while (high > 0 && word[high] == 0) --high;
  ulong top = word[high];
  if (top == 0) return 0;
  // 64 bits from the highest one; what lies below them is folded into the lowest.
  const int zeros = clz(top);
  ulong rest = 0;
  for (int i = 0; i + 1 < high; ++i) rest |= word[i];
  if (high > 0) {
    const ulong below = word[high - 1];
    rest |= below << zeros;
    if (zeros > 0) top = top << zeros | below >> (64 - zeros);
  } else {
    top <<= zeros;
  }
  if (rest != 0) top |= 1;
  const double value = scaled_by_power((double)top, high * 64 - zeros);
  return negative ? -value : value;
}

// v * 2^e, rounded once: v is 0 or at least 2^-64, so the first product is exact.
double scaled_once(double v, int e) {
  if (e < -1000) {
    v = scaled_by_power(v, e + 1000);
    e = -1000;
  }
  return scaled_by_power(v, e);
}

// A value of a prototype from its sum. There are no negative zeros.
Prototype solved_value(__global const long* sums, long weight, int shift, int limbs, int bits, long stride) {
  const double value = scaled_once(rounded_sum(sums, limbs, bits, stride) / (double)weight, shift);
#if POINT_TYPE == 1
  return as_ulong(value) == 0x8000000000000000UL ? 0.0 : value;
#else
  const float rounded = (float)value;
  return as_uint(rounded) == 0x80000000U ? 0.0f : rounded;
#endif
}

// Prototypes from statistics, a value at a time; clusters without weight keep theirs. MODEL says
// of which model.
__kernel void update(Shape shape, __global const Range* ranges, __global const uint* control,
                     __global const long* sums, __global const long* weights, __global const int* shifts,
                     __global Prototype* prototypes, __global Prototype* before) {
  if (control[0] != 0) return;
  const Range range = ranges[MODEL];
  FOR_EACH(i, range.k * shape.d) {
    const long k = i / shape.d;
    const long j = i % shape.d;
    const Prototype old = prototypes[range.prototypes + i];
    before[range.before + i] = old;
    const long weight = weights[range.weights + k];
    if (weight == 0) continue;
    prototypes[range.prototypes + i] = solved_value(sums + range.sums + k * shape.limbs * shape.d + j, weight,
                                                    shifts[j], shape.limbs, shape.bits, shape.d);
  }
}

// One work-group, after an update of which the limits ask: whether it may be the last one of a model.
__kernel void judge_update(Shape shape, __global const Range* ranges, __global ulong* counters, __global uint* control,
                           __global const Prototype* prototypes, __global const Prototype* before,
                           __local double* sums, __local long* stills) {
  if (control[0] != 0) return;
  __global const double* limits = (__global const double*)control + 2;  // sum, each, share
  counters += shape.counters;
  const int me = get_local_id(0);
  for (int r = 0; r < shape.ranges; ++r) {
    const Range range = ranges[r];
    sums[me] = 0;
    stills[me] = 0;
    for (long k = me; k < range.k; k += get_local_size(0)) {
      double d2 = 0;
      for (long j = k * shape.d; j < (k + 1) * shape.d; ++j) {
        const double t = (double)prototypes[range.prototypes + j] - (double)before[range.before + j];
        d2 += t * t;
      }
      sums[me] += d2;
      stills[me] += d2 <= limits[1];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (me == 0) {
      double sum = 0;
      long still = 0;
      for (int i = 0; i < (int)get_local_size(0); ++i) {
        sum += sums[i];
        still += stills[i];
      }
      counters[r * kCounters + kStill] = (ulong)still;
      ((__global double*)counters)[r * kCounters + kShiftSum] = sum;
      if (limits[0] >= 0 && !(sum > limits[0])) control[0] = 2;  // kByUpdate
      if (limits[1] >= 0 && (double)still >= limits[2] * (double)range.k) control[0] = 2;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

// Replaces every label l by table[l].
__kernel void renumber(Shape shape, RowBlock rows, __global uchar* labels, long first_label, __global const uint* table) {
  FOR_EACH(row, rows.count) {
    const uint label = load_label(labels, shape.label_width, first_label + row);
    store_label(labels, shape.label_width, first_label + row, table[label]);
  }
}
