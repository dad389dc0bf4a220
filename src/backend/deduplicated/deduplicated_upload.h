// Points with duplicates: each distinct row is computed once. A session over the distinct rows acts as one over all
// rows.
//
// All results equal the results of a session over all rows, to the bit. Labels and distances come from the distinct
// row. Statistics and seeding terms are integers times its multiplicity. Random choices go through the rows in their
// order.
#pragma once

#include "backend/backend.h"
#include "core/threads.h"
#include "data/duplicates.h"

#include <memory>
#include <optional>

namespace manymeans {

struct PointsToUpload {
  const Input& input;  ///< must outlive the upload
  const Workload& workload;
  std::optional<bool> duplicates = {};  ///< as in Tuning
};

/// The points on the backend's device, each distinct row once where that pays: MANYMEANS_DUPLICATES=off turns it off,
/// =on does it however few duplicates there are. Once *abort is set, its sessions throw Error(kInterrupted).
std::unique_ptr<Upload> upload_points(Backend& backend, const PointsToUpload& points, ThreadPool& pool,
                                      const std::atomic<bool>* abort);

/// Makes the upload with known duplicates. `input` must outlive it.
std::unique_ptr<Upload> upload_deduplicated(Backend& backend, const Input& input, Duplicates duplicates,
                                            const Workload& workload, const std::atomic<bool>* abort);

}  // namespace manymeans
