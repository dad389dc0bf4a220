// Thousands of centres that the CUDA backend's seeding adds by passes, as in k-means||, against the cpu backend's.
#include "backend/backend.h"
#include "backend/cuda/cuda_present.h"
#include "conformance/cases.h"
#include "core/threads.h"
#include "data/gather.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace manymeans::test {
namespace {

struct SeedAnswers {
  std::vector<WideInt> totals;
  std::vector<double> least;  // of rows that weigh something
  std::vector<int64_t> weights;
};

// A first centre, then batches of centres: many, and at the end `few`, if any.
SeedAnswers answers_of(const std::string& backend, const Case& made, int64_t few) {
  ThreadPool pool(2);
  const Input input = prepare_input(made.points(), made.weights, pool);
  const auto upload = make_backend(backend, {})->upload(input);
  const int64_t k = 1;
  const auto seeding = upload->seeding({&k, 1}, pool);
  SeedAnswers answers;
  const auto rows_from = [&](int64_t first, int64_t count) {
    std::vector<int64_t> rows;
    for (int64_t i = 0; i < count; ++i) rows.push_back((first + i * 3) % made.shape.n);
    return gather_rows(input.points, rows);
  };
  const Matrix first = rows_from(5, 1);
  const SeedCentres begun{0, &first};
  seeding->fix_scale(0, seeding->begin({&begun, 1})[0]);
  std::vector<int64_t> batches = {1500, 1024};
  if (few > 0) batches.push_back(few);
  for (const int64_t count : batches) {
    const Matrix centres = rows_from(count, count);
    const SeedCentres added{0, &centres};
    seeding->add({&added, 1});
    answers.totals.push_back(seeding->total(0));
  }
  const std::span<const double> least = seeding->least(0);
  for (int64_t i = 0; i < made.shape.n; ++i) {
    if (input.weight(i) > 0) answers.least.push_back(least[static_cast<size_t>(i)]);
  }
  answers.weights = seeding->cluster_weights(0);
  return answers;
}

TEST(CudaSeeding, PassesAddThousandsOfCentres) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64, DataType::kUInt8}) {
    for (const Weighting weights : {Weighting::kNone, Weighting::kIntegers, Weighting::kZeros}) {
      for (const int64_t d : {3, 70}) {
        const Case made = make_case(Family::kClusters, type, weights, {9001, d, {2}}, 17);
        const SeedAnswers expected = answers_of("cpu", made, 0);
        const SeedAnswers found = answers_of("cuda", made, 0);
        ASSERT_TRUE(expected.totals == found.totals) << made.name;
        ASSERT_EQ(expected.least, found.least) << made.name;
        ASSERT_EQ(expected.weights, found.weights) << made.name;
      }
    }
  }
}

// Centres that the screen adds leave no weights, so that a pass has to find them.
TEST(CudaSeeding, FewCentresAfterPassesForgetTheNearest) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  const Case made = make_case(Family::kClusters, DataType::kFloat32, Weighting::kNone, {9001, 30, {2}}, 18);
  const SeedAnswers expected = answers_of("cpu", made, 40);
  const SeedAnswers found = answers_of("cuda", made, 40);
  EXPECT_TRUE(expected.totals == found.totals);
  EXPECT_EQ(expected.least, found.least);
  EXPECT_TRUE(found.weights.empty());
}

}  // namespace
}  // namespace manymeans::test
