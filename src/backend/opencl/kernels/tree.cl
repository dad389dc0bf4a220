// A pass over a kd-tree: what prototypes may be nearest to the points of a leaf (the mapping), and labels of the rows by
// canonical distances to these alone. Proof: docs/developer/screens.md, "kd-tree" and "Leaves in OpenCL".
//
// The tree has two levels, leaves of 32 neighbouring rows and nodes of 16 leaves, each with a bounding box; `order` has
// the rows leaf by leaf. Lists of candidates are made for nodes from all prototypes, and for leaves from their node's.
// Rows stay where they are: a leaf whose list has one prototype is labelled without a look at its points, and where all
// of its rows had that label already, nothing is written. Others are read through `order`, LANES rows to a vector.
// A work-group takes neighbouring leaves; the models come one after the other and share the reading of a leaf.
//
// -D options: D (columns of the points, and of zeros that fill them up), PADDED (there are such), LANES (1 or 8: rows of
// a vector).
#pragma OPENCL FP_CONTRACT OFF

#if LANES == 1
typedef double Doubles;
typedef long Longs;
#else
typedef double8 Doubles;
typedef long8 Longs;
#endif

#if PADDED
#define COLUMN_COUNT shape.d
#else
#define COLUMN_COUNT (long)D
#endif

// Where a leaf's node has its list.
__global const ListEntry* list_of_node(NodeLists nodes, __global const ListEntry* lists, int r, long leaf) {
  return lists + (r * nodes.stride + leaf / MANYMEANS_NODE_LEAVES - nodes.first) * MANYMEANS_NODE_LIST;
}

// The candidates among which a leaf's list was made.
BoxCandidates candidates_of_node(Shape shape, NodeLists nodes, __global const ListEntry* node_lists, Range range, int r, long leaf,
                                 __global const Prototype* prototypes) {
  BoxCandidates from;
  from.values = prototypes + range.prototypes;
  from.parent = list_of_node(nodes, node_lists, r, leaf);
  from.k = range.k;
  from.d = COLUMN_COUNT;
  if (from.parent[0] == MANYMEANS_ALL_OF_PARENT) from.parent = 0;
  return from;
}

__kernel void map_nodes(Shape shape, NodeLists nodes, BoxBound bound, __global const Range* ranges,
                        __global const uint* control, __global const double* boxes,
                        __global const Prototype* prototypes, __global ListEntry* lists) {
  if (control[0] != 0) return;
  for (int r = 0; r < (int)shape.ranges; ++r) {
    BoxCandidates from;
    from.values = prototypes + ranges[r].prototypes;
    from.parent = 0;
    from.k = ranges[r].k;
    from.d = COLUMN_COUNT;
    FOR_EACH(i, nodes.count) {
      list_candidates(boxes + (nodes.first + i) * (2 * COLUMN_COUNT + 1), from, bound,
                      lists + (r * nodes.stride + i) * MANYMEANS_NODE_LIST, MANYMEANS_NODE_LIST - 1);
    }
  }
}

__kernel void map_leaves(Shape shape, NodeLists leaves, NodeLists nodes, BoxBound bound, __global const Range* ranges,
                         __global const uint* control, __global const double* boxes,
                         __global const Prototype* prototypes, __global const ListEntry* node_lists,
                         __global ListEntry* lists) {
  if (control[0] != 0) return;
  for (int r = 0; r < (int)shape.ranges; ++r) {
    const Range range = ranges[r];
    FOR_EACH(i, leaves.count) {
      const long leaf = leaves.first + i;
      const BoxCandidates from = candidates_of_node(shape, nodes, node_lists, range, r, leaf, prototypes);
      list_candidates(boxes + leaf * (2 * COLUMN_COUNT + 1), from, bound, lists + (r * leaves.stride + i) * MANYMEANS_LEAF_LIST,
                      MANYMEANS_LEAF_LIST - 1);
    }
  }
}

