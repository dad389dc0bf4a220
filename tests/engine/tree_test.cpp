#include <manymeans/error.h>
#include <manymeans/fit_each.h>
#include <manymeans/sparse.h>
#include <manymeans/tree.h>

#include "comm/thread_ranks.h"
#include "conformance/cases.h"
#include "conformance/variants.h"
#include "data/shards.h"
#include "engine/small_data.h"
#include "io/files.h"
#include "io/results/checkpoint_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <string>

namespace manymeans {
namespace {

using test::Case;
using test::mixture;

TreeOptions leaves(int64_t k) {
  TreeOptions options;
  options.k = {k};
  options.threads = 2;
  return options;
}

struct Tree {
  Case rows;
  TreeOptions options;

  TreeResult fit(const FitHooks& hooks = {}) const { return fit_tree(rows.points(), rows.weights, options, hooks); }
};

// Any rows, any weights, and bounds of sizes that can be met.
Tree random_tree(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  const int64_t n = 1 + below(400), k = 1 + below(std::min<int64_t>(n, 60));
  Tree tree{test::make_case(static_cast<test::Family>(below(test::kFamilies)), static_cast<DataType>(below(6)),
                            static_cast<test::Weighting>(below(test::kWeightings)), {n, 1 + below(20), {k}}, seed),
            leaves(k)};
  tree.options.seed = random();
  tree.options.branching = std::array<int64_t, 4>{0, 2, 3, 9}[static_cast<size_t>(below(4))];
  tree.options.refine = below(3);
  tree.options.max_iter = below(6);
  if (below(3) == 0) tree.options.sample = k + below(n);
  if (below(4) > 0) tree.options.max_size = (n + k - 1) / k + below(n / k + 1);
  if (below(2) > 0) tree.options.min_size = below(n / k + 1);
  if (below(4) == 0 && tree.rows.name.find("kGrid") == std::string::npos) tree.options.empty = EmptyPolicy::kKeep;
  if (below(2) > 0) tree.options.quota = LeafQuota::kInertia;
  return tree;
}

TEST(Tree, SizesAreKept) {
  int64_t moved = 0, bounded = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Tree tree = random_tree(seed);
    const TreeResult result = tree.fit();
    const ModelResult& model = result.fit.models[0];
    const TreeOptions& options = tree.options;
    const int64_t n = tree.rows.shape.n, k = options.k[0];
    std::vector<int64_t> counts(static_cast<size_t>(k));
    for (int64_t i = 0; i < n; ++i) ++counts[model.labels[i]];
    EXPECT_EQ(counts, model.counts);
    const auto [least, most] = std::ranges::minmax(counts);
    EXPECT_GE(least, options.min_size) << seed;
    if (options.max_size > 0) EXPECT_LE(most, options.max_size) << seed;
    bounded += options.balanced();
    moved += result.moved > 0;
    const Prediction nearest = predict(tree.rows.points(), model.prototypes.view(), {.threads = 2});
    int64_t differ = 0;
    for (int64_t i = 0; i < n; ++i) differ += nearest.labels[i] != model.labels[i];
    EXPECT_EQ(differ, result.moved) << seed;
  }
  EXPECT_GT(bounded, 200);
  EXPECT_GT(moved, 100);
}

TEST(Tree, NodesFormATree) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Tree tree = random_tree(seed);
    const TreeResult result = tree.fit();
    const int64_t nodes = std::ssize(result.parents), k = tree.options.k[0];
    EXPECT_EQ(result.vectors.rows(), nodes);
    EXPECT_EQ(result.vectors.columns(), tree.rows.shape.d);
    EXPECT_EQ(result.parents[0], -1);
    int64_t first = 0, before = -1;  // of a level, and of the level above
    for (const TreeLevel& level : result.levels) {
      for (int64_t i = first; i < first + level.nodes; ++i) {
        const int64_t parent = result.parents[static_cast<size_t>(i)];
        if (i == 0) continue;
        EXPECT_GE(parent, before);
        EXPECT_LT(parent, first);
        EXPECT_GE(parent, result.parents[static_cast<size_t>(i) - 1]);
      }
      before = first;
      first += level.nodes;
    }
    EXPECT_EQ(first, nodes);
    EXPECT_EQ(result.levels.back().nodes, k);
    EXPECT_EQ(result.splits.size(), static_cast<size_t>(nodes - k + 1));
    const Matrix& leaf = result.fit.models[0].prototypes;
    EXPECT_TRUE(std::ranges::equal(result.vectors.bytes().last(leaf.bytes().size()), leaf.bytes()));
  }
}

