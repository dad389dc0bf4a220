// Fits on an OpenCL device in the ways that it has: the reference's digest, and a plan that says what was done where.
#include <manymeans/fit.h>

#include "backend/opencl/opencl_here.h"
#include "backend/opencl/runtime/opencl_platform.h"
#include "conformance/cases.h"
#include "conformance/fit_cases.h"
#include "core/mapped_range.h"
#include "engine/tuned.h"

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

namespace manymeans::test {
namespace {

class OpenClFit : public OnOpenClDevice {
 protected:
  static FitOptions options_for(const char* backend) {
    FitOptions options;
    options.k = {7, 12};
    options.models = 3;
    options.seed = 5;
    options.max_iter = 15;
    options.backend = backend;
    return options;
  }
  void TearDown() override { unsetenv("MANYMEANS_OPENCL_KIND"); }
  static FitResult run(const Case& made, const OpenClTuning& how, const FitOptions& options = options_for("opencl:0")) {
    Tuning tuning;
    tuning.opencl = how;
    return fit_tuned(made.points(), made.weights, options, {}, tuning);
  }
};

// LLVM, which compiles for PoCL, has a handler for files that are cut off, too: ours stays.
TEST_F(OpenClFit, LeavesTheHandlerOfLostPages) {
  replace_lost_pages();
  const auto handler = [] {
    struct sigaction action {};
    ::sigaction(SIGBUS, nullptr, &action);
    return action;
  };
  std::signal(SIGBUS, SIG_DFL);  // as a driver might
  const Case made = make_case(Family::kClusters, DataType::kFloat32, Weighting::kNone, {500, 3, {1}}, 21);
  opencl::find_devices();
  const struct sigaction ours = handler();
  EXPECT_NE(ours.sa_flags & SA_SIGINFO, 0);
  run(made, {});
  EXPECT_EQ(handler().sa_sigaction, ours.sa_sigaction);
}

TEST_F(OpenClFit, EveryWayGivesTheReferencesDigest) {
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64, DataType::kFloat16, DataType::kBFloat16,
                              DataType::kUInt8, DataType::kInt8}) {
    for (const int64_t d : {2, 19}) {
      const Case made = make_case(Family::kClusters, type, Weighting::kIntegers, {5000, d, {1}}, 21);
      const std::string expected = fit(made.points(), made.weights, options_for("reference")).digest();
      const std::vector<OpenClTuning> ways = {{}, {.slice_rows = 700}};
      for (size_t way = 0; way < ways.size(); ++way) {
        FitOptions options = options_for("opencl");
        options.strategy = kStrategies[(way + static_cast<size_t>(type)) % kStrategies.size()];
        // Each way meets both kinds; all of them for each type would mostly build programs.
        const char* kind =
            (way + static_cast<size_t>(type) + static_cast<size_t>(d)) % 2 == 0 ? "processor" : "accelerator";
        setenv("MANYMEANS_OPENCL_KIND", kind, 1);
        EXPECT_EQ(run(made, ways[way], options).digest(), expected) << made.name << " way " << way << " " << kind;
      }
    }
  }
}

// A processor takes rows of few columns eight at a time: every such number of columns and more, labels of one byte and
// of two, rows that fill no eight, with weights and without. Few enough rows have limbs too wide for that.
TEST_F(OpenClFit, RowsInLanesGiveTheReferencesDigest) {
  setenv("MANYMEANS_OPENCL_KIND", "processor", 1);
  for (const int64_t d : {1, 2, 3, 4, 5, 6, 7, 8, 9, 70}) {
    for (const int64_t n : {1001, 5003}) {
      const Weighting weighting = d % 3 == 0 ? Weighting::kZeros : Weighting::kNone;
      const Case made = make_case(Family::kRanges, DataType::kFloat32, weighting, {n, d, {1}}, 31);
      FitOptions options = options_for("reference");
      options.k = {11};
      if (d % 4 == 2) options.k = {300};
      options.max_iter = 6;
      const std::string expected = fit(made.points(), made.weights, options).digest();
      options.backend = "opencl";
      FitHooks hooks;
      hooks.labels = LabelsOf::kBest;  // the device adds up the label terms of the others
      EXPECT_EQ(fit(made.points(), made.weights, options, hooks).digest(), expected) << made.name;
    }
  }
}

// Weights, several k and models, rows to relocate, slices that a leaf's node reaches beyond.
TEST_F(OpenClFit, ATreeGivesTheReferencesDigest) {
  for (const Family family : {Family::kClusters, Family::kDuplicates, Family::kGrid, Family::kRanges}) {
    const Case made = make_case(family, DataType::kFloat32, Weighting::kZeros, {5000, 3, {1}}, 21);
    FitOptions options = options_for("reference");
    options.k = {7, 80};
    const std::string expected = fit(made.points(), made.weights, options).digest();
    options.backend = "opencl";
    options.algorithm = "kdtree";
    for (const char* kind : {"processor", "accelerator"}) {
      setenv("MANYMEANS_OPENCL_KIND", kind, 1);
      for (const int64_t slice : {0, 700}) {
        EXPECT_EQ(run(made, {.slice_rows = slice}, options).digest(), expected) << made.name << " " << kind;
      }
    }
  }
}

TEST_F(OpenClFit, ThePlanSaysWhatTheHostDoes) {
  const Case made = make_case(Family::kClusters, DataType::kFloat32, Weighting::kNone, {5000, 3, {1}}, 2);
  const auto plan = [&](const OpenClTuning& how) { return run(made, how).provenance.plan; };
  const auto says = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(says(plan({}), "float32 screen")) << plan({});
  EXPECT_TRUE(says(plan({}), "k-means++ and k-means|| on the host")) << plan({});
  EXPECT_TRUE(says(plan({.slice_rows = 700}), "768 rows at a time")) << plan({.slice_rows = 700});
}

TEST_F(OpenClFit, RepeatsAreEqual) {
  const Case made = make_case(Family::kRanges, DataType::kFloat32, Weighting::kRanges, {20000, 5, {1}}, 3);
  const std::string first = run(made, {}).digest();
  for (int again = 0; again < 5; ++again) EXPECT_EQ(run(made, {}).digest(), first);
}

}  // namespace
}  // namespace manymeans::test
