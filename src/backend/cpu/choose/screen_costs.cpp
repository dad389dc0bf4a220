#include "backend/cpu/choose/screen_costs.h"

#include <manymeans/error.h>

#include "backend/backend.h"
#include "backend/cpu/choose/sampling_probe.h"
#include "backend/cpu/kernels/instruction_set.h"
#include "backend/cpu/screen/matrix_layout.h"
#include "backend/cpu/screen/packed_points.h"
#include "backend/cpu/screen/packed_prototypes.h"
#include "core/aligned_buffer.h"
#include "core/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace manymeans {
namespace {

struct Measured {
  std::string_view instruction_set;
  ScreenCosts costs;
};

// From bench/results (bench/results/EXPERIMENTS.md says how they are measured).
constexpr Measured kMeasured[] = {
    {"amx", {0.035, 0.0124, 0.09, 0.035, 40, 1.1, 0.08, 0.35, 0.03}},  // a busy machine: six threads at once
    {"avx512_bf16", {0.045, 0.0125, 0.055, 0.0125, 50, 0.5, 0.055, 0.35, 0.02}},
    {"avx512_vnni", {0.045, 0.0125, 0, 0, 80, 0.8, 0.055, 0.35, 0.02}},
    {"avx512", {0.045, 0.0125, 0, 0, 80, 0.8, 0.055, 0.35, 0.02}},
    {"avx2", {0.12, 0.02, 0, 0, 80, 0.8, 0.055, 0.4, 0.038}},
    {"neon_bf16", {0.24, 0.04, 0.27, 0.04, 50, 0.5, 0.055, 0.8, 0.076}},  // not measured, as the next
    {"neon", {0.24, 0.04, 0, 0, 80, 0.8, 0.055, 0.8, 0.076}},             // not measured: AVX2's for half of its lanes
    {"portable", {3.6, 0.27, 9.6, 30, 80, 0.8, 0.055, 4, 1}},
};

// Sums of D products of bytes have to fit 32 bits.
constexpr int64_t kMaxByteColumns = int64_t{1} << 15;

bool takes(const ScreenKernels& screen, int64_t d) {
  return screen.format != ScreenFormat::kInt8Pair || d <= kMaxByteColumns;
}

double column_ns(const ScreenCosts& costs, const ScreenKernels& screen, int64_t d) {
  if (screen.format == ScreenFormat::kFloat32) return costs.score + costs.value * static_cast<double>(d);
  // Two sums for each score, to be converted: bench/results/EXPERIMENTS.md.
  const double sums = screen.format == ScreenFormat::kInt8Pair ? 1.75 : 1;
  return sums * costs.matrix_score + costs.step * static_cast<double>(MatrixLayout(screen, d).products());
}

constexpr int64_t kTriedColumns = 1024;

template <class T>
AlignedBuffer<T> zeros_of(size_t count) {
  AlignedBuffer<T> zeros(count);
  std::fill_n(zeros.data(), count, T{});
  return zeros;
}

// Seconds of the kernel on a tile of long rows and 64 prototypes, all of them zero: the least of some tries.
double kernel_seconds(const ScreenKernels& screen) {
  constexpr int kTries = 6;
  constexpr int64_t kSpans = 2;
  constexpr int32_t kWidths[kSpans] = {kSpanColumns, kSpanColumns};
  const auto rows = static_cast<size_t>(screen.tile_rows);
  const auto tile = zeros_of<std::byte>(PackedPoints::tile_bytes(screen, kTriedColumns));
  const auto columns =
      zeros_of<std::byte>(static_cast<size_t>(kSpans * PackedPrototypes::span_bytes(screen, kTriedColumns)));
  const auto zeros = zeros_of<float>(std::max<size_t>(rows, kSpans * kSpanColumns));
  AlignedBuffer<float> best(kSpans * rows), second(kSpans * rows), third(kSpans * rows);
  const MatrixLayout layout(screen, kTriedColumns);
  const int64_t words = screen.format == ScreenFormat::kFloat32 ? kTriedColumns : layout.words();
  const MatrixSteps steps = layout.steps();
  const ScreenTile to{tile.data(), zeros.data(), best.data(), second.data(), third.data()};
  const ScreenTask task{
      {words, &steps, columns.data(), zeros.data(), zeros.data(), zeros.data(), kWidths, zeros.data(), kSpans},
      &to,
      1,
      nullptr,
      0};
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kTries; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    screen.screen(task);
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return least / static_cast<double>(rows);
}

// The costs of pairs were measured on Zen 4. Processors differ, and peak rates do not show it: Zen 5 and Sapphire
// Rapids have the same quotient. So both kernels run some times, which takes a millisecond. The result is one of three
// numbers that lie far apart: a fit's decision must not depend on how busy a machine is.
double slowness_of_pairs(const ScreenCosts& costs, const ScreenKernels& pairs, const ScreenKernels& single) {
  static const double doublings =
      std::log2(kernel_seconds(pairs) / kernel_seconds(single) * column_ns(costs, single, kTriedColumns) /
                column_ns(costs, pairs, kTriedColumns));
  return std::exp2(std::clamp(std::round(doublings), 0.0, 2.0));
}

ScreenCosts costs_here(const CpuKernels& kernels) {
  ScreenCosts costs = screen_costs(kernels.name);
  for (int i = 1; i < kernels.screen_count; ++i) {
    const ScreenKernels& screen = kernels.screens[i];
    if (screen.layout == ScreenLayout::kLanes) costs.step *= slowness_of_pairs(costs, screen, kernels.screens[0]);
  }
  return costs;
}

}  // namespace

