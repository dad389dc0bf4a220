#include "backend/cpu/choose/cpu_plan.h"

#include <manymeans/error.h>

#include "backend/cpu/choose/sampling_probe.h"
#include "backend/cpu/choose/screen_costs.h"
#include "backend/cpu/screen/carried_bounds.h"
#include "backend/cpu/screen/coded_points.h"
#include "backend/cpu/screen/packed_prototypes.h"
#include "backend/cpu/tree/kd_tree.h"
#include "core/memory.h"
#include "prototype/prototype.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace manymeans {
namespace {

// The bounds of the screens need D times the unit of their sums well below 1 (docs/developer/screens.md).
constexpr int64_t kMaxScreenColumns = int64_t{1} << 18;

// Half of the second-level cache of every server core of the last ten years (256 KiB to 2 MiB) at least.
constexpr int64_t kBlockBytes = 256 << 10;
// Most of a first-level cache of 32 KiB.
constexpr int64_t kChunkBytes = 24 << 10;
constexpr int64_t kMaxTilesPerBlock = 32;
// Best three of every span and row of a block.
constexpr int64_t kMaxScoreBytes = 1 << 20;
// Where few rows are to be screened, as many as this make some full tiles.
constexpr int64_t kSearchedRows = 4096;
// A thread should find at least this many blocks, or the last one to finish decides the pass.
constexpr int64_t kBlocksPerThread = 8;
// Nanoseconds. Where looking at a row costs less than this, asking whether it needs to be costs as much
// (bench/results/EXPERIMENTS.md, "Bounds across passes").
constexpr double kMinScreenForBounds = 20;
// Costs of a gathered row in addition to its scores, and of the exact distance of a single row.
constexpr double kGatheredRow = 25;
constexpr double kDistance = 15;
constexpr double kDistanceValue = 0.3;
// Copies of statistics up to this size are always acceptable.
constexpr int64_t kSmallStatistics = 256 << 20;

// Plans a kd-tree; false, with the reason, if there is no room for one.
bool plan_tree(const Input& input, const BackendOptions& options, PointsPlan& plan) {
  if (input.points.d > kMaxTreeColumns) {
    throw Error(ErrorCode::kUsage, "algorithm",
                fmt::format("kdtree is for at most {} columns, and there are {}; use auto, matrix, bounds or brute",
                            kMaxTreeColumns, input.points.d));
  }
  const int64_t bytes = KdTree::bytes(input);
  plan.tree = has_room(input, options, bytes) && KdTree::can_hold(input) && !input.memory.window.moves();
  plan.why = plan.tree ? fmt::format("kd-tree of at most {} MiB", (bytes >> 20) + 1)
                       : fmt::format("; no kd-tree: it would take {} MiB", (bytes >> 20) + 1);
  return plan.tree;
}

// Screens are for points as prototypes.
void check_served(const Prototype& prototype, const std::string& algorithm) {
  if (algorithm == "auto" || algorithm == "brute") return;
  throw Error(ErrorCode::kUsage, "algorithm",
              fmt::format("{} is for centroids, and these prototypes are of kind {}; use auto or brute", algorithm,
                          prototype.name));
}

// A look in bytes needs one more copy of the points, and no bounds know what it leaves.
void plan_look(const Input& input, const CpuKernels& kernels, const BackendOptions& options, const ScreenChoice& choice,
               PointsPlan& plan) {
  if (!plan.packed || input.memory.limited || options.algorithm == "bounds") return;
  const int64_t bytes = CodedPoints::bytes(input.points, plan.screen->tile_rows);
  if (!has_room(input, options, plan.packed_bytes + bytes)) return;
  plan.look = choice.look;
  plan.in_bytes = choice.in_bytes;
  if (const std::optional<bool> wanted = options.tuning.cpu.passes_in_bytes) {
    plan.in_bytes = *wanted ? coded_kernels(kernels, *plan.screen, input.points.d) : nullptr;
  }
  if (plan.in_bytes == nullptr) return;
  plan.why += fmt::format("; labelled models are looked at in bytes first, a copy of {} MiB", bytes >> 20);
  if (!choice.why_look.empty()) plan.why += fmt::format(" ({})", choice.why_look);
}

// Linear models have one screen, and nothing to choose.
void plan_residuals(const Input& input, const CpuKernels& kernels, const BackendOptions& options, PointsPlan& plan) {
  plan.brute = false;
  plan.screen = &kernels.residuals;
  plan.frame = find_column_frame(input);
  plan.packed_bytes = PackedPoints::bytes(*plan.screen, input.points);
  plan.packed = has_room(input, options, plan.packed_bytes);
  plan.why = plan.packed
                 ? fmt::format("certified float32 residuals over a packed copy of {} MiB", plan.packed_bytes >> 20)
                 : "certified float32 residuals, tiles packed in every pass";
}

}  // namespace

