// Whole fits over ranks: their digests, warnings and errors are those of the reference that has all rows.
#include "engine/fit_shard.h"

#include <manymeans/error.h>

#include "comm/thread_ranks.h"
#include "conformance/cases.h"
#include "conformance/fit_cases.h"
#include "data/shards.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <utility>

namespace manymeans::test {
namespace {

constexpr std::array<const char*, 4> kAlgorithms = {"auto", "bounds", "kdtree", "matrix"};

// What a fit says beside its labels: models, warnings, how many labels changed in each pass.
std::string text_of(const FitResult& result, const std::vector<std::string>& digests) {
  std::string text = combined_digest(digests);
  for (const ModelResult& model : result.models) {
    text += fmt::format("\n{}:{}:{} seed {} counts {} weights {} inertia {}", model.k, model.iterations,
                        name_of(model.stop_reason), model.seed, fmt::join(model.counts, ","),
                        fmt::join(model.weights, ","), model.inertia);
  }
  std::vector<std::string> warnings = result.warnings;
  std::erase_if(warnings, [](const std::string& warning) { return warning.starts_with("algorithm "); });
  std::sort(warnings.begin(), warnings.end());
  for (const std::string& warning : warnings) text += "\n" + warning;
  for (const PassLog& log : result.provenance.pass_log) {
    text += fmt::format("\npass of {} models: {} of {} changed", log.models, log.changed, log.labelled);
  }
  return text;
}

// Of the reference with all rows; passes are logged in another order under the strategy task.
std::string expected(const Case& made, FitOptions options, const FitHooks& hooks) {
  options.backend = "reference";
  options.algorithm = "auto";
  if (options.strategy == Strategy::kTask) options.strategy = Strategy::kData;
  try {
    const FitResult result = fit(made.points(), made.weights, options, hooks);
    std::vector<std::string> digests;
    for (const ModelResult& model : result.models) digests.push_back(model.digest());
    return text_of(result, digests);
  } catch (const Error& error) {
    return std::to_string(static_cast<int>(error.code())) + ": " + error.what();
  }
}

// What one rank says.
std::string outcome(const Part& part, const FitOptions& options, const FitHooks& hooks, Comm& comm) {
  const FitResult result = fit_shard(part.points, part.weights, options, hooks, comm);
  std::vector<std::string> digests;
  for (const ModelResult& model : result.models) {
    if (hooks.labels == LabelsOf::kAll) EXPECT_EQ(model.labels.size(), part.points.n);
    digests.push_back(model.digest());
  }
  return text_of(result, digests);
}

class FitShard : public testing::Test {
 protected:
  void compare(const Case& made, FitOptions options, const FitHooks& hooks = {}) {
    const int ranks = 1 + static_cast<int>(compared_ % 8);
    const std::vector<int64_t> ends = shard_ends(made.shape.n, ranks, made.seed + compared_);
    options.strategy = kStrategies[compared_ / 3 % kStrategies.size()];
    const std::string wanted = expected(made, options, hooks);
    const auto errors = run_ranks(ranks, [&](Comm& comm) {
      FitOptions mine = options;
      // Every third fit has different backends on its ranks.
      const bool reference = compared_ % 3 == 0 || (compared_ % 3 == 1 && comm.rank() % 2 == 0);
      mine.backend = reference ? "reference" : "cpu";
      mine.algorithm = reference ? "auto" : kAlgorithms[(compared_ / 2 + static_cast<size_t>(comm.rank())) % 4];
      if (mine.algorithm == "kdtree" && made.shape.d > 32) mine.algorithm = "auto";
      mine.threads = 1 + comm.rank() % 2;
      FitHooks asked = hooks;
      asked.labels = compared_ % 2 == 0 ? LabelsOf::kAll : LabelsOf::kBest;
      EXPECT_EQ(outcome(part_of(made, ends, comm.rank()), mine, asked, comm), wanted);
    });
    for (const std::string& error : errors) {
      EXPECT_TRUE(error.empty() || error == wanted) << error << "\ninstead of " << wanted;
    }
    if (HasFailure()) {
      FAIL() << made.name << " init " << options.init << " stop " << options.stop << " empty " << name_of(options.empty)
             << " " << name_of(options.strategy) << " ends " << fmt::format("{}", fmt::join(ends, ","))
             << " comparison " << compared_;
    }
    ++compared_;
  }

