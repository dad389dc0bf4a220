#include "backend/cuda/pass/cuda_plan.h"

#include <manymeans/error.h>

#include "backend/cuda/bounding_boxes/boxed_points.h"
#include "backend/cuda/float32/float_kernels.h"
#include "backend/cuda/float32/float_screen.h"
#include "backend/cuda/pass/make_screen.h"
#include "backend/cuda/pass/session_arrays.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/tensor/matrix_bounds.h"
#include "backend/device/session_memory.h"
#include "backend/device/slice_planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace manymeans::cuda {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kReserve = int64_t{256} << 20;  // for the runtime, small arrays and seeding

// Returns true if the tensor cores screen faster than float32. Above kLowColumns columns they always do. Below, float32
// keeps the points in registers, and its time follows the products. The time of tensor cores follows the padded
// prototypes, for any number of columns. Measured: bench/results/h200/low_columns.
bool pays_to_use_tensor_cores(int64_t columns, const Workload& workload) {
  constexpr int64_t kMinColumns = 8;
  if (columns > kLowColumns) return true;
  // Several models fill the device with few rows each, and gain later.
  const int64_t products_of_a_prototype = workload.models == 1 ? 4 : 7;
  const int64_t k = workload.all_clusters / std::max<int64_t>(1, workload.models);
  return columns >= kMinColumns && k * columns >= products_of_a_prototype * padded(k, kOneTile);
}

// Rounding to fp16 takes 2^-12 or so of a row where no value is far out; with much more nothing is proved.
constexpr double kMaxHalfRatio = 0x1p-9;

bool can_be_boxed(const PointsView& points) {
  return points.d <= kMaxBoxColumns && points.n <= kMaxBoxPoints;
}

int64_t box_bytes(const Input& input) {
  const PointsView& points = input.points;
  const bool float64 = points.type == DataType::kFloat64;
  return BoxedPoints::bytes({points.n, points.d, float64, !input.weights.empty(), input.limbs}) +
         BoxedPoints::making_bytes(points.n);
}

// Returns true if boxes are narrow enough to tell prototypes apart: eight or more along each column. Fewer rows than
// kMinRows are screened in less time than the launches take.
bool pays_to_box(const PointsView& points) {
  constexpr int64_t kMinRows = 32768;
  return can_be_boxed(points) && points.n >= std::max(kMinRows, kBoxRows << 3 * points.d);
}

Error wrong_algorithm(const std::string& why) {
  return Error(ErrorCode::kUsage, "algorithm", why);
}

// Boxes, asked for by name.
ScreenKind boxes_for(const PointsView& points) {
  if (points.d > kMaxBoxColumns) {
    throw wrong_algorithm(fmt::format(
        "the cuda backend has kdtree for at most {} columns, and there are {}; use auto, matrix, bounds or brute, or "
        "--backend cpu",
        kMaxBoxColumns, points.d));
  }
  if (points.n > kMaxBoxPoints) {
    throw wrong_algorithm(
        fmt::format("the cuda backend has kdtree for at most {} rows, and there are {}; use auto, matrix, bounds or "
                    "brute",
                    kMaxBoxPoints, points.n));
  }
  return ScreenKind::kBoundingBoxes;
}

// The screen whose bound holds for `columns`: `wanted`, or one that is as exact and slower. With more columns a bound
// says nothing (docs/developer/screens.md), and every distance is computed.
ScreenKind with_a_bound(ScreenKind wanted, int64_t columns) {
  if (wanted == ScreenKind::kMatrix && matrix_bound_holds(columns)) return wanted;
  return FloatBound::holds(columns) ? ScreenKind::kFloat : ScreenKind::kNone;
}

ScreenKind screen_of_format(const std::string& format, const CudaDevice& device) {
  if (format == "float32") return ScreenKind::kFloat;
  if (format != "float16" && format != "float16-sync") {
    throw Error(ErrorCode::kUsage, "screen format",
                "the cuda backend has float32, float16 and float16-sync, not '" + format + "'");
  }
  if (device.matrix_unit != MatrixUnit::kNone) return ScreenKind::kMatrix;
  throw Error(ErrorCode::kUnavailable, "screen format",
              device.name + " has no matrix units that the float16 screen can use; use float32");
}

