// What predict and transform ask, of every instruction set and screen against the reference: equality of everything.
#include "backend/backend.h"
#include "conformance/cases.h"
#include "conformance/variants.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

namespace manymeans::test {
namespace {

struct Answer {
  Labels labels;
  std::vector<double> d2;
  Matrix distances;
};

// By a session: rows that come once get the same as those of a fit.
Answer expected(const Case& made, const Matrix& prototypes) {
  ThreadPool alone(1);
  const Input input = prepare_input(made.points(), {}, alone);
  const auto backend = make_backend("reference", {});
  const auto upload = backend->upload(input);
  const int64_t k = prototypes.rows();
  const auto session = upload->session({&k, 1}, 1);
  PassModel pass{0, &prototypes, {}};
  session->advance({&pass, 1}, 1);
  Answer answer{{}, session->rows().distances(0, prototypes), Matrix(input.points.n, k, prototypes.type())};
  session->rows().transform(prototypes, answer.distances);
  answer.labels = session->take_labels(0);
  return answer;
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::ranges::equal(
      a, b, [](double x, double y) { return std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y); });
}

void expect_same(const Labeller& labeller, const PointsView& points, const Answer& oracle, int threads) {
  Answer found{Labels(points.n, oracle.distances.columns()), std::vector<double>(static_cast<size_t>(points.n)),
               Matrix::unwritten(points.n, oracle.distances.columns(), oracle.distances.type())};
  ASSERT_TRUE(labeller.label(points, {threads, nullptr}, found.labels, found.d2.data()));
  EXPECT_TRUE(std::ranges::equal(found.labels.bytes(), oracle.labels.bytes()));
  EXPECT_TRUE(same_bits(found.d2, oracle.d2));
  ASSERT_TRUE(labeller.transform(points, {threads, nullptr}, found.distances));
  EXPECT_TRUE(std::ranges::equal(found.distances.bytes(), oracle.distances.bytes()));
}

// Looked up once: what is not here is said each time.
const std::vector<Target>& all_targets() {
  static const std::vector<Target> all = targets();
  return all;
}

std::vector<Case> cases() {
  std::vector<Case> all = hostile_cases();
  for (uint64_t seed = 0; seed < 150; ++seed) all.push_back(random_case(seed));
  return all;
}

TEST(LabellerConformance, LabelsAndDistancesAreTheReferences) {
  int64_t compared = 0;
  for (const Case& made : cases()) {
    const Matrix& prototypes = made.prototypes[0];
    const Answer oracle = expected(made, prototypes);
    for (const Target& target : all_targets()) {
      for (const char* algorithm : {"matrix", "brute", "auto"}) {
        if (!takes(target, algorithm, made.shape.d) || !tells_formats_apart(target, algorithm)) continue;
        SCOPED_TRACE(made.name + " on " + target.name() + ", " + algorithm);
        const auto labeller = target.make(algorithm, 2)->labeller(std::make_shared<const Matrix>(prototypes));
        if (!labeller || !labeller->answers(made.points(), Wanted::kLabels)) continue;  // a session answers
        expect_same(*labeller, made.points(), oracle, 1 + static_cast<int>(compared++ % 3));
      }
    }
    if (testing::Test::HasFailure()) return;  // the first case says enough
  }
  const bool cpu = std::any_of(all_targets().begin(), all_targets().end(),
                               [](const Target& target) { return target.backend == "cpu"; });
  if (!cpu && compared == 0) GTEST_SKIP() << "there is no backend with a labeller";
  EXPECT_GT(compared, 0);
}

// Prototypes that are prepared meet points that nobody has seen: far away, tiny, or equal to them.
TEST(LabellerConformance, PointsMayLieAnywhere) {
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64}) {
    const Case near = make_case(Family::kNormal, type, Weighting::kNone, {900, 5, {40}}, 3);
    for (const double scale : {1e-30, 1e-3, 1.0, 1e5, 1e12, 1e30}) {
      Case far = make_case(Family::kClusters, type, Weighting::kNone, {900, 5, {40}}, 4);
      Matrix rows(900, 5, type);
      for (int64_t i = 0; i < 4500; ++i) {
        if (type == DataType::kFloat64) {
          rows.values<double>()[static_cast<size_t>(i)] = scale * reinterpret_cast<const double*>(far.bytes.data())[i];
        } else {
          const double value = scale * static_cast<double>(reinterpret_cast<const float*>(far.bytes.data())[i]);
          rows.values<float>()[static_cast<size_t>(i)] = static_cast<float>(value);
        }
      }
      far.bytes.assign(rows.bytes().begin(), rows.bytes().end());
      const Answer oracle = expected(far, near.prototypes[0]);
      for (const Target& target : all_targets()) {
        const auto labeller = target.make("matrix", 1)->labeller(std::make_shared<const Matrix>(near.prototypes[0]));
        if (!labeller || !labeller->answers(far.points(), Wanted::kLabels)) continue;
        SCOPED_TRACE(target.name());
        expect_same(*labeller, far.points(), oracle, 2);
      }
    }
  }
}

// With error bounds that are too small somebody must notice.
TEST(LabellerConformance, AWrongBoundIsNoticed) {
  for (const Target& target : all_targets()) {
    bool noticed = false, served = false;
    for (uint64_t seed = 0; seed < 40 && !noticed; ++seed) {
      const Case made = make_case(Family::kGrid, DataType::kFloat32, Weighting::kNone, {3000, 7, {60}}, seed);
      const Answer oracle = expected(made, made.prototypes[0]);
      const auto labeller = target.make("matrix", 1, 0.0)->labeller(std::make_shared<const Matrix>(made.prototypes[0]));
      if (!labeller || !labeller->answers(made.points(), Wanted::kLabels)) break;
      served = true;
      Labels labels(made.shape.n, 60);
      ASSERT_TRUE(labeller->label(made.points(), {1, nullptr}, labels, nullptr));
      noticed = !std::ranges::equal(labels.bytes(), oracle.labels.bytes());
    }
    EXPECT_EQ(noticed, served) << target.name();
  }
}

TEST(LabellerConformance, WhatIsNotFiniteIsNotTaken) {
  const int64_t n = 3001, d = 3;
  for (const Target& target : all_targets()) {
    for (const char* algorithm : {"matrix", "brute"}) {
      const auto made = make_case(Family::kNormal, DataType::kFloat32, Weighting::kNone, {n, d, {9}}, 1);
      const auto labeller = target.make(algorithm, 1)->labeller(std::make_shared<const Matrix>(made.prototypes[0]));
      if (!labeller || !labeller->answers(made.points(), Wanted::kLabels)) continue;
      std::vector<float> x(static_cast<size_t>(n * d), 1.5F);
      for (const int64_t at : {int64_t{0}, n * d / 2, n * d - 1}) {
        for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
          x[static_cast<size_t>(at)] = bad;
          Labels labels(n, 9);
          Matrix distances(n, 9, DataType::kFloat32);
          EXPECT_FALSE(labeller->label(PointsView(x.data(), n, d), {2, nullptr}, labels, nullptr)) << target.name();
          EXPECT_FALSE(labeller->transform(PointsView(x.data(), n, d), {2, nullptr}, distances)) << target.name();
          x[static_cast<size_t>(at)] = 1.5F;
        }
      }
    }
  }
}

}  // namespace
}  // namespace manymeans::test
