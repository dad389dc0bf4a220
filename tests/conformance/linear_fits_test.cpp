// Whole fits of linear models give the reference's answer on every backend and on the asynchronous test device.
// Cases vary initialisation, swaps, ridges, weights and types, and resume from a checkpoint of any backend.
#include "backend/device/async_backend.h"
#include "conformance/variants.h"
#include "engine/tuned.h"
#include "io/files.h"
#include "prototype/linear_model.h"
#include "regress/regress_cases.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

namespace manymeans::test {
namespace {

constexpr std::array kTypes = {DataType::kFloat32, DataType::kFloat64, DataType::kInt8};
constexpr std::array kPolicies = {EmptyPolicy::kFarthest, EmptyPolicy::kKeep, EmptyPolicy::kDrop};

struct LinearFit {
  std::string name;
  FitOptions options;
  LinearOptions linear;
  int64_t swaps = 0;
  DataType type = DataType::kFloat32;
  bool weighted = false;
};

// Every initialisation with every stop rule; the rest in turn.
std::vector<LinearFit> linear_fits() {
  std::vector<LinearFit> result;
  for (const char* init : {"random-subsets", "kmeans", "kmeans-x"}) {
    for (const char* stop : {"strict", "labels:0.02", "shift:0.05:0.5", "inertia:0.01", "error:20", "tol"}) {
      const size_t i = result.size();
      LinearFit& made = result.emplace_back();
      made.name = fmt::format("{}, {}, fit {}", init, stop, i);
      made.options.k = {2, 5};
      made.options.models = 2;
      made.options.init = init;
      made.options.stop = stop;
      made.options.empty = kPolicies[i % 3];
      made.options.max_iter = i % 4 == 2 ? 17 : 3000;
      made.linear = {.ridge = i % 4 == 1 ? 0.125 : 0, .intercept = i % 5 != 2};
      made.swaps = static_cast<int64_t>(i % 4);
      made.type = kTypes[(i + i / 3) % 3];
      made.weighted = i % 2 == 1;
    }
  }
  return result;
}

std::string outcome(const SmallRows& rows, const LinearFit& made, const FitHooks& hooks, const Tuning& tuning) {
  const std::span<const double> weights = made.weighted ? std::span<const double>(rows.weights) : std::span<double>();
  FitKind kind{linear_model(), made.linear, made.swaps};
  kind.tuning = tuning;
  const FitResult result = fit_kind(kind, rows.view(made.type), weights, made.options, hooks);
  std::string text = result.digest();
  for (const ModelResult& model : result.models) {
    text += fmt::format(" {}:{}:{}", model.k, model.iterations, name_of(model.stop_reason));
  }
  for (const std::string& warning : result.warnings) text += "\n" + warning;
  return text;
}

// A backend by name, or one that the tuning makes.
struct Where {
  std::string name;
  std::string algorithm = "auto";
  Tuning tuning = {};

  std::string text() const {
    return name + (tuning.test_backend == nullptr ? "" : ", late") + (tuning.opencl.slice_rows == 0 ? "" : ", slices");
  }
};

std::vector<Where> places() {
  std::vector<Where> found;
  for (const Target& target : targets()) {
    const bool known = !found.empty() && found.back().name == target.backend;
    if (!known && (target.backend == "cpu" || target.backend == "cuda")) found.push_back({target.backend});
    if (target.backend != "opencl") continue;
    Where& device = found.emplace_back(Where{target.backend});
    device.tuning.opencl.slice_rows = target.slice_rows;
  }
  for (const Target& target : async_targets()) {
    for (const char* algorithm : {"auto", "brute"}) {
      Where& late = found.emplace_back(Where{"reference", algorithm});
      late.tuning.test_backend = make_async_backend;
      late.tuning.cuda.slice_rows = target.slice_rows;
    }
  }
  return found;
}

TEST(LinearFits, AreTheReferencesOnEveryBackend) {
  const SmallRows rows(250);
  const std::vector<Where> all = places();
  size_t turn = 0;
  for (LinearFit made : linear_fits()) {
    made.options.backend = "reference";
    const std::string expected = outcome(rows, made, {}, {});
    for (const Where& where : all) {
      made.options.backend = where.name;
      made.options.algorithm = where.algorithm;
      made.options.strategy = ++turn % 3 == 0 ? Strategy::kTask : Strategy::kConcatenated;
      made.options.threads = 2;
      EXPECT_EQ(outcome(rows, made, {}, where.tuning), expected)
          << made.name << " on " << where.text() << ", " << where.algorithm << ", " << name_of(made.options.strategy);
    }
    if (HasFailure()) return;
  }
}

// Each moment of a fit on one backend goes on on another.
TEST(LinearFits, GoOnElsewhereFromACheckpoint) {
  const SmallRows rows(300);
  const std::vector<Where> all = places();
  int resumed = 0;
  for (LinearFit made : linear_fits()) {
    if (made.swaps == 0) continue;
    made.options.backend = "reference";
    const std::string expected = outcome(rows, made, {}, {});
    const Folder folder;
    std::vector<std::string> moments;
    FitHooks hooks;
    hooks.checkpoint = {folder / "run.ckpt", 1, false};
    hooks.progress = [&](const Progress&) {
      if (std::filesystem::exists(hooks.checkpoint.path)) {
        moments.push_back(folder / std::to_string(moments.size()));
        std::filesystem::copy_file(hooks.checkpoint.path, moments.back());
      }
      return true;
    };
    const Where& first = all[static_cast<size_t>(resumed) % all.size()];
    made.options.backend = first.name;
    EXPECT_EQ(outcome(rows, made, hooks, first.tuning), expected) << made.name;
    for (size_t i = 0; i < moments.size(); i += 1 + moments.size() / 12) {
      FitHooks resume;
      resume.checkpoint = {moments[i], 0, true};
      const Where& next = all[i % all.size()];
      made.options.backend = next.name;
      EXPECT_EQ(outcome(rows, made, resume, next.tuning), expected) << made.name << ", moment " << i;
      ++resumed;
    }
  }
  EXPECT_GT(resumed, 50);
}

}  // namespace
}  // namespace manymeans::test
