#include "fuzz/answers/way_runner.h"

#include "data/memory_plan.h"
#include "engine/tuned.h"
#include "fuzz/answers/draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>

namespace manymeans::fuzz {
namespace {

int capped(int threads, const RunSettings& settings) {
  if (settings.max_threads == 0) return threads;
  return threads == 0 ? settings.max_threads : std::min(threads, settings.max_threads);
}

// A limit between what just does and what holds everything; on a device somewhere around the points.
int64_t memory_limit(const FuzzCase& drawn, const PointsView& points, const Way& way, int threads) {
  if (way.memory_share < 0) return 0;
  const auto bytes = static_cast<double>(points.bytes());
  if (way.backend == "cuda") {
    constexpr double kMin = double{64 << 20};
    return static_cast<int64_t>(kMin + way.memory_share * 3 * bytes);
  }
  MemoryTask task;
  task.points = points;
  task.in_file = way.in_file;
  task.weights = drawn.recipe.weights != WeightKind::kNone;
  for (const int64_t k : drawn.options.k) {
    task.k.insert(task.k.end(), static_cast<size_t>(drawn.options.models), k);
  }
  task.strategy = way.strategy;
  task.threads = threads;
  task.oversamples = drawn.options.init == "k-means||";
  const double plenty = 4 * bytes + 64.0 * static_cast<double>(points.n);
  return min_memory(task) + static_cast<int64_t>(way.memory_share * way.memory_share * plenty);
}

// Whether an error says that this way is none, rather than anything about the answer.
bool is_refusal(const Error& error, const Way& way) {
  const std::string_view text = error.what();
  const bool about_way = text.starts_with("[algorithm]") || text.starts_with("[screen format]") ||
                         text.starts_with("[MANYMEANS_CPU_SCREEN]");
  if (about_way)
    return way.algorithm != "auto" || !way.tuning.cpu.screen_format.empty() || !way.tuning.cuda.screen_format.empty();
  return error.code() == ErrorCode::kUnavailable && way.memory_share >= 0;
}

Tuning tuning_of(const Way& way, const RunSettings& settings) {
  Tuning tuning = way.tuning;
  const bool first = tuning.cpu.instruction_set.empty() && way.backend == "cpu";
  if (settings.fault == Fault::kBound && !first) tuning.cpu.bound_scale = tuning.cuda.bound_scale = 0.05;
  return tuning;
}

void do_wrong(ModelResult& model, const FuzzCase& drawn) {
  if (model.labels.empty() || model.k < 2) return;
  const auto row = static_cast<int64_t>(mixed(drawn.seed) % static_cast<uint64_t>(model.labels.size()));
  const uint32_t label = (model.labels[row] + 1) % static_cast<uint32_t>(model.k);
  model.labels.write(row, 1, &label);
}

template <class Result, class Body>
Outcome<Result> outcome_of(const Way& way, Body&& body) {
  const auto begin = std::chrono::steady_clock::now();
  Outcome<Result> outcome;
  try {
    outcome.result = body();
  } catch (const Error& error) {
    outcome.error = error.what();
    outcome.refused = is_refusal(error, way);
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return outcome;
}

std::string error_difference(const std::string& first, const std::string& other) {
  return fmt::format("one ends with {}, the other with {}", first.empty() ? "a result" : first,
                     other.empty() ? "a result" : other);
}

std::string model_difference(const ModelResult& a, const ModelResult& b) {
  std::string text;
  const auto add = [&](const char* what, const auto& x, const auto& y) {
    if (x != y) text += fmt::format("    {}: {} and {}\n", what, x, y);
  };
  add("digest", a.digest(), b.digest());
  add("k", a.k, b.k);
  add("seed", a.seed, b.seed);
  add("iterations", a.iterations, b.iterations);
  add("stop reason", name_of(a.stop_reason), name_of(b.stop_reason));
  add("inertia", a.inertia, b.inertia);
  if (a.counts != b.counts) text += "    counts differ\n";
  if (a.weights != b.weights) text += "    weights of clusters differ\n";
  if (!std::ranges::equal(a.prototypes.bytes(), b.prototypes.bytes())) text += "    prototypes differ\n";
  const std::string labels = label_difference(a.labels, b.labels);
  if (!labels.empty()) text += "    " + labels + "\n";
  if (text.empty()) return text;
  return fmt::format("  model k = {}, replica {}, seed {}:\n{}", a.k_requested, a.replica, a.seed, text);
}

std::string warnings_of(const FitResult& result) {
  std::vector<std::string> warnings = result.warnings;
  // What an algorithm has to do without is the backend's, not the answer's.
  std::erase_if(warnings, [](const std::string& warning) { return warning.starts_with("algorithm "); });
  std::sort(warnings.begin(), warnings.end());
  return fmt::format("{}", fmt::join(warnings, "; "));
}

}  // namespace

CaseData::CaseData(const FuzzCase& drawn, ThreadPool& pool)
    : drawn_(drawn), pool_(pool), points_(make_points(drawn.recipe, pool)), weights_(make_weights(drawn.recipe)) {
  if (drawn.given) given_ = make_given(points_.view, drawn.options.k[0], mixed(drawn.recipe.seed));
}

PointsView CaseData::points(const Way& way) {
  if (way.in_file) {
    if (in_file_.view.data == nullptr) in_file_ = make_points(drawn_.recipe, pool_, Storage::kFile);
    return in_file_.view;
  }
  if (!way.on_device) return points_.view;
  if (on_device_ == nullptr) on_device_ = copy_points_to_device(points_.view);
  return on_device_->view();
}

Outcome<FitResult> run_fit(const FuzzCase& drawn, CaseData& data, const Way& way, const RunSettings& settings) {
  return outcome_of<FitResult>(way, [&] {
    FitOptions options = drawn.options;
    options.backend = way.backend;
    options.algorithm = way.backend == "reference" ? "auto" : way.algorithm;
    options.strategy = way.strategy;
    options.threads = capped(way.threads, settings);
    const PointsView points = data.points(way);
    options.memory.bytes = memory_limit(drawn, points, way, thread_count(options.threads));
    FitHooks hooks;
    hooks.initial = data.given();
    FitResult result = fit_tuned(points, data.weights(), options, hooks, tuning_of(way, settings));
    if (settings.fault == Fault::kLabel) {
      for (ModelResult& model : result.models) do_wrong(model, drawn);
    }
    return result;
  });
}

FuzzCase one_model(const FuzzCase& drawn, const ModelResult& model, int64_t max_iter) {
  FuzzCase alone = drawn;
  alone.options.k = {model.k_requested};
  alone.options.models = 1;
  if (!drawn.given) alone.options.model_seed = model.seed;
  alone.options.max_iter = max_iter;
  return alone;
}

Outcome<Prediction> run_predict(const PointsView& points, std::span<const double> weights, const Matrix& prototypes,
                                const Way& way, const RunSettings& settings) {
  return outcome_of<Prediction>(way, [&] {
    PredictOptions options;
    options.backend = way.backend;
    options.algorithm = way.backend == "reference" ? "auto" : way.algorithm;
    options.threads = capped(way.threads, settings);
    options.distances = true;
    options.inertia = true;
    options.weights = weights;
    return predict_tuned(points, prototypes.view(), options, tuning_of(way, settings));
  });
}

std::string label_difference(const Labels& first, const Labels& other) {
  if (first.size() != other.size() || first.width() != other.width()) {
    return fmt::format("{} labels of {} bytes and {} of {}", first.size(), first.width(), other.size(), other.width());
  }
  if (std::ranges::equal(first.bytes(), other.bytes())) return "";
  int64_t count = 0, at = -1;
  for (int64_t i = 0; i < first.size(); ++i) {
    if (first[i] == other[i]) continue;
    if (count++ == 0) at = i;
  }
  return fmt::format("{} labels differ, the first of row {}: {} and {}", count, at, first[at], other[at]);
}

std::string difference(const Outcome<FitResult>& first, const Outcome<FitResult>& other) {
  if (first.place() != other.place()) return error_difference(first.error, other.error);
  if (!first.error.empty()) return "";
  const FitResult& a = first.result;
  const FitResult& b = other.result;
  if (a.models.size() != b.models.size()) return fmt::format("{} models and {}", a.models.size(), b.models.size());
  std::string text;
  for (size_t m = 0; m < a.models.size(); ++m) text += model_difference(a.models[m], b.models[m]);
  if (warnings_of(a) != warnings_of(b)) {
    text += fmt::format("  warnings: '{}' and '{}'\n", warnings_of(a), warnings_of(b));
  }
  return text;
}

std::string difference(const Outcome<Prediction>& first, const Outcome<Prediction>& other) {
  if (first.place() != other.place()) return error_difference(first.error, other.error);
  if (!first.error.empty()) return "";
  std::string text = label_difference(first.result.labels, other.result.labels);
  const auto bits = [](double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); };
  if (!std::ranges::equal(first.result.distances, other.result.distances, bits)) text += " distances differ";
  if (!bits(first.result.inertia, other.result.inertia)) {
    text += fmt::format(" inertia {} and {}", first.result.inertia, other.result.inertia);
  }
  return text;
}

}  // namespace manymeans::fuzz