const ScreenCosts& screen_costs(std::string_view instruction_set) {
  for (const Measured& measured : kMeasured) {
    if (measured.instruction_set == instruction_set) return measured.costs;
  }
  return kMeasured[std::size(kMeasured) - 1].costs;
}

std::string_view name_of(ScreenFormat format) {
  switch (format) {
    case ScreenFormat::kBfloat16: return "bfloat16";
    case ScreenFormat::kBfloat16Pair: return "bfloat16-pair";
    case ScreenFormat::kInt8Pair: return "int8-pair";
    case ScreenFormat::kFloat32: break;
  }
  return "float32";
}

const CodedKernels* coded_kernels(const CpuKernels& kernels, const ScreenKernels& screen, int64_t d) {
  if (d > kMaxLookColumns) return nullptr;
  for (int i = 0; i < kernels.coded_count; ++i) {
    if (kernels.coded[i].tile_rows == screen.tile_rows) return &kernels.coded[i];
  }
  return nullptr;
}

namespace {

ScreenChoice screen_of_name(const CpuKernels& kernels, std::string_view format, int64_t d) {
  for (int i = 0; i < kernels.screen_count; ++i) {
    const ScreenKernels& screen = kernels.screens[i];
    if (name_of(screen.format) != format) continue;
    if (takes(screen, d)) return {&screen, "as asked", 0, std::nullopt};
    throw Error(ErrorCode::kUnavailable, "MANYMEANS_CPU_SCREEN",
                fmt::format("the {} screen takes at most {} columns, and there are {}", format, kMaxByteColumns, d));
  }
  throw Error(ErrorCode::kUnavailable, "MANYMEANS_CPU_SCREEN",
              fmt::format("instruction set {} has no {} screen", kernels.name, format));
}

// Nanoseconds of a row and model; its rounded copy is made once for all passes, and read once for models that share
// one.
double row_ns(const ScreenCosts& costs, const ScreenKernels& screen, int64_t d, const ProbeCounts& counts,
              const Workload& workload) {
  constexpr double kRounding = 0.35;  // of a value, in addition to the cost in float32
  const auto values = static_cast<double>(d);
  double bytes = 4 * values, rounding = 0;
  if (screen.format != ScreenFormat::kFloat32) {
    bytes = static_cast<double>(MatrixLayout(screen, d).tile_bytes()) / screen.tile_rows;
    rounding = kRounding * values;
  }
  // Resolving was measured on rows of two candidates.
  return counts.columns * column_ns(costs, screen, d) +
         counts.candidates / 2 * (costs.resolve + costs.resolve_value * values) +
         bytes * costs.byte / static_cast<double>(workload.models) + rounding / static_cast<double>(workload.passes);
}

// Were every span full and every row proved.
double least_row_ns(const ScreenCosts& costs, const ScreenKernels& screen, int64_t d, const Workload& workload) {
  int64_t columns = 0;
  const std::vector<int64_t> clusters = clusters_of(workload);
  for (const int64_t k : clusters) {
    columns += (k + screen.width_columns - 1) / screen.width_columns * screen.width_columns;
  }
  const double each = static_cast<double>(columns) / static_cast<double>(clusters.size());
  return row_ns(costs, screen, d, {each, 0, 0}, workload);
}

// A first look in bytes computes a comparison and a little more for a score, and is as fast as float32 for each word.
LookCosts look_costs(const ScreenCosts& costs, int64_t d) {
  constexpr double kScoreWords = 1.3;
  constexpr double kDistance = 15, kDistanceValue = 0.3;  // of rows one after the other
  const auto values = static_cast<double>(d);
  return {costs.value * (std::ceil(values / kCodedValues) + kScoreWords), kDistance + kDistanceValue * values,
          (costs.resolve + costs.resolve_value * values) / 2};
}

// A look must take at most this share of the screen's time. Points are coded for it, and the thresholds of the first
// passes leave more than a sample does.
constexpr double kWorthOfLook = 0.75;

// Nanoseconds of a row and model without hits; infinity without a look or with too few passes for one.
double least_look_ns(const CpuKernels& kernels, const ScreenKernels& screen, const LookCosts& costs, int64_t d,
                     const Workload& workload) {
  constexpr double kCoding = 3;  // of a value, on Zen 4: 2.8 to 4.2, page faults and the probe included
  const std::vector<int64_t> clusters = clusters_of(workload);
  const int64_t passes = workload.passes / static_cast<int64_t>(clusters.size());
  const int64_t min_passes = workload.guessed ? 1 : 6;  // of a model
  if (coded_kernels(kernels, screen, d) == nullptr || passes < min_passes) {
    return std::numeric_limits<double>::infinity();
  }
  const auto columns = static_cast<double>(std::reduce(clusters.begin(), clusters.end()));
  // Passes of other fits are many: the codes cost each of them little.
  const double coding = workload.guessed ? kCoding * static_cast<double>(d) / static_cast<double>(passes) : 0;
  return costs.column * columns / static_cast<double>(clusters.size()) + costs.row + coding;
}

// Decides whether a look precedes the chosen screen. `screened` and `looked` are nanoseconds of a row and model.
void choose_look(const CpuKernels& kernels, const SamplingProbe& probe, double screened, double looked,
                 ScreenChoice& choice) {
  if (!(looked < kWorthOfLook * screened)) return;
  const CodedKernels* in_bytes = coded_kernels(kernels, *choice.screen, probe.columns());
  const double hits = probe.hits(*choice.screen, *in_bytes);
  looked += choice.look.hit * hits;
  choice.why_look = fmt::format("{:.3g} ns a row and model, {:.2g} hits", looked, hits);
  if (looked < kWorthOfLook * screened) choice.in_bytes = in_bytes;
}

// The cheapest screen by the cost model; screens without a chance are not tried.
void choose_by_cost(const Input& input, const CpuKernels& kernels, const Workload& workload, const ScreenCosts& costs,
                    ScreenChoice& choice) {
  // Short spans and rows left unproved make every format dearer, but none alone by more than this.
  constexpr double kHopeless = 2;
  const int64_t d = input.points.d;
  const double fine = least_row_ns(costs, kernels.screens[0], d, workload);
  std::vector<const ScreenKernels*> tried = {&kernels.screens[0]};
  for (int i = 1; i < kernels.screen_count; ++i) {
    const ScreenKernels& screen = kernels.screens[i];
    if (takes(screen, d) && least_row_ns(costs, screen, d, workload) < kHopeless * fine) tried.push_back(&screen);
  }
  if (kernels.screen_count > 1) choice.why = fmt::format("about {:.3g} ns a row and model, others far more", fine);
  choice.look = look_costs(costs, d);
  const auto looked = [&] { return least_look_ns(kernels, *choice.screen, choice.look, d, workload); };
  if (tried.size() == 1 && !(looked() < kWorthOfLook * fine)) return;
  choice.frame = find_frame(input);
  const SamplingProbe probe(input, kernels, *choice.frame, workload);
  double least = std::numeric_limits<double>::infinity();
  std::string found;
  for (const ScreenKernels* screen : tried) {
    const ProbeCounts counts = probe.run(*screen);
    const double cost = row_ns(costs, *screen, d, counts, workload);
    found += fmt::format("{}{} {:.3g} ({:.1f} %)", found.empty() ? "" : ", ", name_of(screen->format), cost,
                         100 * counts.unproved);
    if (cost >= least) continue;
    least = cost;
    choice.screen = screen;
  }
  choice.why = fmt::format("ns a row and model, and rows of a sample unproved: {}", found);
  choose_look(kernels, probe, least, looked(), choice);
}

}  // namespace

