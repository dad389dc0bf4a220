#include "backend/cuda/cuda_plan.h"

#include <manymeans/error.h>

#include "backend/cuda/float_screen.h"

#include <fmt/format.h>

#include <algorithm>

namespace manymeans::cuda {
namespace {

constexpr int64_t kReserve = int64_t{256} << 20;  // for the runtime, small arrays and seeding

ScreenKind choose_screen(const Input& input, const BackendOptions& options) {
  if (options.algorithm == "brute") return ScreenKind::kNone;
  if (options.algorithm != "auto" && options.algorithm != "matrix") {
    throw Error(ErrorCode::kUsage, "algorithm",
                "the cuda backend has no '" + options.algorithm + "'; use auto, matrix or brute, or --backend cpu");
  }
  if (options.screen_format.empty() || options.screen_format == "float32") return ScreenKind::kFloat;
  static_cast<void>(input);
  throw Error(ErrorCode::kUsage, "screen format", "the cuda backend has no '" + options.screen_format + "'");
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

CudaPlan make_cuda_plan(const Input& input, const Workload&, const CudaDevice& device, const BackendOptions& options) {
  CudaPlan plan;
  plan.screen = choose_screen(input, options);
  plan.upload_bytes = static_cast<int64_t>(input.points.bytes() + input.weights.size() * sizeof(double)) +
                      input.points.n * static_cast<int64_t>(sizeof(float)) + input.points.d * 64;
  plan.text = fmt::format("{} on {} (compute capability {}.{})", describe(plan.screen, input), device.name,
                          device.major, device.minor);
  check_room(plan.upload_bytes, device.memory_free - kReserve, "the points", input);
  return plan;
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
  return labels + marks + statistics + columns + clusters * input.points.d * 8;
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
