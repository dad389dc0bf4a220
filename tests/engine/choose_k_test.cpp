// Numbers of clusters that are known, and points without any.
#include <manymeans/choose.h>
#include <manymeans/error.h>
#include <manymeans/io.h>

#include "core/all_labels.h"
#include "core/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace manymeans::test {
namespace {

// `k` round clusters on a grid, so many deviations apart; k = 1: one normal distribution.
std::vector<float> planted(int64_t n, int64_t d, int64_t k, float apart, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t cluster = i % k;
    for (int64_t j = 0; j < d; ++j) {
      const int64_t place = j == 0 ? cluster % 3 : j == 1 ? cluster / 3 : 0;
      values.push_back(normal(random) + apart * static_cast<float>(place));
    }
  }
  return values;
}

ChooseOptions up_to(int64_t most, int64_t models = 3) {
  ChooseOptions options;
  options.fit.k.resize(static_cast<size_t>(most - 1));
  std::iota(options.fit.k.begin(), options.fit.k.end(), 2);
  options.fit.models = models;
  options.sample = 50;
  return options;
}

// As the help of the program and the signature of Python have it.
TEST(ChooseK, ChoosesFromTwoToTwentyWhereNobodySaysOthers) {
  EXPECT_EQ(ChooseOptions().fit.k, parse_k_list("2..20"));
  EXPECT_EQ(ChooseOptions().fit.models, 10);
}

TEST(ChooseK, FindsPlantedClusters) {
  for (const int64_t k : {2, 3, 5, 7}) {
    const std::vector<float> values = planted(700, 2, k, 8, 10 + static_cast<uint64_t>(k));
    const ChosenK found = choose_k({values.data(), 700, 2}, up_to(10));
    EXPECT_EQ(found.k, k) << found.reason;
    ASSERT_EQ(found.evidence.size(), 10u);
    EXPECT_EQ(found.evidence[0].k, 1);
    EXPECT_EQ(found.status, ChoiceStatus::kFirm) << found.answer;
    EXPECT_EQ(found.votes.size(), 10u);
    EXPECT_NEAR(found.evidence[static_cast<size_t>(k) - 1].agreement, 1, 0.2);
  }
}

// Points that one column or all columns make long, skewed or heavy-tailed: whatever the seed, no k is firm.
TEST(ChooseK, IsNotFirmWhereThereAreNoClusters) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<float> uniform;
  std::student_t_distribution<float> heavy(2);
  int ones = 0;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    ChooseOptions options = up_to(6, 3);
    options.references = 3;
    options.fit.seed = seed;
    std::vector<float> normal = planted(400, 3, 1, 0, 100 + seed), box(1200), tails(1200), skewed(1200);
    for (float& value : box) value = uniform(random);
    for (float& value : tails) value = heavy(random);
    std::ranges::transform(normal, skewed.begin(), [](float value) { return std::exp(value); });
    for (const std::vector<float>& values : {normal, box, tails, skewed}) {
      const ChosenK found = choose_k({values.data(), 400, 3}, options);
      EXPECT_TRUE(found.status == ChoiceStatus::kOne || found.status == ChoiceStatus::kUnclear) << found.answer;
      ones += found.status == ChoiceStatus::kOne;
    }
  }
  EXPECT_GE(ones, 16);
}

// Without members no k is clear. The gap statistic still sees that there are no clusters.
TEST(ChooseK, UsesOneWithoutMembersWhereThereAreNoClusters) {
  int ones = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    ChooseOptions options = up_to(6, 2);
    options.bootstraps = 0;
    options.fit.seed = seed;
    const std::vector<float> normal = planted(300, 3, 1, 0, 100 + seed);
    const ChosenK found = choose_k({normal.data(), 300, 3}, options);
    EXPECT_EQ(found.status, ChoiceStatus::kUnclear);
    ones += found.k == 1;
  }
  EXPECT_GE(ones, 18);
}

TEST(ChooseK, IsTheSameOnEveryBackendAndNumberOfThreads) {
  const std::vector<float> values = planted(400, 2, 4, 5, 8);
  ChooseOptions options = up_to(6, 2);
  options.references = 3;
  options.bootstraps = 4;
  const ChosenK one = choose_k({values.data(), 400, 2}, options);
  for (const char* backend : {"cpu", "reference"}) {
    options.fit.backend = backend;
    options.fit.threads = backend[0] == 'c' ? 3 : 1;
    const ChosenK other = choose_k({values.data(), 400, 2}, options);
    EXPECT_EQ(other.k, one.k);
    for (size_t i = 0; i < one.evidence.size(); ++i) {
      EXPECT_EQ(std::bit_cast<uint64_t>(other.evidence[i].gap), std::bit_cast<uint64_t>(one.evidence[i].gap));
      EXPECT_EQ(std::bit_cast<uint64_t>(other.evidence[i].gap_error),
                std::bit_cast<uint64_t>(one.evidence[i].gap_error));
      EXPECT_EQ(std::bit_cast<uint64_t>(other.evidence[i].criteria.bic),
                std::bit_cast<uint64_t>(one.evidence[i].criteria.bic));
    }
  }
}

