#include "backend/cpu/screen_costs.h"

#include <manymeans/error.h>

#include "backend/cpu/matrix_layout.h"
#include "backend/cpu/screen_cost_table.h"
#include "data/gather.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

namespace manymeans {
namespace {

double column_ns(const ScreenCosts& costs, const ScreenKernels& screen, int64_t d) {
  if (screen.format == ScreenFormat::kFloat32) return costs.score + costs.value * static_cast<double>(d);
  return costs.matrix_score + costs.step * static_cast<double>(MatrixLayout(screen.format, d).products());
}

// Which share of rows a bfloat16 screen would leave unproved, were a sample of the rows the prototypes.
class Pilot {
 public:
  Pilot(const Input& input, const Frame& frame, int64_t clusters) : d_(static_cast<size_t>(input.points.d)) {
    const int64_t n = input.points.n;
    // Every other sampled row stands for a point; what is compared is bounded whatever d is.
    const int64_t most = std::clamp<int64_t>((int64_t{1} << 21) / input.points.d, 16, 256);
    const int64_t sampled = std::min(n, 2 * std::min(most, clusters));
    const Matrix sample = gather_rows(input, spread_rows(n, sampled));
    for (int64_t i = 0; i < sampled; ++i) {
      std::vector<double> y(d_);
      for (size_t j = 0; j < d_; ++j) {
        y[j] = (sample.at(i, static_cast<int64_t>(j)) - frame.centre[j]) * frame.scale;
      }
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

namespace {

ScreenChoice screen_of_name(const CpuKernels& kernels, std::string_view format) {
  for (int i = 0; i < kernels.screen_count; ++i) {
    if (name_of(kernels.screens[i].format) == format) return {&kernels.screens[i], "as asked", 0, {}, std::nullopt};
  }
  throw Error(ErrorCode::kUnavailable, "MANYMEANS_CPU_SCREEN",
              fmt::format("instruction set {} has no {} screen", kernels.name, format));
}

// Nanoseconds of a row and model.
double row_ns(const ScreenCosts& costs, const ScreenKernels& screen, int64_t d, int64_t k, double unproved) {
  const auto values = static_cast<double>(d);
  const auto columns = static_cast<double>(k);
  if (screen.format == ScreenFormat::kFloat32) {
    return columns * column_ns(costs, screen, d) + 4 * values * costs.byte;
  }
  const double bytes = static_cast<double>(MatrixLayout(screen.format, d).tile_bytes()) / screen.tile_rows;
  // A span is computed whole, however few of its columns there are.
  return std::ceil(columns / kSpanColumns) * kSpanColumns * column_ns(costs, screen, d) +
         unproved * (costs.resolve + costs.resolve_value * values) + bytes * costs.byte;
}

}  // namespace

ScreenChoice choose_screen(const Input& input, const CpuKernels& kernels, std::string_view format,
                           const Workload& workload) {
  if (const char* forced = std::getenv("MANYMEANS_CPU_SCREEN"); format.empty() && forced != nullptr) format = forced;
  const CostTable table = find_costs(kernels.name);
  const int64_t d = input.points.d;
  ScreenChoice choice{&kernels.screens[0],
                      fmt::format("the only one; {} costs", table.measured ? "measured" : "shipped"), 0, table.warning,
                      std::nullopt};
  if (!format.empty()) {
    choice = screen_of_name(kernels, format);
    choice.warning = table.warning;
  } else if (kernels.screen_count > 1) {
    choice.frame = find_frame(input);
    const Pilot pilot(input, *choice.frame, workload.most_clusters);
    const double fine = row_ns(table.costs, kernels.screens[0], d, workload.most_clusters, 0);
    double least = fine, left = 0;
    for (int i = 1; i < kernels.screen_count; ++i) {
      const double unproved = pilot.unproved(kernels.screens[i].format);
      const double cost = row_ns(table.costs, kernels.screens[i], d, workload.most_clusters, unproved);
      if (cost >= least) continue;
      least = cost;
      left = unproved;
      choice.screen = &kernels.screens[i];
    }
    choice.why =
        fmt::format("about {:.3g} ns a row and model by {} costs, float32 {:.3g}, {:.1f} % of a sample unproved", least,
                    table.measured ? "measured" : "shipped", fine, 100 * left);
  }
  choice.column_ns = column_ns(table.costs, *choice.screen, d);
  return choice;
}

}  // namespace manymeans
