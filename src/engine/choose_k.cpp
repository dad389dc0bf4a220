#include <manymeans/choose.h>
#include <manymeans/compare.h>
#include <manymeans/error.h>

#include "core/all_labels.h"
#include "core/data_type.h"
#include "core/fp_environment.h"
#include "core/mapped_range.h"
#include "core/out_of_memory.h"
#include "core/random.h"
#include "data/input.h"
#include "data/unit_rows.h"
#include "engine/criteria_of_input.h"
#include "engine/decide_k.h"
#include "engine/stability.h"
#include "engine/stop_flag.h"
#include "engine/time_left.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <initializer_list>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

namespace manymeans {
namespace {

void check(const ChooseOptions& options, const FitHooks& hooks) {
  if (options.sample < 0) {
    throw Error(ErrorCode::kUsage, "sample", fmt::format("is {}; 0 (none) and more are possible", options.sample));
  }
  if (options.references < 0 || options.references > 1000) {
    throw Error(ErrorCode::kUsage, "references", fmt::format("is {}; 0 to 1000 are possible", options.references));
  }
  if (options.bootstraps < 0 || options.bootstraps > 1000 || options.bootstraps % 2 != 0) {
    throw Error(
        ErrorCode::kUsage, "bootstraps",
        fmt::format("is {}; even numbers from 0 to 1000 are possible, since they come in pairs", options.bootstraps));
  }
  if (options.fit.balanced() && options.bootstraps > 0) {
    throw Error(
        ErrorCode::kUsage, "bootstraps",
        "is for clusters of any size: members see a part of the rows; set it to 0 beside min_size and max_size");
  }
  if (options.fit.model_seed) {
    throw Error(ErrorCode::kUsage, "model_seed",
                "is for one model; give a seed, from which those of all models follow");
  }
  if (hooks.initial.data != nullptr) {
    throw Error(ErrorCode::kUsage, "initial", "there cannot be initial prototypes for every k; name a method");
  }
  if (hooks.comm && !hooks.comm->alone()) {
    throw Error(ErrorCode::kUsage, "ranks", "criteria need all rows in one process; choose k of a sample");
  }
}

// 1 and the k to choose from, ascending.
FitOptions fit_options(const ChooseOptions& options) {
  FitOptions all = options.fit;
  all.k.push_back(1);
  std::ranges::sort(all.k);
  all.k.erase(std::unique(all.k.begin(), all.k.end()), all.k.end());
  return all;
}

// The models of one k that have labels, the best first.
std::vector<const ModelResult*> models_of(const FitResult& fitted, int64_t k) {
  std::vector<const ModelResult*> models;
  for (const ModelResult& model : fitted.models) {
    if (model.k_requested == k && !model.labels.empty()) models.push_back(&model);
  }
  std::ranges::stable_sort(models, {}, &ModelResult::inertia);
  return models;
}

double agreement_of(const std::vector<const ModelResult*>& models) {
  constexpr size_t kMax = 6;
  if (models.size() < 2) return Criteria::kUndefined;
  const std::vector<int64_t> best = all_labels<int64_t>(models[0]->labels);
  double sum = 0;
  const size_t count = std::min(models.size(), kMax);
  for (size_t other = 1; other < count; ++other) {
    sum += adjusted_rand(best, all_labels<int64_t>(models[other]->labels));
  }
  return sum / static_cast<double>(count - 1);
}

Evidence evidence_of(const Input& input, const std::vector<const ModelResult*>& models, const CriteriaOptions& options,
                     ThreadPool& pool) {
  const ModelResult& best = *models[0];
  Evidence found;
  found.k = best.k_requested;
  found.model_seed = best.seed;
  found.inertia = best.inertia;
  found.criteria = criteria_of(input, all_labels(best.labels), options, pool);
  found.agreement = agreement_of(models);
  return found;
}

std::vector<Evidence> all_evidence(const Input& input, const ChooseOptions& options, const FitResult& fitted,
                                   const std::atomic<bool>* cancel, ThreadPool& pool) {
  constexpr double kMaxAfterStop = 0.5;  // seconds
  const TimeLeft patience(kMaxAfterStop);
  const CriteriaOptions how{.sample = 0, .seed = options.fit.seed};
  std::vector<Evidence> all;
  const std::vector<int64_t> ks = fit_options(options).k;
  for (const int64_t k : ks) {
    if (all.size() > 1 && is_set(cancel) && patience.over()) break;
    const std::vector<const ModelResult*> models = models_of(fitted, k);
    if (!models.empty()) all.push_back(evidence_of(input, models, how, pool));
  }
  return all;
}

void add_silhouettes(const Input& input, const ChooseOptions& options, ChosenK& found, ThreadPool& pool) {
  std::vector<JudgedLabels> judged;
  for (Evidence& its : found.evidence) judged.push_back({&models_of(found.fit, its.k)[0]->labels, &its.criteria});
  add_sampled_silhouettes(input, judged, {.sample = options.sample, .seed = options.fit.seed}, pool);
}

// Returns the sum of the bytes of `u` about its mean, doubled. It is nearly normal, and never zero.
double about_normal(uint64_t u) {
  int64_t sum = 0;
  for (; u > 0; u >>= 8) sum += static_cast<int64_t>(u & 0xff);
  return static_cast<double>(2 * sum - 2039);
}

// One set of reference data after the other, in the same memory.
class References {
 public:
  References(const Input& input, int64_t rows, const FitOptions& options, ThreadPool& pool)
      : seed_(options.seed),
        directions_(options.metric == Metric::kCosine),
        pool_(pool),
        values_(Matrix::unwritten(rows, input.points.d, prototype_type(input.points.type))),
        least_(input.minimum),
        width_(input.maximum) {
    for (size_t j = 0; j < least_.size(); ++j) width_[j] -= least_[j];
  }

