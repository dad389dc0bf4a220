// All kernels of study 1 share these functions. The host defines K centroids a model, D columns, M models, work-groups
// of GROUP work-items, and WHOLE for coordinates that are whole numbers.
//
// The study's listings add coordinates by atom_add, which OpenCL 1.1 has for integers alone. So its points had whole
// coordinates, or a function of its own stood behind the name. Both are here: value_t int adds by the instruction,
// value_t float by compare-and-swap.

#ifdef WHOLE
typedef int value_t;
void add_local(volatile __local int* to, int value) {
  atomic_add(to, value);
}
void add_global(volatile __global int* to, int value) {
  atomic_add(to, value);
}
#else
typedef float value_t;
#define ADD_BY_SWAP(name, space)                                              \
  void name(volatile space float* to, float value) {                          \
    volatile space uint* const bits = (volatile space uint*)to;               \
    uint seen = *bits, before;                                                \
    do {                                                                      \
      before = seen;                                                          \
      seen = atomic_cmpxchg(bits, before, as_uint(as_float(before) + value)); \
    } while (seen != before);                                                 \
  }
ADD_BY_SWAP(add_local, __local)
ADD_BY_SWAP(add_global, __global)
#endif

// Copies models into local memory and clears their sums there. `centroids` is how many centroids there are.
void load_models(__global const float* models, __local float* s_models, __local value_t* s_sums, __local int* s_counts,
                 int centroids) {
  for (int v = get_local_id(0); v < centroids * D; v += get_local_size(0)) {
    s_models[v] = models[v];
    s_sums[v] = 0;
  }
  for (int c = get_local_id(0); c < centroids; c += get_local_size(0)) s_counts[c] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
}

float squared_distance(const value_t* point, __local const float* centroid) {
  float distance = 0;
  for (int j = 0; j < D; ++j) {
    const float difference = (float)point[j] - centroid[j];
    distance += difference * difference;
  }
  return distance;
}

// Adds a point to the statistics of centroid `c` in local memory.
void add_point(const value_t* point, int c, __local value_t* s_sums, __local int* s_counts) {
  atomic_inc(s_counts + c);
  for (int j = 0; j < D; ++j) add_local(s_sums + c * D + j, point[j]);
}

// Adds the statistics in local memory to those in global memory.
void write_back(__global value_t* sums, __global int* counts, __local const value_t* s_sums,
                __local const int* s_counts, int centroids) {
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int c = get_local_id(0); c < centroids; c += get_local_size(0)) {
    if (s_counts[c] == 0) continue;
    atomic_add(counts + c, s_counts[c]);
    for (int j = 0; j < D; ++j) add_global(sums + c * D + j, s_sums[c * D + j]);
  }
}

// compute_new_models() of algorithm 1: a work-item a centroid. The models stay on the device between iterations. A
// cluster without points keeps its centroid. The statistics are cleared for the next iteration.
__kernel void compute_new_models(__global float* models, __global value_t* sums, __global int* counts) {
  const int c = get_global_id(0);
  if (c >= M * K) return;
  for (int j = 0; j < D; ++j) {
    if (counts[c] > 0) models[c * D + j] = (float)sums[c * D + j] / (float)counts[c];
    sums[c * D + j] = 0;
  }
  counts[c] = 0;
}
