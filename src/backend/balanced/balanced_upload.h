// Clusters of limited sizes: a session that gets distances from another one. It labels the rows itself, by the
// assignment of minimal cost (balanced_assignment.h). Contract: "Balanced clusters".
#pragma once

#include "backend/balanced/balanced_assignment.h"
#include "backend/upload.h"
#include "data/input.h"

#include <atomic>
#include <cstdint>
#include <memory>

namespace manymeans {

/// Throws Error if `rows` rows in `clusters` clusters cannot have these sizes, or if rows * clusters is too large.
/// `most` of 0: any number.
void check_sizes(const SizeLimits& sizes, int64_t rows, int64_t clusters);

/// `points` is an upload of the input, of all rows there are; both must outlive it. Callers that choose prototypes
/// query `points`: labels of candidates have no sizes.
std::unique_ptr<Upload> make_balanced_upload(const Input& input, Upload& points, const SizeLimits& sizes,
                                             const std::atomic<bool>* abort);

}  // namespace manymeans
