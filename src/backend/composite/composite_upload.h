// Points on several devices, some of the rows on each.
#pragma once

#include "backend/composite/composite_part.h"
#include "backend/composite/row_mover.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace manymeans {

/// One of the devices.
struct NamedBackend {
  std::string name;  ///< "cuda:1"
  std::unique_ptr<Backend> backend;
};

/// Copies of the rows that each backend is to get; null where one of them is better off without, or all are.
std::unique_ptr<CopiedPoints> copy_to_parts(const PointsView& points, std::span<const NamedBackend> backends,
                                            std::span<const int64_t> ends, const Workload& workload);

/// Backend b gets the rows from ends[b - 1] up to ends[b]; a backend without rows does nothing. By `rule` rows move
/// later; without one they stay.
std::unique_ptr<Upload> make_composite_upload(const Input& input, std::span<const NamedBackend> backends,
                                              std::span<const int64_t> ends, const Workload& workload,
                                              ShareRule rule = {});

}  // namespace manymeans