// With two columns most nodes belong to one prototype, for any data. A fit of ten iterations, tree included, then takes
// as long as with the screen. Every further pass is two to seven times faster.
// With three and four columns the tree needs many clusters of many rows. The rule is fitted to noise, the tree's worst
// case (bench/results/amd-epyc-2cpu/kdtree_by_auto.md). With more columns the screen wins on noise. Building takes as
// long as a few passes.
bool tree_pays(const BackendOptions& options, const PointsView& points, const Workload& workload) {
  constexpr int64_t kPlaneColumns = 2, kMaxColumns = 4;
  constexpr int64_t kMinRows = 20'000;
  constexpr int64_t kPlanePasses = 4, kMinPasses = 12;
  constexpr double kLeafRows = 24;
  constexpr double kClusters = 230;  // that make passes over tree and screen equal, with a margin, where mixed is 1
  if (options.algorithm != "auto" || !options.tuning.cpu.screen_format.empty() || points.n < kMinRows) return false;
  if (points.d <= kPlaneColumns) return workload.passes >= kPlanePasses;
  if (points.d > kMaxColumns || workload.passes < kMinPasses) return false;
  const std::vector<int64_t> clusters = clusters_of(workload);
  const double k =
      static_cast<double>(std::reduce(clusters.begin(), clusters.end())) / static_cast<double>(clusters.size());
  // The share of a cluster's rows whose leaves reach other clusters, times a constant; then more prototypes are tried.
  const auto d = static_cast<double>(points.d);
  const double mixed = d * std::pow(kLeafRows * k / static_cast<double>(points.n), 1 / d);
  return k >= kClusters * mixed * std::max(1.0, 0.8 * mixed);
}

bool has_room(const Input& input, const BackendOptions& options, int64_t bytes) {
  if (const int64_t budget = options.tuning.cpu.memory_budget; budget > 0) return bytes <= budget;
  return input.memory.limited ? bytes <= input.memory.copies : fits_in_half(2 * bytes);
}

PointsPlan plan_points(const Input& input, const CpuKernels& kernels, const BackendOptions& options,
                       const Workload& workload, ScreenMemory* memory) {
  check_algorithm(options.algorithm);
  PointsPlan plan;
  plan.screen = &kernels.screens[0];
  const PointsView& points = input.points;
  if (const Prototype& prototype = prototype_of(input); !prototype.euclidean) {
    check_served(prototype, options.algorithm);
    plan.brute = true;
    plan.why = fmt::format("exact distances only: no screen is for prototypes of kind {}", prototype.name);
    if (prototype.linear && options.algorithm == "auto" && points.d <= kMaxScreenColumns) {
      plan_residuals(input, kernels, options, plan);
    }
    return plan;
  }
  if (options.algorithm == "brute" || points.d > kMaxScreenColumns) {
    plan.brute = true;
    plan.why =
        options.algorithm == "brute" ? "exact distances only, as asked" : "exact distances only: too many columns";
    return plan;
  }
  const bool wanted = options.algorithm == "kdtree" || tree_pays(options, points, workload);
  if (wanted && plan_tree(input, options, plan)) return plan;
  const std::string no_tree = plan.why;
  const std::string& format = options.tuning.cpu.screen_format;
  ScreenChoice choice = memory == nullptr ? choose_screen(input, kernels, format, workload)
                                          : memory->choose(input, kernels, format, workload);
  plan.screen = choice.screen;
  plan.frame = std::move(choice.frame);
  plan.packed_bytes = PackedPoints::bytes(*plan.screen, points);
  plan.packed = has_room(input, options, plan.packed_bytes);
  plan.why = plan.packed ? fmt::format("certified {} screen over a packed copy of {} MiB ({})",
                                       name_of(plan.screen->format), plan.packed_bytes >> 20, choice.why)
                         : fmt::format("certified {} screen, tiles packed in every pass (a copy would take {} MiB; {})",
                                       name_of(plan.screen->format), plan.packed_bytes >> 20, choice.why);
  plan.why += no_tree;
  plan.column_ns = choice.column_ns;
  plan_look(input, kernels, options, choice, plan);
  if (options.algorithm == "auto" && options.tuning.cpu.screen_format.empty()) plan.bounds = BoundsUse::kWhenTheyPay;
  if (options.algorithm != "bounds") return plan;
  plan.bounds = BoundsUse::kAlways;
  plan.why += "; bounds carried from pass to pass where 8 bytes a row and model fit";
  return plan;
}