ScreenKind choose_screen(const Input& input, const CudaDevice& device, const BackendOptions& options, double ratio,
                         const Workload& workload) {
  const std::string& algorithm = options.algorithm;
  const PointsView& points = input.points;
  check_algorithm(algorithm);
  if (algorithm == "brute") return ScreenKind::kNone;
  if (algorithm == "kdtree") return boxes_for(points);
  if (!options.tuning.cuda.screen_format.empty()) {
    return with_a_bound(screen_of_format(options.tuning.cuda.screen_format, device), points.d);
  }
  if (algorithm == "auto" && pays_to_box(points)) return ScreenKind::kBoundingBoxes;
  // Margins take the screen in fp16, however few columns there are.
  const bool faster = algorithm == "bounds" || pays_to_use_tensor_cores(points.d, workload);
  const bool useful = device.matrix_unit != MatrixUnit::kNone && faster && ratio <= kMaxHalfRatio;
  return with_a_bound(useful ? ScreenKind::kMatrix : ScreenKind::kFloat, points.d);
}

std::string describe(ScreenKind screen, const Input& input, const BackendOptions& options) {
  switch (screen) {
    case ScreenKind::kNone:
      return options.algorithm == "brute" ? "every canonical distance"
                                          : "every canonical distance: no screen's bound holds for so many columns";
    case ScreenKind::kFloat:
      return input.points.d <= kLowColumns ? "float32 screen, points in registers" : "float32 screen, in tiles";
    case ScreenKind::kMatrix: return "fp16 screen in the matrix units";
    case ScreenKind::kBoundingBoxes: return fmt::format("bounding boxes of {} neighbouring rows", kBoxRows);
  }
  return "";
}

std::string describe_slices(const CudaPlan& plan, const PointsView& points) {
  if (plan.whole(points.n)) return "";
  const int64_t row_bytes = static_cast<int64_t>(size_of(points.type)) * points.d;
  const int64_t streamed = (points.n - plan.resident_rows) * row_bytes;
  const bool rounds = plan.screen == ScreenKind::kMatrix || points.d > kLowColumns;
  if (streamed == 0) {
    return fmt::format("; {}{} rows at a time", rounds ? "rounded again in every pass, " : "", plan.slice_rows);
  }
  return fmt::format("; {} of {} MiB of points are copied to the device in every pass, {} rows at a time",
                     streamed / kMiB, points.n * row_bytes / kMiB, plan.slice_rows);
}

// Returns true if columns should be sorted by norm. This pays if finding columns below a row's score threshold costs
// less than ranking them. Long rows use only the sorting (thresholds_pay()); thresholds cost little compared with them.
bool pays_to_have_thresholds(const Input& input, const Workload& workload, const BackendOptions& options) {
  constexpr int64_t kMinClusters = 768;
  constexpr double kMinWork = 3e10;  // products of a model; guessing the thresholds takes some 40 us
  const double rows = static_cast<double>(input.points.n) * static_cast<double>(input.points.d);
  return options.tuning.cuda.score_thresholds.value_or(workload.max_clusters >= kMinClusters &&
                                                       rows * static_cast<double>(workload.max_clusters) >= kMinWork);
}

// Bounds that the options name, or that may come to pay in the middle of a fit.
BoundsUse wanted_bounds(const CudaPlan& plan, const Input& input, const BackendOptions& options,
                        const Workload& workload) {
  if (plan.screen != ScreenKind::kMatrix || workload.models != 1) return BoundsUse::kNever;
  if (options.algorithm == "bounds") return BoundsUse::kAlways;
  const bool pays = options.algorithm == "auto" && margins_may_pay(input.points.n, input.points.d, workload);
  return pays ? BoundsUse::kWhenTheyPay : BoundsUse::kNever;
}

