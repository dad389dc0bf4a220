// A session over distinct rows says what the reference says of all rows, to the bit.
#include <manymeans/error.h>
#include <manymeans/fit.h>

#include "backend/deduplicated/deduplicated_upload.h"
#include "conformance/cases.h"
#include "conformance/trace.h"
#include "conformance/variants.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

namespace manymeans::test {
namespace {

// Deduplicates whatever repeats, however little it is.
class DeduplicatingBackend final : public Backend {
 public:
  explicit DeduplicatingBackend(std::unique_ptr<Backend> backend) : backend_(std::move(backend)), pool_(2) {}
  std::string_view name() const override { return backend_->name(); }
  std::string instruction_set() const override { return backend_->instruction_set(); }
  int threads() const override { return backend_->threads(); }
  std::unique_ptr<Upload> upload(const Input& input, const Workload& workload) override {
    std::optional<Duplicates> rows = find_duplicates(input, pool_, {1, 1, false});
    if (!rows) return backend_->upload(input, workload);
    distinct_rows += rows->distinct_rows();
    return upload_deduplicated(*backend_, input, std::move(*rows), workload, nullptr);
  }

  int64_t distinct_rows = 0;  // of all uploads

 private:
  std::unique_ptr<Backend> backend_;
  ThreadPool pool_;
};

// The case with rows that repeat others: some once, one very often.
Case with_repeats(Case made) {
  std::mt19937_64 random(made.seed);
  const size_t bytes = made.bytes.size() / static_cast<size_t>(made.shape.n);
  const auto n = static_cast<uint64_t>(made.shape.n);
  for (uint64_t row = 0; row < n; ++row) {
    const uint64_t from = random() % 4 == 0 ? 0 : random() % (n / 2 + 1);
    std::memmove(made.bytes.data() + row * bytes, made.bytes.data() + from * bytes, bytes);
  }
  made.weights.clear();
  made.name += ", rows repeated";
  return made;
}

std::vector<Target> counting_targets() {
  std::vector<Target> all = targets();
  std::erase_if(all, [](const Target& target) { return !target.make("auto", 1)->counts_duplicates(); });
  return all;
}

Trace expected(const Case& made) {
  return trace_of(*make_backend("reference", {}), made);
}

void compare(const Case& made, const Trace& oracle, const Target& target, int threads, const char* algorithm) {
  if (!takes(target, algorithm, made.shape.d)) return;
  DeduplicatingBackend backend(target.make(algorithm, threads));
  const Trace found = trace_of(backend, made);
  EXPECT_EQ(first_difference(oracle, found), "")
      << made.name << " on " << target.name() << ", " << threads << " threads, " << algorithm;
  EXPECT_EQ(found.repeated + found.skipped + found.certified + found.resolved, found.labelled) << made.name;
}

TEST(DuplicatesConformance, HostileFamilies) {
  const std::vector<Target> all = counting_targets();
  size_t next = 0;  // every target has its turn
  for (const Case& usual : hostile_cases()) {
    const Case made = with_repeats(usual);
    const Trace oracle = expected(made);
    for (const char* algorithm : {"matrix", "kdtree"}) {
      if (!all.empty()) compare(made, oracle, all[next++ % all.size()], 2, algorithm);
    }
    if (HasFailure()) return;
  }
}

TEST(DuplicatesConformance, RandomCases) {
  const std::vector<Target> all = counting_targets();
  const char* algorithms[] = {"matrix", "bounds", "brute", "kdtree", "auto"};
  for (uint64_t seed = 1000; seed < 1200 && !all.empty(); ++seed) {
    const Case made = with_repeats(random_case(seed));
    compare(made, expected(made), all[seed % all.size()], 1 + static_cast<int>(seed % 3),
            algorithms[seed / all.size() % 5]);
    if (HasFailure()) return;
  }
}

// Enough rows for the kernels that add terms of distinct rows, whose limbs have little room beside those of single
// rows.
TEST(DuplicatesConformance, ManyRows) {
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64, DataType::kUInt8}) {
    const Case made = with_repeats(make_case(Family::kClusters, type, Weighting::kNone, {20003, 7, {6, 11}}, 99));
    const Trace oracle = expected(made);
    for (const Target& target : counting_targets()) compare(made, oracle, target, 3, "auto");
  }
}

