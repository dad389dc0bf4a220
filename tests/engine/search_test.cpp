#include <manymeans/error.h>
#include <manymeans/info.h>
#include <manymeans/optimal_1d.h>
#include <manymeans/search.h>
#include <manymeans/sparse.h>

#include "io/files.h"
#include "small_data.h"
#include "textbook_search.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <string>
#include <vector>

namespace manymeans::test {
namespace {

SearchOptions rounds(int64_t k, int64_t count) {
  SearchOptions options;
  options.k = {k};
  options.rounds = count;
  options.trials = 5;
  options.threads = 2;
  return options;
}

std::vector<double> some_weights(int64_t n) {
  std::vector<double> weights;
  for (int64_t i = 0; i < n; ++i) weights.push_back(i % 7 == 0 ? 0 : 0.3 + static_cast<double>(i % 5));
  return weights;
}

TEST(Search, IsThatOfTheContract) {
  const std::vector<float> x = mixture(400, 3, 1, 9);
  const PointsView points(x.data(), 400, 3);
  for (const bool weighted : {false, true}) {
    const std::vector<double> weights = weighted ? some_weights(400) : std::vector<double>();
    for (const int64_t k : {2, 12, 30}) {
      SearchOptions options = rounds(k, 20);  // so many that a round has more trials than the first
      options.trials = 6;
      const SearchResult found = search(points, weights, options);
      const ModelResult expected = TextbookSearch(points, weights, options).run();
      EXPECT_EQ(found.fit.models[0].digest(), expected.digest()) << k << weighted;
      EXPECT_EQ(found.fit.models[0].init, "search");
      EXPECT_EQ(found.searches[0].rounds, 20);
      EXPECT_LE(found.fit.models[0].inertia, found.searches[0].steps.back().inertia);
    }
  }
}

// Rows near few directions and rows all around, of any length, some of them weightless.
TEST(Search, OfDirectionsIsThatOfTheContract) {
  for (const int64_t d : {2, 3, 7}) {
    std::vector<float> x = mixture(300, d, static_cast<unsigned>(d), 9);
    for (size_t i = 0; i < x.size(); ++i) x[i] *= 1 + static_cast<float>(i / static_cast<size_t>(d) % 13);
    const PointsView points(x.data(), 300, d);
    for (const int64_t k : {2, 12, 30}) {
      SearchOptions options = rounds(k, 12);
      options.metric = Metric::kCosine;
      const std::vector<double> weights = k == 12 ? some_weights(300) : std::vector<double>();
      const ModelResult expected = TextbookSearch(points, weights, options).run();
      for (const Choice& backend : info().backends) {
        if (!backend.available) continue;
        options.backend = backend.name;
        for (options.threads = 1; options.threads <= 2; ++options.threads) {
          const SearchResult found = search(points, weights, options);
          EXPECT_EQ(found.fit.models[0].digest(), expected.digest()) << backend.name << d << k;
          EXPECT_LE(found.fit.models[0].inertia, found.searches[0].steps.back().inertia);
        }
      }
    }
  }
}

TEST(Search, HasOneAnswer) {
  const std::vector<float> x = mixture(1500, 4, 2, 12);
  const PointsView points(x.data(), 1500, 4);
  const std::vector<double> weights = some_weights(1500);
  SearchOptions options = rounds(20, 15);
  const std::string expected = search(points, weights, options).fit.digest();
  for (const int threads : {1, 3, 7}) {  // 7: some of them make a trial together
    options.threads = threads;
    EXPECT_EQ(search(points, weights, options).fit.digest(), expected);
  }
  for (const char* algorithm : {"matrix", "bounds", "kdtree", "brute"}) {
    options.algorithm = algorithm;
    EXPECT_EQ(search(points, weights, options).fit.digest(), expected) << algorithm;
  }
  options.algorithm = "auto";
  for (const Strategy strategy : {Strategy::kData, Strategy::kTask}) {
    options.strategy = strategy;
    EXPECT_EQ(search(points, weights, options).fit.digest(), expected);
  }
  for (const Choice& backend : info().backends) {
    if (!backend.available) continue;
    options.backend = backend.name;
    EXPECT_EQ(search(points, weights, options).fit.digest(), expected) << backend.name;
  }
}

// Of whatever type and shape: the points, how many clusters, and weights.
struct SearchCase {
  PointsView points;
  int64_t k;
  bool weighted = false;
};

// Rows of equal distances, many duplicates, clusters of one row, one column and many, two clusters and none to swap.
TEST(Search, HasOneAnswerOnEveryBackend) {
  const std::vector<float> x = mixture(1000, 3, 20, 9), wide = mixture(120, 200, 21, 4);
  const std::vector<double> doubles(x.begin(), x.end());
  std::vector<uint8_t> bytes;
  std::vector<float> grid;
  for (const float v : x) {
    bytes.push_back(static_cast<uint8_t>(100 + 10 * v));
    grid.push_back(static_cast<float>(static_cast<int>(v)));
  }
  const std::vector<SearchCase> cases = {{{x.data(), 300, 3}, 1},
                                         {{x.data(), 900, 2}, 2},
                                         {{x.data(), 300, 1}, 9, true},
                                         {{x.data(), 60, 3}, 50},
                                         {{grid.data(), 1000, 2}, 7},
                                         {{grid.data(), 1000, 2}, 40, true},
                                         {{wide.data(), 120, 200}, 6},
                                         {{doubles.data(), 400, 7, DataType::kFloat64}, 12, true},
                                         {{bytes.data(), 180, 16, DataType::kUInt8}, 12}};
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto& [points, k, weighted] = cases[i];
    const std::vector<double> weights = weighted ? some_weights(points.n) : std::vector<double>();
    SearchOptions options = rounds(k, 12);
    options.backend = "cpu";
    const std::string expected = search(points, weights, options).fit.digest();
    for (const Choice& backend : info().backends) {
      if (!backend.available) continue;
      options.backend = backend.name;
      EXPECT_EQ(search(points, weights, options).fit.digest(), expected) << backend.name << " case " << i;
    }
  }
}

// Of one column the optimum is known.
TEST(Search, OneColumnHasTheOptimum) {
  const std::vector<float> x = mixture(300, 1, 30);
  const std::vector<double> wide(x.begin(), x.end());
  const std::vector<uint8_t> bytes(x.begin(), x.end());
  std::vector<int32_t> columns(300, 0);
  std::vector<int64_t> starts(301);
  std::iota(starts.begin(), starts.end(), int64_t{0});
  const SparseView sparse{x.data(), columns.data(), starts.data(), 300, 300, 1};
  const std::vector<PointsView> all = {{x.data(), 300, 1},
                                       {wide.data(), 300, 1, DataType::kFloat64},
                                       {bytes.data(), 300, 1, DataType::kUInt8},
                                       sparse.points()};
  for (size_t i = 0; i < all.size(); ++i) {
    for (const bool weighted : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", i, weighted));
      const std::vector<double> weights = weighted ? some_weights(300) : std::vector<double>();
      SearchOptions options = rounds(1, 3);
      options.k = {1, 2, 9, 40};
      options.models = 2;
      const SearchResult found = search(all[i], weights, options);
      const PointsView& dense = all[i == 3 ? 0 : i];
      for (size_t m = 0; m < found.fit.models.size(); ++m) {
        const ModelResult& model = found.fit.models[m];
        const Optimal1d optimum = optimal_1d({dense.data, 1, 300, dense.type}, weights, {.k = {model.k_requested}});
        EXPECT_EQ(model.init, "optimal");
        EXPECT_EQ(model.inertia, optimum.models[0].inertia);
        EXPECT_EQ(model.counts.size(), static_cast<size_t>(model.k_requested));
        EXPECT_EQ(found.searches[m].rounds, 0);
        EXPECT_TRUE(found.searches[m].ended);
        EXPECT_EQ(found.searches[m].steps.at(0).inertia, model.inertia);
        if (model.k_requested > optimum.models[0].k) continue;  // of few distinct bytes
        FitHooks hooks;
        hooks.initial = optimum.models[0].prototypes.view();
        FitOptions fitted;
        fitted.k = {model.k_requested};
        EXPECT_EQ(model.digest(), fit(dense, weights, fitted, hooks).models[0].digest());
      }
    }
  }
  SearchOptions options = rounds(2, 3);
  options.metric = Metric::kCosine;
  EXPECT_EQ(search({x.data(), 300, 1}, {}, options).fit.models[0].init, "search");
}

TEST(Search, OneColumnGoesOnFromItsCheckpoint) {
  const Folder folder;
  const std::vector<float> x = mixture(300, 1, 30);
  const SearchOptions options = rounds(9, 3);
  FitHooks hooks;
  hooks.checkpoint.path = folder / "c.ckpt";
  const SearchResult first = search({x.data(), 300, 1}, {}, options, hooks);
  hooks.checkpoint.resume = true;
  const SearchResult again = search({x.data(), 300, 1}, {}, options, hooks);
  EXPECT_EQ(again.fit.digest(), first.fit.digest());
  EXPECT_EQ(again.fit.models[0].init, "optimal");
  EXPECT_TRUE(again.searches[0].ended);
  EXPECT_EQ(again.searches[0].steps.size(), 1U);
}

// Evenly spaced values take seconds.
TEST(Search, ATimeLimitEndsTheSearchForTheOptimum) {
  std::vector<float> x(400'000);
  std::iota(x.begin(), x.end(), 0.0F);
  SearchOptions options = rounds(255, 3);
  options.time_limit = 0.05;
  const SearchResult found = search({x.data(), std::ssize(x), 1}, {}, options);
  EXPECT_EQ(found.fit.models[0].stop_reason, StopReason::kTimeLimit);
  EXPECT_EQ(found.fit.models[0].init, "k-means++");
}

TEST(Search, WarnsWhereRoundingMovesTheOptimum) {
  const std::vector<double> x = {1, 2, 3, 1e110};
  const std::vector<std::string> warnings = search({x.data(), 4, 1}, {}, rounds(3, 3)).fit.warnings;
  const auto is_wanted = [](const std::string& text) { return text.find("rounding moves val") != std::string::npos; };
  EXPECT_EQ(std::ranges::count_if(warnings, is_wanted), 1);
}

TEST(Search, FindsMoreThanManyFits) {
  const std::vector<float> x = mixture(2000, 2, 3, 40);
  const PointsView points(x.data(), 2000, 2);
  FitOptions many = options({40}, 50);
  const FitResult fits = fit(points, {}, many);
  const SearchResult found = search(points, {}, rounds(40, 20));
  EXPECT_LT(found.fit.models[0].inertia, fits.models[static_cast<size_t>(fits.best(40))].inertia);
  const std::vector<SearchStep>& steps = found.searches[0].steps;
  for (size_t i = 1; i < steps.size(); ++i) EXPECT_LT(steps[i].inertia, steps[i - 1].inertia);
}

TEST(Search, TakesWhateverRowsThereAre) {
  const std::vector<float> equal(60, 4.0F);
  std::vector<float> pairs;
  for (int i = 0; i < 60; ++i) pairs.push_back(static_cast<float>(i % 3));
  const std::vector<float> x = mixture(12, 2, 4);
  for (const int64_t k : {1, 2, 5, 30}) {
    EXPECT_EQ(search({equal.data(), 30, 2}, {}, rounds(k, 4)).fit.models[0].inertia, 0);
    const SearchResult few = search({pairs.data(), 60, 1}, {}, rounds(k, 4));
    EXPECT_EQ(few.fit.models[0].inertia == 0, k >= 3) << k;
  }
  for (const int64_t k : {1, 11, 12}) {
    const SearchResult found = search({x.data(), 12, 2}, {}, rounds(k, 4));
    EXPECT_EQ(found.fit.models[0].inertia == 0, k == 12);
    EXPECT_EQ(found.fit.models[0].k, k);
  }
}

TEST(Search, KnowsAllNumberTypes) {
  std::vector<uint8_t> bytes;
  std::vector<float> floats;
  std::vector<double> doubles;
  for (const float v : mixture(300, 2, 5)) {
    bytes.push_back(static_cast<uint8_t>(100 + 10 * v));
    floats.push_back(bytes.back());
    doubles.push_back(v);
  }
  const SearchResult narrow = search({bytes.data(), 150, 4, DataType::kUInt8}, {}, rounds(9, 6));
  const SearchResult wide = search({floats.data(), 150, 4}, {}, rounds(9, 6));
  EXPECT_EQ(narrow.fit.digest(), wide.fit.digest());
  const SearchResult widest = search({doubles.data(), 150, 4}, {}, rounds(9, 6));
  EXPECT_EQ(widest.fit.models[0].prototypes.type(), DataType::kFloat64);
}

TEST(Search, IsReproducedByItsRounds) {
  const std::vector<float> x = mixture(900, 2, 6, 20);
  const PointsView points(x.data(), 900, 2);
  SearchOptions options = rounds(15, 0);
  options.search_time = 0.05;
  const SearchResult timed = search(points, {}, options);
  EXPECT_FALSE(timed.fit.interrupted);
  options.rounds = timed.searches[0].rounds;
  if (options.rounds > 0) EXPECT_EQ(search(points, {}, options).fit.digest(), timed.fit.digest());
}

TEST(Search, HasItsBestWhenSomebodyStopsIt) {
  const std::vector<float> x = mixture(900, 2, 7, 20);
  const PointsView points(x.data(), 900, 2);
  SearchOptions options = rounds(15, 1'000'000);
  FitHooks hooks;
  double shown = 0;
  hooks.progress = [&](const Progress& progress) {
    if (progress.phase != "search") return true;
    shown = progress.inertia_estimate;
    return progress.iteration < 12;
  };
  const SearchResult stopped = search(points, {}, options, hooks);
  EXPECT_TRUE(stopped.fit.interrupted);
  EXPECT_EQ(stopped.searches[0].rounds, 12);
  EXPECT_EQ(stopped.fit.models[0].inertia, shown);
  options.rounds = 12;
  options.max_iter = stopped.fit.models[0].iterations;
  EXPECT_EQ(search(points, {}, options).fit.digest(), stopped.fit.digest());
  std::atomic<bool> flag = true;
  hooks.progress = {};
  hooks.cancel = &flag;
  EXPECT_TRUE(search(points, {}, options, hooks).fit.interrupted);
}

// The second model has not begun then, and the first one has what its search has found.
TEST(Search, KeepsWhatOneOfSeveralModelsHasWhenSomebodyStopsIt) {
  const std::vector<float> x = mixture(3000, 2, 8, 40);
  SearchOptions options = rounds(20, 1'000'000);
  options.k = {20, 30};
  for (const Strategy strategy : {Strategy::kConcatenated, Strategy::kData, Strategy::kTask}) {
    options.strategy = strategy;
    std::atomic<bool> cancel = false;
    FitHooks hooks;
    hooks.cancel = &cancel;
    hooks.progress = [&](const Progress& progress) {
      if (progress.phase == "search" && progress.iteration >= 3) cancel = true;
      return true;
    };
    const SearchResult found = search({x.data(), 3000, 2}, {}, options, hooks);
    EXPECT_TRUE(found.fit.interrupted);
    EXPECT_EQ(found.fit.models[1].stop_reason, StopReason::kNotBegun);
    ASSERT_EQ(found.fit.models[0].labels.size(), 3000);
    EXPECT_GT(found.fit.models[0].inertia, 0);
    EXPECT_NE(found.fit.models[0].stop_reason, StopReason::kNotBegun);
  }
}

// Then nothing was sought, and the model is that of a fit.
TEST(Search, ATimeLimitLeavesTheFirstModel) {
  const std::vector<float> x = mixture(3000, 2, 8, 40);
  const PointsView points(x.data(), 3000, 2);
  const Folder folder;
  FitHooks hooks;
  hooks.checkpoint.path = folder / "run.ckpt";
  SearchOptions options = rounds(20, 3);
  options.k = {20, 30};
  const std::string whole = search(points, {}, options).fit.digest();
  options.time_limit = 1e-9;
  const SearchResult found = search(points, {}, options, hooks);
  EXPECT_EQ(found.fit.models[0].stop_reason, StopReason::kTimeLimit);
  EXPECT_EQ(found.fit.models[0].init, "k-means++");
  EXPECT_EQ(found.fit.models[1].stop_reason, StopReason::kNotBegun);
  EXPECT_EQ(found.searches[0].rounds, 0);
  FitOptions plain = options;
  plain.k = {20};
  plain.time_limit = 0;
  plain.max_iter = 0;
  EXPECT_EQ(fit(points, {}, plain).models[0].digest(), found.fit.models[0].digest());
  hooks.checkpoint.resume = true;
  options.time_limit = 0;
  EXPECT_EQ(search(points, {}, options, hooks).fit.digest(), whole) << "the search is not left out";
}

// A run that has no time to go on gives what the runs before it have found.
TEST(Search, AnotherRunWithoutTimeKeepsWhatWasFound) {
  const std::vector<float> x = mixture(3000, 2, 8, 40);
  const PointsView points(x.data(), 3000, 2);
  const Folder folder;
  SearchOptions options = rounds(20, 1'000'000);
  std::atomic<bool> cancel = false;
  FitHooks hooks;
  hooks.checkpoint = {folder / "run.ckpt", 1, false};
  hooks.cancel = &cancel;
  hooks.progress = [&](const Progress& progress) {
    if (progress.phase == "search" && progress.iteration >= 3) cancel = true;
    return true;
  };
  const SearchResult found = search(points, {}, options, hooks);
  hooks = {};
  hooks.checkpoint = {folder / "run.ckpt", 1, true};
  options.time_limit = 1e-9;
  const SearchResult again = search(points, {}, options, hooks);
  EXPECT_EQ(again.fit.models[0].stop_reason, StopReason::kTimeLimit);
  EXPECT_EQ(again.fit.models[0].init, "search");
  EXPECT_EQ(again.fit.models[0].digest(), found.fit.models[0].digest());
  EXPECT_EQ(again.searches[0].rounds, found.searches[0].rounds);
}

TEST(Search, BeginsWithWhatIsGiven) {
  const std::vector<float> x = mixture(300, 2, 8);
  const PointsView points(x.data(), 300, 2);
  const FitResult first = fit(points, {}, options({6}));
  FitHooks hooks;
  hooks.initial = first.models[0].prototypes.view();
  const SearchResult found = search(points, {}, rounds(6, 3), hooks);
  EXPECT_LE(found.searches[0].steps[0].inertia, first.models[0].inertia);
}

TEST(Search, SearchesForEachModel) {
  const std::vector<float> x = mixture(300, 2, 9);
  const PointsView points(x.data(), 300, 2);
  SearchOptions options = rounds(6, 3);
  options.k = {4, 9};
  options.models = 2;
  const SearchResult found = search(points, {}, options);
  ASSERT_EQ(found.fit.models.size(), 4U);
  ASSERT_EQ(found.searches.size(), 4U);
  options.k = {9};
  options.models = 1;
  options.model_seed = found.fit.models[3].seed;
  EXPECT_EQ(search(points, {}, options).fit.models[0].digest(), found.fit.models[3].digest());
}

TEST(Search, RefusesWhatItDoesNotKnow) {
  const std::vector<float> x = mixture(30, 2, 10);
  const PointsView points(x.data(), 30, 2);
  const auto message = [&](auto&& change) -> std::string {
    SearchOptions options = rounds(3, 2);
    change(options);
    try {
      search(points, {}, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUsage);
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message([](auto& o) { o.rounds = -1; }).find("rounds"), std::string::npos);
  EXPECT_NE(message([](auto& o) { o.trials = 0; }).find("trials"), std::string::npos);
  EXPECT_NE(message([](auto& o) { o.search_time = -1; }).find("[time] -1"), std::string::npos);
  EXPECT_NE(message([](auto& o) { o.search_time = o.rounds = 0; }).find("never end"), std::string::npos);
}

}  // namespace
}  // namespace manymeans::test
