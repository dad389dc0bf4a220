#include "fuzz/answers/case_runner.h"

#include "core/threads.h"
#include "fuzz/answers/draw.h"
#include "fuzz/answers/exact_check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>

namespace manymeans::fuzz {
namespace {

class CaseRunner {
 public:
  CaseRunner(const FuzzCase& drawn, const RunSettings& settings, const std::function<void(const std::string&)>& begin)
      : drawn_(drawn),
        settings_(settings),
        begin_(begin),
        pool_(thread_count(settings.max_threads)),
        data_(drawn, pool_) {}

  CaseReport run() {
    const Outcome<FitResult> first = fit_in(drawn_, drawn_.ways[0]);
    tell(drawn_.ways[0], first);
    if (first.error.starts_with("[memory]")) {
      ++report_.refusals;
      return std::move(report_);
    }
    for (size_t w = 1; w < drawn_.ways.size(); ++w) compare(first, drawn_.ways[w]);
    if (first.error.empty()) check(first.result);
    return std::move(report_);
  }

 private:
  Outcome<FitResult> fit_in(const FuzzCase& drawn, const Way& way) {
    begin_(way.text());
    if (++report_.fits == 2) misbehave();
    return run_fit(drawn, data_, way, settings_);
  }

  void tell(const Way& way, const Outcome<FitResult>& outcome) const {
    if (!settings_.steps && !outcome.refused) return;
    const std::string said = outcome.error.empty() ? outcome.result.digest() : outcome.error;
    fmt::print("    {:6.2f} s ({:.2f}) {}: {}\n", outcome.seconds, rough_seconds(drawn_, way), way.text(), said);
    if (settings_.steps && outcome.error.empty()) fmt::print("           {}\n", outcome.result.provenance.plan);
    std::fflush(stdout);
  }

  void misbehave() const {
    if (settings_.fault == Fault::kHang) {
      for (;;) pause();
    }
    if (settings_.fault == Fault::kCrash) std::abort();
  }

  void compare(const Outcome<FitResult>& first, const Way& way) {
    const Outcome<FitResult> other = fit_in(drawn_, way);
    tell(way, other);
    if (other.refused) {
      ++report_.refusals;
      return;
    }
    const std::string found = difference(first, other);
    if (found.empty()) return;
    report_.failures += fmt::format("  DIFFERENT: {} | {}\n{}\n", drawn_.ways[0].text(), way.text(), found);
    if (first.error.empty() && other.error.empty()) report_.failures += first_iteration(first.result, way);
  }

  // Where two ways part: the model that differs alone, with ever more iterations.
  std::string first_iteration(const FitResult& first, const Way& way) {
    const Outcome<FitResult> again = fit_in(drawn_, way);
    for (size_t m = 0; m < first.models.size(); ++m) {
      const ModelResult& model = first.models[m];
      if (again.error.empty() && again.result.models[m].digest() == model.digest()) continue;
      for (int64_t iterations = 0; iterations <= model.iterations; ++iterations) {
        const FuzzCase alone = one_model(drawn_, model, iterations);
        const std::string found = difference(fit_in(alone, drawn_.ways[0]), fit_in(alone, way));
        if (found.empty()) continue;
        return fmt::format("  alone that model differs with at most {} iterations:\n{}", iterations, found);
      }
      return "  alone that model does not differ\n";
    }
    return "  a second time it does not differ\n";
  }

  // The first way's result by the contract, and what predict says of it in every way.
  void check(const FitResult& result) {
    const auto models = static_cast<int64_t>(result.models.size());
    Draw draw(drawn_.recipe.seed);
    const ModelResult& model = result.models[static_cast<size_t>(draw.below(models))];
    begin_("checking a model by the contract");
    const Input input = prepare_input(data_.host_points(), data_.weights(), pool_);
    complain(model, "labels, counts, inertia", check_model(input, model, draw.bits(), pool_));
    check_update(input, model);
    const auto other = static_cast<size_t>(draw.below(models));
    check_predictions(result.models[other]);
  }

  // Given prototypes keep their numbers, so one update of them has the centroids of the model's labels. A fit's own
  // prototypes belong to other labels: the last update came before the last pass, and equal distances follow the
  // numbers.
  void check_update(const Input& input, const ModelResult& model) {
    if (drawn_.ways.size() % 2 == 0 || !all_weigh(input, model.labels, model.k)) return;  // every second case
    FitOptions options;
    options.k = {model.k};
    options.stop = "strict";
    options.tol = 0;
    options.max_iter = 1;
    FitHooks hooks;
    hooks.initial = model.prototypes.view();
    const Matrix updated = fit(data_.host_points(), data_.weights(), options, hooks).models[0].prototypes;
    complain(model, "centroids", check_centroids(input, model.labels, updated, pool_));
  }

  void complain(const ModelResult& model, const char* what, const std::string& found) {
    if (found.empty()) return;
    report_.failures += fmt::format("  WRONG: {} of model k = {}, replica {}, seed {}, in the way {}\n{}", what,
                                    model.k_requested, model.replica, model.seed, drawn_.ways[0].text(), found);
  }

  void check_predictions(const ModelResult& model) {
    std::optional<MadePoints> others;
    std::optional<Outcome<Prediction>> expected;
    if (drawn_.predicted_rows > 0) {
      PointRecipe recipe = drawn_.recipe;
      recipe.n = drawn_.predicted_rows;
      recipe.seed = mixed(recipe.seed);
      others.emplace(make_points(recipe, pool_));
    }
    for (const Way& way : drawn_.ways) {
      if (way.backend == "reference" && &way != drawn_.ways.data()) continue;
      begin_("predict " + way.text());
      const auto own = run_predict(data_.points(way), data_.weights(), model.prototypes, way, settings_);
      judge_own(model, way, own);
      if (!others || way.on_device || way.in_file) continue;
      auto found = run_predict(others->view, {}, model.prototypes, way, settings_);
      if (found.refused) continue;
      if (!expected) {
        expected = std::move(found);
        continue;
      }
      const std::string text = difference(*expected, found);
      if (!text.empty()) report_.failures += fmt::format("  DIFFERENT: predict of others {}: {}\n", way.text(), text);
    }
  }

  // A fit's last pass labels by the prototypes that it returns.
  void judge_own(const ModelResult& model, const Way& way, const Outcome<Prediction>& own) {
    if (own.refused) return;
    std::string text = own.error;
    if (text.empty()) text = label_difference(model.labels, own.result.labels);
    if (text.empty() && own.result.inertia != model.inertia) {
      text = fmt::format("inertia {:a} and {:a}", model.inertia, own.result.inertia);
    }
    if (!text.empty()) report_.failures += fmt::format("  DIFFERENT: fit and predict {}: {}\n", way.text(), text);
  }

  const FuzzCase& drawn_;
  const RunSettings& settings_;
  const std::function<void(const std::string&)>& begin_;
  ThreadPool pool_;
  CaseData data_;
  CaseReport report_;
};

}  // namespace

CaseReport run_case(const FuzzCase& drawn, const RunSettings& settings,
                    const std::function<void(const std::string&)>& begin) {
  begin("making the points");
  return CaseRunner(drawn, settings, begin).run();
}

}  // namespace manymeans::fuzz