  PointsView make(int64_t number) {
    constexpr int64_t kGrain = 1024;
    const int64_t d = values_.columns();
    as_float_type(values_.type(), [&]<class T>(T) {
      T* const out = values_.values<T>().data();
      pool_.for_each_range(values_.rows(), kGrain, [&](int, int64_t first, int64_t last) {
        for (int64_t i = first * d; i < last * d; ++i) {
          const auto j = static_cast<size_t>(i % d);
          const uint64_t u =
              random_u64(seed_, static_cast<uint64_t>(i), static_cast<uint32_t>(number), Purpose::kReferenceValue);
          out[i] = static_cast<T>(directions_ ? about_normal(u)
                                              : least_[j] + width_[j] * (static_cast<double>(u) * 0x1p-64));
        }
      });
    });
    return values_.view();
  }

 private:
  uint64_t seed_;
  bool directions_;
  ThreadPool& pool_;
  Matrix values_;
  std::vector<double> least_, width_;
};

// Rows of a set of reference data: what is known of the mean inertia of a row gets hardly better with more of them.
int64_t reference_rows(const Input& input, const FitOptions& options) {
  constexpr int64_t kMaxRows = 32'768;
  return std::min(input.points.n, std::max(kMaxRows, options.k.back()));
}

using LogInertias = std::map<int64_t, std::vector<double>>;

// By k, of the best models of each reference; none where a fit was stopped or the time is over before the last one.
std::optional<LogInertias> fit_references(const Input& input, const ChooseOptions& options, const FitHooks& hooks,
                                          const TimeLeft& time, ThreadPool& pool) {
  LogInertias logs;
  FitOptions fewer = fit_options(options);
  fewer.models = std::max<int64_t>(1, fewer.models / 10);
  FitHooks quiet = hooks;
  quiet.checkpoint = {};
  quiet.labels = LabelsOf::kBest;
  const int64_t rows = reference_rows(input, fewer);
  const double of_more_rows = std::log(static_cast<double>(input.points.n) / static_cast<double>(rows));
  References references(input, rows, options.fit, pool);
  for (int64_t number = 0; number < options.references; ++number) {
    if (time.over()) return std::nullopt;
    fewer.time_limit = time.seconds();
    const FitResult fitted = fit(references.make(number), {}, fewer, quiet);
    if (fitted.interrupted) return std::nullopt;
    for (const int64_t k : fewer.k) {
      logs[k].push_back(std::log(fitted.models[static_cast<size_t>(fitted.best(k))].inertia) + of_more_rows);
    }
  }
  return logs;
}

void add_gaps(const LogInertias& logs, std::vector<Evidence>& all) {
  for (Evidence& evidence : all) {
    const auto found = logs.find(evidence.k);
    if (found == logs.end()) continue;
    const auto count = static_cast<double>(found->second.size());
    const double mean = std::accumulate(found->second.begin(), found->second.end(), 0.0) / count;
    double squares = 0;
    for (const double log : found->second) squares += (log - mean) * (log - mean);
    const double gap = mean - std::log(evidence.inertia);
    if (!std::isfinite(gap) || !std::isfinite(squares)) continue;
    evidence.gap = gap;
    evidence.gap_error = std::sqrt(squares / count) * std::sqrt(1 + 1 / count);
  }
}

void add_stability(const std::map<int64_t, Stability>& stabilities, std::vector<Evidence>& all) {
  for (Evidence& evidence : all) {
    if (evidence.k == 1) evidence.prediction_strength = 1, evidence.prediction_strength_error = 0;
    const auto found = stabilities.find(evidence.k);
    if (found == stabilities.end()) continue;
    const Stability& its = found->second;
    evidence.prediction_strength = its.prediction_strength;
    evidence.prediction_strength_error = its.prediction_strength_error;
    evidence.stability = its.stability;
    evidence.stability_error = its.stability_error;
    evidence.pac = its.pac;
    evidence.valley = its.valley;
    evidence.valley_error = its.valley_error;
  }
}

struct Judging {
  const PointsView& points;
  const Input& input;  ///< of them, or of their rows of length one
  const ChooseOptions& options;
  const FitHooks& hooks;
  const TimeLeft& time;
};

// Judges by further criteria as far as the time goes; the criteria of labels cost little. After a stop, criteria that
// need further fits are left out.
void judge(const Judging& judging, ChosenK& found) {
  const ChooseOptions& options = judging.options;
  const StopFlag stop(judging.hooks, judging.time);
  ThreadPool pool(thread_count(options.fit.threads), &stop.flag());
  const auto leave_out = [&](std::initializer_list<const char*> names) {
    found.left_out.insert(found.left_out.end(), names.begin(), names.end());
    found.interrupted = true;
  };
  if (options.sample > 0 && !stop.run([&] { add_silhouettes(judging.input, options, found, pool); })) {
    leave_out({"silhouette"});
  }
  if (options.references > 0) {
    std::optional<LogInertias> logs;
    if (!found.interrupted)
      stop.run([&] { logs = fit_references(judging.input, options, judging.hooks, judging.time, pool); });
    if (logs) {
      add_gaps(*logs, found.evidence);
    } else {
      leave_out({"gap"});
    }
  }
  if (options.bootstraps > 0) {
    std::optional<std::map<int64_t, Stability>> stabilities;
    if (!found.interrupted)
      stop.run([&] { stabilities = find_stability(judging.points, options, judging.hooks, judging.time, pool); });
    if (stabilities) {
      add_stability(*stabilities, found.evidence);
    } else {
      leave_out({"prediction_strength", "stability", "pac", "valley"});
    }
  }
}

std::string about_stop(const ChosenK& found, bool late) {
  std::string text = fmt::format("stopped early{}: k is chosen by what there was", late ? " by the time limit" : "");
  if (!found.left_out.empty()) text += fmt::format(", without {}", fmt::join(found.left_out, ", "));
  return text;
}

// An answer that was chosen from one is none.
void check_choice(const ChosenK& found, const FitOptions& options, bool late) {
  if (!found.interrupted || options.k.size() < 2 || found.evidence.size() > 1) return;
  const std::string what = late ? fmt::format("{} s ended", options.time_limit) : "the fit was stopped";
  throw Error(ErrorCode::kInterrupted, late ? "time_limit" : "k",
              what +
                  " before two numbers of clusters had a model, so that there is nothing to choose from; allow more "
                  "time, or ask for fewer numbers, models or rows");
}

}  // namespace

ChosenK choose_k(const PointsView& points, const ChooseOptions& options, const FitHooks& hooks) {
  const FpEnvironmentGuard guard;
  return or_out_of_memory("memory", "give it fewer rows, fewer models or no references", [&] {
    check(options, hooks);
    const FitOptions all = fit_options(options);
    ChosenK found;
    const TimeLeft time(options.fit.time_limit);
    FitHooks labelled = hooks;
    labelled.labels = LabelsOf::kAll;  // the agreement compares several models
    const FitResult& fitted = found.fit = fit(points, {}, all, labelled);
    found.warnings = fitted.warnings;
    found.interrupted = fitted.interrupted;
    ThreadPool pool(thread_count(options.fit.threads), hooks.abort);
    const RowCopy measured = measured_rows(points, options.fit.metric, {pool.size(), options.fit.memory.bytes});
    const Input input = prepare_input(measured.view, {}, pool);
    found.evidence = all_evidence(input, options, fitted, hooks.cancel, pool);
    found.interrupted |= is_set(hooks.cancel);
    check_choice(found, all, time.over());
    judge({points, input, options, labelled, time}, found);
    if (found.interrupted) found.warnings.push_back(about_stop(found, time.over()));
    check_mapped(points.data);
    decide(found, shape_of(measured.view, options.column_names));
    return found;
  });
}

}  // namespace manymeans