  size_t compared_ = 0;
};

TEST_F(FitShard, EveryInitStopRuleAndEmptyPolicy) {
  for_each_small_fit([this](const Case& made, const FitOptions& options) {
    compare(made, options);
    return !HasFailure();
  });
}

TEST_F(FitShard, EveryStopRuleAtItsThreshold) {
  for_each_threshold_fit([this](const Case& made, const FitOptions& options) {
    compare(made, options);
    return !HasFailure();
  });
}

// Prototypes given so that clusters start empty, are equal, or lie far away.
TEST_F(FitShard, GivenPrototypesAndEmptyClusters) {
  uint64_t seed = 2000;
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64, DataType::kUInt8}) {
    for (int family = 0; family < kFamilies; ++family) {
      const EmptyPolicy empty = kPolicies[seed % 4];
      Case made = make_case(static_cast<Family>(family), type, static_cast<Weighting>(seed % kWeightings),
                            {150, 3, {12, 12}}, seed);
      ++seed;
      FitHooks hooks;
      const Matrix given = stacked(made.prototypes);
      hooks.initial = given.view();
      FitOptions options = given_options(empty);
      options.models = 2;
      compare(made, options, hooks);
      if (HasFailure()) return;
    }
  }
}

TEST_F(FitShard, MetricCosine) {
  for (uint64_t seed = 9000; seed < 9024; ++seed) {
    FitOptions options = small_options(seed % 2 == 0 ? "k-means++" : "k-means||", "tol", kPolicies[seed % 3]);
    options.metric = Metric::kCosine;
    compare(make_case(static_cast<Family>(seed % kFamilies), DataType::kFloat32,
                      static_cast<Weighting>(seed % kWeightings), {200, 3, {1}}, seed),
            options);
    if (HasFailure()) return;
  }
}

// Some ranks have no rows, some fewer than a cluster has to have.
TEST_F(FitShard, SizesOfClusters) {
  for (uint64_t seed = 9100; seed < 9148; ++seed) {
    const char* init = seed % 2 == 0 ? "k-means++" : "k-means||";
    FitOptions options = small_options(init, seed % 5 == 0 ? "strict" : "tol", kPolicies[seed % 2]);
    options.k = seed % 7 == 0 ? std::vector<int64_t>{1, 12} : std::vector<int64_t>{4, 9};
    options.min_size = static_cast<int64_t>(seed % 17);
    options.max_size = seed % 7 == 0 ? 0 : static_cast<int64_t>(50 + seed % 40);
    if (seed % 6 == 0) options.metric = Metric::kCosine;
    compare(make_case(static_cast<Family>(seed % kFamilies), DataType::kFloat32,
                      static_cast<Weighting>(seed % kWeightings), {200, 3, {1}}, seed),
            options);
    if (HasFailure()) return;
  }
  for (uint64_t seed = 9200; seed < 9216; ++seed) {
    compared_ = seed;
    const auto n = static_cast<int64_t>(1 + seed % 8);
    FitOptions options = small_options("random", "strict", EmptyPolicy::kFarthest);
    options.k = {1, n};
    options.min_size = 1;
    compare(make_case(Family::kClusters, DataType::kFloat64, Weighting::kNone, {n, 2, {1}}, seed), options);
    if (HasFailure()) return;
  }
}

// As few rows as ranks, K = N, many prototypes.
TEST_F(FitShard, OneRowARankAndRandomCases) {
  for (uint64_t seed = 7000; seed < 7056; ++seed) {
    compared_ = seed;
    const auto n = static_cast<int64_t>(1 + seed % 8);
    FitOptions options = small_options(seed % 2 == 0 ? "k-means++" : "random", "strict", kPolicies[seed % 3]);
    options.k = {1, n};
    compare(make_case(static_cast<Family>(seed % kFamilies), DataType::kFloat32,
                      static_cast<Weighting>(seed % kWeightings), {n, 2, {1}}, 7 * seed),
            options);
    if (HasFailure()) return;
  }
  for (uint64_t seed = 5000; seed < 5030; ++seed) {
    const Case made = random_case(seed);
    FitOptions options;
    options.k = {made.shape.k[0]};
    options.seed = seed;
    options.tol = 0;
    options.max_iter = made.shape.n * made.shape.d * made.shape.k[0] > 100000 ? 3 : 20;
    compare(made, options);
    if (HasFailure()) return;
  }
}

// Enough equal rows for the cpu backend to group them, on some ranks.
TEST_F(FitShard, DuplicatesThatSomeRanksGroup) {
  Case made = make_case(Family::kGrid, DataType::kUInt8, Weighting::kNone, {50000, 2, {1}}, 17);
  for (size_t i = 80000; i < made.bytes.size(); ++i) made.bytes[i] = static_cast<std::byte>(i * 2654435761U >> 13);
  FitOptions options = small_options("k-means++", "strict", EmptyPolicy::kFarthest);
  options.max_iter = 5;
  for (compared_ = 1; compared_ < 8; ++compared_) compare(made, options);
}

