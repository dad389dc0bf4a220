// One answer: regress() gives the same bits whatever it runs on, however it is stopped and goes on.
#include <manymeans/error.h>
#include <manymeans/regress.h>

#include "io/files.h"
#include "regress/regress_cases.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

namespace manymeans::test {
namespace {

using Case = RegressCase;

constexpr std::array kStrategies = {Strategy::kConcatenated, Strategy::kData, Strategy::kTask};

RegressResult run(const SmallRows& rows, const Case& made, const FitHooks& hooks = {}) {
  const std::span<const double> weights = made.weighted ? std::span<const double>(rows.weights) : std::span<double>();
  return regress(RegressionRows::with_target(rows.view(made.type)), weights, made.options, hooks);
}

// The answer in words.
std::string text_of(const RegressResult& result) {
  std::string text = result.fit.digest();
  for (size_t i = 0; i < result.fit.models.size(); ++i) {
    const ModelResult& model = result.fit.models[i];
    const RegressionSummary& summary = result.summaries[i];
    text += fmt::format("\n{} {} {} {} r2 {} bic {}", model.k, model.iterations, name_of(model.stop_reason),
                        model.inertia, summary.r2, summary.bic);
    for (int64_t k = 0; k < summary.gate.means.rows(); ++k) text += fmt::format(" {}", summary.gate.means.at(k, 0));
  }
  return text;
}

TEST(RegressAnswer, IsTheSameOnEveryBackendThreadAndStrategy) {
  const SmallRows rows(400);
  for (Case made : regress_cases()) {
    made.options.backend = "reference";
    made.options.threads = 1;
    const std::string expected = text_of(run(rows, made));
    made.options.backend = "cpu";
    for (const Strategy strategy : kStrategies) {
      for (const int threads : {1, 3}) {
        made.options.strategy = strategy;
        made.options.threads = threads;
        EXPECT_EQ(text_of(run(rows, made)), expected) << made.name << ", " << name_of(strategy) << ", " << threads;
      }
    }
  }
}

// The least limit, by the error that names it.
int64_t min_memory(const SmallRows& rows, Case made) {
  made.options.memory.bytes = 1;
  try {
    run(rows, made);
  } catch (const Error& error) {
    const std::string what = error.what();
    return std::stoll(what.substr(what.find("(memory ") + 8)) << 20;
  }
  ADD_FAILURE() << "one byte was enough";
  return 0;
}

TEST(RegressAnswer, IsTheSameWithLittleMemory) {
  const SmallRows rows(40000);
  Case made = regress_cases()[0];
  made.options.swaps = 2;
  made.options.models = 1;
  made.options.k = {3};
  const std::string expected = text_of(run(rows, made));
  made.options.threads = 2;  // each needs its own
  made.options.memory = parse_byte_size("64MiB");
  EXPECT_EQ(text_of(run(rows, made)), expected);
}

TEST(RegressAnswer, AClusteringKeepsToTheMemoryThatItIsGiven) {
  const SmallRows rows(40000);
  for (const Strategy strategy : kStrategies) {
    Case made = regress_cases()[5];
    made.options.k = {3, 4};
    made.options.swaps = 1;
    made.options.strategy = strategy;
    made.options.threads = 2;
    const std::string expected = text_of(run(rows, made));
    const int64_t least = min_memory(rows, made);
    made.options.init = "random-subsets";
    EXPECT_GT(least, min_memory(rows, made) + (int64_t{2} << 20));
    made.options.init = "kmeans";
    made.options.memory.bytes = least;
    EXPECT_EQ(text_of(run(rows, made)), expected) << name_of(strategy);
  }
}

TEST(RegressAnswer, AMemberAloneHasTheDigestThatItHasInItsEnsemble) {
  const SmallRows rows(400);
  for (Case made : regress_cases()) {
    const RegressResult together = run(rows, made);
    for (const ModelResult& member : together.fit.models) {
      Case alone = made;
      alone.options.k = {member.k_requested};
      alone.options.models = 1;
      alone.options.model_seed = member.seed;
      EXPECT_EQ(run(rows, alone).fit.models[0].digest(), member.digest()) << made.name;
    }
  }
}

// A fit that somebody ends after any pass equals the one with max_iter set to the iterations that each model reports.
TEST(RegressAnswer, AFitThatIsStoppedIsOneOfFewerIterations) {
  const SmallRows rows(300);
  for (Case made : regress_cases()) {
    if (made.options.swaps == 0) continue;
    made.options.k = {4};
    for (int64_t stop_after = 0;; stop_after += 3) {
      FitHooks hooks;
      int64_t passes = 0;
      hooks.progress = [&](const Progress& progress) { return progress.phase != "iterate" || passes++ < stop_after; };
      const RegressResult stopped = run(rows, made, hooks);
      if (!stopped.fit.interrupted) break;
      for (const ModelResult& model : stopped.fit.models) {
        if (model.stop_reason != StopReason::kCallback) continue;
        Case limited = made;
        limited.options.models = 1;
        limited.options.model_seed = model.seed;
        limited.options.max_iter = model.iterations;
        EXPECT_EQ(run(rows, limited).fit.models[0].digest(), model.digest()) << made.name << ", pass " << stop_after;
      }
    }
  }
}

TEST(RegressAnswer, ResumedFromAnyMomentItIsTheSame) {
  const SmallRows rows(300);
  int resumed = 0;
  for (Case made : regress_cases()) {
    const std::string expected = text_of(run(rows, made));
    const Folder folder;
    std::vector<std::string> snapshots;
    FitHooks hooks;
    hooks.checkpoint = {folder / "run.ckpt", 1, false};
    hooks.progress = [&](const Progress&) {
      if (std::filesystem::exists(hooks.checkpoint.path)) {
        snapshots.push_back(folder / std::to_string(snapshots.size()));
        std::filesystem::copy_file(hooks.checkpoint.path, snapshots.back());
      }
      return true;
    };
    EXPECT_EQ(text_of(run(rows, made, hooks)), expected) << made.name;
    for (size_t i = 0; i < snapshots.size(); i += 1 + snapshots.size() / 40) {
      FitHooks resume;
      resume.checkpoint = {snapshots[i], 0, true};
      made.options.backend = i % 3 == 0 ? "reference" : "cpu";
      made.options.strategy = kStrategies[i % 3];
      EXPECT_EQ(text_of(run(rows, made, resume)), expected) << made.name << ", moment " << i;
      ++resumed;
    }
  }
  EXPECT_GT(resumed, 100);
}

// What a fit leaves in its checkpoint when somebody ends it after so many passes.
void expect_resumes(const SmallRows& rows, Case made, const std::string& expected, int64_t stop_after) {
  const Folder folder;
  std::atomic<bool> cancel{false};
  FitHooks hooks;
  hooks.checkpoint = {folder / "run.ckpt", 1 + stop_after % 2, false};
  hooks.cancel = &cancel;
  int64_t passes = 0;
  hooks.progress = [&](const Progress& progress) {
    const bool ends = progress.phase == "iterate" && passes++ >= stop_after;
    if (ends && stop_after % 3 == 0) cancel = true;
    return !ends || stop_after % 3 == 0;
  };
  run(rows, made, hooks);
  FitHooks resume;
  resume.checkpoint = {hooks.checkpoint.path, 0, true};
  made.options.strategy = kStrategies[static_cast<size_t>(stop_after) % 3];
  EXPECT_EQ(text_of(run(rows, made, resume)), expected) << made.name << ", pass " << stop_after;
}

// A stop ends the swap search with the best state, but the checkpoint keeps the trial that was at hand.
TEST(RegressAnswer, StoppedAfterAnyPassItResumesToTheSame) {
  const SmallRows rows(300);
  for (const Strategy strategy : kStrategies) {
    for (const int64_t max_iter : {3000, 40}) {
      Case made;
      made.options.k = {2, 5};
      made.options.models = 2;
      made.options.swaps = 2;
      made.options.threads = 2;
      made.options.max_iter = max_iter;
      made.options.strategy = strategy;
      made.name = fmt::format("{}, max_iter {}", name_of(strategy), max_iter);
      const std::string expected = text_of(run(rows, made));
      for (int64_t stop_after = 0; stop_after < 60; stop_after += 4) expect_resumes(rows, made, expected, stop_after);
    }
  }
}

TEST(RegressAnswer, ATimeLimitThatEndsASearchLeavesACheckpointToResume) {
  const SmallRows rows(3000);
  Case made;
  made.options.k = {6};
  made.options.models = 2;
  made.options.swaps = 4;
  const std::string expected = text_of(run(rows, made));
  for (const double limit : {1e-4, 0.01, 0.03, 0.06}) {
    const Folder folder;
    FitHooks hooks;
    hooks.checkpoint = {folder / "run.ckpt", 0, false};
    made.options.time_limit = limit;
    run(rows, made, hooks);
    made.options.time_limit = 0;
    hooks.checkpoint.resume = true;
    EXPECT_EQ(text_of(run(rows, made, hooks)), expected) << limit;
  }
}

// Rows for which k-means takes much longer than the clock waits.
Case long_clustering(Strategy strategy) {
  Case made;
  made.options.k = {300};
  made.options.models = 2;
  made.options.init = "kmeans";
  made.options.strategy = strategy;
  made.options.threads = 2;
  return made;
}

TEST(RegressAnswer, ATimeLimitWaitsForTheClusteringOfTheFirstModel) {
  const SmallRows rows(20000);
  Case made = long_clustering(Strategy::kConcatenated);
  made.options.time_limit = 0.01;
  const RegressResult found = run(rows, made);
  EXPECT_TRUE(found.fit.interrupted);
  EXPECT_EQ(found.fit.models[0].stop_reason, StopReason::kTimeLimit);
  EXPECT_EQ(found.fit.models[1].stop_reason, StopReason::kNotBegun);
  made.options.time_limit = 0;
  made.options.models = 1;
  made.options.max_iter = found.fit.models[0].iterations;
  EXPECT_EQ(run(rows, made).fit.models[0].digest(), found.fit.models[0].digest());
}

TEST(RegressAnswer, WhoCancelsTheClusteringInterruptsTheFit) {
  const SmallRows rows(60000);
  for (const Strategy strategy : kStrategies) {
    std::atomic<bool> cancel{false};
    FitHooks hooks;
    hooks.cancel = &cancel;
    hooks.pause = 0;
    hooks.progress = [&](const Progress&) {  // the first one is of a clustering
      cancel = true;
      return true;
    };
    const RegressResult found = run(rows, long_clustering(strategy), hooks);
    EXPECT_TRUE(found.fit.interrupted) << name_of(strategy);
    for (const ModelResult& model : found.fit.models) EXPECT_EQ(model.stop_reason, StopReason::kNotBegun);
  }
}

// A run that ends after one clustering of k-means has that one in its checkpoint, and the next run begins with the
// next.
TEST(RegressAnswer, AJobInSlicesGetsOnFromClusteringToClustering) {
  const SmallRows rows(300);
  Case made;
  made.options.k = {5};
  made.options.models = 3;
  made.options.init = "kmeans";
  made.options.swaps = 1;
  const std::string expected = text_of(run(rows, made));
  const Folder folder;
  for (int64_t left = made.options.models; left > 0; --left) {
    FitHooks hooks;
    hooks.checkpoint = {folder / "run.ckpt", 0, true};
    // The steps of the initialisation are the models that have no prototypes yet; a clustering has more steps.
    hooks.progress = [&](const Progress& progress) {
      return !(progress.phase == "initialise" && progress.max_iteration == left && progress.iteration == 1);
    };
    const RegressResult found = run(rows, made, hooks);
    EXPECT_EQ(found.fit.interrupted, left > 1) << left;
    if (left == 1) {
      EXPECT_EQ(text_of(found), expected);
    }
  }
}

// The progress of the clustering is that of the fit, so who waits can stop it.
TEST(RegressAnswer, ProgressGoesOnInAClustering) {
  const SmallRows rows(60000);
  FitHooks hooks;
  int64_t heard = 0;
  hooks.pause = 0;
  hooks.progress = [&](const Progress& progress) {
    EXPECT_EQ(progress.phase, "initialise");
    return ++heard < 5;
  };
  const RegressResult found = run(rows, long_clustering(Strategy::kConcatenated), hooks);
  EXPECT_TRUE(found.fit.interrupted);
  EXPECT_EQ(heard, 5);
}

// Steep models of heavy rows: coefficients are no coordinates, whose squares times the weight would overflow.
TEST(RegressAnswer, SteepModelsOfHeavyRowsResume) {
  std::vector<double> values;
  for (int i = 0; i < 60; ++i) values.insert(values.end(), {0x1p-260 * (i % 7), 0x1p235 * ((i % 7) + 3 * (i % 2))});
  const std::vector<double> weights(60, 5e6);
  RegressOptions options;
  options.k = {2};
  options.models = 2;
  const RegressionRows rows = RegressionRows::with_target({values.data(), 60, 2});
  const Folder folder;
  FitHooks hooks;
  hooks.checkpoint = {folder / "run.ckpt", 1, false};
  const std::string expected = regress(rows, weights, options, hooks).fit.digest();
  hooks.checkpoint.resume = true;
  EXPECT_EQ(regress(rows, weights, options, hooks).fit.digest(), expected);
}

TEST(RegressAnswer, ACheckpointOfOtherOptionsIsRefused) {
  const SmallRows rows(300);
  Case made = regress_cases()[0];
  made.options.swaps = 2;
  const Folder folder;
  FitHooks hooks;
  hooks.checkpoint = {folder / "run.ckpt", 1, false};
  run(rows, made, hooks);
  hooks.checkpoint.resume = true;
  Case other = made;
  other.options.ridge = 0.5;
  expect_error(ErrorCode::kUsage, {"ridge was 0 and is 0.5"}, [&] { run(rows, other, hooks); });
  other = made;
  other.options.intercept = false;
  expect_error(ErrorCode::kUsage, {"intercept was true and is false"}, [&] { run(rows, other, hooks); });
  other = made;
  other.options.swaps = 3;
  expect_error(ErrorCode::kUsage, {"swaps was 2 and is 3"}, [&] { run(rows, other, hooks); });
  const FitOptions& centroids = made.options;
  expect_error(ErrorCode::kUsage, {"prototype was linear and is unknown"},
               [&] { fit(rows.view(made.type), {}, centroids, hooks); });
}

}  // namespace
}  // namespace manymeans::test
