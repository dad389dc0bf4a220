// Choice of the seeding: by the upload, or by the host instead; and what a seeding may not know.
#pragma once

#include "backend/backend.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace manymeans {

/// A seeding together with what it works on.
struct SeedingOwner {
  std::unique_ptr<Backend> backend;  ///< null where the seeding is the upload's own
  std::unique_ptr<Upload> upload;
  std::unique_ptr<Seeding> seeding;

  Seeding* operator->() const { return seeding.get(); }
};

/// The upload's seeding of models with these numbers of prototypes. If the upload leaves that to the host, a seeding of
/// the cpu backend over the same points. All arguments but k must outlive it.
SeedingOwner make_seeding(Upload& upload, const Input& input, std::span<const int64_t> k, ThreadPool& pool);

/// Computes Seeding::cluster_weights() for the centres by a pass over all points: for callers without a seeding that
/// knows it.
std::vector<int64_t> cluster_weights_by_pass(Upload& upload, const Matrix& centres, int threads);

}  // namespace manymeans
