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

#if !LONE
// What a row adds to the label sum that moves from one label to another.
void add_to_label_sum(ulong row, uint from, uint to, __local ulong* sum) {
  ulong to_low, to_high, from_low, from_high;
  label_term_halves(row, to, &to_low, &to_high);
  label_term_halves(row, from, &from_low, &from_high);
  sum[0] += to_low;
  sum[1] += to_high + (sum[0] < to_low);
  sum[1] -= from_high + (sum[0] < from_low);
  sum[0] -= from_low;
}
#endif

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

#if LONE
#define MOVED_ROWS 64

// Where a row's labels and terms are.
typedef struct {
  Shape shape;
  RowBlock rows;
  __global const uchar* points;
  __global const double* weights;
  __global const double* tops;
  __global const int* exponents;
  __global uchar* labels;  // of row 0 of the block, before the pass
  __global const uchar* next;
  int first_pass;
} Source;

// Rows that changed and are not added up yet, as numbers among those of the block.
typedef struct {
  int count;
  uint row[MOVED_ROWS];
} Moved;

// Lists those rows of a word of labels that changed, from `row` on; `change` is that of the word. Without a branch for
// each, since what changes is not foreseen.
INLINED void list_changed(ulong change, uint row, int width, Moved* moved) {
  int at = moved->count;
  if (width == 1) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      moved->row[at] = row + i;
      at += (change >> 8 * i & 0xff) != 0;
    }
  } else {
    for (int i = 0; i < 8 / width; ++i) {
      moved->row[at] = row + i;
      at += (width == 2 ? change >> 16 * i & 0xffff : change >> 32 * i & 0xffffffffUL) != 0;
    }
  }
  moved->count = at;
}

// Eight rows that moved, of which so many are there; the others are the last of these once more.
typedef struct {
  int count;
  uint row[8], from[8], to[8];
} Eight;

// The labels of eight rows, of which that of the pass becomes theirs.
INLINED void exchange_labels(const Source* source, Eight* eight) {
  const int width = source->shape.label_width;
  for (int i = 0; i < 8; ++i) eight->to[i] = load_label(source->next, width, eight->row[i]);
  if (source->first_pass) {
    for (int i = 0; i < 8; ++i) eight->from[i] = eight->to[i];
  } else {
    for (int i = 0; i < 8; ++i) eight->from[i] = load_label(source->labels, width, eight->row[i]);
  }
  for (int i = 0; i < eight->count; ++i) store_label(source->labels, width, eight->row[i], eight->to[i]);
}

#if !PRODUCTS
INLINED double8 gathered(__global const uchar* points, const uint* row, long d, long j) {
#if POINT_TYPE == 0
  float x[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) x[i] = ((__global const float*)points)[row[i] * d + j];
  return CONVERTED(vload8(0, x), double8);
#else
  double x[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) x[i] = value_at(points, row[i] * d + j);
  return vload8(0, x);
#endif
}

// Adds the values of the rows, in the lanes of vectors.
INLINED void add_lanes(const Source* source, Totals totals, const Eight* eight) {
  const long d = source->shape.d;
  const long of_cluster = LIMBS * d;
  double8 weights = (double8)(1.0);
  if (source->rows.weighted) {
    double w[8];
    for (int i = 0; i < 8; ++i) w[i] = source->weights[source->rows.weights + eight->row[i]];
    weights = vload8(0, w);
  }
  for (long j = 0; j < d; ++j) {
    long8 sums[LIMBS];
    for (int g = 0; g < LIMBS; ++g) sums[g] = (long8)(0);
    const double8 x = gathered(source->points, eight->row, d, j);
    add_parts_of_lanes(weights * x * source->tops[j], LIMBS, source->shape.bits, sums);
#pragma unroll
    for (int g = 0; g < LIMBS; ++g) {
      long part[8];
      vstore8(sums[g], 0, part);
      SUMS_SPACE ulong* const terms = totals.terms + g * d + j;
      for (int i = 0; i < eight->count; ++i) ADD(terms + eight->to[i] * of_cluster, part[i]);
      if (source->first_pass) continue;
      for (int i = 0; i < eight->count; ++i) ADD(terms + eight->from[i] * of_cluster, -part[i]);
    }
  }
}
#endif

// The same, one row after the other.
void add_rows(const Source* source, Totals totals, const Eight* eight) {
  const long d = source->shape.d;
  const long of_cluster = LIMBS * TERMS(d);
  for (int i = 0; i < eight->count; ++i) {
    const long row = eight->row[i];
    const double w = weight_of(source->rows, source->weights, row);
    SUMS_SPACE ulong* const left = source->first_pass ? 0 : totals.terms + eight->from[i] * of_cluster;
    for (long j = 0; j < d; ++j) {
      add_terms_of_value(source->shape, w, source->points, row * d, j, source->tops, source->exponents,
                         totals.terms + eight->to[i] * of_cluster, left);
    }
  }
}