// Why an algorithm that was asked for by name does less than its name says; empty where it does all of it.
std::string what_is_lacking(const CudaPlan& plan, const Input& input, const CudaDevice& device,
                            const BackendOptions& options) {
  if (options.algorithm == "kdtree" && plan.screen != ScreenKind::kBoundingBoxes) {
    return "no bounding boxes, for which the points do not fit the device's memory twice";
  }
  if (options.algorithm != "bounds" || plan.bounds == BoundsUse::kAlways) return "";
  if (plan.screen != ScreenKind::kMatrix) {
    if (device.matrix_unit == MatrixUnit::kNone) return "no margins: this device has no fp16 screen, which they take";
    if (!matrix_bound_holds(input.points.d)) return "no margins: there are too many columns for the screen in fp16";
    return "no margins: fp16 is too coarse for these points, whose values reach much farther than most of them do";
  }
  return "no margins: the points do not fit the device's memory with them";
}

// Which rows are on the device, and when, and what that takes.
class RowPlanner {
 public:
  RowPlanner(const Input& input, const Workload& workload, int64_t room, int64_t forced_rows)
      : input_(input), workload_(workload), room_(room), forced_rows_(forced_rows) {
    const int64_t others = std::max<int64_t>(0, workload.models - 1);
    k_.push_back(workload.max_clusters);
    // For the other models only the sum is known; each is padded.
    const int64_t rest = workload.models > 1 ? workload.all_clusters - workload.max_clusters : 0;
    k_.insert(k_.end(), static_cast<size_t>(others), others > 0 ? (rest + others - 1) / others + kTileMultiple : 0);
  }

  /// Returns true if nothing has to be cut into slices.
  bool holds_all(const CudaPlan& plan) const { return slices_of(plan).holds_all(); }

  void choose(CudaPlan& plan) const {
    const device::SlicePlanner::Choice choice = slices_of(plan).choose();
    if (!forced()) {
      device::check_room("cuda", choice.bytes, room_, "labels, statistics and the smallest slice of the points");
    }
    keep(plan, choice.plan);
  }

 private:
  bool forced() const { return forced_rows_ > 0 && forced_rows_ < input_.points.n; }
  device::SlicePlanner slices_of(const CudaPlan& plan) const {
    device::SlicePlanner::Points points;
    points.rows = input_.points.n;
    points.row_bytes = row_bytes();
    points.on_device = input_.points.on_device();
    points.max_rows = max_slice_rows(plan.screen, workload_.models);
    points.slice_unit = kSliceRows;
    points.forced_rows = forced() ? padded(forced_rows_, kRowBlock) : 0;
    return {points, room_, [this, plan](const device::SlicePlan& slices) {
              CudaPlan with_these = plan;
              keep(with_these, slices);
              return bytes(with_these);
            }};
  }
  int64_t row_bytes() const { return input_.points.d * static_cast<int64_t>(size_of(input_.points.type)); }
  int64_t bytes(const CudaPlan& plan) const {
    return plan.upload_bytes + workload_.sessions * plan.session_bytes + seeding_bytes(plan);
  }
  // Points that are not all on the device are seeded by the host.
  int64_t seeding_bytes(const CudaPlan& plan) const {
    constexpr int64_t kSeedBytes = 13;  // a row and model
    const int64_t n = input_.points.n;
    if (plan.resident_rows < n) return 0;
    const int64_t together = std::max<int64_t>(1, (int64_t{1} << 25) / std::max<int64_t>(1, n));
    return kSeedBytes * n * std::min(workload_.models, together);
  }
  void keep(CudaPlan& plan, const device::SlicePlan& slices) const {
    const PointsView& points = input_.points;
    static_cast<device::SlicePlan&>(plan) = slices;
    const int64_t packed = padded(plan.slice_rows, kRowBlock);
    const int64_t buffers = plan.resident_rows < points.n ? 2 * plan.slice_rows : 0;
    plan.upload_bytes = (points.on_device() ? 0 : (plan.resident_rows + buffers) * row_bytes()) +
                        static_cast<int64_t>(input_.weights.size() * sizeof(double)) + points.d * 64;
    if (plan.screen == ScreenKind::kMatrix) plan.upload_bytes += packed * (2 * plan.padded_columns + 8);
    if (plan.screen == ScreenKind::kBoundingBoxes) plan.upload_bytes += box_bytes(input_);
    if (plan.screen == ScreenKind::kFloat && points.d > kLowColumns) plan.upload_bytes += packed * 4;
    plan.session_bytes = session_bytes(input_, k_, plan);
  }