TEST(DuplicatesConformance, RowsAreDeduplicated) {
  if (counting_targets().empty()) GTEST_SKIP() << "there is no backend that counts equal rows";
  const Case made = with_repeats(make_case(Family::kNormal, DataType::kFloat32, Weighting::kNone, {3000, 5, {4}}, 7));
  DeduplicatingBackend backend(counting_targets()[0].make("auto", 2));
  const Trace found = trace_of(backend, made);
  EXPECT_LT(backend.distinct_rows, 1500);
  EXPECT_EQ(found.repeated, found.labelled / 3000 * (3000 - backend.distinct_rows));
}

// Empty clusters take rows from their duplicates; the models of one fit do so in different passes.
TEST(DuplicatesConformance, WholeFits) {
  const Case made = with_repeats(make_case(Family::kGrid, DataType::kFloat32, Weighting::kNone, {20000, 3, {1}}, 3));
  const std::pair<const char*, EmptyPolicy> ways[] = {
      {"random", EmptyPolicy::kFarthest}, {"k-means++", EmptyPolicy::kDrop}, {"k-means||", EmptyPolicy::kKeep}};
  for (const auto& [init, empty] : ways) {
    FitOptions options;
    options.k = {2, 40, 150};
    options.max_iter = 12;
    options.init = init;
    options.empty = empty;
    options.stop = "strict";
    options.backend = "reference";
    const std::string digest = fit(made.points(), {}, options).digest();
    options.backend = "cpu";
    const FitResult found = fit(made.points(), {}, options);
    EXPECT_EQ(found.digest(), digest) << init;
    EXPECT_GT(found.provenance.total.repeated, 0);
  }
}

TEST(DuplicatesConformance, ThePassLogAddsUpForEveryStrategy) {
  const Case made =
      with_repeats(make_case(Family::kClusters, DataType::kFloat64, Weighting::kNone, {20000, 2, {1}}, 4));
  std::string digest;
  for (const Strategy strategy : {Strategy::kConcatenated, Strategy::kData, Strategy::kTask}) {
    FitOptions options;
    options.k = {3, 9};
    options.models = 2;
    options.strategy = strategy;
    const FitResult found = fit(made.points(), {}, options);
    const PassLog& sum = found.provenance.total;
    EXPECT_EQ(sum.repeated + sum.skipped + sum.certified + sum.resolved, sum.labelled);
    EXPECT_GT(sum.repeated, sum.labelled / 4);
    if (digest.empty()) digest = found.digest();
    EXPECT_EQ(found.digest(), digest);
  }
}

// A multiplicity at the limit with the largest value of its column: limbs are as large as they get.
TEST(DuplicatesConformance, TheLargestMultiplicityOfTheLargestValue) {
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64}) {
    Case made = make_case(Family::kNormal, type, Weighting::kNone, {20000, 9, {5}}, 12);
    const size_t bytes = made.bytes.size() / 20000;
    for (size_t row = 0; row < 20000; ++row) {  // the first row has magnitudes that no other has
      if (row % 3 != 0) std::memcpy(made.bytes.data() + row * bytes, made.bytes.data(), bytes);
    }
    for (size_t j = 0; j < 9; ++j) {
      for (size_t row = 0; row < 20000; ++row) {
        if (row % 3 == 0 && row > 0) continue;
        std::byte* value = made.bytes.data() + row * bytes + j * bytes / 9;
        const float narrow = j % 2 == 0 ? 123.4567f : -9.999999f;
        const double wide = j % 2 == 0 ? 123.456789012345 : -9.99999999999999;
        std::memcpy(value, type == DataType::kFloat32 ? static_cast<const void*>(&narrow) : &wide, bytes / 9);
      }
    }
    const Trace oracle = expected(made);
    for (const Target& target : counting_targets()) {
      for (const char* algorithm : {"matrix", "kdtree"}) compare(made, oracle, target, 2, algorithm);
    }
  }
}

TEST(DuplicatesConformance, TheVariableOfTheEnvironment) {
  const Case made = with_repeats(make_case(Family::kGrid, DataType::kFloat32, Weighting::kNone, {500, 3, {1}}, 3));
  FitOptions options;
  options.k = {3};
  const auto repeated = [&](const char* value) {
    ::setenv("MANYMEANS_DUPLICATES", value, 1);
    const int64_t count = fit(made.points(), {}, options).provenance.total.repeated;
    ::unsetenv("MANYMEANS_DUPLICATES");
    return count;
  };
  EXPECT_EQ(repeated(""), 0) << "few rows";
  EXPECT_EQ(repeated("off"), 0);
  EXPECT_GT(repeated("on"), 0);
  EXPECT_THROW(repeated("once"), Error);
  ::unsetenv("MANYMEANS_DUPLICATES");
}

}  // namespace
}  // namespace manymeans::test
