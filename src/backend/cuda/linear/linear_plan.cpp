#include "backend/cuda/linear/linear_plan.h"

#include <manymeans/error.h>

#include "backend/cuda/exact/accumulate.h"
#include "backend/cuda/linear/linear_arrays.h"
#include "backend/device/session_memory.h"
#include "backend/device/slice_planner.h"
#include "core/rounding.h"
#include "prototype/prototype.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace manymeans::cuda {
namespace {

constexpr int64_t kReserve = int64_t{256} << 20;  // for the runtime and small arrays
constexpr int64_t kSliceUnit = 4096;

void check_served(const std::string& algorithm) {
  check_algorithm(algorithm);
  if (algorithm == "auto" || algorithm == "brute") return;
  throw Error(ErrorCode::kUsage, "algorithm",
              fmt::format("{} is for centroids; the cuda backend has auto and brute for linear models", algorithm));
}

// The models of a session: the largest, and of the others only the sum is known.
std::vector<int64_t> models_of(const Workload& workload) {
  const int64_t others = std::max<int64_t>(0, workload.models - 1);
  std::vector<int64_t> k = {workload.max_clusters};
  const int64_t rest = std::max<int64_t>(0, workload.all_clusters - workload.max_clusters);
  k.insert(k.end(), static_cast<size_t>(others), others > 0 ? (rest + others - 1) / others : 0);
  return k;
}

int64_t row_bytes(const PointsView& points) {
  return points.d * static_cast<int64_t>(size_of(points.type));
}

int64_t upload_bytes(const Input& input, const device::SlicePlan& plan) {
  const PointsView& points = input.points;
  const int64_t rooms = plan.resident_rows < points.n ? 2 * plan.slice_rows : 0;
  return (points.on_device() ? 0 : (plan.resident_rows + rooms) * row_bytes(points)) +
         static_cast<int64_t>(input.weights.size() * sizeof(double) +
                              input.columns.size() * (sizeof(double) + sizeof(int32_t) + sizeof(SumFormat)));
}

// Bytes of the min distances of the models that are seeded together, where all points are on the device.
int64_t seeding_bytes(const Input& input, const device::SlicePlan& plan, const Workload& workload) {
  const int64_t n = input.points.n;
  if (plan.resident_rows < n) return 0;
  return 8 * n * std::min(workload.models, models_seeded_together(n));
}

device::SlicePlanner planner_of(const Input& input, const Workload& workload, int64_t room, int64_t forced_rows) {
  device::SlicePlanner::Points points;
  points.rows = input.points.n;
  points.row_bytes = row_bytes(input.points);
  points.on_device = input.points.on_device();
  points.max_rows = input.points.n;
  points.slice_unit = kSliceUnit;
  if (forced_rows > 0 && forced_rows < input.points.n) points.forced_rows = padded(forced_rows, 128);
  return {points, room, [&input, &workload, k = models_of(workload)](const device::SlicePlan& plan) {
            return upload_bytes(input, plan) + workload.sessions * linear_session_bytes(input, plan, k) +
                   seeding_bytes(input, plan, workload);
          }};
}

// Sums of products in a first pass take longer than residuals of few models.
double seconds_of(const Input& input, const CudaDevice& device, const Workload& workload) {
  const auto rows = static_cast<double>(input.points.n * std::max<int64_t>(1, workload.models * workload.sessions));
  const auto operations = static_cast<double>(input.columns.size() * static_cast<size_t>(4 * input.limbs));
  return usual_seconds(input, device, workload) + rows * operations / products_per_second(device);
}

// The max bits of the exact sums of a pair's products.
int sum_bits(const Input& input, size_t term) {
  const SumFormat& plain = input.columns[term];
  const SumFormat& rest = input.columns[term + 1];
  const int finest = rests_of_products(input) ? std::max(plain.shift, rest.shift) : plain.shift;
  constexpr int kLimbBits = 64;
  constexpr int kSpare = 5;  // WordSolve::bits_of_addend
  return (plain.limbs - 1) * plain.bits + kLimbBits + finest - std::min(plain.shift, finest) + kSpare;
}

SolveWords words_of(const Input& input, const CudaDevice& device) {
  constexpr size_t kStatic = 1024;  // other shared memory of the kernel
  int most = 0;
  for (size_t term = 0; term < input.columns.size(); term += 2) most = std::max(most, sum_bits(input, term));
  const SolveWords words = most <= 4 * 64 ? SolveWords::kFew : most <= 7 * 64 ? SolveWords::kMany : SolveWords::kNone;
  if (words == SolveWords::kNone || solve_bytes(words, input.points.d) + kStatic > device.shared_bytes) {
    return SolveWords::kNone;
  }
  return words;
}

}  // namespace

bool rests_of_products(const Input& input) {
  return input.weighted || input.points.type == DataType::kFloat64;
}

int64_t label_stride_of_slice(const Input& input, const device::SlicePlan& plan) {
  return padded(std::min(plan.slice_rows, input.points.n), 128);
}

int64_t product_entries(const Input& input, const device::SlicePlan& plan, int64_t models) {
  constexpr int64_t kMaxRows = int64_t{1} << 24;  // of all models, in order together
  const int64_t rows = std::min(std::min(plan.slice_rows, input.points.n), std::max<int64_t>(1, kMaxRows / models));
  return 2 * models * padded(rows, kLabelOrderRows);
}

int64_t linear_session_bytes(const Input& input, const device::SlicePlan& plan, std::span<const int64_t> k) {
  return device::SessionMemory::bytes(input, k) + LinearArrays::bytes({input, plan, k});
}

LinearPlan make_linear_plan(const Input& input, const CudaDevice& device, const BackendOptions& options,
                            const Workload& workload) {
  check_served(options.algorithm);
  if (workload.models > 1) check_counts(workload.models, workload.all_clusters);
  int64_t room = device.memory_free - kReserve;
  if (options.device_memory > 0) room = std::min(room, options.device_memory);
  const int64_t forced = options.tuning.cuda.slice_rows;
  const device::SlicePlanner::Choice choice = planner_of(input, workload, room, forced).choose();
  if (forced == 0) {
    device::check_room("cuda", choice.bytes, room, "labels, statistics and the smallest slice of the points");
  }
  LinearPlan plan;
  static_cast<device::SlicePlan&>(plan) = choice.plan;
  plan.upload_bytes = upload_bytes(input, plan);
  plan.usual_seconds = seconds_of(input, device, workload);
  plan.solve = words_of(input, device);
  const bool solves = plan.solve != SolveWords::kNone;
  const bool seeds = plan.resident_rows >= input.points.n;
  plan.text = fmt::format(
      "every canonical residual, sums of products{} on {} (compute capability {}.{}){}; {}rows for first models and "
      "swaps are picked{} by the host",
      solves ? " and solves" : "", device.name, device.major, device.minor,
      plan.whole(input.points.n) ? "" : fmt::format("; {} rows at a time", plan.slice_rows),
      solves ? "" : "models are solved, and ", seeds ? "" : ", by distances that it computes,");
  return plan;
}

}  // namespace manymeans::cuda
