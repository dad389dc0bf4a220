#include "backend/cpu/screen_costs.h"

#include <manymeans/error.h>

#include "backend/cpu/matrix_layout.h"
#include "backend/cpu/packed_points.h"
#include "core/data_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

namespace manymeans {
namespace {

// Nanoseconds on one thread, from bench/results (docs/performance.md says how they are measured).
struct Costs {
  std::string_view instruction_set;
  double score;         // of a row and column, float32
  double value;         // and per value of the row
  double matrix_score;  // of a row and column, bfloat16
  double step;          // and per product of 32 values
  double resolve;       // of a row that is not proved
  double resolve_value;
  double byte;  // of a row's rounded copy
};

constexpr Costs kCosts[] = {
    {"amx", 0.045, 0.0125, 0.055, 0.022, 80, 0.8, 0.055},
    {"avx512_bf16", 0.045, 0.0125, 0.065, 0.8, 80, 0.8, 0.055},
};

const Costs* find_costs(std::string_view instruction_set) {
  for (const Costs& costs : kCosts) {
    if (costs.instruction_set == instruction_set) return &costs;
  }
  return nullptr;
}

// Which share of rows a bfloat16 screen would leave unproved, were a sample of the rows the prototypes.
class Pilot {
 public:
  Pilot(const Input& input, const Frame& frame, int64_t clusters) : d_(static_cast<size_t>(input.points.d)) {
    const int64_t n = input.points.n;
    // Every other sampled row stands for a point; what is compared is bounded whatever d is.
    const int64_t most = std::clamp<int64_t>((int64_t{1} << 21) / input.points.d, 16, 256);
    const int64_t sampled = std::min(n, 2 * std::min(most, clusters));
    for (int64_t i = 0; i < sampled; ++i) {
      std::vector<double> y(d_);
      const int64_t row = static_cast<int64_t>(static_cast<__int128>(i) * n / sampled);
      widen(input.points.data, input.points.type, row * input.points.d, input.points.d, y.data());
      for (size_t j = 0; j < d_; ++j) y[j] = (y[j] - frame.centre[j]) * frame.scale;
      rows_.push_back(std::move(y));
    }
    const size_t half = rows_.size() / 2;
    for (size_t i = 0; i < half && half >= 2; ++i) margins_.push_back(find_margin(rows_[i], half));
  }

  double unproved(ScreenFormat format) const {
    if (margins_.empty()) return 0;
    int64_t count = 0;
    for (size_t i = 0; i < margins_.size(); ++i) count += !proved(i, format);
    return static_cast<double>(count) / static_cast<double>(margins_.size());
  }

 private:
  struct Margin {
    size_t nearest;  // among rows_
    double margin;   // half of what the next one's squared distance is larger
  };
  struct Norms {
    double norm;
    double rest;
  };

  Norms norms(const std::vector<double>& y, ScreenFormat format) const {
    double square = 0, rest_square = 0;
    for (const double v : y) {
      double rest = v - static_cast<double>(from_bfloat16(to_bfloat16(static_cast<float>(v))));
      if (format == ScreenFormat::kBfloat16Pair) {
        rest -= static_cast<double>(from_bfloat16(to_bfloat16(static_cast<float>(rest))));
      }
      square += v * v;
      rest_square += rest * rest;
    }
    return {std::sqrt(square), std::sqrt(rest_square)};
  }

  // Of a point to the prototypes, which are the rows from `half` on.
  Margin find_margin(const std::vector<double>& x, size_t half) const {
    double best = std::numeric_limits<double>::infinity(), second = best;
    size_t nearest = half;
    for (size_t k = half; k < rows_.size(); ++k) {
      double square = 0;
      for (size_t j = 0; j < d_; ++j) square += (x[j] - rows_[k][j]) * (x[j] - rows_[k][j]);
      if (square < best) {
        second = std::exchange(best, square);
        nearest = k;
      } else {
        second = std::min(second, square);
      }
    }
    return {nearest, (second - best) / 2};
  }

  bool proved(size_t i, ScreenFormat format) const {
    const Norms point = norms(rows_[i], format), prototype = norms(rows_[margins_[i].nearest], format);
    const double error = point.rest * prototype.norm + point.norm * prototype.rest;
    return margins_[i].margin > 2 * error;
  }

  size_t d_;
  std::vector<std::vector<double>> rows_;
  std::vector<Margin> margins_;  // of the rows that stand for points
};

}  // namespace

std::string_view name_of(ScreenFormat format) {
  switch (format) {
    case ScreenFormat::kBfloat16: return "bfloat16";
    case ScreenFormat::kBfloat16Pair: return "bfloat16-pair";
    case ScreenFormat::kFloat32: break;
  }
  return "float32";
}

ScreenChoice choose_screen(const Input& input, const CpuKernels& kernels, std::string_view format,
                           const Workload& workload) {
  if (const char* forced = std::getenv("MANYMEANS_CPU_SCREEN"); format.empty() && forced != nullptr) format = forced;
  if (!format.empty()) {
    for (int i = 0; i < kernels.screen_count; ++i) {
      if (name_of(kernels.screens[i].format) == format) return {&kernels.screens[i], "as asked", std::nullopt};
    }
    throw Error(ErrorCode::kUnavailable, "MANYMEANS_CPU_SCREEN",
                fmt::format("instruction set {} has no {} screen", kernels.name, format));
  }
  const Costs* costs = find_costs(kernels.name);
  if (costs == nullptr) return {&kernels.screens[0], "this instruction set's", std::nullopt};
  const auto d = static_cast<double>(input.points.d);
  const auto k = static_cast<double>(workload.most_clusters);
  const double fine = k * (costs->score + costs->value * d) + 4 * d * costs->byte;
  ScreenChoice choice{&kernels.screens[0], "", find_frame(input)};
  const Pilot pilot(input, *choice.frame, workload.most_clusters);
  double least = fine;
  double left = 0;
  for (int i = 1; i < kernels.screen_count; ++i) {
    const double unproved = pilot.unproved(kernels.screens[i].format);
    const MatrixLayout layout(kernels.screens[i].format, input.points.d);
    const auto products = static_cast<double>(layout.products());
    const double bytes = static_cast<double>(layout.tile_bytes()) / kernels.screens[i].tile_rows;
    // A span is computed whole, however few of its columns there are.
    const double columns = std::ceil(k / kSpanColumns) * kSpanColumns;
    const double cost = columns * (costs->matrix_score + costs->step * products) +
                        unproved * (costs->resolve + costs->resolve_value * d) + bytes * costs->byte;
    if (cost >= least) continue;
    least = cost;
    left = unproved;
    choice.screen = &kernels.screens[i];
  }
  choice.why = fmt::format("about {:.3g} ns a row and model, float32 {:.3g}, {:.1f} % of a sample unproved", least,
                           fine, 100 * left);
  return choice;
}

}  // namespace manymeans
