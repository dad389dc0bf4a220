// As many clusters as there are rows, at most.
#pragma once

#include <manymeans/error.h>

#include <fmt/format.h>

#include <cstdint>

namespace manymeans {

/// Throws Error(kUsage) for more clusters than rows. It asks for no value of the points, so it comes before any is
/// read.
inline void check_clusters(int64_t k, int64_t rows) {
  if (k <= rows) return;
  throw Error(ErrorCode::kUsage, "k",
              fmt::format("{} clusters were asked for, but there are only {} rows; k must be at most that", k, rows));
}

}  // namespace manymeans