// The error that all ranks end with, within a second.
std::string same_error(int ranks, const std::function<void(Comm&)>& body) {
  const std::vector<std::string> errors = run_ranks(ranks, body);
  for (const std::string& error : errors) EXPECT_EQ(error, errors[0]);
  return errors[0];
}

const Case& plain_case() {
  static const Case kCase = make_case(Family::kClusters, DataType::kFloat32, Weighting::kNone, {400, 3, {6}}, 3);
  return kCase;
}

FitResult fit_plain(Comm& comm, const FitOptions& options, const FitHooks& hooks = {}) {
  const Part part = part_of(plain_case(), shard_ends(400, comm.size(), 5), comm.rank());
  return fit_shard(part.points, part.weights, options, hooks, comm);
}

TEST_F(FitShard, MoreClustersThanRowsAreTheSameErrorOnAllRanks) {
  FitOptions options = small_options("random", "strict", EmptyPolicy::kKeep);
  options.k = {401};
  EXPECT_EQ(same_error(4, [&](Comm& comm) { fit_plain(comm, options); }), expected(plain_case(), options, {}));
}

TEST_F(FitShard, OtherOptionsOnOneRankAreAnError) {
  const std::string error = same_error(3, [&](Comm& comm) {
    FitOptions options = small_options("random", "strict", EmptyPolicy::kKeep);
    options.seed = comm.rank() == 1 ? 7 : 8;
    fit_plain(comm, options);
  });
  EXPECT_TRUE(error.starts_with("2: [ranks] rank 0 was given other options")) << error;
}

TEST_F(FitShard, OtherInitialPrototypesOnOneRankAreAnError) {
  const std::string error = same_error(3, [&](Comm& comm) {
    FitOptions options = small_options("random", "strict", EmptyPolicy::kKeep);
    options.k = {6};
    options.models = 1;
    FitHooks hooks;
    Matrix initial = plain_case().prototypes[0];
    if (comm.rank() == 2) initial.values<float>()[4] += 1;
    hooks.initial = initial.view();
    fit_plain(comm, options, hooks);
  });
  EXPECT_TRUE(error.starts_with("2: [ranks] rank 0 was given other options")) << error;
}

TEST_F(FitShard, AnAbortOnOneRankEndsAll) {
  std::atomic<bool> abort{true};
  const auto begin = std::chrono::steady_clock::now();
  const std::string error = same_error(4, [&](Comm& comm) {
    FitHooks hooks;
    if (comm.rank() == 2) hooks.abort = &abort;
    fit_plain(comm, small_options("k-means++", "strict", EmptyPolicy::kKeep), hooks);
  });
  EXPECT_TRUE(error.starts_with("5: ")) << error;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
}

