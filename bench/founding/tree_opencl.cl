// The three kd-tree forms of study 1, section 6.1, each for all models at once. founding_common.cl comes before.
// Points lie in the order of the leaves: leaf l has those from leaf_first[l] to leaf_first[l + 1]. The host mapped
// centroids to leaves. The list of model m and leaf l begins at mapped[first[m * leaves + l]]. It has each centroid
// that may be the nearest of a point in the leaf.

typedef struct {
  __global const value_t* points;
  __global const int* first;
  __global const int* mapped;
  int n, leaves;
} Tree;

// Returns the nearest mapped centroid of model m, counted among the centroids of all models.
int nearest_mapped(const Tree* tree, const value_t* point, __local const float* s_models, int m, int leaf) {
  const int last = tree->first[m * tree->leaves + leaf + 1];
  int nearest = 0;
  float least = FLT_MAX;
  for (int e = tree->first[m * tree->leaves + leaf]; e < last; ++e) {
    const int c = m * K + tree->mapped[e];
    const float distance = squared_distance(point, s_models + c * D);
    if (distance < least) {
      least = distance;
      nearest = c;
    }
  }
  return nearest;
}

void read_point(const Tree* tree, int i, value_t* point) {
  for (int j = 0; j < D; ++j) point[j] = tree->points[(size_t)i * D + j];
}

void note_label(const Tree* tree, __global int* labels, int m, int i, int c) {
  if (labels != 0) labels[(size_t)m * tree->n + i] = c - m * K;
}

// The models and their statistics in local memory. `labels` is null in all passes that are timed.
typedef struct {
  __local float* models;
  __local value_t* sums;
  __local int* counts;
  __global int* labels;
} Statistics;

// Adds point i of a leaf to each model's statistics.
void add_to_models(const Tree* tree, const Statistics* to, int i, int leaf) {
  value_t point[D];
  read_point(tree, i, point);
  for (int m = 0; m < M; ++m) {
    const int c = nearest_mapped(tree, point, to->models, m, leaf);
    add_point(point, c, to->sums, to->counts);
    note_label(tree, to->labels, m, i, c);
  }
}

#define LOCAL_STATISTICS             \
  __local float s_models[M * K * D]; \
  __local value_t s_sums[M * K * D]; \
  __local int s_counts[M * K];       \
  const Statistics statistics = {s_models, s_sums, s_counts, labels}

// Section 6.1.1: a work-group a leaf. Its work-items share few mapped centroids, so they update the same sums.
__kernel void direct_access(__global const value_t* points, __global const int* leaf_first, __global const int* first,
                            __global const int* mapped, __global const float* models, __global value_t* sums,
                            __global int* counts, __global int* labels) {
  LOCAL_STATISTICS;
  const int leaf = get_group_id(0), leaves = get_num_groups(0);
  const Tree tree = {points, first, mapped, leaf_first[leaves], leaves};
  load_models(models, s_models, s_sums, s_counts, M * K);
  for (int i = leaf_first[leaf] + get_local_id(0); i < leaf_first[leaf + 1]; i += get_local_size(0)) {
    add_to_models(&tree, &statistics, i, leaf);
  }
  write_back(sums, counts, s_sums, s_counts, M * K);
}

// Section 6.1.2: a work-group spans leaves. Neighbours among work-items have points of different leaves, so they update
// other centroids. The price: reads are not coalesced, and several work-groups read the mapping of a leaf. The study
// only draws this pattern (figure 6-3); here, work-item i of all takes point i / leaves of leaf i mod leaves.
__kernel void distributed_access(__global const value_t* points, __global const int* leaf_first,
                                 __global const int* first, __global const int* mapped, __global const float* models,
                                 __global value_t* sums, __global int* counts, __global int* labels, int leaves,
                                 int per_item) {
  LOCAL_STATISTICS;
  const Tree tree = {points, first, mapped, leaf_first[leaves], leaves};
  load_models(models, s_models, s_sums, s_counts, M * K);
  for (int p = 0; p < per_item; ++p) {
    const int item = (get_group_id(0) * per_item + p) * get_local_size(0) + get_local_id(0);
    const int leaf = item % leaves, i = leaf_first[leaf] + item / leaves;
    if (i < leaf_first[leaf + 1]) add_to_models(&tree, &statistics, i, leaf);
  }
  write_back(sums, counts, s_sums, s_counts, M * K);
}

// Section 6.1.3: a work-group a leaf, and each work-item has statistics of its own in global memory. So nothing is
// added by atomics. Value v of work-item w lies at own_sums[v * work-items + w], for coalesced access.
__kernel void replicated_access(__global const value_t* points, __global const int* leaf_first,
                                __global const int* first, __global const int* mapped, __global const float* models,
                                __global value_t* own_sums, __global int* own_counts, __global int* labels) {
  __local float s_models[M * K * D];
  const int leaf = get_group_id(0), leaves = get_num_groups(0);
  const size_t items = get_global_size(0), own = get_global_id(0);
  const Tree tree = {points, first, mapped, leaf_first[leaves], leaves};
  for (int v = get_local_id(0); v < M * K * D; v += get_local_size(0)) s_models[v] = models[v];
  for (int v = 0; v < M * K * D; ++v) own_sums[v * items + own] = 0;
  for (int c = 0; c < M * K; ++c) own_counts[c * items + own] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = leaf_first[leaf] + get_local_id(0); i < leaf_first[leaf + 1]; i += get_local_size(0)) {
    value_t point[D];
    read_point(&tree, i, point);
    for (int m = 0; m < M; ++m) {
      const int c = nearest_mapped(&tree, point, s_models, m, leaf);
      own_counts[c * items + own] += 1;
      for (int j = 0; j < D; ++j) own_sums[(c * D + j) * items + own] += point[j];
      note_label(&tree, labels, m, i, c);
    }
  }
}

// The kernels that aggregate the replicas: a work-group a value. Each work-item adds its share, the first adds these.
#define JOIN_REPLICAS(name, type)                                                  \
  __kernel void name(__global const type* own, __global type* joined, int items) { \
    __local type part[GROUP];                                                      \
    const int v = get_group_id(0), tx = get_local_id(0);                           \
    type sum = 0;                                                                  \
    for (int w = tx; w < items; w += GROUP) sum += own[(size_t)v * items + w];     \
    part[tx] = sum;                                                                \
    barrier(CLK_LOCAL_MEM_FENCE);                                                  \
    if (tx != 0) return;                                                           \
    for (int w = 1; w < GROUP; ++w) sum += part[w];                                \
    joined[v] = sum;                                                               \
  }
JOIN_REPLICAS(join_sums, value_t)
JOIN_REPLICAS(join_counts, int)
