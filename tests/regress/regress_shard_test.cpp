// regress() over ranks: everything that it says is what the reference says that has all rows.
#include "regress/regress_shard.h"

#include <manymeans/error.h>

#include "comm/thread_ranks.h"
#include "data/shards.h"
#include "engine/fit_shard.h"
#include "io/files.h"
#include "regress/regress_cases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

namespace manymeans::test {
namespace {

constexpr std::array kStrategies = {Strategy::kConcatenated, Strategy::kData, Strategy::kTask};

std::string text_of(const RegressResult& result, const std::vector<std::string>& digests) {
  std::string text = combined_digest(digests);
  for (size_t i = 0; i < result.fit.models.size(); ++i) {
    const ModelResult& model = result.fit.models[i];
    const RegressionSummary& summary = result.summaries[i];
    text += fmt::format("\n{} {} {} seed {} counts {} weights {} inertia {} r2 {} bic {}", model.k, model.iterations,
                        name_of(model.stop_reason), model.seed, fmt::join(model.counts, ","),
                        fmt::join(summary.gate.weights, ","), model.inertia, summary.r2, summary.bic);
    text += fmt::format(" scales {} left out", fmt::join(summary.gate.scales, ","));
    for (const auto& columns : summary.left_out) text += fmt::format(" [{}]", fmt::join(columns, ","));
    for (int64_t k = 0; k < summary.gate.means.rows(); ++k) {
      for (int64_t j = 0; j < summary.gate.means.columns(); ++j)
        text += fmt::format(" {}", summary.gate.means.at(k, j));
    }
  }
  std::vector<std::string> warnings = result.fit.warnings;
  std::ranges::sort(warnings);
  for (const std::string& warning : warnings) text += "\n" + warning;
  return text;
}

struct Rows {
  PointsView points;
  std::span<const double> weights = {};
};

// What the reference says of all rows, or its error.
std::string expected(const Rows& rows, RegressOptions options, const FitHooks& hooks = {}) {
  options.backend = "reference";
  try {
    const RegressResult result = regress(RegressionRows::with_target(rows.points), rows.weights, options, hooks);
    std::vector<std::string> digests;
    for (const ModelResult& model : result.fit.models) digests.push_back(model.digest());
    return text_of(result, digests);
  } catch (const Error& error) {
    return std::to_string(static_cast<int>(error.code())) + ": " + error.what();
  }
}

RegressResult run_rank(const Rows& rows, const std::vector<int64_t>& ends, const RegressOptions& options,
                       const FitHooks& hooks, Comm& comm) {
  const Part part = part_of(rows.points, rows.weights, ends, comm.rank());
  return regress_shard(RegressionRows::with_target(part.points), part.weights, options, hooks, comm);
}

std::string outcome(const RegressResult& result) {
  std::vector<std::string> digests;
  for (const ModelResult& model : result.fit.models) digests.push_back(model.digest());
  return text_of(result, digests);
}

// Ranks with different backends, threads and limits of memory.
void compare(const Rows& rows, RegressOptions options, const std::vector<int64_t>& ends, const FitHooks& hooks = {}) {
  const std::string wanted = expected(rows, options, hooks);
  const auto errors = run_ranks(static_cast<int>(ends.size()), [&](Comm& comm) {
    RegressOptions mine = options;
    mine.backend = comm.rank() % 3 == 1 ? "reference" : "cpu";
    mine.threads = 1 + comm.rank() % 2;
    EXPECT_EQ(outcome(run_rank(rows, ends, mine, hooks, comm)), wanted);
  });
  for (const std::string& error : errors) {
    EXPECT_TRUE(error.empty() || error == wanted) << error << "\ninstead of " << wanted;
  }
}

Rows rows_of(const SmallRows& rows, const RegressCase& made) {
  return {rows.view(made.type), made.weighted ? std::span<const double>(rows.weights) : std::span<const double>()};
}

// Every initialisation, stop rule, policy, type and option of linear models meets one to eight ranks.
TEST(RegressShard, EveryInitialisationAndOption) {
  const SmallRows rows(300);
  uint64_t compared = 0;
  for (RegressCase& made : regress_cases(std::array{"auto", "kmeans", "kmeans-x"})) {
    for (int round = 0; round < 3; ++round, ++compared) {
      made.options.strategy = kStrategies[compared % 3];
      const std::vector<int64_t> ends = shard_ends(rows.n, 1 + static_cast<int>(compared % 8), compared);
      compare(rows_of(rows, made), made.options, ends);
      if (testing::Test::HasFailure()) FAIL() << made.name << ", ends " << fmt::format("{}", fmt::join(ends, ","));
    }
  }
}

// Models far from all rows, of which clusters stay empty or are re-seeded.
TEST(RegressShard, GivenModelsAndEmptyClusters) {
  const SmallRows rows(150);
  const std::vector<float> given = {0, 0, 0, 1, 1, 1, 0, 0, 1e6F, 0, 0, -1e6F, -1, 0, 1, 5, 5, 1e7F};
  FitHooks hooks;
  hooks.initial = {given.data(), 6, 3};
  uint64_t seed = 0;
  for (RegressCase& made : regress_cases()) {
    for (const EmptyPolicy empty :
         {EmptyPolicy::kFarthest, EmptyPolicy::kKeep, EmptyPolicy::kDrop, EmptyPolicy::kError}) {
      made.options.init = "auto";
      made.options.k = {6};
      made.options.models = 1;
      made.options.empty = empty;
      ++seed;
      compare(rows_of(rows, made), made.options, shard_ends(rows.n, 1 + static_cast<int>(seed % 8), seed), hooks);
      if (testing::Test::HasFailure()) FAIL() << made.name << ", " << name_of(empty);
    }
  }
}

// Rows of which every rank has one, or all but one have none.
TEST(RegressShard, OneRowARankAndNone) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const SmallRows rows(8, seed);
    RegressOptions options;
    options.k = {1, 2};
    options.models = 2;
    options.swaps = 2;
    options.init = seed % 2 == 0 ? "auto" : "kmeans";
    const Rows all{rows.view(DataType::kFloat64), seed % 3 == 0 ? std::span(rows.weights) : std::span<const double>()};
    compare(all, options, {1, 2, 3, 4, 5, 6, 7, 8});
    compare(all, options, {0, 0, 8, 8});
  }
}