// Whoever stops it, it equals the fit with as many iterations on every rank.
TEST_F(FitShard, ACallbackOnOneRankStopsAll) {
  FitOptions options = small_options("first", "strict", EmptyPolicy::kKeep);
  std::vector<std::string> digests(5);
  std::vector<int64_t> iterations(5);
  const auto errors = run_ranks(5, [&](Comm& comm) {
    int calls = 0;
    FitHooks hooks;
    if (comm.rank() == 3) {
      hooks.progress = [&](const Progress& p) {
        EXPECT_EQ(p.models, 6);
        return ++calls < 3;
      };
    }
    const FitResult result = fit_plain(comm, options, hooks);
    const auto rank = static_cast<size_t>(comm.rank());
    EXPECT_TRUE(result.interrupted);
    EXPECT_EQ(result.models[1].stop_reason, StopReason::kCallback);
    iterations[rank] = result.models[1].iterations;
    digests[rank] = result.models[1].digest();
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
  options.model_seed = fit(plain_case().points(), {}, options).models[1].seed;
  options.k = {3};
  options.models = 1;
  options.max_iter = iterations[0];
  const std::string digest = fit(plain_case().points(), {}, options).digest();
  for (size_t r = 0; r < 5; ++r) {
    EXPECT_EQ(iterations[r], iterations[0]);
    EXPECT_EQ(combined_digest({&digests[r], 1}), digest);
  }
}

// One rank's clock ends the fit of all but for the first model; a callback of another rank may end that, too.
TEST_F(FitShard, ATimeLimitOfOneRankLeavesTheFirstModel) {
  FitOptions options = small_options("k-means++", "strict", EmptyPolicy::kKeep);
  FitOptions first = options;
  first.k = {options.k[0]};
  first.models = 1;
  first.max_iter = 0;
  const std::string digest = fit(plain_case().points(), {}, first).digest();
  for (const bool stops : {false, true}) {
    for (const Strategy strategy : kStrategies) {
      options.strategy = strategy;
      for (const std::string& error : run_ranks(3, [&](Comm& comm) {
             FitOptions mine = options;
             if (comm.rank() == 1) mine.time_limit = 1e-9;
             FitHooks hooks;
             if (comm.rank() == 2 && stops) hooks.progress = [](const Progress& p) { return p.active_models > 1; };
             const FitResult result = fit_plain(comm, mine, hooks);
             EXPECT_TRUE(result.interrupted);
             for (size_t i = stops ? 0 : 1; i < result.models.size(); ++i) {
               EXPECT_EQ(result.models[i].stop_reason, StopReason::kNotBegun);
             }
             if (stops) return;
             EXPECT_EQ(result.models[0].stop_reason, StopReason::kTimeLimit);
             const std::string found = result.models[0].digest();
             EXPECT_EQ(combined_digest({&found, 1}), digest);
           })) {
        EXPECT_EQ(error, "") << name_of(strategy);
      }
    }
  }
}

// A checkpoint is of all rows: whoever has it goes on, over as many ranks as there are now.
TEST_F(FitShard, ACheckpointGoesOnOverOtherRanks) {
  FitOptions options = small_options("k-means++", "strict", EmptyPolicy::kKeep);
  const std::string whole = fit(plain_case().points(), {}, options).digest();
  const auto path = [](int ranks, int rank) {
    return fmt::format("{}fit_shard.{}.{}", testing::TempDir(), ranks, rank);
  };
  const auto stopped = [&](Comm& comm, int from) {
    FitHooks hooks;
    hooks.checkpoint = {path(comm.size(), comm.rank()), 1, false};
    if (from > 0) {
      std::filesystem::copy_file(path(from, 0), hooks.checkpoint.path,
                                 std::filesystem::copy_options::overwrite_existing);
      hooks.checkpoint.resume = true;
    }
    int calls = 0;
    hooks.progress = [&](const Progress& p) { return p.phase == "initialise" || ++calls < 3; };
    const bool interrupted = fit_plain(comm, options, hooks).interrupted;
    EXPECT_TRUE(interrupted || from > 0) << "the data should not be that easy";
  };
  for (const auto& [ranks, from] : {std::pair{3, 0}, {5, 3}, {1, 5}, {2, 1}}) {
    for (const std::string& error : run_ranks(ranks, [&, from = from](Comm& comm) { stopped(comm, from); })) {
      EXPECT_EQ(error, "") << ranks;
    }
  }
  FitHooks hooks;
  hooks.checkpoint = {path(2, 0), 0, true};
  EXPECT_EQ(fit(plain_case().points(), {}, options, hooks).digest(), whole);
}

TEST_F(FitShard, ACheckpointOnOneRankAloneIsAnError) {
  FitOptions options = small_options("first", "strict", EmptyPolicy::kKeep);
  const std::string path = testing::TempDir() + "fit_shard.one";
  FitHooks hooks;
  hooks.checkpoint.path = path;
  fit(plain_case().points(), {}, options, hooks);
  const std::string error = same_error(3, [&](Comm& comm) {
    FitHooks mine;
    if (comm.rank() == 1) mine.checkpoint = {path, 0, true};
    fit_plain(comm, options, mine);
  });
  EXPECT_EQ(error,
            "2: [checkpoint] rank 0 and rank 1 do not continue from the same state; give all ranks the same file");
}

// One collective adds up a pass of all models; the others of a batch come once. Stop rules that surely do not hold end
// no batch.
TEST_F(FitShard, ManyPassesAreABatch) {
  const auto errors = run_ranks(4, [&](Comm& comm) {
    FitOptions options = small_options("first", "tol,labels:1e-9,shift:1e-12", EmptyPolicy::kKeep);
    options.tol = 1e-12;
    options.k = {6};
    options.models = 1;
    options.max_iter = 10;
    const FitResult result = fit_plain(comm, options);
    EXPECT_EQ(result.models[0].iterations, 10) << "the data should not be that easy";
    const auto before = static_cast<int64_t>(comm.collectives());
    options.max_iter = 2;
    fit_plain(comm, options);
    const int64_t after = static_cast<int64_t>(comm.collectives()) - before;
    EXPECT_EQ(before - after, 8) << "eight more passes of the same batch are eight more sums";
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

}  // namespace
}  // namespace manymeans::test
