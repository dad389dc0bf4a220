// Order-free sums of the rows whose labels changed: docs/developer/contract.md, "Order-free sums".
//
// -D options: LIMBS (of the sums), LOCAL_SUMS (a work-group adds up in local memory, and then once to global memory), LONE (a work-group is
// one work-item, whose local memory nobody else touches), ROTATED (each group begins with another model, so that groups
// that run at the same time add to different sums).
#pragma OPENCL FP_CONTRACT OFF

#if LOCAL_SUMS
#define SUMS_SPACE __local
#if LONE
#define ADD(to, value) (*(to) += (ulong)(value))
#else
#define ADD(to, value) add_local(to, (ulong)(value))
#endif
#else
#define SUMS_SPACE __global
#define ADD(to, value) add_global(to, (ulong)(value))
#endif

// What one row adds to the label sum: label_term of core/label_term.h, Philox4x32-10.
void label_term(ulong row, uint label, ulong* low, ulong* high) {
  uint c0 = (uint)row;
  uint c1 = (uint)(row >> 32);
  uint c2 = label;
  uint c3 = 6;
  uint k0 = 0x6d65616eU;
  uint k1 = 0x6d616e79U;
  for (int round = 0; round < 10; ++round) {
    const ulong a = (ulong)0xD2511F53U * c0;
    const ulong b = (ulong)0xCD9E8D57U * c2;
    c0 = (uint)(b >> 32) ^ c1 ^ k0;
    c1 = (uint)b;
    c2 = (uint)(a >> 32) ^ c3 ^ k1;
    c3 = (uint)a;
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  *low = c0 | (ulong)c1 << 32;
  *high = c2 | (ulong)c3 << 32;
}

long integer_weight(Shape shape, RowBlock rows, __global const double* weights, long row) {
  if (!rows.weighted) return 1;
  return nearest_integer(scaled_by_power(weight_of(rows, weights, row), shape.weight_shift));
}

// The parts of value j of a row.
void parts_of(Shape shape, double v, __global const double* tops, __global const int* exponents, long j, long* parts) {
  const double y = shape.normal_tops ? v * tops[j] : scaled_by_power(v, exponents[j]);
  split_term(y, LIMBS, shape.bits, parts);
}

// MODEL and ROTATED say which of the batch. `scratch` holds a model's sums, weights and counts.
__kernel void accumulate(Shape shape, RowBlock rows, __global const Range* ranges, __global ulong* counters,
                         __global const uint* control, __global const uchar* points, __global const double* weights,
                         __global const double* tops, __global const int* exponents, __global uchar* labels,
                         __global const uchar* next, __global ulong* sums, __global ulong* cluster_weights,
                         __global ulong* cluster_counts, __local ulong* scratch) {
  if (control[0] != 0) return;
  const int r = ROTATED ? (int)((MODEL + GROUP) % MODELS) : (int)MODEL;
  const Range range = ranges[r];
  const bool first_pass = range.first_pass && control[1] == 0;
  const long of_cluster = LIMBS * shape.d;
  const long own = range.slot * shape.label_stride + rows.first;
  const long found = range.slot * shape.next_stride;
  const long in_word = 8 / shape.label_width;
  points += rows.points;
#if LOCAL_SUMS
  const long all = range.k * (of_cluster + 2);
  for (long i = get_local_id(0); i < all; i += get_local_size(0)) scratch[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  __local ulong* const to_sums = scratch;
  __local ulong* const to_weights = scratch + range.k * of_cluster;
  __local ulong* const to_counts = to_weights + range.k;
#else
  __global ulong* const to_sums = sums + range.sums;
  __global ulong* const to_weights = cluster_weights + range.weights;
  __global ulong* const to_counts = cluster_counts + range.counts;
#endif
  __global const ulong* const old_words = (__global const ulong*)(labels + own * shape.label_width);
  __global const ulong* const new_words = (__global const ulong*)(next + found * shape.label_width);
  ulong changed = 0;
  ulong hash_low = 0;
  ulong hash_high = 0;
  FOR_EACH(word, (rows.count + in_word - 1) / in_word) {
    if (!first_pass && old_words[word] == new_words[word]) continue;
    const long end = min((word + 1) * in_word, rows.count);
    for (long row = word * in_word; row < end; ++row) {
      const uint to = load_label(next, shape.label_width, found + row);
      const uint from = first_pass ? to : load_label(labels, shape.label_width, own + row);
      if (!first_pass && from == to) continue;
      ++changed;
      const double w = weight_of(rows, weights, row);
      for (long j = 0; j < shape.d; ++j) {
        const double x = value_at(points, row * shape.d + j);
        long parts[LIMBS];
        parts_of(shape, rows.weighted ? w * x : x, tops, exponents, j, parts);
#pragma unroll
        for (int g = 0; g < LIMBS; ++g) {
          if (!LONE && parts[g] == 0) continue;  // an atomic addition costs more than a branch
          const long place = g * shape.d + j;
          ADD(to_sums + to * of_cluster + place, parts[g]);
          if (!first_pass) ADD(to_sums + from * of_cluster + place, -parts[g]);
        }
      }
      const long q = integer_weight(shape, rows, weights, row);
      ADD(to_weights + to, q);
      ADD(to_counts + to, 1);
      store_label(labels, shape.label_width, own + row, to);
      if (first_pass) continue;
      ADD(to_weights + from, -q);
      ADD(to_counts + from, -1);
      ulong low, high;
      label_term((ulong)(rows.number + row), to, &low, &high);
      hash_low += low;
      hash_high += high + (hash_low < low);
      label_term((ulong)(rows.number + row), from, &low, &high);
      hash_high -= high + (hash_low < low);
      hash_low -= low;
    }
  }
  if (changed != 0) {
    __global ulong* const mine = counters + shape.counters + r * kCounters;
    add_global(mine + kChanged, changed);
    if (!first_pass) add_128(mine + kHashLow, mine + kHashHigh, hash_low, hash_high);
  }
#if LOCAL_SUMS
  barrier(CLK_LOCAL_MEM_FENCE);
  for (long i = get_local_id(0); i < all; i += get_local_size(0)) {
    if (scratch[i] == 0) continue;
    if (i < range.k * of_cluster) {
      add_global(sums + range.sums + i, scratch[i]);
    } else if (i < range.k * (of_cluster + 1)) {
      add_global(cluster_weights + range.weights + (i - range.k * of_cluster), scratch[i]);
    } else {
      add_global(cluster_counts + range.counts + (i - range.k * (of_cluster + 1)), scratch[i]);
    }
  }
#endif
}

// Takes the only row of `rows` from cluster `from` and adds it to another.
__kernel void move_row(Shape shape, RowBlock rows, Range range, __global const uchar* points,
                       __global const double* weights, __global const double* tops, __global const int* exponents,
                       __global uchar* labels, __global ulong* sums, __global ulong* cluster_weights,
                       __global ulong* cluster_counts, uint from, uint to) {
  const long of_cluster = LIMBS * shape.d;
  points += rows.points;
  FOR_EACH(j, shape.d) {
    const double x = value_at(points, j);
    long parts[LIMBS];
    parts_of(shape, rows.weighted ? weight_of(rows, weights, 0) * x : x, tops, exponents, j, parts);
    for (int g = 0; g < LIMBS; ++g) {
      sums[range.sums + to * of_cluster + g * shape.d + j] += (ulong)parts[g];
      sums[range.sums + from * of_cluster + g * shape.d + j] -= (ulong)parts[g];
    }
  }
  if (ITEM == 0) {
    const long q = integer_weight(shape, rows, weights, 0);
    cluster_weights[range.weights + to] += (ulong)q;
    cluster_weights[range.weights + from] -= (ulong)q;
    cluster_counts[range.counts + to] += 1;
    cluster_counts[range.counts + from] -= 1;
    store_label(labels, shape.label_width, range.slot * shape.label_stride + rows.first, to);
  }
}
