// What swaps of a search would gain, by every backend that says it itself, against the host, bit for bit.
#include <manymeans/error.h>

#include "backend/backend.h"
#include "conformance/cases.h"
#include "engine/host_swap_scores.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace manymeans::test {
namespace {

void expect_same(const std::vector<Swap>& found, const std::vector<Swap>& expected, const std::string& name) {
  ASSERT_EQ(found.size(), expected.size()) << name;
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].row, expected[i].row) << name;
    ASSERT_EQ(found[i].removed, expected[i].removed) << name;
    ASSERT_EQ(found[i].cluster, expected[i].cluster) << name;
    ASSERT_EQ(found[i].change, expected[i].change) << name;
  }
}

// Two models one after the other; false: this backend leaves it to the host.
bool compare(Backend& backend, const Case& made) {
  const Matrix& first = made.prototypes[0];
  ThreadPool pool(2);
  const Input input = prepare_input(made.points(), made.weights, pool);
  const std::unique_ptr<Upload> upload = backend.upload(input);
  const std::unique_ptr<SwapScores> scores = upload->swap_scores(first.rows());
  if (!scores) return false;
  const SearchRows rows(input, pool);
  HostSwapScores host(rows);
  Matrix second = first;
  for (uint32_t round = 0; round < 2; ++round) {
    const Matrix& model = round == 0 ? first : second;
    host.assign(model, pool);
    scores->assign(model, pool);
    const SearchDraw draw{made.seed, round, 3};
    const std::vector<int64_t> drawn = host.draw(draw, 2 * model.rows());
    EXPECT_EQ(scores->draw(draw, 2 * model.rows()), drawn) << made.name;
    const std::vector<Swap> expected = host.swaps(drawn, pool);
    expect_same(scores->swaps(drawn, pool), expected, made.name);
    if (!expected.empty()) host.put({expected.data(), 1}, second);
  }
  return true;
}

std::vector<Case> cases_of_swaps() {
  std::vector<Case> cases = hostile_cases();
  for (uint64_t seed = 0; seed < 60; ++seed) cases.push_back(random_case(7000 + seed));
  uint64_t seed = 100;
  const auto add = [&](Family family, DataType type, Weighting weighting, const Shape& shape) {
    cases.push_back(make_case(family, type, weighting, shape, seed++));
  };
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64, DataType::kFloat16, DataType::kBFloat16,
                              DataType::kUInt8, DataType::kInt8}) {
    add(Family::kClusters, type, Weighting::kZeros, {733, 17, {9}});
    add(Family::kDuplicates, type, Weighting::kNone, {1025, 3, {130}});
  }
  for (const int64_t d : {1, 2, 15, 16, 17, 32, 33, 200}) {
    add(Family::kClusters, DataType::kFloat32, Weighting::kIntegers, {900, d, {70}});
    add(Family::kGrid, DataType::kFloat32, Weighting::kNone, {900, d, {64}});
  }
  add(Family::kNormal, DataType::kFloat32, Weighting::kNone, {20'000, 2, {2}});
  add(Family::kNormal, DataType::kFloat32, Weighting::kNone, {150, 2, {140}});  // clusters of one row
  add(Family::kClusters, DataType::kFloat32, Weighting::kNone, {500, 1500, {5}});
  std::erase_if(cases, [](const Case& made) { return made.prototypes[0].rows() < 2; });
  return cases;
}

TEST(SwapConformance, AllBackendsScoreAlike) {
  const std::vector<Case> cases = cases_of_swaps();
  int own = 0;
  for (const BackendEntry& entry : backends()) {
    std::unique_ptr<Backend> backend;
    try {
      backend = make_backend(entry.name, {});
    } catch (const Error&) {
      continue;  // there is no such device
    }
    for (const Case& made : cases) {
      SCOPED_TRACE(std::string(entry.name) + ": " + made.name);
      if (!compare(*backend, made)) break;
      ++own;
      if (HasFatalFailure()) return;
    }
  }
  if (own == 0) GTEST_SKIP() << "no backend here scores swaps itself";
}

}  // namespace
}  // namespace manymeans::test
