// Common passes of many small problems (device/problem_kernels.h): every canonical distance. Behind exact.cl. A
// work-item has some rows of one model, or a model; sums go to global memory at once.
#pragma OPENCL FP_CONTRACT OFF

// ProblemModel, PassControl and ProblemFacts of the host.
typedef struct {
  Int64 first_row, rows, first_label, first_cluster;
  Int32 k;
  uint active, first_pass, unused;
} ProblemModel;

typedef struct {
  uint stopped, passes;
  Int64 changed;
  double sum, each, share;
  uint unsolved, unused;
} ProblemControl;

typedef struct {
  double farthest;
  ulong hash_low, hash_high;
} ProblemFacts;

// Rows of one model, counted within it.
typedef struct {
  Int64 first, last;
  Int32 model;
  Int32 unused;
} ProblemTile;

typedef struct {
  Int64 d;
  Int64 points;    // the first value, in bytes of the buffer
  Int64 counters;  // the pass's first one
  Int64 tiles;
  Int64 models;
  Int32 label_width;
  Int32 limbs;
  Int32 bits;  // of a limb
  Int32 normal_tops;
} ProblemShape;

void add_signed(__global ulong* to, long value) {
  if (value != 0) add_global(to, (ulong)value);
}

// The sums, weights and counts of all models' clusters.
typedef struct {
  __global ulong* sums;
  __global ulong* weights;
  __global ulong* counts;
} AllClusters;

// Takes a row from a cluster, if it was in one, and adds it to another.
void move_problem_row(ProblemShape shape, __global const uchar* points, long x, __global const double* tops,
                      __global const int* exponents, AllClusters all, long from, long to) {
  const long of_cluster = shape.limbs * shape.d;
  for (long j = 0; j < shape.d; ++j) {
    const double v = value_at(points, x + j);
    long parts[6] = {0, 0, 0, 0, 0, 0};
    add_parts(shape.normal_tops ? v * tops[j] : scaled_by_power(v, exponents[j]), shape.limbs, shape.bits, parts);
    for (int g = 0; g < shape.limbs; ++g) {
      add_signed(all.sums + to * of_cluster + g * shape.d + j, parts[g]);
      if (from >= 0) add_signed(all.sums + from * of_cluster + g * shape.d + j, -parts[g]);
    }
  }
  add_signed(all.weights + to, 1);
  add_signed(all.counts + to, 1);
  if (from < 0) return;
  add_signed(all.weights + from, -1);
  add_signed(all.counts + from, -1);
}

__kernel void problem_pass(ProblemShape shape, __global const ProblemTile* tiles, __global const ProblemModel* models,
                           __global const ProblemControl* controls, __global ulong* counters,
                           __global const uchar* points, __global const Prototype* prototypes, __global uchar* labels,
                           __global ulong* sums, __global ulong* weights, __global ulong* counts,
                           __global const double* tops, __global const int* exponents) {
  AllClusters all;
  all.sums = sums;
  all.weights = weights;
  all.counts = counts;
  points += shape.points;
  FOR_EACH(t, shape.tiles) {
    const ProblemTile tile = tiles[t];
    const ProblemModel model = models[tile.model];
    const ProblemControl control = controls[tile.model];
    if (control.stopped != 0) continue;
    const bool first_pass = model.first_pass && control.passes == 0;
    ulong changed = 0, low = 0, high = 0;
    for (long row = tile.first; row < tile.last; ++row) {
      const long x = (model.first_row + row) * shape.d;
      const uint to = nearest(points, x, prototypes + model.first_cluster * shape.d, shape.d, model.k);
      const long at = model.first_label + row;
      const uint from = first_pass ? to : load_label(labels, shape.label_width, at);
      if (!first_pass && from == to) continue;
      store_label(labels, shape.label_width, at, to);
      move_problem_row(shape, points, x, tops, exponents, all, first_pass ? -1 : model.first_cluster + from,
                       model.first_cluster + to);
      ++changed;
      if (first_pass) continue;
      ulong to_low, to_high, from_low, from_high;
      label_term_halves((ulong)row, to, &to_low, &to_high);
      label_term_halves((ulong)row, from, &from_low, &from_high);
      low += to_low;
      high += to_high + (low < to_low);
      high -= from_high + (low < from_low);
      low -= from_low;
    }
    if (changed == 0) continue;
    __global ulong* const mine = counters + shape.counters + tile.model * kCounters;
    add_global(mine + kChanged, changed);
    add_128(mine + kHashLow, mine + kHashHigh, low, high);
  }
}

