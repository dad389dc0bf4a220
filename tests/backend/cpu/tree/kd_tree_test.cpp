// The tree itself, and whole passes over trees of many subtrees against exact distances.
#include "backend/cpu/tree/kd_tree.h"

#include <manymeans/error.h>

#include "backend/backend.h"
#include "backend/cpu/choose/cpu_plan.h"
#include "backend/cpu/kernels/instruction_set.h"
#include "backend/cpu/sums/term_scales.h"
#include "conformance/cases.h"
#include "core/data_type.h"
#include "prototype/prototype.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace manymeans {
namespace {

using test::Case;
using test::Family;
using test::Weighting;

// What must hold for one node; returns the number of its leaves' rows seen.
template <class T>
void expect_node(const KdTree& tree, const KdSubtree& subtree, uint32_t index, const Input& input) {
  const KdNode& node = subtree.nodes[index];
  const LaneBox box = tree.box(subtree, index);
  Statistics sums(1, input.points.d, input.limbs);
  int64_t weight = 0;
  std::vector<double> x(static_cast<size_t>(input.points.d));
  for (uint32_t place = node.begin; place < node.end; ++place) {
    const int64_t row = tree.order()[place];
    ASSERT_EQ(tree.place()[row], place);
    weight += input.integer_weight(row);
    widen(input.points.data, input.points.type, row * input.points.d, input.points.d, x.data());
    for (int64_t j = 0; j < input.points.d; ++j) {
      const double v = x[static_cast<size_t>(j)];
      ASSERT_LE(std::fabs(v - box.middle[j]), box.half[j] * (1 + 0x1p-50));
      int64_t term[kMaxLimbs] = {};
      add_term(input.weight(row) * v, input.columns[static_cast<size_t>(j)], 1, term);
      for (int g = 0; g < input.limbs; ++g) sums.row(0)[g * input.points.d + j] += term[g];
      if (node.is_leaf()) {
        const LaneRows<T> rows = tree.rows<T>(node);
        ASSERT_EQ(static_cast<double>(rows.values[j * rows.rows + (place - node.begin)]), v);
      }
    }
  }
  EXPECT_EQ(node.weight, weight);
  for (int64_t j = 0; j < input.points.d; ++j) {
    const SumFormat& format = input.columns[static_cast<size_t>(j)];
    EXPECT_EQ(recombine(tree.sums(subtree, index) + j, format, input.points.d),
              recombine(sums.row(0) + j, format, input.points.d));
  }
  if (node.is_leaf()) return;
  EXPECT_EQ(subtree.nodes[index + 1].begin, node.begin);
  EXPECT_EQ(subtree.nodes[index + 1].end, subtree.nodes[node.right].begin);
  EXPECT_EQ(subtree.nodes[node.right].end, node.end);
  expect_node<T>(tree, subtree, index + 1, input);
  expect_node<T>(tree, subtree, node.right, input);
}

TEST(KdTree, HoldsEveryRowOnceInItsBoxesAndSums) {
  uint64_t seed = 1;
  for (int family = 0; family < test::kFamilies; ++family) {
    for (const auto& [n, d] : {std::pair<int64_t, int64_t>{1, 1}, {33, 2}, {3000, 3}, {20000, 2}, {500, 32}}) {
      const auto type = static_cast<DataType>(seed % 6);
      const Case made =
          test::make_case(static_cast<Family>(family), type, static_cast<Weighting>(seed % 4), {n, d, {1}}, seed);
      ++seed;
      ThreadPool pool(3);
      const Input input = prepare_input(made.points(), made.weights, pool);
      const TermScales scales(input);
      const KdTree tree(input, choose_kernels(""), scales, pool);
      int64_t rows = 0;
      for (const KdSubtree& subtree : tree.subtrees()) {
        EXPECT_EQ(subtree.nodes[0].begin, rows) << made.name;
        rows += subtree.nodes[0].rows();
        if (type == DataType::kFloat64) {
          expect_node<double>(tree, subtree, 0, input);
        } else {
          expect_node<float>(tree, subtree, 0, input);
        }
      }
      EXPECT_EQ(rows, n) << made.name;
      if (HasFailure()) return;
    }
  }
}

TEST(KdTree, IsTheSameForAnyNumberOfThreads) {
  const Case made = test::make_case(Family::kClusters, DataType::kFloat32, Weighting::kNone, {50000, 3, {1}}, 5);
  ThreadPool one(1), four(4);
  const Input input = prepare_input(made.points(), {}, one);
  const TermScales scales(input);
  const KdTree a(input, choose_kernels(""), scales, one), b(input, choose_kernels(""), scales, four);
  EXPECT_GT(a.subtrees().size(), 5u);
  EXPECT_EQ(a.nodes(), b.nodes());
  EXPECT_TRUE(std::equal(a.order(), a.order() + 50000, b.order()));
}

TEST(KdTree, EqualRowsShareALeafAndSkewedOnesDoNotDeepenIt) {
  const int64_t n = 20000;
  std::vector<double> x(static_cast<size_t>(2 * n));
  for (int64_t i = 0; i < n; ++i) {
    x[static_cast<size_t>(2 * i)] = i % 2 == 0 ? 0 : -std::ldexp(1.0, -static_cast<int>(i % 1000));
    x[static_cast<size_t>(2 * i + 1)] = i < n / 2 ? 7 : static_cast<double>(i);
  }
  ThreadPool pool(1);
  const Input input = prepare_input(PointsView(x.data(), n, 2), {}, pool);
  const TermScales scales(input);
  const KdTree tree(input, choose_kernels(""), scales, pool);
  EXPECT_GE(tree.max_leaf_rows(), n / 8) << "a quarter of the rows are equal, in one or a few subtrees";
  for (const KdSubtree& subtree : tree.subtrees()) {
    std::vector<int> depth(subtree.nodes.size());
    for (size_t node = 0; node < subtree.nodes.size(); ++node) {
      if (subtree.nodes[node].is_leaf()) continue;
      depth[node + 1] = depth[subtree.nodes[node].right] = depth[node] + 1;
    }
    EXPECT_LT(*std::max_element(depth.begin(), depth.end()), 60);
  }
}

// Passes over the tree and with exact distances, side by side, as prototypes converge.
class KdTreePasses : public testing::Test {
 protected:
  // Returns how many labels were found by owned nodes.
  int64_t compare(const Case& made, int threads, int64_t budget) {
    const Input input = prepare_input(made.points(), made.weights, pool_);
    const auto exact = upload(input, "brute", threads, budget);
    const auto tree = upload(input, "kdtree", threads, budget < 0 ? KdTree::bytes(input) : budget);
    EXPECT_NE(tree->plan().find("kd-tree of"), std::string::npos) << tree->plan();
    const auto a = exact->session(made.shape.k, 0), b = tree->session(made.shape.k, 0);
    std::vector<Matrix> prototypes = made.prototypes;
    int64_t certified = 0;
    for (int pass = 0; pass < 5; ++pass) {
      std::vector<PassModel> by_a;
      for (size_t m = 0; m < prototypes.size(); ++m) by_a.push_back({static_cast<int>(m), &prototypes[m], {}});
      std::vector<PassModel> by_b = by_a;
      a->advance(by_a, 1);
      b->advance(by_b, 1);
      for (size_t m = 0; m < prototypes.size(); ++m) {
        const auto slot = static_cast<int>(m);
        EXPECT_EQ(by_a[m].result.changed, by_b[m].result.changed);
        EXPECT_EQ(by_a[m].result.hash_delta, by_b[m].result.hash_delta);
        EXPECT_EQ(by_b[m].result.certified + by_b[m].result.resolved, made.shape.n);
        certified += by_b[m].result.certified;
        EXPECT_EQ(a->statistics(slot).counts, b->statistics(slot).counts);
        const Matrix next = solve_prototypes(a->statistics(slot), input, prototypes[m], pool_);
        const Matrix same = solve_prototypes(b->statistics(slot), input, prototypes[m], pool_);
        EXPECT_TRUE(std::ranges::equal(next.bytes(), same.bytes()));
        prototypes[m] = next;
        if (pass % 2 == 0) continue;  // labels are not always asked for
        EXPECT_TRUE(std::ranges::equal(a->labels(slot).bytes(), b->labels(slot).bytes()));
      }
    }
    for (size_t m = 0; m < prototypes.size(); ++m) {
      const auto slot = static_cast<int>(m);
      EXPECT_TRUE(std::ranges::equal(a->take_labels(slot).bytes(), b->take_labels(slot).bytes()));
    }
    return certified;
  }

