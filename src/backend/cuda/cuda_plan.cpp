#include "backend/cuda/cuda_plan.h"

#include <manymeans/error.h>

#include "backend/cuda/accumulate.h"
#include "backend/cuda/float_screen.h"
#include "backend/cuda/resolve.h"

#include <fmt/format.h>

#include <algorithm>

namespace manymeans::cuda {
namespace {

constexpr int64_t kReserve = int64_t{256} << 20;  // for the runtime, small arrays and seeding

// With so few columns the points stay in registers and float32 is as fast.
constexpr int64_t kFewestMatrixColumns = kLowColumns + 1;
// Rounding to fp16 takes 2^-12 or so of a row where no value is far out; with much more nothing is proved.
constexpr double kMostHalfRatio = 0x1p-9;

ScreenKind choose_screen(const Input& input, const CudaDevice& device, const BackendOptions& options, double ratio) {
  if (options.algorithm == "brute") return ScreenKind::kNone;
  if (options.algorithm != "auto" && options.algorithm != "matrix") {
    throw Error(ErrorCode::kUsage, "algorithm",
                "the cuda backend has no '" + options.algorithm + "'; use auto, matrix or brute, or --backend cpu");
  }
  const std::string& format = options.screen_format;
  if (format == "float32") return ScreenKind::kFloat;
  if (format == "float16") {
    if (device.has_matrix_screen) return ScreenKind::kMatrix;
    throw Error(ErrorCode::kUnavailable, "screen format",
                device.name + " has no matrix units that the float16 screen can use; use float32");
  }
  if (!format.empty()) {
    throw Error(ErrorCode::kUsage, "screen format", "the cuda backend has float32 and float16, not '" + format + "'");
  }
  const bool useful = input.points.d >= kFewestMatrixColumns && ratio <= kMostHalfRatio;
  return device.has_matrix_screen && useful ? ScreenKind::kMatrix : ScreenKind::kFloat;
}

std::string describe(ScreenKind screen, const Input& input) {
  switch (screen) {
    case ScreenKind::kNone: return "every canonical distance";
    case ScreenKind::kFloat:
      return input.points.d <= kLowColumns ? "float32 screen, points in registers" : "float32 screen, in tiles";
    case ScreenKind::kMatrix: return "fp16 screen in the matrix units";
  }
  return "";
}

}  // namespace

CudaPlan make_cuda_plan(const Input& input, const CudaDevice& device, const BackendOptions& options,
                        double half_ratio) {
  CudaPlan plan;
  plan.screen = choose_screen(input, device, options, half_ratio);
  plan.padded_columns = static_cast<int32_t>((input.points.d + kDepthBlock - 1) / kDepthBlock * kDepthBlock);
  const size_t point_bytes = input.points.on_device() ? 0 : input.points.bytes();
  plan.upload_bytes = static_cast<int64_t>(point_bytes + input.weights.size() * sizeof(double)) +
                      2 * input.points.n * static_cast<int64_t>(sizeof(float)) + input.points.d * 64;
  if (plan.screen == ScreenKind::kMatrix) plan.upload_bytes += (input.points.n + kRowBlock) * plan.padded_columns * 2;
  plan.text = fmt::format("{} on {} (compute capability {}.{})", describe(plan.screen, input), device.name,
                          device.major, device.minor);
  check_room(plan.upload_bytes, device.memory_free - kReserve, "the points", input);
  return plan;
}

int64_t list_capacity(int64_t rows, int64_t models) {
  return std::clamp<int64_t>(rows * models, 4096, int64_t{16} << 20);
}

int64_t open_capacity(int64_t rows, int64_t models) {
  constexpr int64_t kMost = int64_t{1} << 19;  // of all models
  const int64_t wanted = std::min((rows + 1) / 2, kMost / models);
  return std::max<int64_t>(1, (wanted + kOpenBlock - 1) / kOpenBlock) * kOpenBlock;
}

int64_t marked_capacity(int64_t rows, int64_t models) {
  return std::max(models * 128, std::min(rows * models / 2, int64_t{1} << 19));
}

bool collects(const CudaPlan& plan, int64_t clusters, int64_t d) {
  return plan.screen == ScreenKind::kMatrix && clusters * d > kDirectValues;
}

int64_t label_order_capacity(int64_t rows, int64_t columns, int limbs, int64_t most_clusters, int64_t models) {
  constexpr int64_t kFewestValues = int64_t{1} << 23;  // of all models: about 0.1 ms of atomic operations
  constexpr int64_t kMostRows = int64_t{1} << 24;      // of all models, in one slice
  const int64_t bytes = 8 * most_clusters * (limbs * columns + 2);
  if (limbs > kMostLabelOrderLimbs || columns > kMostLabelOrderColumns || bytes <= kMostSharedSums) return 0;
  if (rows * columns * models < kFewestValues) return 0;
  const int64_t slice = std::max<int64_t>(kMostRows / models, 1);
  return 2 * models * ((std::min(rows, slice) + kLabelOrderRows - 1) / kLabelOrderRows * kLabelOrderRows);
}

int64_t session_bytes(const Input& input, std::span<const int64_t> k, const CudaPlan& plan) {
  int64_t clusters = 0;
  int64_t most = 1;
  for (const int64_t count : k) {
    clusters += (count + kTileGroup - 1) / kTileGroup * kTileGroup;
    most = std::max(most, count);
  }
  const auto models = static_cast<int64_t>(k.size());
  const int64_t width = most <= 256 ? 1 : (most <= 65536 ? 2 : 4);
  const int64_t labels = 2 * models * (input.points.n + 127) / 128 * 128 * width;
  const int64_t marks = models * (input.points.n / 8 + 16);
  const int64_t statistics = clusters * (input.limbs * input.points.d + 2) * 8;
  const int64_t columns = clusters * (input.points.d + 8) * (plan.screen == ScreenKind::kMatrix ? 6 : 4);
  const int64_t list = plan.screen == ScreenKind::kMatrix
                           ? list_capacity(input.points.n, models) * 48 + marked_capacity(input.points.n, models) * 8 +
                                 kMostSliceTops * 12
                           : 0;
  const int64_t open_row =
      8 + (collects(plan, most, input.points.d) ? 2 * plan.padded_columns + 4 * (1 + kMostCollected) : 0);
  const int64_t open = open_capacity(input.points.n, models) * models * open_row;
  const int64_t entries = label_order_capacity(input.points.n, input.points.d, input.limbs, most, models);
  const int64_t order = entries > 0 ? 4 * (entries + 2 * clusters + 1) : 0;
  return labels + marks + statistics + columns + clusters * input.points.d * 8 + list + open + order;
}

void check_room(int64_t bytes, int64_t room, const char* what, const Input& input) {
  if (bytes <= room) return;
  constexpr double kMiB = 1 << 20;
  const double share = static_cast<double>(std::max<int64_t>(0, room)) / static_cast<double>(bytes);
  throw Error(ErrorCode::kUnavailable, "cuda device memory",
              fmt::format("{} need {:.0f} MiB, and {:.0f} MiB are free; about {} of the {} rows would fit: use fewer "
                          "rows or models at a time, or --backend cpu",
                          what, static_cast<double>(bytes) / kMiB, static_cast<double>(room) / kMiB,
                          static_cast<int64_t>(share * static_cast<double>(input.points.n)), input.points.n));
}

}  // namespace manymeans::cuda
