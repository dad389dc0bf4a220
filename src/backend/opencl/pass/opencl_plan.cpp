#include "backend/opencl/pass/opencl_plan.h"

#include <manymeans/error.h>

#include "backend/device/session_memory.h"
#include "backend/device/slice_planner.h"
#include "backend/opencl/kernels/kernel_types.h"
#include "backend/opencl/pass/float_bound.h"
#include "backend/opencl/pass/pass_arrays.h"
#include "backend/opencl/pass/tree_screen.h"
#include "backend/opencl/tree/leaf_tree.h"
#include "core/environment.h"
#include "core/memory.h"
#include "core/rounding.h"
#include "prototype/prototype.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace manymeans::opencl {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kSliceUnit = 128;  // rows; their labels are whole words

void check_algorithm_of(const BackendOptions& options, bool linear) {
  check_algorithm(options.algorithm);
  if (linear && options.algorithm != "auto" && options.algorithm != "brute") {
    throw Error(ErrorCode::kUsage, "algorithm",
                options.algorithm + " is for centroids; the opencl backend has auto and brute for linear models");
  }
  if (options.algorithm != "bounds") return;
  throw Error(ErrorCode::kUsage, "algorithm",
              "the opencl backend has no bounds yet; use auto, matrix, kdtree or brute, or --backend cpu");
}

void check_tree(const PointsView& points) {
  constexpr int64_t kMaxRows = int64_t{1} << 32;
  std::string why;
  if (points.d > kMaxTreeColumns) {
    why = fmt::format("for at most {} columns, and there are {}", kMaxTreeColumns, points.d);
  } else if (points.n > kMaxRows) {
    why = fmt::format("for at most {} rows, and there are {}", kMaxRows, points.n);
  }
  if (why.empty()) return;
  throw Error(ErrorCode::kUsage, "algorithm",
              "the opencl backend has kdtree " + why + "; use auto, matrix or brute, or --backend cpu");
}

// Memory that a plan takes, and max rows of one allocation.
class Budget {
 public:
  Budget(const Input& input, const UsedDevice& device, const Workload& workload)
      : input_(input), device_(device), workload_(workload) {
    k_.assign(static_cast<size_t>(std::max<int64_t>(1, workload.models)), 1);
    k_[0] = workload.max_clusters;
    const auto others = static_cast<int64_t>(k_.size()) - 1;
    const int64_t rest = std::max<int64_t>(0, workload.all_clusters - workload.max_clusters);
    for (size_t i = 1; i < k_.size(); ++i) k_[i] = (rest + others - 1) / others;
  }

  int64_t row_bytes() const { return input_.points.d * static_cast<int64_t>(size_of(input_.points.type)); }
  int64_t upload_bytes(const OpenClPlan& plan) const {
    const PointsView& points = input_.points;
    const bool whole = plan.whole(points.n);
    int64_t bytes = 64 * points.d + 16 * static_cast<int64_t>(input_.columns.size());
    if (plan.tree) bytes += LeafTree::bytes(points.n, points.d);
    if (!plan.exact && whole) bytes += packed_rows(points.n) * 4 * (points.d + 1);
    const int64_t slices = whole ? 0 : 2 * plan.slice_rows;
    return bytes + (plan.resident_rows + slices) * row_bytes() + static_cast<int64_t>(input_.weights.size()) * 8;
  }
  int64_t bytes(const OpenClPlan& plan) const {
    return upload_bytes(plan) + std::max<int64_t>(1, workload_.sessions) * session_bytes(input_, k_, plan);
  }
  /// Rows whose points, and packed points, are one allocation each.
  int64_t max_rows(const OpenClPlan& plan) const {
    const int64_t packed = plan.exact ? 1 : 4 * (input_.points.d + 1);
    return device_.facts.largest_buffer / std::max(row_bytes(), packed) / kSliceUnit * kSliceUnit;
  }

 private:
  const Input& input_;
  const UsedDevice& device_;
  const Workload& workload_;
  std::vector<int64_t> k_;
};