ScreenChoice choose_screen(const Input& input, const CpuKernels& kernels, std::string_view format,
                           const Workload& workload) {
  const std::string forced = environment::cpu_screen_format();
  if (format.empty()) format = forced;
  const ScreenCosts costs = costs_here(kernels);
  const int64_t d = input.points.d;
  ScreenChoice choice{&kernels.screens[0], "the only one", 0, std::nullopt};
  if (!format.empty()) {
    choice = screen_of_name(kernels, format, d);
  } else if (kernels.screen_count > 1 || kernels.coded_count > 0) {
    choose_by_cost(input, kernels, workload, costs, choice);
  }
  choice.column_ns = column_ns(costs, *choice.screen, d);
  return choice;
}

ScreenChoice ScreenMemory::choose(const Input& input, const CpuKernels& kernels, std::string_view format,
                                  const Workload& workload) {
  const std::lock_guard lock(mutex_);
  Asked asked{input.points.d, input.points.type, workload.clusters, workload.passes, workload.models, workload.guessed};
  if (asked_ == asked) return choice_;
  ScreenChoice choice = choose_screen(input, kernels, format, workload);
  choice_ = choice;
  choice_.frame.reset();
  asked_ = std::move(asked);
  return choice;
}

const ScreenKernels& choose_screen_by_shape(const CpuKernels& kernels, std::string_view format, int64_t d,
                                            const Workload& workload) {
  const std::string forced = environment::cpu_screen_format();
  if (format.empty()) format = forced;
  if (!format.empty()) return *screen_of_name(kernels, format, d).screen;
  const ScreenCosts costs = costs_here(kernels);
  const ScreenKernels* cheapest = &kernels.screens[0];
  double least = least_row_ns(costs, *cheapest, d, workload);
  for (int i = 1; i < kernels.screen_count; ++i) {
    const ScreenKernels& screen = kernels.screens[i];
    if (!takes(screen, d)) continue;
    const double cost = least_row_ns(costs, screen, d, workload);
    if (cost < least) cheapest = &screen;
    least = std::min(least, cost);
  }
  return *cheapest;
}

std::vector<std::string> cpu_screen_formats(std::string_view instruction_set) {
  const CpuKernels& kernels = choose_kernels(instruction_set);
  std::vector<std::string> names;
  for (int i = 0; i < kernels.screen_count; ++i) names.emplace_back(name_of(kernels.screens[i].format));
  return names;
}

}  // namespace manymeans