  const Input& input_;
  const Workload& workload_;
  int64_t room_;
  int64_t forced_rows_;
  std::vector<int64_t> k_;  // of the models of a session
};

// Models that have a session each, and no pass together.
Workload apart(Workload workload) {
  workload.sessions *= std::max<int64_t>(1, workload.models);
  workload.models = 1;
  return workload;
}

// Margins are for one model. Several models that must carry them get a session each, if there is room for that.
bool models_apart(CudaPlan plan, const Input& input, const BackendOptions& options, const Workload& workload,
                  int64_t room) {
  if (options.algorithm != "bounds" || plan.screen != ScreenKind::kMatrix || workload.models <= 1) return false;
  plan.bounds = BoundsUse::kAlways;
  return RowPlanner(input, apart(workload), room, options.tuning.cuda.slice_rows).holds_all(plan);
}

std::string describe_bounds(const CudaPlan& plan) {
  if (plan.bounds != BoundsUse::kAlways) return "";
  return plan.apart ? "; margins carried from pass to pass, each model in passes of its own"
                    : "; margins carried from pass to pass";
}

}  // namespace

int64_t max_slice_rows(ScreenKind screen, int64_t models) {
  // Half of what 32 bits hold: warps reserve entries of the matrix screen's list that they may not use.
  constexpr int64_t kMaxEntries = int64_t{1} << 31;
  models = std::max<int64_t>(1, models);
  if (screen == ScreenKind::kBoundingBoxes) return std::min(kMaxBoxPoints, kMaxEntries / models * kBoxRows);
  return kMaxEntries / models - kRowBlock;
}

void check_counts(int64_t models, int64_t clusters) {
  constexpr int64_t kMaxModels = 65535;  // the blocks of a grid's second side
  constexpr int64_t kMaxColumns = (int64_t{1} << 31) - kMaxModels * kTileMultiple * 4;  // padded, of all models
  if (models <= kMaxModels && clusters <= kMaxColumns) return;
  throw Error(ErrorCode::kUnavailable, "backend cuda",
              fmt::format("{} models with {} clusters in one pass are more than its {} models and {} clusters; use "
                          "strategy data, which has a pass for each model, or --backend cpu",
                          models, clusters, kMaxModels, kMaxColumns));
}

double products_per_second(const CudaDevice& device) {
  constexpr double kFloatLanes = 128;  // of a multiprocessor
  constexpr double kInstructions = 4;  // two numbers are widened, subtracted, and the square is added up
  return device.multiprocessors * kFloatLanes / device.double_ratio * 1e9 / kInstructions;
}

// Whatever else is waited for (seeding, labels, inertia) takes less, or as long as 64 more clusters.
double usual_seconds(const Input& input, const CudaDevice& device, const Workload& workload) {
  constexpr double kLink = 1e9;  // bytes a second
  const auto rows = static_cast<double>(input.points.n);
  const auto clusters = static_cast<double>(std::max(workload.all_clusters, workload.max_clusters) + 64);
  const double products = rows * static_cast<double>(input.points.d + 8) * clusters;
  const double bytes = rows * static_cast<double>(input.points.d * 8 + 16 * std::max<int64_t>(1, workload.models));
  return static_cast<double>(std::max<int64_t>(1, workload.sessions)) *
         (products / products_per_second(device) + bytes / kLink);
}

bool subtracts_in_float(const Input& input, int exponent) {
  constexpr int kMaxExponent = 100;  // of a factor that is a normal float, and whose inverse is
  return input.points.type != DataType::kFloat64 && std::abs(exponent) <= kMaxExponent &&
         std::ldexp(input.max_magnitude(), exponent) < 0x1p126;
}

