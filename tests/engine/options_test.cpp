#include <manymeans/error.h>
#include <manymeans/options.h>

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>

namespace manymeans {
namespace {

using List = std::vector<int64_t>;

TEST(ParseKList, ReadsNumbersListsRangesAndSteps) {
  EXPECT_EQ(parse_k_list("8"), List({8}));
  EXPECT_EQ(parse_k_list("8,16,32"), List({8, 16, 32}));
  EXPECT_EQ(parse_k_list("2..5"), List({2, 3, 4, 5}));
  EXPECT_EQ(parse_k_list("2..9:3"), List({2, 5, 8}));
  EXPECT_EQ(parse_k_list("7..7"), List({7}));
  EXPECT_EQ(parse_k_list("3,10..12,20..40:20"), List({3, 10, 11, 12, 20, 40}));
}

TEST(ParseKList, RefusesEverythingElse) {
  for (const char* text : {"", ",", "8,", "a", "8x", "2..", "..5", "5..2", "2..9:0", "2..9:-1", "2...5", "1e3", "8 ",
                           "99999999999999999999", "1..99999999999", "2..5:2:2"}) {
    EXPECT_THROW(parse_k_list(text), Error) << text;
  }
}

TEST(ParseKList, RangesAtTheEndsOfTheIntegers) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(parse_k_list("9223372036854775805..9223372036854775807"), List({kMax - 2, kMax - 1, kMax}));
  EXPECT_EQ(parse_k_list("9223372036854775804..9223372036854775807:2"), List({kMax - 3, kMax - 1}));
  EXPECT_EQ(parse_k_list("3..5:9223372036854775807"), List({3}));
  EXPECT_EQ(parse_k_list("-2..9223372036854775807:9223372036854775807"), List({-2, kMax - 2}));
  EXPECT_EQ(parse_k_list("-9223372036854775807..9223372036854775807:9223372036854775807"), List({-kMax, 0, kMax}));
  EXPECT_EQ(parse_k_list("1..1000000").size(), 1000000u);
  std::string twos = "2";
  for (int i = 0; i < 1000000; ++i) twos += ",2";
  for (const std::string& text : {std::string("-9223372036854775808..9223372036854775807"), std::string("1..1000001"),
                                  std::string("1..600000,1..600000"), std::string("1..1000000,5"), twos}) {
    try {
      parse_k_list(text);
      ADD_FAILURE() << text.substr(0, 50);
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("more than 1000000 numbers"), std::string::npos) << error.what();
    }
  }
}

FitOptions with(auto change) {
  FitOptions options;
  change(options);
  return options;
}

TEST(CheckOptions, AcceptsTheDefaults) {
  EXPECT_NO_THROW(check(FitOptions()));
}

TEST(CheckOptions, NamesTheWrongParameter) {
  const auto expect_named = [](const FitOptions& options, const std::string& name) {
    try {
      check(options);
      FAIL() << name << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUsage);
      EXPECT_EQ(std::string(error.what()).rfind("[" + name + "]", 0), 0U) << error.what();
    }
  };
  expect_named(with([](auto& o) { o.k = {}; }), "k");
  expect_named(with([](auto& o) { o.k = {0}; }), "k");
  expect_named(with([](auto& o) { o.k = {-3}; }), "k");
  expect_named(with([](auto& o) { o.k = {int64_t{1} << 32}; }), "k");
  expect_named(with([](auto& o) { o.k = {8, 4, 8}; }), "k");
  expect_named(with([](auto& o) { o.models = 0; }), "models");
  expect_named(with([](auto& o) { o.models = 2, o.model_seed = 5; }), "model_seed");
  expect_named(with([](auto& o) { o.k = {2, 3}, o.model_seed = 5; }), "model_seed");
  expect_named(with([](auto& o) { o.max_iter = -1; }), "max_iter");
  expect_named(with([](auto& o) { o.tol = -1e-9; }), "tol");
  expect_named(with([](auto& o) { o.tol = std::stod("nan"); }), "tol");
  expect_named(with([](auto& o) { o.time_limit = -1; }), "time_limit");
  expect_named(with([](auto& o) { o.threads = -1; }), "threads");
  expect_named(with([](auto& o) { o.memory.bytes = -1; }), "memory");
  expect_named(with([](auto& o) { o.stop = "soon"; }), "stop");
}

TEST(ForEachOption, NamesEveryOptionOnce) {
  FitOptions options;
  std::set<std::string> names;
  std::set<std::string> flags;
  for_each_option(options, [&](const OptionInfo& info, auto&) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_TRUE(flags.insert(info.flags).second) << info.flags;
    EXPECT_GT(std::string(info.help).size(), 10U);
  });
  EXPECT_EQ(names.size(), 18U);
}

TEST(Names, RoundTrip) {
  for (const Strategy s : {Strategy::kConcatenated, Strategy::kData, Strategy::kTask}) {
    EXPECT_EQ(find_named<Strategy>(name_of(s)), s);
  }
  for (const EmptyPolicy p : {EmptyPolicy::kFarthest, EmptyPolicy::kKeep, EmptyPolicy::kDrop, EmptyPolicy::kError}) {
    EXPECT_EQ(find_named<EmptyPolicy>(name_of(p)), p);
  }
  for (const Metric m : {Metric::kEuclidean, Metric::kCosine}) EXPECT_EQ(find_named<Metric>(name_of(m)), m);
  EXPECT_FALSE(find_named<Metric>("angle"));
  EXPECT_FALSE(find_named<Strategy>("both"));
  EXPECT_FALSE(find_named<EmptyPolicy>(""));
}

}  // namespace
}  // namespace manymeans
