#include "core/digest.h"

#include <manymeans/result.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace manymeans::test {
namespace {

LabelSum wide(uint64_t high, uint64_t low) {
  return static_cast<LabelSum>(high) << 64 | low;
}

ModelResult small_model() {
  ModelResult model;
  model.k = 3;
  model.prototypes = Matrix(3, 2, DataType::kFloat32);
  const float values[] = {0, 1, 2, 3, 4.5f, -6};
  std::copy(std::begin(values), std::end(values), model.prototypes.values<float>().begin());
  model.inertia = 2.5;
  model.iterations = 7;
  model.stop_reason = StopReason::kStrict;
  model.labels = Labels(4, 3);
  const uint32_t labels[] = {0, 1, 2, 1};
  model.labels.write(0, 4, labels);
  return model;
}

// Pinned values come from an implementation of Philox and a byte layout written apart from the library's.
TEST(LabelTerm, IsPinned) {
  EXPECT_EQ(label_term(0, 0), wide(0x83d1122d3bbc2940, 0x8471c1fd569a5251));
  EXPECT_EQ(label_term((int64_t{1} << 33) + 5, 7), wide(0x3e0eae96232fb39b, 0x6c06de7129c89d07));
}

TEST(LabelSum, IsPinnedAndTheSumOfItsTerms) {
  EXPECT_EQ(label_sum(small_model().labels), wide(0x65801a0ecc19731a, 0x56746b8a331bd181));
}

TEST(LabelSum, DoesNotDependOnOrderWidthOrHistory) {
  std::mt19937_64 random(11);
  const int64_t n = 10007;
  Labels narrow(n, 200), wider(n, 70000);
  LabelSum kept = 0;
  std::vector<uint32_t> labels(static_cast<size_t>(n), 0);
  for (int64_t i = 0; i < n; ++i) kept += label_term(i, 0);
  for (int round = 0; round < 30000; ++round) {  // incremental changes, in any order
    const auto row = static_cast<size_t>(random() % static_cast<uint64_t>(n));
    const auto label = static_cast<uint32_t>(random() % 200);
    kept += label_term(static_cast<int64_t>(row), label) - label_term(static_cast<int64_t>(row), labels[row]);
    labels[row] = label;
  }
  narrow.write(0, n, labels.data());
  wider.write(0, n, labels.data());
  EXPECT_EQ(label_sum(narrow), kept);
  EXPECT_EQ(label_sum(wider), kept);
}

TEST(LabelSum, TellsSwappedLabelsApart) {
  Labels a(2, 2), b(2, 2);
  const uint32_t first[] = {0, 1}, second[] = {1, 0};
  a.write(0, 2, first);
  b.write(0, 2, second);
  EXPECT_NE(label_sum(a), label_sum(b));
}

TEST(Digest, IsPinned) {
  EXPECT_EQ(small_model().digest(), "68239ad0224cec49485f1aedb8c912af");
  FitResult result;
  result.models.push_back(small_model());
  EXPECT_EQ(result.digest(), "637104b47cb95d73180f57d70b8410a1");
}

TEST(Digest, CoversEverythingOfTheAnswer) {
  const std::string original = small_model().digest();
  const auto differs = [&](auto change) {
    ModelResult model = small_model();
    change(model);
    return model.digest() != original;
  };
  EXPECT_TRUE(differs([](ModelResult& m) { m.k = 4; }));
  EXPECT_TRUE(differs([](ModelResult& m) { m.prototypes.values<float>()[3] = 3.0000002f; }));
  EXPECT_TRUE(differs([](ModelResult& m) { m.inertia = 2.5000000000000004; }));
  EXPECT_TRUE(differs([](ModelResult& m) { m.iterations = 8; }));
  EXPECT_TRUE(differs([](ModelResult& m) { m.stop_reason = stop_reason_named("tol"); }));
  EXPECT_TRUE(differs([](ModelResult& m) {
    const uint32_t label = 1;
    m.labels.write(0, 1, &label);
  }));
  EXPECT_FALSE(differs([](ModelResult& m) { m.seconds = 99; }));
}

TEST(Digest, FitsEndedFromOutsideShareTheCodeOfMaxIter) {
  const auto code = static_cast<uint32_t>(StopReason::kMaxIter);
  EXPECT_EQ(digest_code(StopReason::kTimeLimit), code);
  EXPECT_EQ(digest_code(StopReason::kCallback), code);
  EXPECT_EQ(digest_code(StopReason::kInterrupted), code);
  EXPECT_EQ(digest_code(StopReason::kStrict), 1u);
}

}  // namespace
}  // namespace manymeans::test