// The evidence of a k is that of its model fitted alone, and does not depend on the other k.
TEST(ChooseK, JudgesTheModelsOfTheirSeeds) {
  const std::vector<float> values = planted(300, 2, 3, 6, 4);
  const ChosenK found = choose_k({values.data(), 300, 2}, up_to(5));
  for (const Evidence& evidence : found.evidence) {
    FitOptions alone;
    alone.k = {evidence.k};
    alone.model_seed = evidence.model_seed;
    EXPECT_EQ(fit({values.data(), 300, 2}, {}, alone).models[0].inertia, evidence.inertia);
  }
}

bool same(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

// A fit makes the models, and the criteria judge rows of length one.
TEST(ChooseK, ChoosesByAngle) {
  std::vector<float> values = planted(600, 4, 4, 12, 5);
  for (size_t i = 0; i < values.size(); ++i) values[i] += i % 4 < 2 ? -12.0F : 9.0F;
  const PointsView points(values.data(), 600, 4);
  ChooseOptions options = up_to(7);
  options.fit.metric = Metric::kCosine;
  options.references = 3;
  options.bootstraps = 4;
  const ChosenK found = choose_k(points, options);
  EXPECT_EQ(found.k, 4) << found.reason;
  EXPECT_TRUE(found.left_out.empty());
  const Matrix unit = rows_of_length_one(points);
  for (const Evidence& its : found.evidence) {
    FitOptions alone = options.fit;
    alone.k = {its.k};
    alone.models = 1;
    alone.model_seed = its.model_seed;
    const ModelResult model = fit(points, {}, alone).models[0];
    EXPECT_EQ(model.inertia, its.inertia);
    const Criteria expected = criteria(unit.view(), all_labels(model.labels), {.sample = 50, .seed = options.fit.seed});
    EXPECT_TRUE(same(its.criteria.bic, expected.bic)) << its.k;
    EXPECT_TRUE(same(its.criteria.davies_bouldin, expected.davies_bouldin)) << its.k;
    EXPECT_TRUE(same(its.criteria.silhouette, expected.silhouette)) << its.k;
  }
  for (size_t i = 0; i < values.size(); ++i) values[i] *= static_cast<float>(1 << i / 4 % 5);
  options.fit.backend = "reference";
  options.fit.threads = 1;
  const ChosenK longer = choose_k(points, options);
  for (size_t i = 0; i < found.evidence.size(); ++i) {
    EXPECT_TRUE(same(longer.evidence[i].gap, found.evidence[i].gap)) << i;
    EXPECT_TRUE(same(longer.evidence[i].stability, found.evidence[i].stability)) << i;
    EXPECT_TRUE(same(longer.evidence[i].criteria.bic, found.evidence[i].criteria.bic)) << i;
  }
}

// Rows all around, and rows near one direction.
TEST(ChooseK, IsNotFirmWhereDirectionsHaveNoClusters) {
  for (const int64_t d : {3, 12}) {
    ChooseOptions options = up_to(6, 3);
    options.fit.metric = Metric::kCosine;
    options.references = 3;
    for (uint64_t seed = 0; seed < 5; ++seed) {
      options.fit.seed = seed;
      std::vector<float> values = planted(300, d, 1, 0, 200 + seed);
      EXPECT_NE(choose_k({values.data(), 300, d}, options).status, ChoiceStatus::kFirm) << d;
      for (float& value : values) value += 4;
      EXPECT_NE(choose_k({values.data(), 300, d}, options).status, ChoiceStatus::kFirm) << d;
    }
  }
}

// One sample serves all k, and each has the silhouette that it has alone.
TEST(ChooseK, SilhouettesAreThoseOfEachModelAlone) {
  const std::vector<float> values = planted(500, 3, 4, 4, 12);
  const ChosenK found = choose_k({values.data(), 500, 3}, up_to(6));
  for (const Evidence& evidence : found.evidence) {
    const auto model = std::ranges::find(found.fit.models, evidence.model_seed, &ModelResult::seed);
    ASSERT_NE(model, found.fit.models.end());
    const Criteria alone =
        criteria({values.data(), 500, 3}, all_labels(model->labels), {.sample = 50, .seed = up_to(6).fit.seed});
    const Criteria& its = evidence.criteria;
    EXPECT_EQ(std::bit_cast<uint64_t>(its.silhouette), std::bit_cast<uint64_t>(alone.silhouette)) << evidence.k;
    EXPECT_EQ(its.silhouette_rows, evidence.k == 1 ? 0 : 50);
    EXPECT_EQ(its.silhouette_error, alone.silhouette_error);
  }
}

// Sets of reference data have 32,768 rows at most, and their inertias count for as many rows as there are.
TEST(ChooseK, GapOfManyRowsIsThatOfTheTextbook) {
  constexpr int64_t kRows = 40'000, kOfReference = 32'768;
  std::vector<float> values = planted(kRows, 1, 2, 9, 4);
  const auto [least, most] = std::ranges::minmax(values);
  ChooseOptions options = up_to(2, 1);
  options.references = 1;
  options.bootstraps = 0;
  options.sample = 0;
  const ChosenK found = choose_k({values.data(), kRows, 1}, options);
  std::vector<float> uniform;
  for (int64_t i = 0; i < kOfReference; ++i) {
    const auto u = static_cast<double>(random_u64(0, static_cast<uint64_t>(i), 0, Purpose::kReferenceValue)) * 0x1p-64;
    uniform.push_back(static_cast<float>(double{least} + (double{most} - double{least}) * u));
  }
  FitOptions how;
  how.k = {1, 2};
  const FitResult of_reference = fit({uniform.data(), kOfReference, 1}, {}, how);
  for (size_t i = 0; i < 2; ++i) {
    const double expected = std::log(of_reference.models[i].inertia) +
                            std::log(static_cast<double>(kRows) / kOfReference) - std::log(found.evidence[i].inertia);
    EXPECT_DOUBLE_EQ(found.evidence[i].gap, expected);
  }
}

TEST(ChooseK, WithoutReferencesOrWithEqualRows) {
  const std::vector<float> values = planted(200, 2, 3, 9, 4);
  ChooseOptions options = up_to(5, 1);
  options.references = 0;
  const ChosenK found = choose_k({values.data(), 200, 2}, options);
  EXPECT_EQ(found.k, 3);
  EXPECT_TRUE(std::ranges::none_of(found.votes, [](const Vote& vote) { return vote.criterion == "gap"; }));
  EXPECT_TRUE(std::isnan(found.evidence[0].gap) && std::isnan(found.evidence[0].agreement));
  const std::vector<float> equal(20, 4.0F);
  EXPECT_EQ(choose_k({equal.data(), 10, 2}, up_to(3)).k, 1);
}

using Names = std::vector<std::string>;

// Nothing but the first model is there: from one number of clusters nothing is chosen.
TEST(ChooseK, WithoutTimeChoosesNothing) {
  const std::vector<float> values = planted(200, 2, 3, 9, 4);
  ChooseOptions options = up_to(5, 2);
  options.fit.time_limit = 1e-9;
  try {
    choose_k({values.data(), 200, 2}, options);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInterrupted);
    EXPECT_TRUE(std::string(error.what()).starts_with("[time_limit] 1e-09 s ended before two numbers")) << error.what();
  }
}