// Counts the pass of each model that has not stopped, and stops the model if the engine must judge. Unless `last`, the
// others get an update.
__kernel void problem_update(ProblemShape shape, __global const ProblemModel* models, __global ProblemControl* controls,
                             __global const ulong* counters, __global const long* sums, __global const long* weights,
                             __global const int* shifts, __global Prototype* prototypes, __global Prototype* before,
                             Int32 last) {
  FOR_EACH(m, shape.models) {
    const ProblemModel model = models[m];
    const ProblemControl control = controls[m];
    if (!model.active || control.stopped != 0) continue;
    bool judge = !(model.first_pass && control.passes == 0) &&
                 counters[shape.counters + m * kCounters + kChanged] <= (ulong)control.changed;
    for (int k = 0; k < model.k; ++k) judge = judge || weights[model.first_cluster + k] == 0;
    controls[m].passes = control.passes + 1;
    if (judge) controls[m].stopped = 1;  // kByPass
    if (judge || last) continue;
    double sum = 0;
    long still = 0;
    for (long k = model.first_cluster; k < model.first_cluster + model.k; ++k) {
      double d2 = 0;
      for (long j = 0; j < shape.d; ++j) {
        const long at = k * shape.d + j;
        const Prototype old = prototypes[at];
        const Prototype solved = solved_value(sums + k * shape.limbs * shape.d + j, weights[k], shifts[j], shape.limbs,
                                              shape.bits, shape.d);
        before[at] = old;
        prototypes[at] = solved;
        const double t = (double)solved - (double)old;
        d2 += t * t;
      }
      sum += d2;
      still += d2 <= control.each;
    }
    const bool few = control.sum >= 0 && !(sum > control.sum);
    const bool stand = control.each >= 0 && (double)still >= control.share * (double)model.k;
    if (few || stand) controls[m].stopped = 2;  // kByUpdate
  }
}

double problem_distance(ProblemShape shape, ProblemModel model, __global const uchar* points,
                        __global const Prototype* prototypes, long row, uint label) {
  return canonical_distance(points, (model.first_row + row) * shape.d,
                            prototypes + (model.first_cluster + label) * shape.d, shape.d);
}

__kernel void problem_facts(ProblemShape shape, __global const ProblemModel* models, __global const uchar* points,
                            __global const Prototype* prototypes, __global const uchar* labels,
                            __global ProblemFacts* facts) {
  points += shape.points;
  FOR_EACH(m, shape.models) {
    const ProblemModel model = models[m];
    if (!model.active) continue;
    ProblemFacts found = {0, 0, 0};
    for (long row = 0; row < model.rows; ++row) {
      const uint label = load_label(labels, shape.label_width, model.first_label + row);
      found.farthest = fmax(found.farthest, problem_distance(shape, model, points, prototypes, row, label));
      ulong low, high;
      label_term_halves((ulong)row, label, &low, &high);
      found.hash_low += low;
      found.hash_high += high + (found.hash_low < low);
    }
    facts[m] = found;
  }
}

// The format of a model's sum of distances: the power of two of its highest limb.
typedef struct {
  Int32 top;
  Int32 bits;
} ProblemFormat;

__kernel void problem_terms(ProblemShape shape, __global const ProblemModel* models, __global const uchar* points,
                            __global const Prototype* prototypes, __global const uchar* labels,
                            __global const ProblemFormat* formats, __global long* limbs) {
  points += shape.points;
  FOR_EACH(m, shape.models) {
    const ProblemModel model = models[m];
    if (!model.active) continue;
    long found[3] = {0, 0, 0};
    for (long row = 0; row < model.rows; ++row) {
      const uint label = load_label(labels, shape.label_width, model.first_label + row);
      const double d2 = problem_distance(shape, model, points, prototypes, row, label);
      add_parts(scaled_by_power(d2, formats[m].top), 3, formats[m].bits, found);
    }
    for (int g = 0; g < 3; ++g) limbs[m * 3 + g] = found[g];
  }
}

__kernel void problem_ranges(ProblemShape shape, __global const ProblemModel* models, __global const uchar* points,
                             __global double* ranges) {
  points += shape.points;
  FOR_EACH(i, shape.models * shape.d) {
    const ProblemModel model = models[i / shape.d];
    if (!model.active) continue;
    const long j = i % shape.d;
    double lowest = INFINITY, highest = -INFINITY;
    for (long row = model.first_row; row < model.first_row + model.rows; ++row) {
      const double v = value_at(points, row * shape.d + j);
      lowest = fmin(lowest, v);
      highest = fmax(highest, v);
    }
    ranges[i / shape.d * 2 * shape.d + j] = lowest;
    ranges[(i / shape.d * 2 + 1) * shape.d + j] = highest;
  }
}

__kernel void problem_distances(ProblemShape shape, __global const ProblemModel* models, Int64 m,
                                __global const uchar* points, __global const Prototype* prototypes,
                                __global const uchar* labels, __global double* out) {
  points += shape.points;
  FOR_EACH(row, models[m].rows) {
    const uint label = load_label(labels, shape.label_width, models[m].first_label + row);
    out[row] = problem_distance(shape, models[m], points, prototypes, row, label);
  }
}
