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

/// Throws Error(kUsage) if `rows` rows in `clusters` clusters cannot have these sizes. `most` of 0: any number.
void check_sizes(const SizeLimits& sizes, int64_t rows, int64_t clusters);
/// Throws Error(kUnavailable) if rows * clusters is too large.
void check_costs(const SizeLimits& sizes, int64_t rows, int64_t clusters);

/// `points` is an upload of this rank's rows, null where it has none. It is queried for distances alone: callers that
/// choose prototypes query `points` themselves, since labels of candidates have no sizes. The input must outlive it.
///
/// A pass of a session takes collectives of input.comm: one maximum, and for each cluster a gathering of 8 bytes a row.
/// Then every rank solves the problem of all rows, so each of them needs the memory that a process with all rows needs.
std::unique_ptr<Upload> make_balanced_upload(const Input& input, std::shared_ptr<Upload> points,
                                             const SizeLimits& sizes, const std::atomic<bool>* abort);

}  // namespace manymeans