void choose_slices(OpenClPlan& plan, const Input& input, const Budget& budget, int64_t room, int64_t forced) {
  const int64_t n = input.points.n;
  forced = forced < n ? packed_rows(forced) : 0;
  const auto with = [&plan](const device::SlicePlan& slices) {
    OpenClPlan changed = plan;
    static_cast<device::SlicePlan&>(changed) = slices;
    return changed;
  };
  const auto bytes = [&](const device::SlicePlan& slices) {
    constexpr int64_t kNever = int64_t{1} << 62;  // of points that are more than one allocation
    return slices.resident_rows < n || n <= budget.max_rows(plan) ? budget.bytes(with(slices)) : kNever;
  };
  device::SlicePlanner::Points points;
  points.rows = n;
  points.row_bytes = budget.row_bytes();
  points.max_rows = std::clamp<int64_t>(budget.max_rows(plan), kSliceUnit, int64_t{1} << 31);
  points.slice_unit = kSliceUnit;
  points.forced_rows = forced;
  const device::SlicePlanner::Choice choice = device::SlicePlanner(points, room, bytes).choose();
  plan = with(choice.plan);
  if (!plan.whole(n)) {
    const int64_t most = std::min(plan.resident_rows, budget.max_rows(plan));
    plan.resident_rows = most == n ? n : most / plan.slice_rows * plan.slice_rows;
  }
  plan.upload_bytes = budget.upload_bytes(plan);
  if (forced == 0) {
    device::check_room("opencl", budget.bytes(plan), room, "labels, statistics and the smallest slice of the points");
  }
}

std::string describe_screen(const OpenClPlan& plan, const Input& input, const BackendOptions& options) {
  if (plan.linear) return "every canonical residual, and sums of products";
  if (plan.tree) {
    return fmt::format("kd-tree of {} leaves that the host sorts", leaves_of(input.points.n));
  }
  if (plan.exact) {
    const char* why = options.algorithm == "brute" ? "" : ": no screen's bound holds for so many columns";
    return fmt::format("every canonical distance{}", why);
  }
  return input.points.d <= kRegisterColumns ? "float32 screen, points in registers" : "float32 screen";
}

// Describes the host's part of the work.
std::string describe_host(const OpenClPlan& plan) {
  if (!plan.linear) return "; k-means++ and k-means|| on the host's processors";
  return "; models are solved, and rows for first models and swaps picked by distances that it computes, by the host";
}

std::string describe_slices(const OpenClPlan& plan, const Input& input, int64_t row_bytes) {
  const int64_t n = input.points.n;
  if (plan.whole(n)) return "";
  const int64_t streamed = (n - plan.resident_rows) * row_bytes;
  return fmt::format("; {} of {} MiB of points are copied to the device in every pass, {} rows at a time",
                     streamed / kMiB, n * row_bytes / kMiB, plan.slice_rows);
}

// Every distance of every row by the slowest that may compute them, and every point over a slow link.
double usual_seconds(const Input& input, const UsedDevice& device, const Workload& workload) {
  constexpr double kProducts = 1e7;  // a second and compute unit
  constexpr double kLink = 5e8;      // bytes a second
  const auto rows = static_cast<double>(input.points.n);
  const auto d = static_cast<double>(input.points.d);
  const auto clusters = static_cast<double>(std::max(workload.all_clusters, workload.max_clusters) + 64);
  const double products = rows * (d + 8) * clusters;
  const double bytes = rows * (d * 16 + 16 * static_cast<double>(std::max<int64_t>(1, workload.models)));
  return static_cast<double>(std::max<int64_t>(1, workload.sessions)) *
         (products / (kProducts * device.facts.compute_units) + bytes / kLink);
}

}  // namespace

int64_t packed_rows(int64_t rows) {
  return padded(rows, kSliceUnit);
}

int64_t session_bytes(const Input& input, std::span<const int64_t> k, const OpenClPlan& plan) {
  const int64_t of_tree = plan.tree ? TreeScreen::bytes(input, k, plan) : 0;
  return device::SessionMemory::bytes(input, k) + PassArrays::bytes(input, k, plan) + of_tree;
}

// OpenCL does not say what is free. A processor's memory is the host's.
int64_t room_on(const DeviceFacts& device, const BackendOptions& options) {
  int64_t room = device.global_memory / 8 * 7;
  if (device.processor) room = std::min(room, available_memory() / 8 * 7);
  return options.device_memory > 0 ? std::min(room, options.device_memory) : room;
}

OpenClPlan make_plan(const Input& input, const UsedDevice& device, const BackendOptions& options,
                     const Workload& workload) {
  OpenClPlan plan;
  plan.linear = prototype_of(input).linear;
  check_algorithm_of(options, plan.linear);
  plan.tree = options.algorithm == "kdtree";
  if (plan.tree) check_tree(input.points);
  plan.exact = plan.linear || plan.tree || options.algorithm == "brute" || !FloatBound::holds(input.points.d);
  const Budget budget(input, device, workload);
  choose_slices(plan, input, budget, room_on(device.facts, options), options.tuning.opencl.slice_rows);
  plan.usual_seconds = usual_seconds(input, device, workload);
  plan.text = fmt::format("{} on {} ({}){}{}", describe_screen(plan, input, options), device.facts.name,
                          device.facts.version, describe_slices(plan, input, budget.row_bytes()), describe_host(plan));
  return plan;
}

}  // namespace manymeans::opencl