 private:
  static std::unique_ptr<Upload> upload(const Input& input, const char* algorithm, int threads, int64_t budget) {
    BackendOptions options;
    options.threads = threads;
    options.tuning.cpu.memory_budget = budget;
    options.algorithm = algorithm;
    return make_backend("cpu", options)->upload(input);
  }

  ThreadPool pool_{1};
};

TEST_F(KdTreePasses, OverManySubtreesEqualExactDistances) {
  for (const int64_t d : {1, 2, 7}) {
    const Weighting weighting = d == 2 ? Weighting::kZeros : Weighting::kNone;
    const DataType type = d == 7 ? DataType::kFloat64 : DataType::kFloat32;
    const Case made = test::make_case(Family::kClusters, type, weighting, {70000, d, {5, 300, 40}}, 9);
    for (const int threads : {1, 3}) EXPECT_GT(compare(made, threads, 0), 0) << "nodes are owned whole";
    if (HasFailure()) return;
  }
}

TEST_F(KdTreePasses, AddToSharedSumsWhereCopiesWouldBeTooMuch) {
  const Case made = test::make_case(Family::kNormal, DataType::kFloat32, Weighting::kRanges, {10000, 2, {5000}}, 4);
  ThreadPool pool(1);
  const Input input = prepare_input(made.points(), made.weights, pool);
  BackendOptions options;
  options.algorithm = "kdtree";
  const PointsPlan plan = plan_points(input, choose_kernels(""), options, {});
  ASSERT_TRUE(plan_session(input, plan, made.shape.k, 4, KdTree::bytes(input)).by_label_order);
  compare(made, 4, -1);
}

TEST(KdTree, IsForFewColumnsAndObeysTheBudget) {
  const std::vector<float> x(33 * 100, 1.0F);
  ThreadPool pool(1);
  BackendOptions options;
  options.algorithm = "kdtree";
  const Input wide = prepare_input(PointsView(x.data(), 100, 33), {}, pool);
  try {
    make_backend("cpu", options)->upload(wide);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_NE(std::string(error.what()).find("32"), std::string::npos);
  }
  options.tuning.cpu.memory_budget = 1000;
  const Input narrow = prepare_input(PointsView(x.data(), 1100, 3), {}, pool);
  const std::string plan = make_backend("cpu", options)->upload(narrow)->plan();
  EXPECT_NE(plan.find("no kd-tree"), std::string::npos) << plan;
}

}  // namespace
}  // namespace manymeans
