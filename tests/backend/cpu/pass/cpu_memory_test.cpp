// A tight memory budget changes how the backend works (tiles packed in every pass, sums by label order), never
// what it finds.
#include "backend/backend.h"
#include "engine/small_data.h"

#include <gtest/gtest.h>

namespace manymeans {
namespace {

struct Outcome {
  std::string plan;
  std::vector<Labels> labels;
  std::vector<Statistics> statistics;
  std::vector<PassResult> results;
};

Outcome run(const Input& input, std::span<const Matrix> prototypes, int64_t budget, int threads) {
  BackendOptions options;
  options.threads = threads;
  options.tuning.cpu.memory_budget = budget;
  options.algorithm = "matrix";
  const auto backend = make_backend("cpu", options);
  const auto upload = backend->upload(input);
  const int64_t k[] = {prototypes[0].rows(), prototypes[0].rows()};
  const auto session = upload->session(k, 0);
  Outcome outcome;
  outcome.plan = upload->plan();
  for (size_t step = 0; step + 1 < prototypes.size(); ++step) {
    PassModel models[] = {{0, &prototypes[step], {}}, {1, &prototypes[step + 1], {}}};
    session->advance(models, 1);
    for (const PassModel& model : models) {
      outcome.results.push_back(model.result);
      outcome.labels.push_back(session->labels(model.slot));
      outcome.statistics.push_back(session->statistics(model.slot));
    }
  }
  return outcome;
}

TEST(CpuMemory, ATightBudgetGivesTheSame) {
  for (const int64_t d : {1, 3, 40}) {
    const int64_t n = 5000;
    const auto x = test::mixture(n, d, static_cast<unsigned>(d), 30);
    std::vector<double> weights(static_cast<size_t>(n));
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<double>(i % 5) / 3;
    ThreadPool pool(1);
    const Input input = prepare_input(PointsView(x.data(), n, d), weights, pool);
    std::vector<Matrix> prototypes;
    for (int64_t step = 0; step < 4; ++step) {
      Matrix m(20, d, DataType::kFloat32);
      std::copy_n(x.begin() + step * 100 * d, 20 * d, m.values<float>().begin());
      prototypes.push_back(std::move(m));
    }
    const Outcome wide = run(input, prototypes, 0, 1);
    EXPECT_NE(wide.plan.find("packed copy"), std::string::npos);
    for (const int threads : {1, 2, 5}) {
      const Outcome tight = run(input, prototypes, 1, threads);
      EXPECT_NE(tight.plan.find("every pass"), std::string::npos) << tight.plan;
      for (size_t i = 0; i < wide.labels.size(); ++i) {
        EXPECT_TRUE(std::ranges::equal(tight.labels[i].bytes(), wide.labels[i].bytes()));
        EXPECT_EQ(tight.statistics[i].weights, wide.statistics[i].weights);
        EXPECT_EQ(tight.statistics[i].counts, wide.statistics[i].counts);
        EXPECT_EQ(tight.results[i].changed, wide.results[i].changed);
        EXPECT_EQ(tight.results[i].hash_delta, wide.results[i].hash_delta);
        for (int64_t k = 0; k < 20; ++k) {
          for (int64_t j = 0; j < d; ++j) {
            const SumFormat& format = input.columns[static_cast<size_t>(j)];
            EXPECT_EQ(recombine(tight.statistics[i].row(k) + j, format, d),
                      recombine(wide.statistics[i].row(k) + j, format, d));
          }
        }
      }
    }
  }
}

TEST(CpuMemory, ManyRowsAreSortedByClusterInSteps) {
  const int64_t n = 1'500'000;  // two models: more changes than wait at a time
  std::vector<float> x(static_cast<size_t>(n));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7919 % 1009);
  ThreadPool pool(1);
  const Input input = prepare_input(PointsView(x.data(), n, 1), {}, pool);
  std::vector<Matrix> prototypes;
  for (const float offset : {0.0F, 3.0F, 50.0F}) {
    Matrix m(2, 1, DataType::kFloat32);
    m.values<float>()[0] = 100 + offset;
    m.values<float>()[1] = 700 - offset;
    prototypes.push_back(std::move(m));
  }
  const Outcome wide = run(input, prototypes, 0, 1);
  const Outcome tight = run(input, prototypes, 1, 3);
  for (size_t i = 0; i < wide.labels.size(); ++i) {
    EXPECT_TRUE(std::ranges::equal(tight.labels[i].bytes(), wide.labels[i].bytes()));
    EXPECT_EQ(tight.statistics[i].sums, wide.statistics[i].sums);  // integers take one limb: the same split
    EXPECT_EQ(tight.statistics[i].counts, wide.statistics[i].counts);
    EXPECT_EQ(tight.results[i].changed, wide.results[i].changed);
  }
}

}  // namespace
}  // namespace manymeans