TEST(Tree, OneAnswerHoweverItIsComputed) {
  std::set<std::string> names;
  for (const test::Target& target : test::targets()) names.insert(target.backend);
  for (uint64_t seed = 300; seed < 340; ++seed) {
    Tree tree = random_tree(seed);
    tree.options.backend = "reference";
    const std::string expected = tree.fit().digest();
    for (const std::string& name : names) {
      if ((name == "opencl" || name == "cuda") && seed % 8 != 0) continue;  // which are slow to begin
      tree.options.backend = name;
      for (const int threads : {1, 2, 5}) {
        tree.options.threads = threads;
        EXPECT_EQ(tree.fit().digest(), expected) << seed << " " << tree.rows.name << " on " << name << " " << threads;
      }
    }
  }
}

// Everything that a tree says of all rows, or its error.
template <class Fit>
std::string outcome_of(const Fit& fit) {
  try {
    const TreeResult tree = fit();
    const ModelResult& leaves = tree.fit.models[0];
    std::vector<std::string> warnings = tree.fit.warnings;
    std::erase_if(warnings, [](const std::string& warning) { return warning.starts_with("algorithm "); });
    std::ranges::sort(warnings);
    std::string text =
        fmt::format("{} of {} rows, {} moved, inertia {}\ncounts {}\nweights {}\nparents {}\nsplits {}\n{}\n",
                    tree.digest(), tree.fit.provenance.rows, tree.moved, leaves.inertia, fmt::join(leaves.counts, ","),
                    fmt::join(leaves.weights, ","), fmt::join(tree.parents, ","), fmt::join(tree.splits, ","),
                    fmt::join(warnings, "\n"));
    for (const TreeLevel& level : tree.levels) text += fmt::format("{} nodes {}\n", level.nodes, level.inertia);
    for (const std::byte byte : tree.vectors.bytes()) text += fmt::format("{:02x}", static_cast<int>(byte));
    return text;
  } catch (const Error& error) {
    return fmt::format("{}: {}", static_cast<int>(error.code()), error.what());
  }
}

std::shared_ptr<Comm> shared(Comm& comm) {
  return {std::shared_ptr<Comm>(), &comm};
}

