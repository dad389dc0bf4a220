#include "backend/cpu/cpu_plan.h"

#include <manymeans/error.h>

#include "core/memory.h"

#include <fmt/format.h>

#include <algorithm>

namespace manymeans {
namespace {

// The bound of the float32 screen needs (d + 4) * 2^-24 well below 1 (packed_prototypes.cpp).
constexpr int64_t kMostScreenColumns = int64_t{1} << 20;

// Half of the second-level cache of every server core of the last ten years (256 KiB to 2 MiB) at least.
constexpr int64_t kGroupBytes = 256 << 10;
// Most of a first-level cache of 32 KiB.
constexpr int64_t kChunkBytes = 24 << 10;
constexpr int64_t kMostTilesPerGroup = 32;
// A thread should find at least this many groups, or the last one to finish decides the pass.
constexpr int64_t kGroupsPerThread = 8;
// Copies of statistics that nobody minds.
constexpr int64_t kSmallStatistics = 256 << 20;

}  // namespace

PointsPlan plan_points(const Input& input, const CpuKernels& kernels, std::string_view algorithm,
                       int64_t memory_budget) {
  PointsPlan plan;
  if (algorithm != "auto" && algorithm != "screen" && algorithm != "brute") {
    throw Error(ErrorCode::kUsage, "algorithm",
                fmt::format("there is no algorithm '{}'; known: auto, screen, brute", algorithm));
  }
  const PointsView& points = input.points;
  if (algorithm == "brute" || points.d > kMostScreenColumns) {
    plan.brute = true;
    plan.why = algorithm == "brute" ? "exact distances only, as asked" : "exact distances only: too many columns";
    return plan;
  }
  const int64_t tiles = (points.n + kernels.tile_rows - 1) / kernels.tile_rows;
  plan.packed_bytes = tiles * kernels.tile_rows * (points.d + 1) * static_cast<int64_t>(sizeof(float));
  const int64_t budget = memory_budget > 0 ? memory_budget : available_memory() / 4;
  plan.packed = plan.packed_bytes <= budget;
  plan.why = plan.packed
                 ? fmt::format("certified float32 screen over a packed copy of {} MiB", plan.packed_bytes >> 20)
                 : fmt::format("certified float32 screen, tiles packed in every pass (a copy would take {} MiB)",
                               plan.packed_bytes >> 20);
  return plan;
}

SessionPlan plan_session(const Input& input, const CpuKernels& kernels, int64_t clusters, int threads,
                         int64_t memory_budget) {
  SessionPlan plan;
  const int64_t d = input.points.d;
  const int64_t tile_bytes = kernels.tile_rows * (d + 1) * static_cast<int64_t>(sizeof(float));
  const int64_t tiles = (input.points.n + kernels.tile_rows - 1) / kernels.tile_rows;
  const int64_t fair_share = std::max<int64_t>(1, tiles / (kGroupsPerThread * threads));
  plan.tiles_per_group = std::clamp<int64_t>(std::min(kGroupBytes / tile_bytes, fair_share), 1, kMostTilesPerGroup);
  plan.blocks_per_chunk =
      std::max<int64_t>(1, kChunkBytes / (kernels.block_prototypes * d * static_cast<int64_t>(sizeof(float))));
  plan.statistics_bytes = clusters * (d * input.limbs + 2) * static_cast<int64_t>(sizeof(int64_t));
  const int64_t budget = memory_budget > 0
                             ? memory_budget
                             : std::max<int64_t>(kSmallStatistics, static_cast<int64_t>(input.points.bytes()));
  plan.by_label_order = threads > 1 && plan.statistics_bytes * threads > budget;
  return plan;
}

}  // namespace manymeans