CudaPlan make_cuda_plan(const Input& input, const CudaDevice& device, const BackendOptions& options, double half_ratio,
                        const Workload& workload) {
  CudaPlan plan;
  plan.screen = choose_screen(input, device, options, half_ratio, workload);
  plan.matrix_unit = options.tuning.cuda.screen_format == "float16-sync" ? MatrixUnit::kSync : device.matrix_unit;
  plan.padded_columns = static_cast<int32_t>(padded(input.points.d, kDepthBlock));
  int64_t room = device.memory_free - kReserve;
  if (options.device_memory > 0) room = std::min(room, options.device_memory);
  plan.apart = models_apart(plan, input, options, workload, room);
  const Workload planned = plan.apart ? apart(workload) : workload;
  if (planned.models > 1) check_counts(planned.models, planned.all_clusters);
  const RowPlanner planner(input, planned, room, options.tuning.cuda.slice_rows);
  if (plan.screen == ScreenKind::kBoundingBoxes && !planner.holds_all(plan)) plan.screen = ScreenKind::kFloat;
  // Short rows are several times as long once they are packed: not where they have to come in slices for that.
  const bool chosen_for_speed = options.algorithm == "auto" && options.tuning.cuda.screen_format.empty();
  if (plan.screen == ScreenKind::kMatrix && chosen_for_speed && input.points.d <= kLowColumns &&
      !planner.holds_all(plan)) {
    plan.screen = ScreenKind::kFloat;
  }
  plan.score_thresholds = plan.screen == ScreenKind::kMatrix && pays_to_have_thresholds(input, planned, options);
  if (plan.score_thresholds && !planner.holds_all(plan)) plan.score_thresholds = false;
  plan.bounds = wanted_bounds(plan, input, options, planned);
  if (plan.bounds != BoundsUse::kNever && !planner.holds_all(plan)) plan.bounds = BoundsUse::kNever;
  planner.choose(plan);
  plan.usual_seconds = usual_seconds(input, device, workload);
  plan.text = fmt::format("{} on {} (compute capability {}.{}){}{}", describe(plan.screen, input, options), device.name,
                          device.major, device.minor, describe_slices(plan, input.points), describe_bounds(plan));
  const std::string lacking = what_is_lacking(plan, input, device, options);
  if (lacking.empty()) return plan;
  plan.text += "; " + lacking;
  plan.warning = fmt::format("algorithm {}: {}", options.algorithm, lacking);
  return plan;
}

bool margins_may_pay(int64_t rows, int64_t columns, const Workload& workload) {
  // Below about 0.1 ms a pass the launches that margins take cost what they save; and a fit of few passes has none
  // that changes little.
  constexpr double kMinWork = 1e10;
  constexpr int64_t kMinPasses = 8;
  const double work =
      static_cast<double>(rows) * static_cast<double>(columns + 8) * static_cast<double>(workload.max_clusters);
  return work >= kMinWork && workload.passes >= kMinPasses;
}

SessionShape session_shape(const Input& input, std::span<const int64_t> k, const CudaPlan& plan) {
  SessionShape shape;
  shape.k = k;
  shape.rows = input.points.n;
  shape.slice_rows = std::min(plan.slice_rows, input.points.n);
  shape.d = input.points.d;
  shape.limbs = input.limbs;
  shape.float64 = input.points.type == DataType::kFloat64;
  shape.column_multiple = float_column_multiple(input.points.d);
  if (plan.screen == ScreenKind::kMatrix) {
    shape.unit = plan.matrix_unit;
    shape.padded_columns = plan.padded_columns;
    shape.score_thresholds = plan.score_thresholds;
    shape.bounds = plan.bounds;
  }
  if (plan.screen == ScreenKind::kBoundingBoxes) shape.bounding_boxes = boxes_of(input.points.n);
  return shape;
}

int64_t session_bytes(const Input& input, std::span<const int64_t> k, const CudaPlan& plan) {
  const SessionShape shape = session_shape(input, k, plan);
  return device::SessionMemory::bytes(input, k) + SessionArrays::bytes(shape) + screen_bytes(plan.screen, shape);
}

void check_session_room(int64_t bytes, int64_t upload_bytes, const BackendOptions& options) {
  int64_t room = free_device_memory();
  if (options.device_memory > 0) room = std::min(room, options.device_memory - upload_bytes);
  device::check_room("cuda", bytes, room, "labels and statistics");
}

}  // namespace manymeans::cuda
