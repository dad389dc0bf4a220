// Every backend, instruction set, number of threads and algorithm against the reference: equality of everything.
#include "conformance/cases.h"
#include "conformance/trace.h"
#include "conformance/variants.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace manymeans::test {
namespace {

constexpr std::array<int, 4> kThreads = {1, 2, 3, 7};
constexpr std::array<const char*, 5> kAlgorithms = {"matrix", "brute", "auto", "kdtree", "bounds"};
constexpr uint64_t kRandomCases = 500;

std::vector<Target> all_targets() {
  std::vector<Target> all = targets();
  for (Target& target : async_targets()) all.push_back(std::move(target));
  return all;
}

class BackendConformance : public testing::Test {
 protected:
  void SetUp() override {
    if (targets_.empty()) GTEST_SKIP() << "there is no backend to compare with the reference";
  }

  void compare(const Target& target, const Case& made, const Trace& expected, int threads, const char* algorithm) {
    if (!takes(target, algorithm, made.shape.d)) return;
    const std::unique_ptr<Backend> backend = target.make(algorithm, threads);
    if (!target.instruction_set.empty()) {
      ASSERT_EQ(backend->instruction_set(), target.instruction_set);
    }
    const Trace found = trace_of(*backend, made);
    ++compared_;
    EXPECT_EQ(first_difference(expected, found), "")
        << made.name << " on " << target.name() << ", " << threads << " threads, " << algorithm;
    EXPECT_EQ(found.skipped + found.certified + found.resolved, found.labelled) << made.name << " on " << target.name();
    if (std::string(algorithm) == "brute") {
      EXPECT_EQ(found.certified, 0);
    }
    if (std::string(algorithm) == "matrix") {
      EXPECT_EQ(found.skipped, 0);
    }
    skipped_ += found.skipped;
  }

  bool has_bounds() const {
    return std::any_of(targets_.begin(), targets_.end(), [](const Target& t) { return takes(t, "bounds", 1); });
  }

  // Each case runs three fifths of the targets and algorithms, and a seventh of the slow ones. OpenCL is slow because
  // it builds kernels for most cases. The portable screens of bytes and of pairs are slow without instructions of their
  // own. 12 shapes share no factor with 5 or 7, so every target meets every shape. MANYMEANS_TEST_* selects targets,
  // which run always.
  static bool has_turn(const Target& target, size_t turn) {
    const bool without_instructions = target.instruction_set == "portable" && target.screen_format != "float32";
    const bool slow = target.backend == "opencl" || without_instructions;
    return asks_for_some() || (slow ? turn % 7 == 0 : turn % 5 < 3);
  }

  Trace expected(const Case& made) { return trace_of(*reference_, made); }

  std::vector<Target> targets_ = all_targets();
  std::unique_ptr<Backend> reference_ = make_backend("reference", {});
  int64_t compared_ = 0;
  int64_t skipped_ = 0;  // by bounds
};

TEST_F(BackendConformance, HostileFamilies) {
  size_t number = 0;
  for (const Case& made : hostile_cases()) {
    const Trace oracle = expected(made);
    size_t turn = ++number;  // so that each target and algorithm has another one in the next case
    for (const Target& target : targets_) {
      for (const char* algorithm : {"matrix", "bounds", "brute", "kdtree", "auto"}) {
        if (!tells_formats_apart(target, algorithm)) continue;
        if (std::string(algorithm) == "auto" && !looks_in_bytes(target, made.shape.d)) continue;
        if (target.backend != "cpu") {  // its host threads compute nothing
          if (has_turn(target, ++turn)) compare(target, made, oracle, 1, algorithm);
          continue;
        }
        // Each comparison takes one of the four numbers of threads. A shape has both types in two families; the next
        // two have another number.
        if (!has_turn(target, ++turn)) continue;
        const size_t families = (number - 1) / (2 * kHostileShapes);
        compare(target, made, oracle, kThreads[(turn + families) % kThreads.size()], algorithm);
      }
    }
    if (HasFailure()) return;  // the first case says enough
  }
  if (has_bounds()) {
    EXPECT_GT(skipped_, 0) << "no row was ever kept by its bounds";
  }
  fmt::print("{} comparisons, {} rows kept by bounds\n", compared_, skipped_);
}

TEST_F(BackendConformance, RandomCases) {
  for (uint64_t seed = 0; seed < kRandomCases; ++seed) {
    const Case made = random_case(seed);
    const Trace oracle = expected(made);
    for (size_t t = 0; t < targets_.size(); ++t) {
      // Different numbers of threads and algorithms meet every instruction set as the cases go by.
      const int threads = kThreads[(seed + t) % kThreads.size()];
      if (!has_turn(targets_[t], seed + t)) continue;
      compare(targets_[t], made, oracle, threads, kAlgorithms[(seed / kThreads.size() + t) % kAlgorithms.size()]);
    }
    if (HasFailure()) return;
  }
  if (has_bounds()) {
    EXPECT_GT(skipped_, 0) << "no row was ever kept by its bounds";
  }
  fmt::print("{} comparisons, {} rows kept by bounds\n", compared_, skipped_);
}

// A session may be given fewer threads than its backend has, and sessions may live side by side.
TEST_F(BackendConformance, SessionsWithTheirOwnThreads) {
  const Case made = make_case(Family::kClusters, DataType::kFloat32, Weighting::kZeros, {5003, 5, {12, 4}}, 77);
  const Trace oracle = expected(made);
  for (const Target& target : targets_) {
    const std::unique_ptr<Backend> backend = target.make("auto", 3);
    for (const int threads : {1, 2, 3}) EXPECT_EQ(first_difference(oracle, trace_of(*backend, made, threads)), "");
  }
}

// The comparison itself must notice a wrong answer: one label changed in the case gives another trace.
TEST_F(BackendConformance, NoticesASmallChange) {
  const Case made = make_case(Family::kNormal, DataType::kFloat32, Weighting::kNone, {300, 3, {9}}, 5);
  Case changed = made;
  changed.prototypes[0].values<float>()[4] += 0.5f;
  EXPECT_NE(first_difference(expected(made), expected(changed)), "");
}

}  // namespace
}  // namespace manymeans::test
