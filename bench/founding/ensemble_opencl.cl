// The three strategies of study 1, chapter 5, as algorithms 2 to 4 and listings 5-1 to 5-6 write them, for D columns.
// founding_common.cl comes before. Each kernel is compute_statistics(): it finds the nearest centroid of each point in
// each model, and adds the point to that centroid's statistics. `labels` is null in all passes that are timed.

int nearest_centroid(const value_t* point, __local const float* s_model) {
  int nearest = 0;
  float least = FLT_MAX;
  for (int c = 0; c < K; ++c) {
    const float distance = squared_distance(point, s_model + c * D);
    if (distance < least) {
      least = distance;
      nearest = c;
    }
  }
  return nearest;
}

void read_point(__global const value_t* points, int i, value_t* point) {
  for (int j = 0; j < D; ++j) point[j] = points[(size_t)i * D + j];
}

void note_label(__global int* labels, int n, int m, int i, int label) {
  if (labels != 0) labels[(size_t)m * n + i] = label;
}

// Algorithm 2: a work-group fits a model, and reads all points. So the points are read M times, and M work-groups are
// all that keeps the device busy. No other work-group has this model, so its statistics are written without atomics.
__kernel void task_parallel(__global const value_t* points, __global const float* models, __global value_t* sums,
                            __global int* counts, __global int* labels, int n) {
  __local float s_model[K * D];
  __local value_t s_sums[K * D];
  __local int s_counts[K];
  const int m = get_group_id(0), tx = get_local_id(0), width = get_local_size(0);
  load_models(models + m * K * D, s_model, s_sums, s_counts, K);
  for (int i = tx; i < n; i += width) {
    value_t point[D];
    read_point(points, i, point);
    const int c = nearest_centroid(point, s_model);
    add_point(point, c, s_sums, s_counts);
    note_label(labels, n, m, i, c);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int v = tx; v < K * D; v += width) sums[m * K * D + v] = s_sums[v];
  for (int c = tx; c < K; c += width) counts[m * K + c] = s_counts[c];
}

// Algorithm 3: a launch a model. Work-groups share the points: each work-item reads `per_item` of them, coalesced.
__kernel void data_parallel(__global const value_t* points, __global const float* models, __global value_t* sums,
                            __global int* counts, __global int* labels, int n, int per_item, int m) {
  __local float s_model[K * D];
  __local value_t s_sums[K * D];
  __local int s_counts[K];
  const int first = get_local_size(0) * per_item * get_group_id(0) + get_local_id(0);
  load_models(models + m * K * D, s_model, s_sums, s_counts, K);
  for (int p = 0; p < per_item; ++p) {
    const int i = first + p * get_local_size(0);
    if (i >= n) break;
    value_t point[D];
    read_point(points, i, point);
    const int c = nearest_centroid(point, s_model);
    add_point(point, c, s_sums, s_counts);
    note_label(labels, n, m, i, c);
  }
  write_back(sums + m * K * D, counts + m * K, s_sums, s_counts, K);
}

// Algorithm 4: all models in local memory, so that each point is read once for all. High contention (figure 5-4): all
// work-items begin with model 0, read it by broadcast, and update the same model. Reduced contention (figure 5-5):
// work-item i begins with model i mod M. The other strategies need no room for all models, so it is left out there.
#ifdef CONCATENATED
__kernel void concatenated_parallel(__global const value_t* points, __global const float* models,
                                    __global value_t* sums, __global int* counts, __global int* labels, int n,
                                    int per_item, int rotated) {
  __local float s_models[M * K * D];
  __local value_t s_sums[M * K * D];
  __local int s_counts[M * K];
  const int tx = get_local_id(0);
  const int first = get_local_size(0) * per_item * get_group_id(0) + tx;
  load_models(models, s_models, s_sums, s_counts, M * K);
  for (int p = 0; p < per_item; ++p) {
    const int i = first + p * get_local_size(0);
    if (i >= n) break;
    value_t point[D];
    read_point(points, i, point);
    for (int step = 0; step < M; ++step) {
      const int m = rotated ? (tx + step) % M : step;
      const int c = nearest_centroid(point, s_models + m * K * D);
      add_point(point, m * K + c, s_sums, s_counts);
      note_label(labels, n, m, i, c);
    }
  }
  write_back(sums, counts, s_sums, s_counts, M * K);
}
#endif