// Which fit it is that reports, the first being that of all models: each initialises and then iterates.
class CountedFits {
 public:
  int number_of(const Progress& progress) {
    const bool initialises = progress.phase == "initialise";
    if (initialises && iterated_) ++number_;
    iterated_ = !initialises;
    return number_;
  }

 private:
  int number_ = 1;
  bool iterated_ = false;
};

// Waits in the fit of this number until the time is up.
class Late {
 public:
  Late(int number, double limit) {
    hooks.pause = 0;
    hooks.progress = [this, number, limit](const Progress& progress) {
      if (fits_.number_of(progress) < number || waited) return true;
      waited = true;
      std::this_thread::sleep_for(std::chrono::duration<double>(1.1 * limit));
      return true;
    };
  }
  FitHooks hooks;
  bool waited = false;

 private:
  CountedFits fits_;
};

// The time limit is for judging, too: what is complete by then is what it is without a limit.
TEST(ChooseK, ATimeLimitEndsTheJudging) {
  const std::vector<float> values = planted(200, 2, 3, 9, 4);
  const PointsView points(values.data(), 200, 2);
  ChooseOptions options = up_to(4, 1);
  options.references = 2;
  options.bootstraps = 4;
  options.fit.threads = 1;
  const ChosenK whole = choose_k(points, options);
  EXPECT_TRUE(whole.left_out.empty());
  options.fit.time_limit = 1;
  for (const int number : {3, 5}) {  // the second set of reference data, the second member
    Late late(number, options.fit.time_limit);
    const ChosenK found = choose_k(points, options, late.hooks);
    if (!late.waited) GTEST_SKIP() << "this machine does not come so far in time";
    EXPECT_TRUE(found.interrupted);
    Names expected = {"prediction_strength", "stability", "pac", "valley"};
    if (number == 3) expected.insert(expected.begin(), "gap");
    EXPECT_EQ(found.left_out, expected);
    EXPECT_EQ(found.fit.digest(), whole.fit.digest());
    ASSERT_EQ(found.warnings.size(), 1U);
    EXPECT_EQ(found.warnings[0].find("stopped early by the time limit"), 0U) << found.warnings[0];
    ASSERT_EQ(found.evidence.size(), whole.evidence.size());
    for (size_t i = 1; i < found.evidence.size(); ++i) {
      const Evidence &its = found.evidence[i], &other = whole.evidence[i];
      EXPECT_EQ(its.criteria.bic, other.criteria.bic);
      EXPECT_EQ(its.criteria.silhouette, other.criteria.silhouette);
      EXPECT_TRUE(number == 3 ? std::isnan(its.gap) : its.gap == other.gap);
      EXPECT_TRUE(std::isnan(its.stability) && std::isnan(its.pac));
    }
  }
}

