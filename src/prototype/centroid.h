// The centroid as prototype: what k-means represents a cluster by.
#pragma once

#include <manymeans/points.h>

#include "data/input.h"
#include "data/statistics.h"

#include <span>

namespace manymeans {

/// Prototypes from statistics: c_kj = fl_T(ldexp(RN(S_kj) / RN(W_k), weight_shift - s_j)), -0 stored as +0.
/// Clusters with W_k = 0 keep their row of `old`. O(K D).
Matrix solve_centroids(const Statistics& statistics, const Input& input, const Matrix& old, ThreadPool& pool);

/// Rounded to T, -0 as +0. Throws Error(kBadData) for values that are not finite or too large to square.
Matrix make_prototypes(const PointsView& rows, DataType type);

/// Largest |value|.
double largest_magnitude(const Matrix& prototypes);

/// Prototypes `kept` (ascending) of `old`.
Matrix keep_prototypes(const Matrix& old, std::span<const int64_t> kept);

}  // namespace manymeans
