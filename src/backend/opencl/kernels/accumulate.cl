// Order-free sums of the rows whose labels changed: docs/developer/contract.md, "Order-free sums".
//
// -D options: LIMBS (of the sums), LOCAL_SUMS (a work-group adds up in local memory, and then once to global memory),
// PRODUCTS (terms are those of linear models, products.cl, else the values of a row), ROTATED (each group begins with
// another model, so that groups that run at the same time add to different sums).
#pragma OPENCL FP_CONTRACT OFF

#define LONE (GROUP_ITEMS == 1)  // nobody else touches a work-item's local memory

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

// Labels are hashed LANES at a time: a work-item that is alone has vectors for that.
#if LONE
#define LANES 8
typedef uint8 Words;
typedef ulong8 Numbers;
#define NUMBERS(words) convert_ulong8(words)
#define WORDS(numbers) convert_uint8(numbers)
#else
#define LANES 1
typedef uint Words;
typedef ulong Numbers;
#define NUMBERS(words) ((ulong)(words))
#define WORDS(numbers) ((uint)(numbers))
#endif

typedef union {
  Numbers all;
  ulong of[LANES];
} Lanes;

// What rows add to the label sum: label_term of core/label_term.h, Philox4x32-10.
void label_terms(Numbers row, Words label, Lanes* low, Lanes* high) {
  Words c0 = WORDS(row & 0xffffffffUL);
  Words c1 = WORDS(row >> 32);
  Words c2 = label;
  Words c3 = (Words)(6);
  uint k0 = 0x6d65616eU;
  uint k1 = 0x6d616e79U;
  for (int round = 0; round < 10; ++round) {
    const Numbers a = NUMBERS(c0) * 0xD2511F53UL;
    const Numbers b = NUMBERS(c2) * 0xCD9E8D57UL;
    c0 = WORDS(b >> 32) ^ c1 ^ k0;
    c1 = WORDS(b & 0xffffffffUL);
    c2 = WORDS(a >> 32) ^ c3 ^ k1;
    c3 = WORDS(a & 0xffffffffUL);
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  low->all = NUMBERS(c0) | NUMBERS(c1) << 32;
  high->all = NUMBERS(c2) | NUMBERS(c3) << 32;
}

// What rows add to it that move from one label to another.
void add_to_label_sum(Numbers row, Words from, Words to, __local ulong* sum) {
  Lanes to_low, to_high, from_low, from_high;
  label_terms(row, to, &to_low, &to_high);
  label_terms(row, from, &from_low, &from_high);
  for (int i = 0; i < LANES; ++i) {
    sum[0] += to_low.of[i];
    sum[1] += to_high.of[i] + (sum[0] < to_low.of[i]);
    sum[1] -= from_high.of[i] + (sum[0] < from_low.of[i]);
    sum[0] -= from_low.of[i];
  }
}

long integer_weight(Shape shape, RowBlock rows, __global const double* weights, long row) {
  if (!rows.weighted) return 1;
  return nearest_integer(scaled_by_power(weight_of(rows, weights, row), shape.weight_shift));
}

#if PRODUCTS
#define TERMS(d) ((d) * ((d) + 3))  // two of each pair of values, of which one may be the 1 behind them
#else
#define TERMS(d) (d)
#endif

// Adds a term to the sums of a cluster, and takes it from those of another, unless there is none.
void add_term(Shape shape, double v, long term, __global const double* tops, __global const int* exponents,
              SUMS_SPACE ulong* to, SUMS_SPACE ulong* from) {
  const double y = shape.normal_tops ? v * tops[term] : scaled_by_power(v, exponents[term]);
  long parts[LIMBS];
#pragma unroll
  for (int g = 0; g < LIMBS; ++g) parts[g] = 0;
  add_parts(y, LIMBS, shape.bits, parts);
#pragma unroll
  for (int g = 0; g < LIMBS; ++g) {
    if (!LONE && parts[g] == 0) continue;  // an atomic addition costs more than a branch
    const long place = g * TERMS(shape.d) + term;
    ADD(to + place, parts[g]);
    if (from) ADD(from + place, -parts[g]);
  }
}

// The same of all terms that value j of a row of weight w' begins; the row's values begin at x.
#if PRODUCTS
void add_terms_of_value(Shape shape, double weight, __global const uchar* points, long x, long j,
                        __global const double* tops, __global const int* exponents, SUMS_SPACE ulong* to,
                        SUMS_SPACE ulong* from);
#else
void add_terms_of_value(Shape shape, double weight, __global const uchar* points, long x, long j,
                        __global const double* tops, __global const int* exponents, SUMS_SPACE ulong* to,
                        SUMS_SPACE ulong* from) {
  add_term(shape, weight * value_at(points, x + j), j, tops, exponents, to, from);
}
#endif

// The work-items of a group meet; one that is alone does not have to.
#if LONE
#define MEET()
#else
#define MEET() barrier(CLK_LOCAL_MEM_FENCE)
#define MEET_READERS() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#endif

// What a model's rows are added to, a cluster after the other.
typedef struct {
  SUMS_SPACE ulong* terms;
  SUMS_SPACE ulong* weights;
  SUMS_SPACE ulong* counts;
} Totals;

// The weight q and the count of a row that changed; of a model's first pass it comes from no cluster.
void count_row(Totals totals, bool first_pass, long q, uint from, uint to) {
  ADD(totals.weights + to, q);
  ADD(totals.counts + to, 1);
  if (first_pass) return;
  ADD(totals.weights + from, -q);
  ADD(totals.counts + from, -1);
}

// MODEL and ROTATED say which of the batch. `scratch` holds a model's sums, weights and counts.
//
// A group looks at a word of labels for each of its work-items, lists the rows that changed, and shares out their
// values: few rows change after the first passes, and a work-item that has one would keep its neighbours waiting. One
// that is alone has no neighbours, and needs no list. What is counted goes to global memory once a group, since all
// groups of a model add to the same place.
__kernel void accumulate(Shape shape, RowBlock rows, __global const Range* ranges, __global ulong* counters,
                         __global const uint* control, __global const uchar* points, __global const double* weights,
                         __global const double* tops, __global const int* exponents, __global uchar* labels,
                         __global const uchar* next, __global ulong* sums, __global ulong* cluster_weights,
                         __global ulong* cluster_counts, __local ulong* scratch) {
#if !LONE
  __local uint changed[GROUP_ITEMS * 8];  // rows, from the first of the group's words on
  __local uint count;
#endif
  __local ulong counted[GROUP_ITEMS * 3];  // of each work-item: rows, the low and the high part of the label sum
  if (control[0] != 0) return;
  const int r = ROTATED ? (int)((MODEL + GROUP_NUMBER) % MODELS) : (int)MODEL;
  const Range range = ranges[r];
  const bool first_pass = range.first_pass && control[1] == 0;
  const long of_cluster = LIMBS * TERMS(shape.d);
  const uint d = (uint)shape.d;
  const long own = range.slot * shape.label_stride + rows.first;
  const long found = range.slot * shape.next_stride;
  const long in_word = 8 / shape.label_width;
  const uint me = get_local_id(0);
  points += rows.points;
  Totals totals;
#if LOCAL_SUMS
  const long all = range.k * (of_cluster + 2);
  for (long i = me; i < all; i += GROUP_ITEMS) scratch[i] = 0;
  totals.terms = scratch;
  totals.weights = scratch + range.k * of_cluster;
  totals.counts = totals.weights + range.k;
#else
  totals.terms = sums + range.sums;
  totals.weights = cluster_weights + range.weights;
  totals.counts = cluster_counts + range.counts;
#endif
  for (int i = 0; i < 3; ++i) counted[3 * me + i] = 0;
  __global const ulong* const old_words = (__global const ulong*)(labels + own * shape.label_width);
  __global const ulong* const new_words = (__global const ulong*)(next + found * shape.label_width);
  const long words = (rows.count + in_word - 1) / in_word;
#if LONE
  ulong moved[LANES];  // rows that wait for others to be hashed
  uint moved_from[LANES], moved_to[LANES];
  int waiting = 0;
  FOR_EACH(word, words) {
    if (!first_pass && old_words[word] == new_words[word]) continue;
    const long end = min((word + 1) * in_word, rows.count);
    for (long row = word * in_word; row < end; ++row) {
      const uint to = load_label(next, shape.label_width, found + row);
      const uint from = first_pass ? to : load_label(labels, shape.label_width, own + row);
      if (!first_pass && to == from) continue;
      const double w = weight_of(rows, weights, row);
      SUMS_SPACE ulong* const left = first_pass ? 0 : totals.terms + from * of_cluster;
      for (long j = 0; j < shape.d; ++j) {
        add_terms_of_value(shape, w, points, row * shape.d, j, tops, exponents, totals.terms + to * of_cluster, left);
      }
      const long q = integer_weight(shape, rows, weights, row);
      count_row(totals, first_pass, q, from, to);
      store_label(labels, shape.label_width, own + row, to);
      counted[0] += 1;
      if (first_pass) continue;
      moved[waiting] = (ulong)(rows.number + row);
      moved_from[waiting] = from;
      moved_to[waiting] = to;
      if (++waiting < LANES) continue;
      add_to_label_sum(vload8(0, moved), vload8(0, moved_from), vload8(0, moved_to), counted + 1);
      waiting = 0;
    }
  }
  for (int i = waiting; i < LANES; ++i) moved[i] = moved_from[i] = moved_to[i] = 0;  // from a label to itself: nothing
  if (waiting > 0) add_to_label_sum(vload8(0, moved), vload8(0, moved_from), vload8(0, moved_to), counted + 1);
#else
  MEET();
  FOR_EACH_OF_GROUP(first, words) {
    if (me == 0) count = 0;
    MEET();
    const long word = first + me;
    if (word < words && (first_pass || old_words[word] != new_words[word])) {
      const long end = min((word + 1) * in_word, rows.count);
      for (long row = word * in_word; row < end; ++row) {
        if (!first_pass && load_label(next, shape.label_width, found + row) ==
                               load_label(labels, shape.label_width, own + row)) {
          continue;
        }
        changed[atomic_inc(&count)] = (uint)(row - first * in_word);
      }
    }
    MEET();
    const ulong values = (ulong)count * d;
    for (ulong i = me; i < values; i += GROUP_ITEMS) {
      const uint entry = values >> 32 == 0 ? (uint)i / d : (uint)(i / d);  // of 32 bits wherever it can be: that is faster
      const long row = first * in_word + changed[entry];
      const uint to = load_label(next, shape.label_width, found + row);
      const uint from = first_pass ? to : load_label(labels, shape.label_width, own + row);
      SUMS_SPACE ulong* const entered = totals.terms + to * of_cluster;
      SUMS_SPACE ulong* const left = first_pass ? 0 : totals.terms + from * of_cluster;
      add_terms_of_value(shape, weight_of(rows, weights, row), points, row * (long)d, (long)(i - (ulong)entry * d), tops, exponents, entered, left);
    }
    MEET_READERS();  // of labels, which are written next
    for (uint i = me; i < count; i += GROUP_ITEMS) {
      const long row = first * in_word + changed[i];
      const uint to = load_label(next, shape.label_width, found + row);
      const uint from = first_pass ? to : load_label(labels, shape.label_width, own + row);
      const long q = integer_weight(shape, rows, weights, row);
      count_row(totals, first_pass, q, from, to);
      store_label(labels, shape.label_width, own + row, to);
      counted[3 * me] += 1;
      if (!first_pass) add_to_label_sum((ulong)(rows.number + row), from, to, counted + 3 * me + 1);
    }
    MEET();
  }
#endif
  if (me == 0) {
    for (uint i = 1; i < GROUP_ITEMS; ++i) {
      counted[0] += counted[3 * i];
      counted[1] += counted[3 * i + 1];
      counted[2] += counted[3 * i + 2] + (counted[1] < counted[3 * i + 1]);
    }
    if (counted[0] != 0) {
      __global ulong* const mine = counters + shape.counters + r * kCounters;
      add_global(mine + kChanged, counted[0]);
      if (!first_pass) add_128(mine + kHashLow, mine + kHashHigh, counted[1], counted[2]);
    }
  }
#if LOCAL_SUMS
  for (long i = me; i < all; i += GROUP_ITEMS) {
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

#if !LOCAL_SUMS
// Takes the only row of `rows` from cluster `from` and adds it to another.
__kernel void move_row(Shape shape, RowBlock rows, Range range, __global const uchar* points,
                       __global const double* weights, __global const double* tops, __global const int* exponents,
                       __global uchar* labels, __global ulong* sums, __global ulong* cluster_weights,
                       __global ulong* cluster_counts, uint from, uint to) {
  const long of_cluster = LIMBS * TERMS(shape.d);
  const double w = weight_of(rows, weights, 0);
  points += rows.points;
  sums += range.sums;
  FOR_EACH(j, shape.d) {
    add_terms_of_value(shape, w, points, 0, j, tops, exponents, sums + to * of_cluster, sums + from * of_cluster);
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
#endif
