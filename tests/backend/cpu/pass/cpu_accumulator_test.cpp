// Statistics that change in units of each column's lowest bit, at the limits of what a unit sum holds.
#include "backend/backend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace manymeans {
namespace {

// Values that need `span` bits, half of them large and positive: sums in units overflow after little more than
// 2^(63 - span) rows.
std::vector<float> values_of_span(int64_t count, int span, std::mt19937_64& random) {
  std::vector<float> x(static_cast<size_t>(count));
  for (float& v : x) {
    const double mantissa = static_cast<double>((random() >> 41) + (uint64_t{1} << 23));
    const bool large = random() % 2 == 0;
    const int power = large ? span - 24 : static_cast<int>(random() % static_cast<uint64_t>(span - 23));
    v = static_cast<float>(std::ldexp(large || random() % 2 == 0 ? mantissa : -mantissa, power));
  }
  x[0] = 1;
  x[1] = static_cast<float>(std::ldexp(0x1p24 - 1, span - 24));
  return x;
}

class Passes {
 public:
  Passes(const std::string& backend, const Input& input, int threads, int64_t budget)
      : input_(input),
        backend_(make_backend(backend, {.threads = threads, .tuning = {.cpu = {.memory_budget = budget}}})),
        upload_(backend_->upload(input)) {
    const int64_t k[] = {3};
    session_ = upload_->session(k, threads);
  }

  void run(const Matrix& prototypes) {
    std::vector<PassModel> models = {{0, &prototypes, {}}};
    session_->advance(models, 1);
    result = models[0].result;
  }

  std::vector<WideInt> sums() {
    const Statistics& s = session_->statistics(0);
    std::vector<WideInt> all;
    for (int64_t k = 0; k < s.k; ++k) {
      for (int64_t j = 0; j < s.d; ++j) {
        all.push_back(recombine(s.row(k) + j, input_.columns[static_cast<size_t>(j)], s.d));
      }
    }
    return all;
  }
  InertiaSum inertia(const Matrix& prototypes) {
    const ModelPrototypes model{0, &prototypes};
    return session_->rows().inertias({&model, 1})[0];
  }
  const Statistics& statistics() { return session_->statistics(0); }

  PassResult result;

 private:
  const Input& input_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Upload> upload_;
  std::unique_ptr<Session> session_;
};

// 1-byte memory budgets accumulate by label.
void compare_with_reference(int64_t n, int span, int threads, int64_t budget) {
  std::mt19937_64 random(static_cast<uint64_t>(span));
  const std::vector<float> x = values_of_span(2 * n, span, random);
  ThreadPool pool(1);
  const Input input = prepare_input(PointsView(x.data(), n, 2), {}, pool);
  Passes expected("reference", input, 1, 0);
  Passes found("cpu", input, threads, budget);
  Matrix prototypes(3, 2, DataType::kFloat32);
  for (int pass = 0; pass < 6; ++pass) {
    for (float& v : prototypes.values<float>()) v = x[random() % x.size()];
    expected.run(prototypes);
    found.run(prototypes);
    ASSERT_EQ(found.sums(), expected.sums()) << "span " << span << " threads " << threads << " budget " << budget;
    EXPECT_EQ(found.statistics().counts, expected.statistics().counts);
    EXPECT_EQ(found.statistics().weights, expected.statistics().weights);
    EXPECT_EQ(found.result.changed, expected.result.changed);
    EXPECT_EQ(found.result.hash_delta, expected.result.hash_delta);
  }
}

TEST(CpuStatistics, FullUnitSumsAreFlushedInTime) {
  for (const int span : {24 + 1, 50, 51, 52, 54, 55, 56, 60}) {
    for (const int threads : {1, 3}) {
      for (const int64_t budget : {0, 1}) compare_with_reference(5000, span, threads, budget);
    }
  }
}

// The split into limbs does not grow with the number of passes.
TEST(CpuStatistics, LimbsStayWhereTheyAre) {
  constexpr int64_t kRows = 4097;
  std::mt19937_64 random(1);
  const std::vector<float> x = values_of_span(kRows, 54, random);
  ThreadPool pool(1);
  const Input input = prepare_input(PointsView(x.data(), kRows, 1), {}, pool);
  ASSERT_EQ(input.limbs, 2);
  Passes passes("cpu", input, 1, 0);
  Matrix prototypes(3, 1, DataType::kFloat32);
  for (int pass = 0; pass < 300; ++pass) {
    for (float& v : prototypes.values<float>()) v = x[random() % x.size()];
    passes.run(prototypes);
    for (int64_t k = 0; k < 3; ++k) {
      const int64_t low = passes.statistics().row(k)[0];
      ASSERT_GE(low, 0);
      ASSERT_LT(low, int64_t{1} << input.bits);
    }
  }
}

// Enough rows for the sums in vectors; a far row that no sample of 1024 rows sees makes the first guess of the format
// wrong by any factor.
TEST(CpuInertia, IsTheReferencesWhateverTheSampleSays) {
  constexpr int64_t kRows = 20000;
  for (const double far : {0.0, 2.0, 5.0, 9.0, 1e3, 1e9}) {
    for (const bool weighted : {false, true}) {
      std::mt19937_64 random(5);
      std::normal_distribution<double> normal;
      std::vector<float> x(kRows * 2);
      for (float& v : x) v = static_cast<float>(normal(random));
      x[2 * 77] = static_cast<float>(far);  // the sample takes every 19th or 20th row
      std::vector<double> weights(weighted ? kRows : 0);
      for (double& w : weights) w = static_cast<double>(random() % 5);
      if (weighted) weights[77] = 3;
      ThreadPool pool(1);
      const Input input = prepare_input(PointsView(x.data(), kRows, 2), weights, pool);
      Matrix prototypes(3, 2, DataType::kFloat32);
      for (float& v : prototypes.values<float>()) v = static_cast<float>(normal(random));
      Passes expected("reference", input, 1, 0);
      expected.run(prototypes);
      const InertiaSum right = expected.inertia(prototypes);
      for (const int threads : {1, 3}) {
        Passes found("cpu", input, threads, 0);
        found.run(prototypes);
        const InertiaSum sum = found.inertia(prototypes);
        EXPECT_EQ(sum.farthest, right.farthest) << far;
        ASSERT_EQ(sum.format, right.format) << far;
        EXPECT_EQ(recombine(sum.limbs.data(), sum.format), recombine(right.limbs.data(), right.format)) << far;
      }
    }
  }
}

}  // namespace
}  // namespace manymeans