// Shards of any sizes, some of them empty; more ranks than rows, too.
void compare_with_ranks(const Tree& tree, int ranks, uint64_t seed) {
  std::vector<uint32_t> labels(static_cast<size_t>(tree.rows.shape.n));
  const std::string wanted = outcome_of([&] {
    TreeResult result = tree.fit();
    result.fit.models[0].labels.read(0, tree.rows.shape.n, labels.data());
    return result;
  });
  const std::vector<int64_t> ends = test::shard_ends(tree.rows.shape.n, ranks, seed);
  const auto errors = test::run_ranks(ranks, [&](Comm& comm) {
    TreeOptions options = tree.options;
    options.threads = 1 + comm.rank() % 2;
    options.backend = (seed + static_cast<uint64_t>(comm.rank())) % 3 == 0 ? "reference" : "cpu";
    if (seed % 5 == 0) options.memory.bytes = int64_t{64} << (20 + comm.rank());
    const test::Part part = test::part_of(tree.rows, ends, comm.rank());
    FitHooks hooks;
    hooks.comm = shared(comm);
    const std::string found = outcome_of([&] {
      TreeResult result = fit_tree(part.points, part.weights, options, hooks);
      const Labels& own = result.fit.models[0].labels;
      EXPECT_EQ(own.size(), part.points.n);
      const int64_t first = ends[static_cast<size_t>(comm.rank())] - part.points.n;
      for (int64_t i = 0; i < own.size(); ++i) EXPECT_EQ(own[i], labels[static_cast<size_t>(first + i)]);
      return result;
    });
    EXPECT_EQ(found, wanted) << seed << " " << tree.rows.name << " ends " << fmt::format("{}", fmt::join(ends, ","));
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

TEST(Tree, RanksGiveTheAnswerOfOneProcess) {
  for (uint64_t seed = 400; seed < 520 && !testing::Test::HasFailure(); ++seed) {
    Tree tree = random_tree(seed);
    if (seed % 3 == 0) tree.options.metric = Metric::kCosine;
    compare_with_ranks(tree, seed % 16 == 7 ? 7 : 1 + static_cast<int>(seed % 4), seed);
  }
}

// More requests than a rank sends at a time.
TEST(Tree, RanksShareVeryManyRequestsForLeaves) {
  Tree tree{test::make_case(test::Family::kNormal, DataType::kFloat32, test::Weighting::kNone, {300'000, 1, {4}}, 5),
            leaves(4)};
  tree.options.refine = 0;
  tree.options.max_iter = 1;
  for (const int ranks : {2, 3}) {
    tree.options.max_size = ranks == 2 ? 75'001 : 0;
    tree.options.min_size = ranks == 2 ? 0 : 74'000;
    compare_with_ranks(tree, ranks, 1);
  }
}

TEST(Tree, AnErrorOfOneRankIsAnErrorOfAll) {
  const std::vector<float> x = mixture(900, 2, 1);
  const auto errors_of = [&](const std::function<void(TreeOptions&, FitHooks&)>& spoil) {
    return test::run_ranks(3, [&](Comm& comm) {
      TreeOptions options = leaves(400);
      options.max_size = 3;
      FitHooks hooks;
      if (comm.rank() == 1) spoil(options, hooks);
      hooks.comm = shared(comm);
      fit_tree(PointsView(x.data() + 600 * comm.rank(), 300, 2), {}, options, hooks);
    });
  };
  const std::atomic<bool> set{true};
  std::atomic<bool> late{false}, given_up{false};
  const std::vector<std::pair<std::function<void(TreeOptions&, FitHooks&)>, std::string>> all = {
      {[](auto& options, auto&) { options.branching = 3; }, "2: [ranks] rank 0 was given other options"},
      {[](auto& options, auto&) { options.max_size = 30; }, "2: [ranks] rank 0 was given other options"},
      {[](auto& options, auto&) { options.refine = -1; }, "2: [refine] -1 is negative"},
      {[](auto&, auto& hooks) { hooks.checkpoint.path = "/nowhere/c"; }, "4: [/nowhere/c]"},
      {[&](auto&, auto& hooks) { hooks.cancel = &set; }, "5: [tree] it was stopped before all of its levels"},
      {[](auto&, auto& hooks) {
         hooks.progress = [](const Progress& progress) { return progress.phase != "problems"; };
       },
       "5: [tree] it was stopped before all of its levels"},
      {[&](auto&, auto& hooks) {  // while it splits nodes on its own
         hooks.abort = &given_up;
         hooks.progress = [&](const Progress& progress) {
           if (progress.phase == "problems") given_up = true;
           return true;
         };
       },
       "5: ["},
      {[&](auto&, auto& hooks) {  // in the flat fit, which ends well
         hooks.cancel = &late;
         hooks.progress = [&](const Progress& progress) {
           if (progress.max_iteration == 2) late = true;
           return true;
         };
       },
       "5: [tree] it was stopped before its leaves had the sizes asked for"},
  };
  for (const auto& [spoil, expected] : all) {
    for (const std::string& error : errors_of(spoil)) EXPECT_EQ(error.substr(0, expected.size()), expected);
  }
}

TEST(Tree, AMemoryLimitChangesNothing) {
  const std::vector<float> x = mixture(200'000, 16, 3);
  TreeOptions options = leaves(100);
  const std::string expected = fit_tree(PointsView(x.data(), 200'000, 16), {}, options).digest();
  options.memory.bytes = 32 << 20;  // a copy of all rows is larger than a fourth of it
  EXPECT_EQ(fit_tree(PointsView(x.data(), 200'000, 16), {}, options).digest(), expected);
  const auto errors = test::run_ranks(2, [&](Comm& comm) {
    TreeOptions own = options;
    own.memory.bytes = comm.rank() == 0 ? 0 : 16 << 20;
    const PointsView points(x.data() + 1'600'000 * comm.rank(), 100'000, 16);
    EXPECT_EQ(fit_tree(points, {}, own, {.comm = shared(comm)}).digest(), expected);
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

TEST(Tree, OneLevelIsAFit) {
  const std::vector<float> x = mixture(500, 3, 5);
  const PointsView points(x.data(), 500, 3);
  TreeOptions options = leaves(12);
  options.refine = 0;
  const TreeResult tree = fit_tree(points, {}, options);
  ASSERT_EQ(tree.levels.size(), 2U);
  const ModelResult& model = tree.fit.models[0];
  EXPECT_EQ(tree.levels[1].inertia, model.inertia);
  EXPECT_EQ(model.init, "tree");
  FitHooks hooks;
  hooks.initial = model.prototypes.view();
  FitOptions flat;
  flat.k = {12};
  flat.max_iter = 2;
  flat.tol = 0;
  options.refine = 2;
  EXPECT_EQ(fit_tree(points, {}, options).fit.digest(), fit(points, {}, flat, hooks).digest());
}

TEST(Tree, ASampleMakesTheTreeAndAllRowsHaveLeaves) {
  const std::vector<float> x = mixture(4000, 4, 7, 40);
  const PointsView points(x.data(), 4000, 4);
  TreeOptions options = leaves(40);
  const double whole = fit_tree(points, {}, options).fit.models[0].inertia;
  options.sample = 800;
  const TreeResult sampled = fit_tree(points, {}, options);
  EXPECT_EQ(sampled.fit.models[0].labels.size(), 4000);
  EXPECT_LT(sampled.levels[1].inertia, 0.3 * sampled.levels[0].inertia);
  EXPECT_NEAR(sampled.fit.models[0].inertia / whole, 1, 0.2);
  options.sample = 4000;
  EXPECT_EQ(fit_tree(points, {}, options).fit.models[0].inertia, whole);
}

// Rows of the unit square, and `far` rows behind them, spread over a square of 2^exponent.
std::vector<float> square_and_far_rows(int64_t near, int64_t far, int exponent) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<float> unit;
  std::vector<float> x(static_cast<size_t>(2 * (near + far)));
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = std::ldexp(unit(random), i < static_cast<size_t>(2 * near) ? 0 : exponent);
  }
  return x;
}

TEST(Tree, AQuotaOfInertiaGivesFewFarRowsMoreLeaves) {
  const std::vector<float> x = square_and_far_rows(20'000, 300, 8);
  TreeOptions options = leaves(300);
  const auto inertia_of = [&](std::span<const double> weights) {
    return fit_tree(PointsView(x.data(), 20'300, 2), weights, options).fit.models[0].inertia;
  };
  std::vector<double> weights(20'300, 1.0);
  std::fill(weights.begin() + 20'000, weights.end(), 0.0);  // rows far away that do not count
  const double rows = inertia_of({}), masked = inertia_of(weights);
  options.quota = LeafQuota::kInertia;
  EXPECT_LT(inertia_of({}), 0.1 * rows);
  EXPECT_LT(inertia_of(weights), 1.05 * masked);
}

TEST(Tree, InertiasThatSayNothingLeaveTheQuotaOfRows) {
  std::vector<float> x = square_and_far_rows(2000, 0, 0);
  for (float& value : x) value *= value;  // denser in a corner
  const PointsView points(x.data(), 2000, 2);
  TreeOptions rows = leaves(100), inertia = rows;
  inertia.quota = LeafQuota::kInertia;
  for (const double weight : {0x1p-1074, 1.0, 0x1p1020}) {  // products that are 0; some inertias; infinite ones
    const std::vector<double> weights(2000, weight);
    const bool same = fit_tree(points, weights, rows).digest() == fit_tree(points, weights, inertia).digest();
    EXPECT_EQ(same, weight != 1) << weight;
  }
}

TEST(Tree, EqualRowsBeyondTheCapFillLeavesInTheirOrder) {
  const std::vector<float> x(100, 3.0f);
  TreeOptions options = leaves(20);
  options.max_size = 6;
  const TreeResult result = fit_tree(PointsView(x.data(), 100, 1), {}, options);
  for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(result.fit.models[0].labels[i], i / 6);
  EXPECT_EQ(result.fit.models[0].inertia, 0);
  EXPECT_EQ(result.balance().empty, 3);
  EXPECT_EQ(result.fit.warnings.back(), "3 of 20 leaves have no rows");
  EXPECT_TRUE(result.fit.provenance.warnings.empty());  // equal answers share it
  options.min_size = 5;
  EXPECT_EQ(fit_tree(PointsView(x.data(), 100, 1), {}, options).balance().smallest, 5);
}

TEST(Tree, ErrorsSayWhatWouldBeRight) {
  const std::vector<float> x = mixture(100, 2, 1);
  const auto error_of = [&](const auto& spoil, const FitHooks& hooks = {}) {
    TreeOptions options = leaves(20);
    std::vector<float> values = x;
    spoil(options, values);
    try {
      fit_tree(PointsView(values.data(), 100, 2), {}, options, hooks);
      return std::string("none");
    } catch (const Error& error) {
      return fmt::format("{} {}", static_cast<int>(error.code()), error.what());
    }
  };
  using Values = std::vector<float>;
  const std::vector<std::pair<std::function<void(TreeOptions&, Values&)>, std::string>> all = {
      {[](auto& o, auto&) { o.k = {101}; }, "2 [k] 101 clusters were asked for, but there are only 100 rows"},
      {[](auto& o, auto&) { o.k = {2, 3}; }, "2 [k] 2 numbers were given; a tree has one number of leaves"},
      {[](auto& o, auto&) { o.branching = 1; }, "2 [branching] 1 children make no tree; 2 or more are right"},
      {[](auto& o, auto&) { o.branching = -2; }, "2 [branching] -2 children"},
      {[](auto& o, auto&) { o.max_size = 4; },
       "2 [max_size] 4 rows in each of 20 clusters are fewer than the 100 rows"},
      {[](auto& o, auto&) { o.min_size = 6; }, "2 [min_size] 6 rows in each of 20 clusters are more than the 100 rows"},
      {[](auto& o, auto&) { o.refine = -1; }, "2 [refine] -1 is negative"},
      {[](auto& o, auto&) { o.sample = 19; }, "2 [sample] 19 rows cannot make 20 leaves; at least 20 are right"},
      {[](auto& o, auto&) { o.models = 2; }, "2 [models] is 2; a tree is one model"},
      {[](auto& o, auto&) { o.model_seed = 2; }, "2 [model_seed] a tree has many fits"},
      {[](auto& o, auto&) { o.time_limit = 2; }, "2 [time_limit] a tree has none"},
      {[](auto& o, auto&) { o.empty = EmptyPolicy::kDrop; }, "2 [empty] a tree has k leaves"},
      {[](auto& o, auto&) { o.init = "best"; }, "2 [init]"},
      {[](auto& o, auto&) { o.backend = "none"; }, "2 [backend]"},
      {[](auto& o, auto& v) { v[150] = NAN, o.sample = 20; }, "3 [points] row 76, column 1"},
  };
  for (const auto& [spoil, expected] : all) {
    const std::string found = error_of(spoil);
    EXPECT_EQ(found.substr(0, expected.size()), expected);
  }
  const auto nothing = [](TreeOptions&, Values&) {};
  const std::atomic<bool> set{true};
  FitHooks hooks;
  hooks.cancel = &set;
  EXPECT_EQ(error_of(nothing, hooks), "5 [tree] it was stopped before all of its levels were split");
  hooks = {};
  hooks.checkpoint.every = -1;
  EXPECT_EQ(error_of(nothing, hooks).substr(0, 9), "2 [every]");
  hooks = {};
  hooks.initial = PointsView(x.data(), 20, 2);
  EXPECT_EQ(error_of(nothing, hooks).substr(0, 11), "2 [initial]");
  const std::vector<int64_t> starts(101);
  const SparseView sparse{x.data(), nullptr, starts.data(), 0, 100, 2};
  EXPECT_THROW(fit_tree(sparse.points(), {}, leaves(2)), Error);
}

TEST(Tree, AStopEndsTheFlatFitEarly) {
  const std::vector<float> x = mixture(2000, 4, 9);
  TreeOptions options = leaves(100);
  options.refine = 50;
  FitHooks hooks;
  bool flat = false;
  hooks.progress = [&](const Progress& progress) {
    flat |= progress.phase == "iterate" && progress.max_iteration == 50;
    return !flat;
  };
  const TreeResult result = fit_tree(PointsView(x.data(), 2000, 4), {}, options, hooks);
  EXPECT_TRUE(result.fit.interrupted);
  EXPECT_LT(result.fit.models[0].iterations, 50);
  EXPECT_EQ(result.fit.models[0].labels.size(), 2000);
  hooks.progress = [](const Progress&) { return false; };
  EXPECT_THROW(fit_tree(PointsView(x.data(), 2000, 4), {}, options, hooks), Error);
}

TEST(Tree, TellsHowManyRowsWaitForALeaf) {
  const std::vector<float> x(600, 3.0f);
  TreeOptions options = leaves(100);
  options.max_size = 6;
  std::vector<int64_t> placed;
  FitHooks hooks;
  hooks.progress = [&](const Progress& progress) {
    if (progress.phase == "sizes") placed.push_back(progress.iteration);
    if (progress.phase == "sizes") EXPECT_EQ(progress.max_iteration, 600);
    return placed.size() < 50;
  };
  EXPECT_THROW(fit_tree(PointsView(x.data(), 600, 1), {}, options, hooks), Error);
  ASSERT_EQ(placed.size(), 50U);
  for (size_t i = 0; i < placed.size(); ++i) EXPECT_EQ(placed[i], 6 * static_cast<int64_t>(i));
}

namespace fs = std::filesystem;

// Copies of the checkpoint while the tree is made, up to `most` of them, and of the one at its end.
std::vector<std::string> moments_of(const Tree& tree, const test::Folder& folder, const std::string& expected) {
  const std::string path = folder / "run";
  std::vector<std::string> moments;
  const auto take = [&] {
    if (!fs::exists(path)) return;
    moments.push_back(folder / std::to_string(moments.size()));
    fs::copy_file(path, moments.back());
  };
  FitHooks hooks;
  hooks.checkpoint = {path, 1, false};
  hooks.progress = [&](const Progress&) {
    take();
    return true;
  };
  EXPECT_EQ(outcome_of([&] { return tree.fit(hooks); }), expected) << tree.rows.name;
  if (expected.find(" rows, ") != std::string::npos) take();
  return moments;
}

TEST(Tree, GoesOnFromEveryMoment) {
  int64_t resumed = 0, refused = 0;
  for (uint64_t seed = 600; seed < 630 && !testing::Test::HasFailure(); ++seed) {
    Tree tree = random_tree(seed);
    if (seed % 3 == 0) tree.options.metric = Metric::kCosine;
    const std::string expected = outcome_of([&] { return tree.fit(); });
    const test::Folder folder;
    std::mt19937_64 random(seed);
    std::vector<std::string> moments = moments_of(tree, folder, expected);
    refused += moments.empty();
    std::shuffle(moments.begin(), moments.end(), random);
    for (size_t i = 0; i < std::min<size_t>(moments.size(), 5); ++i) {
      const int ranks = 1 + static_cast<int>(random() % 3);
      const std::vector<int64_t> ends = test::shard_ends(tree.rows.shape.n, ranks, seed);
      const auto errors = test::run_ranks(ranks, [&](Comm& comm) {
        TreeOptions options = tree.options;
        options.threads = 1 + static_cast<int>((seed + i) % 3);
        options.backend = (seed + i) % 4 == 0 ? "reference" : "cpu";
        if (i % 2 == 0) options.memory.bytes = int64_t{64} << 20;
        const test::Part part = test::part_of(tree.rows, ends, comm.rank());
        FitHooks hooks;
        hooks.checkpoint = {moments[i], static_cast<int64_t>(i), true};
        hooks.comm = shared(comm);
        EXPECT_EQ(outcome_of([&] { return fit_tree(part.points, part.weights, options, hooks); }), expected)
            << seed << " " << tree.rows.name << " " << moments[i] << " with " << ranks << " ranks";
      });
      for (const std::string& error : errors) EXPECT_EQ(error, "");
      ++resumed;
    }
  }
  EXPECT_GT(resumed, 100);
  EXPECT_LT(refused, 10);
}

// Ranks stop at any moment, and others go on.
TEST(Tree, RanksLeaveACheckpointForOthers) {
  const Tree tree{
      test::make_case(test::Family::kNormal, DataType::kFloat32, test::Weighting::kRanges, {600, 3, {40}}, 5),
      leaves(40)};
  const std::string expected = outcome_of([&] { return tree.fit(); });
  const test::Folder folder;
  const std::string path = folder / "c";
  std::string last;
  for (int run = 0; run < 40 && last != expected; ++run) {
    const int ranks = 1 + run % 3;
    std::vector<std::string> found(static_cast<size_t>(ranks));
    test::run_ranks(ranks, [&](Comm& comm) {
      const std::vector<int64_t> ends = test::shard_ends(600, ranks, 3);
      const test::Part part = test::part_of(tree.rows, ends, comm.rank());
      FitHooks hooks;
      hooks.comm = shared(comm);
      hooks.checkpoint = {path, 0, true};
      int64_t reports = 0;
      hooks.progress = [&](const Progress&) { return comm.rank() > 0 || ++reports < 3 + run; };
      found[static_cast<size_t>(comm.rank())] =
          outcome_of([&] { return fit_tree(part.points, part.weights, tree.options, hooks); });
    });
    last = found[0];
  }
  EXPECT_EQ(last, expected);
}

TEST(Tree, ACheckpointSavesPasses) {
  Tree tree{test::make_case(test::Family::kNormal, DataType::kFloat32, test::Weighting::kNone, {4000, 4, {100}}, 5),
            leaves(100)};
  tree.options.max_iter = tree.options.refine = 50;
  tree.options.tol = 0;
  const test::Folder folder;
  int64_t iterations = 0;
  FitHooks hooks;
  hooks.checkpoint = {folder / "c", 0, true};
  hooks.progress = [&](const Progress& progress) {
    iterations += progress.phase == "iterate";
    return true;
  };
  tree.fit(hooks);
  EXPECT_GT(std::exchange(iterations, 0), 50);
  tree.fit(hooks);
  EXPECT_LT(iterations, 10);
}

TEST(Tree, AnotherCheckpointIsRefused) {
  Tree tree{test::make_case(test::Family::kNormal, DataType::kFloat32, test::Weighting::kRanges, {500, 4, {30}}, 5),
            leaves(30)};
  const test::Folder folder;
  FitHooks hooks;
  hooks.checkpoint = {folder / "c", 0, true};
  const std::string expected = outcome_of([&] { return tree.fit(hooks); });
  EXPECT_EQ(outcome_of([&] { return tree.fit(hooks); }), expected);
  const auto refused = [&](const std::function<void(Tree&)>& change) {
    Tree other = tree;
    change(other);
    return outcome_of([&] { return other.fit(hooks); });
  };
  const std::string of = fmt::format("[{}] this checkpoint is of another fit: ", folder / "c");
  const std::vector<std::pair<std::function<void(Tree&)>, std::string>> all = {
      {[](Tree& t) { t.options.seed = 9; }, "2: " + of + "seed was 0 and is 9"},
      {[](Tree& t) { t.options.k = {31}; }, "2: " + of + "k was 30 and is 31"},
      {[](Tree& t) { t.options.refine = 3; }, "2: " + of + "refine was 2 and is 3"},
      {[](Tree& t) { t.options.sample = 400; }, "2: " + of + "sample was 0 and is 400"},
      {[](Tree& t) { t.options.quota = LeafQuota::kInertia; }, "2: " + of + "quota was rows and is inertia"},
      {[](Tree& t) { t.options.branching = 4; }, "2: " + of + "branching was 0 and is 4"},
      {[](Tree& t) { t.options.max_size = 40; }, "2: " + of + "max_size was 0 and is 40"},
      {[](Tree& t) { t.rows.weights.clear(); }, "3: " + of + "there were weights"},
      {[](Tree& t) { t.rows.shape.n = 499, t.rows.weights.pop_back(); }, "3: " + of + "the rows were 500 and are 499"},
  };
  for (const auto& [change, text] : all) EXPECT_EQ(refused(change).substr(0, text.size()), text);
  EXPECT_THROW(fit(tree.rows.points(), tree.rows.weights, tree.options, hooks), Error);
  const test::Folder plain;
  hooks.checkpoint.path = plain / "c";
  fit(tree.rows.points(), tree.rows.weights, tree.options, hooks);
  const std::string of_fit =
      fmt::format("2: [{}] this checkpoint is of another fit: branching was unknown", plain / "c");
  EXPECT_EQ(outcome_of([&] { return tree.fit(hooks); }).substr(0, of_fit.size()), of_fit);
  hooks.checkpoint.path = folder / "c";
  CheckpointFile file = load_checkpoint(folder / "c");
  file.models[1].prototypes = Matrix(17, 4, DataType::kFloat32);
  save_checkpoint(folder / "c", file);
  EXPECT_NE(outcome_of([&] { return tree.fit(hooks); }).find("what it says of model k = "), std::string::npos);
  fs::resize_file(folder / "c", fs::file_size(folder / "c") - 100);
  EXPECT_EQ(outcome_of([&] { return tree.fit(hooks); }).substr(0, 4), "3: [");
}

}  // namespace
}  // namespace manymeans