// Counts the rows that need a look, and empties the lists of leaves whose rows all have their only candidate as label in
// `next` already. `owners` has that label of each leaf and slot, or none; with slices it has nothing to say. MODEL says
// which of the batch.
__kernel void settle_leaves(Shape shape, RowBlock rows, NodeLists leaves, NodeLists nodes, int keeps,
                            __global const Range* ranges, __global ulong* counters, __global const uint* control,
                            __global const ListEntry* node_lists, __global ListEntry* lists, __global uint* owners) {
  if (control[0] != 0) return;
  const int r = MODEL;
  const Range range = ranges[r];
  ulong resolved = 0;
  ulong candidates = 0;
  FOR_EACH(i, leaves.count) {
    __global ListEntry* const list = lists + (r * leaves.stride + i) * MANYMEANS_LEAF_LIST;
    __global uint* const owner = owners + range.slot * leaves.stride + i;
    ulong count = list[0];
    if (count == 1) {
      if (keeps && *owner == list[1]) list[0] = 0;
      *owner = list[1];
      continue;
    }
    *owner = ~0U;
    if (count == MANYMEANS_ALL_OF_PARENT) count = list_of_node(nodes, node_lists, r, leaves.first + i)[0];
    if (count == MANYMEANS_ALL_OF_PARENT) count = (ulong)range.k;
    const ulong of_leaf = (ulong)min(rows.count - i * MANYMEANS_LEAF_ROWS, (long)MANYMEANS_LEAF_ROWS);
    resolved += of_leaf;
    candidates += of_leaf * count;
  }
  if (resolved == 0) return;
  counters += shape.counters + r * kCounters;
  add_global(counters + kResolved, resolved);
  add_global(counters + kCandidates, candidates);
}

// Value by value, since the rows of a leaf stand anywhere.
void load_rows(__global const uchar* points, const long* row, long d, Doubles* x) {
#pragma unroll
  for (int j = 0; j < D; ++j) {
    x[j] = (Doubles)(0.0);
    if (PADDED && j >= d) continue;
#if LANES == 1
    x[j] = value_at(points, row[0] * d + j);
#else
    double lanes[LANES];
#pragma unroll
    for (int lane = 0; lane < LANES; ++lane) lanes[lane] = value_at(points, row[lane] * d + j);
    x[j] = vload8(0, lanes);
#endif
  }
}

// Canonical distances of LANES rows to a prototype. Columns of zeros change none: they add +0.
Doubles canonical_distances(const Doubles* x, __global const Prototype* c, long d) {
  Doubles p[8];
#pragma unroll
  for (int l = 0; l < 8; ++l) p[l] = (Doubles)(0.0);
#pragma unroll
  for (int j = 0; j < D; ++j) {
    if (PADDED && j >= d) continue;
    const Doubles t = x[j] - (Doubles)((double)c[j]);
    p[j % 8] = fma(t, t, p[j % 8]);
  }
  return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

// Lists ascend, so the lowest of equally near candidates wins.
Longs nearest_candidates(const Doubles* x, BoxCandidates from) {
  const long count = count_of(from);
  Doubles best = (Doubles)(INFINITY);
  Longs label = (Longs)(0);
  for (long i = 0; i < count; ++i) {
    const long k = candidate(from, i);
    const Doubles d2 = canonical_distances(x, from.values + k * from.d, from.d);
    label = d2 < best ? (Longs)(k) : label;
    best = d2 < best ? d2 : best;
  }
  return label;
}

void store_labels_at(__global uchar* next, int width, long first, const long* row, Longs label, int lanes) {
#if LANES == 1
  store_label(next, width, first + row[0], (uint)label);
#else
  long of_lane[LANES];
  vstore8(label, 0, of_lane);
  for (int lane = 0; lane < lanes; ++lane) store_label(next, width, first + row[lane], (uint)of_lane[lane]);
#endif
}

__kernel void label_leaves(Shape shape, RowBlock rows, NodeLists leaves, NodeLists nodes, __global const Range* ranges,
                           __global const uint* control, __global const uchar* points, __global const uint* order,
                           __global const Prototype* prototypes, __global const ListEntry* node_lists,
                           __global const ListEntry* lists, __global uchar* next) {
  if (control[0] != 0) return;
  points += rows.points;
  FOR_EACH(vector, (rows.count + LANES - 1) / LANES) {
    const long place = vector * LANES;
    const int lanes = (int)min(rows.count - place, (long)LANES);
    const long leaf = place / MANYMEANS_LEAF_ROWS;
    bool loaded = false;
    long row[LANES];
    Doubles x[D];
    for (int r = 0; r < (int)shape.ranges; ++r) {
      __global const ListEntry* const list = lists + (r * leaves.stride + leaf) * MANYMEANS_LEAF_LIST;
      if (list[0] == 0) continue;
      if (!loaded) {
        for (int lane = 0; lane < LANES; ++lane) {
          row[lane] = (long)order[rows.first + place + min(lane, lanes - 1)] - rows.first;
        }
        load_rows(points, row, COLUMN_COUNT, x);
        loaded = true;
      }
      const Range range = ranges[r];
      Longs label = (Longs)(list[1]);
      if (list[0] != 1) {
        BoxCandidates from = candidates_of_node(shape, nodes, node_lists, range, r, leaves.first + leaf, prototypes);
        if (list[0] != MANYMEANS_ALL_OF_PARENT) from.parent = list;
        label = nearest_candidates(x, from);
      }
      store_labels_at(next, shape.label_width, range.slot * shape.next_stride, row, label, lanes);
    }
  }
}