// The weights of the rows, and how many they are. Without weights local sums of both are the same, and one is made from
// the other in the end.
INLINED void count_rows(const Source* source, Totals totals, const Eight* eight) {
  if (LOCAL_SUMS && !source->rows.weighted) {
    for (int i = 0; i < eight->count; ++i) {
      ADD(totals.counts + eight->to[i], 1);
      if (!source->first_pass) ADD(totals.counts + eight->from[i], -1);
    }
    return;
  }
  for (int i = 0; i < eight->count; ++i) {
    const long q = integer_weight(source->shape, source->rows, source->weights, eight->row[i]);
    count_row(totals, source->first_pass, q, eight->from[i], eight->to[i]);
  }
}

void weights_from_counts(const Source* source, Totals totals, long k) {
  if (!LOCAL_SUMS || source->rows.weighted) return;
  for (long i = 0; i < k; ++i) totals.weights[i] = totals.counts[i];
}

// What the rows change of the label sum's words. Those that are there twice have one label twice, and add nothing.
INLINED void hash_moved(const Source* source, Eight* eight, long8* hash) {
  for (int i = eight->count; i < 8; ++i) eight->from[i] = eight->to[i];
  const ulong8 row = CONVERTED(vload8(0, eight->row), ulong8) + (ulong)source->rows.number;
  ulong8 entered[4], left[4];
  label_words(row, CONVERTED(vload8(0, eight->to), ulong8), entered);
  label_words(row, CONVERTED(vload8(0, eight->from), ulong8), left);
#pragma unroll
  for (int i = 0; i < 4; ++i) hash[i] += as_long8(entered[i]) - as_long8(left[i]);
}

// Adds up the rows that moved, and empties their list; returns how many they were.
int move_rows(const Source* source, Totals totals, Moved* moved, long8* hash) {
  const int all = moved->count;
  // Rows of many columns are read one after the other.
  const bool in_lanes =
      source->shape.d <= 64 && source->shape.bits <= MOST_LANE_BITS && source->shape.normal_tops != 0;
  for (int first = 0; first < all; first += 8) {
    Eight eight;
    eight.count = min(all - first, 8);
    for (int i = 0; i < 8; ++i) eight.row[i] = moved->row[first + min(i, eight.count - 1)];
    exchange_labels(source, &eight);
#if !PRODUCTS
    if (in_lanes) {
      add_lanes(source, totals, &eight);
    } else
#endif
    {
      add_rows(source, totals, &eight);
    }
    count_rows(source, totals, &eight);
    if (!source->first_pass) hash_moved(source, &eight, hash);
  }
  moved->count = 0;
  return all;
}

// sum = the four words' sums, each with its sign, as one number of 128 bits.
void join_words(const long8* words, __local ulong* sum) {
  sum[0] = sum[1] = 0;
  for (int i = 0; i < 4; ++i) {
    const long word = (long)sum_of_words(as_ulong8(words[i]));
    const int bit = 32 * (i % 2);
    const ulong low = (ulong)word << bit;
    if (i < 2) {
      sum[0] += low;
      sum[1] += (ulong)(bit == 0 ? word >> 63 : word >> 32) + (sum[0] < low);
    } else {
      sum[1] += low;
    }
  }
}
#endif

// MODEL and ROTATED say which of the batch. `scratch` holds a model's sums, weights and counts.
//
// A group looks at a word of labels for each of its work-items, lists the rows that changed, and shares out their
// values: few rows change after the first passes, and a work-item that has one would keep its neighbours waiting. One
// that is alone lists some rows, too, and takes them eight at a time. What is counted goes to global memory once a
// group, since all
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
  Source source;
  source.shape = shape;
  source.rows = rows;
  source.points = points;
  source.weights = weights;
  source.tops = tops;
  source.exponents = exponents;
  source.labels = labels + own * shape.label_width;
  source.next = next + found * shape.label_width;
  source.first_pass = first_pass;
  Moved moved;
  moved.count = 0;
  long8 hash[4] = {(long8)(0), (long8)(0), (long8)(0), (long8)(0)};
  const ulong of_last_word = ~0UL >> 8 * shape.label_width * (words * in_word - rows.count);
  FOR_EACH(word, words) {
    ulong change = first_pass ? ~0UL : old_words[word] ^ new_words[word];
    if (word == words - 1) change &= of_last_word;
    if (change == 0) continue;
    list_changed(change, (uint)(word * in_word), shape.label_width, &moved);
    if (moved.count > MOVED_ROWS - 8) counted[0] += move_rows(&source, totals, &moved, hash);
  }
  counted[0] += move_rows(&source, totals, &moved, hash);
  weights_from_counts(&source, totals, range.k);
  join_words(hash, counted + 1);
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
