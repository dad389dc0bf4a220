// Points of which equal rows are computed once: a session over one row of each group, seen as one over all rows.
//
// All that leaves it is what a session over all rows would say, to the bit: labels and distances are those of the
// group, statistics and seeding terms are integers times the group's size, and random choices go through the rows in
// their order.
#pragma once

#include "backend/backend.h"
#include "core/threads.h"
#include "data/equal_rows.h"

#include <memory>

namespace manymeans {

/// Points of `input` on the backend's device, grouped where that pays: MANYMEANS_EQUAL_ROWS=each turns it off, =once
/// groups whatever repeats and can be grouped. Once *abort is set, its sessions throw Error(kInterrupted).
std::unique_ptr<Upload> upload_points(Backend& backend, const Input& input, const Workload& workload, ThreadPool& pool,
                                      const std::atomic<bool>* abort);

/// The same with groups that were found. `input` must outlive it.
std::unique_ptr<Upload> upload_deduplicated(Backend& backend, const Input& input, EqualRows rows,
                                            const Workload& workload, const std::atomic<bool>* abort);

}  // namespace manymeans