// The silhouette of so many rows takes many times as long as a second.
ChooseOptions of_long_silhouette(int64_t rows) {
  ChooseOptions options = up_to(2, 1);
  options.references = options.bootstraps = 0;
  options.sample = rows;
  return options;
}

TEST(ChooseK, ATimeLimitEndsTheSilhouette) {
  constexpr int64_t kRows = 100'000;
  const std::vector<float> values = planted(kRows, 1, 2, 90, 4);
  ChooseOptions options = of_long_silhouette(kRows);
  options.fit.time_limit = 2;
  const ChosenK found = choose_k({values.data(), kRows, 1}, options);
  EXPECT_TRUE(found.interrupted);
  EXPECT_EQ(found.left_out, Names{"silhouette"});
  EXPECT_FALSE(std::isnan(found.evidence[1].criteria.simplified_silhouette));
  EXPECT_TRUE(std::isnan(found.evidence[1].criteria.silhouette));
}

TEST(ChooseK, ACallerEndsTheSilhouette) {
  constexpr int64_t kRows = 100'000;
  const std::vector<float> values = planted(kRows, 1, 2, 90, 4);
  std::atomic<bool> flag = false;
  std::thread caller;
  FitHooks hooks;
  hooks.progress = [&](const Progress&) {
    if (caller.joinable()) return true;
    caller = std::thread([&] {
      std::this_thread::sleep_for(std::chrono::seconds(2));
      flag = true;
    });
    return true;
  };
  hooks.cancel = &flag;
  EXPECT_EQ(choose_k({values.data(), kRows, 1}, of_long_silhouette(kRows), hooks).left_out, Names{"silhouette"});
  caller.join();
  hooks.cancel = nullptr;
  hooks.abort = &flag;
  EXPECT_THROW(choose_k({values.data(), kRows, 1}, of_long_silhouette(kRows), hooks), Error);
}

// Who stops it is told the same, but for the reason.
TEST(ChooseK, ACallbackThatStopsItLeavesOutWhatIsNotMade) {
  const std::vector<float> values = planted(200, 2, 3, 9, 4);
  FitHooks hooks;
  hooks.pause = 0;
  hooks.progress = [fits = CountedFits()](const Progress& progress) mutable { return fits.number_of(progress) < 2; };
  const ChosenK found = choose_k({values.data(), 200, 2}, up_to(4, 1), hooks);
  EXPECT_EQ(found.left_out, (Names{"gap", "prediction_strength", "stability", "pac", "valley"}));
  EXPECT_EQ(found.warnings.back().find("stopped early: k is chosen by what there was, without gap, "), 0U);
  EXPECT_FALSE(std::isnan(found.evidence[1].criteria.silhouette));
}

TEST(ChooseK, RefusesWhatMakesNoSense) {
  const std::vector<float> values = planted(50, 2, 3, 9, 4);
  ChooseOptions options = up_to(3);
  options.references = -1;
  EXPECT_THROW(choose_k({values.data(), 50, 2}, options), Error);
  options = up_to(3);
  options.fit.model_seed = 1;
  EXPECT_THROW(choose_k({values.data(), 50, 2}, options), Error);
  options = up_to(60);
  EXPECT_THROW(choose_k({values.data(), 50, 2}, options), Error);
}

}  // namespace
}  // namespace manymeans::test