namespace {

// Bytes for a copy of the statistics for each thread.
int64_t sums_budget(const Input& input, int64_t memory_budget) {
  if (memory_budget > 0) return memory_budget;
  if (input.memory.limited) return input.memory.sums;
  return std::max<int64_t>(kSmallStatistics, static_cast<int64_t>(input.points.bytes()));
}

// Of bounds that would take `bytes`.
int64_t bounds_budget(const Input& input, int64_t memory_budget, int64_t bytes) {
  if (memory_budget > 0) return memory_budget;
  if (input.memory.limited) return input.memory.bounds;
  return fits_in_half(2 * bytes) ? bytes : available_memory() / 4;
}

}  // namespace

BoundsUse bounds_use(const PointsPlan& plan, int64_t k) {
  const bool cheap = plan.column_ns * static_cast<double>(k) < kMinScreenForBounds;
  return plan.bounds == BoundsUse::kWhenTheyPay && cheap ? BoundsUse::kNever : plan.bounds;
}

// Bounds that are requested by name get few distances; auto gets short passes.
double worth_of_tightening(const PointsPlan& plan, int64_t k, int64_t d) {
  const auto columns = static_cast<double>(k);
  if (plan.bounds != BoundsUse::kWhenTheyPay) return 1 / columns;
  const double distance = kDistance + kDistanceValue * static_cast<double>(d);
  return std::max(1 / columns, distance / (plan.column_ns * columns + kGatheredRow));
}

SessionPlan plan_session(const Input& input, const PointsPlan& points, std::span<const int64_t> k, int threads,
                         int64_t memory_budget) {
  SessionPlan plan;
  const ScreenKernels& screen = *points.screen;
  const int64_t d = input.points.d;
  int64_t clusters = 0;
  for (const int64_t count : k) {
    clusters += count;
    plan.max_spans = std::max(plan.max_spans, max_spans(count));
  }
  const int64_t tiles = (input.points.n + screen.tile_rows - 1) / screen.tile_rows;
  const int64_t fair_share = std::max<int64_t>(1, tiles / (kBlocksPerThread * threads));
  const int64_t score_bytes = plan.max_spans * screen.tile_rows * 3 * static_cast<int64_t>(sizeof(float));
  const auto tile_bytes = static_cast<int64_t>(PackedPoints::tile_bytes(screen, d));
  plan.tiles_per_block = std::clamp<int64_t>(
      std::min({kBlockBytes / tile_bytes, kMaxScoreBytes / score_bytes, fair_share}), 1, kMaxTilesPerBlock);
  plan.spans_per_chunk = std::max<int64_t>(1, kChunkBytes / PackedPrototypes::span_bytes(screen, d));
  const int64_t terms = prototype_of(input).terms(d);
  plan.statistics_bytes = clusters * (terms * input.limbs + 2) * static_cast<int64_t>(sizeof(int64_t));
  const int64_t budget = sums_budget(input, memory_budget);
  plan.carry_bounds =
      std::any_of(k.begin(), k.end(), [&](int64_t count) { return bounds_use(points, count) != BoundsUse::kNever; });
  if (plan.carry_bounds) {
    const int64_t each = input.points.n * CarriedBounds::kBytesPerRow;
    plan.bounded_models = bounds_budget(input, memory_budget, std::ssize(k) * each) / each;
  }
  plan.tiles_per_search = plan.tiles_per_block;
  if (plan.carry_bounds && points.packed) {
    plan.tiles_per_search = std::max(plan.tiles_per_block, std::min(kSearchedRows / screen.tile_rows, fair_share));
  }
  if (const RowWindow& window = input.memory.window; window.moves()) {
    const int64_t most = std::max<int64_t>(1, window.chunk_rows() / screen.tile_rows);
    plan.tiles_per_block = std::min(plan.tiles_per_block, most);
    plan.tiles_per_search = std::min(plan.tiles_per_search, most);
  }
  plan.by_label_order = threads > 1 && plan.statistics_bytes * threads > budget;
  return plan;
}

}  // namespace manymeans
