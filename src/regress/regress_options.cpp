#include <manymeans/error.h>
#include <manymeans/regress.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace manymeans {
namespace {

constexpr std::array<std::string_view, 4> kInits = {"auto", "random-subsets", "kmeans", "kmeans-x"};

}  // namespace

void check(const RegressOptions& options) {
  check(static_cast<const FitOptions&>(options));
  if (options.metric != Metric::kEuclidean) {
    throw Error(ErrorCode::kUsage, "metric", "linear models know residuals, not angles; leave it euclidean");
  }
  if (options.min_size > 0 || options.max_size > 0) {
    throw Error(ErrorCode::kUsage, options.min_size > 0 ? "min_size" : "max_size",
                "sizes are those of clusters of k-means; linear models have none");
  }
  if (std::ranges::find(kInits, options.init) == kInits.end()) {
    throw Error(
        ErrorCode::kUsage, "init",
        fmt::format("'{}' does not choose linear models; use auto, random-subsets, kmeans, kmeans-x, or give models",
                    options.init));
  }
  if (!(options.ridge >= 0) || options.ridge > 0x1p500) {
    throw Error(ErrorCode::kUsage, "ridge", fmt::format("{} must be a finite number, 0 or larger", options.ridge));
  }
  if (options.swaps < 0) {
    throw Error(ErrorCode::kUsage, "swaps", fmt::format("{} is negative; 0 means no search", options.swaps));
  }
}

template <>
std::span<const std::string_view> names_of<Gating>() {
  static constexpr std::array<std::string_view, 3> kNames = {"nearest", "prior", "columns"};
  return kNames;
}

}  // namespace manymeans