// The target stands in front, which moves it to the end on every rank, also where there is no row.
TEST(RegressShard, ATargetThatIsNotTheLastColumn) {
  const SmallRows rows(60);
  RegressOptions options;
  options.k = {3};
  options.models = 1;
  const PointsView points = rows.view(DataType::kFloat64);
  const RegressResult whole = regress(RegressionRows::with_target(points, 0), {}, options);
  const auto errors = run_ranks(3, [&](Comm& comm) {
    const Part part = part_of(points, {}, {0, 41, 60}, comm.rank());
    const RegressResult found = regress_shard(RegressionRows::with_target(part.points, 0), {}, options, {}, comm);
    EXPECT_EQ(found.fit.models[0].digest(), whole.fit.models[0].digest());
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

// What ranks refuse, and one alone would: the same error everywhere.
TEST(RegressShard, BadInputIsTheSameErrorOnAllRanks) {
  SmallRows rows(100);
  RegressOptions options;
  options.k = {40};  // of three coefficients each
  const auto refuse = [&](const std::string& text) {
    const Rows all{rows.view(DataType::kFloat64), rows.weights};
    const std::string wanted = expected(all, options);
    EXPECT_NE(wanted.find(text), std::string::npos) << wanted;
    for (const std::string& error :
         run_ranks(4, [&](Comm& comm) { run_rank(all, {30, 30, 95, 100}, options, {}, comm); })) {
      EXPECT_EQ(error, wanted);
    }
  };
  refuse("40 linear models have 3 coefficients");
  options.k = {2};
  rows.weights[97] = -1;
  refuse("row 98 has weight -1");
  rows.weights[97] = 1;
  rows.f64[3 * 41 + 2] = std::numeric_limits<double>::quiet_NaN();
  refuse("row 42, column 3 is NaN");
}

TEST(RegressShard, OtherOptionsOnOneRankAreAnError) {
  const SmallRows rows(100);
  const Rows all{rows.view(DataType::kFloat32)};
  for (const std::string& error : run_ranks(3, [&](Comm& comm) {
         RegressOptions options;
         options.k = {2};
         options.swaps = comm.rank() == 2 ? 3 : 2;
         run_rank(all, {40, 40, 100}, options, {}, comm);
       })) {
    EXPECT_TRUE(error.starts_with("2: [ranks] rank 0 was given other options")) << error;
  }
}

// A rank ends the fit in its swap search, or in the clustering that models begin with; a checkpoint goes on over other
// ranks.
TEST(RegressShard, StoppedByOneRankItGoesOnOverOthers) {
  const SmallRows rows(200);
  for (RegressCase& made : regress_cases(std::array{"auto", "kmeans"})) {
    made.options.swaps = 2;
    const Rows all = rows_of(rows, made);
    const std::string wanted = expected(all, made.options);
    const Folder folder;
    const auto path = [&](int ranks, int rank) { return folder / fmt::format("{}.{}", ranks, rank); };
    int from = 0;
    for (const int ranks : {3, 5, 1, 2}) {
      std::vector<std::string> outcomes(static_cast<size_t>(ranks));
      const auto errors = run_ranks(ranks, [&](Comm& comm) {
        FitHooks hooks;
        hooks.checkpoint = {path(ranks, comm.rank()), 1, from > 0};
        if (from > 0) std::filesystem::copy_file(path(from, 0), hooks.checkpoint.path);
        int calls = 0;
        if (comm.rank() == ranks / 2 && ranks != 2) {
          hooks.progress = [&](const Progress& p) { return p.phase == "initialise" || ++calls < 4; };
        }
        const RegressResult result = run_rank(all, shard_ends(rows.n, ranks, 11), made.options, hooks, comm);
        if (!result.fit.interrupted) outcomes[static_cast<size_t>(comm.rank())] = outcome(result);
      });
      for (const std::string& error : errors) EXPECT_EQ(error, "") << made.name << ", " << ranks;
      for (const std::string& text : outcomes) EXPECT_TRUE(text == wanted || (text.empty() && ranks != 2)) << made.name;
      from = ranks;
    }
  }
}

TEST(RegressShard, ATimeLimitOfOneRankEndsTheClusteringOfAllButTheFirstModel) {
  const SmallRows rows(20000);
  const Rows all{rows.view(DataType::kFloat32)};
  for (const std::string& error : run_ranks(3, [&](Comm& comm) {
         RegressOptions options;
         options.k = {300};
         options.models = 2;
         options.init = "kmeans-x";
         options.time_limit = comm.rank() == 1 ? 0.01 : 0;
         const RegressResult found = run_rank(all, {7000, 7000, 20000}, options, {}, comm);
         EXPECT_TRUE(found.fit.interrupted);
         EXPECT_EQ(found.fit.models[0].stop_reason, StopReason::kTimeLimit);
         EXPECT_EQ(found.fit.models[1].stop_reason, StopReason::kNotBegun);
       })) {
    EXPECT_EQ(error, "");
  }
}

}  // namespace
}  // namespace manymeans::test
