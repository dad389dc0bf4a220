// What a screen must prove (docs/developer/contract.md): near-ties by the million, adversarial norms, cancelled sums.
// With the right bound every label is the canonical one; with a quarter of it some are not, so the cases do reach the
// bound.
#include "conformance/cases.h"
#include "conformance/trace.h"
#include "conformance/variants.h"
#include "core/threads.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>

namespace manymeans::test {
namespace {

// How the prototypes of a near-tie case lie.
struct Layout {
  const char* name;
  int64_t d;
  int64_t k;
  double offset = 0;      // of all values
  double scale = 1;       // of all values
  double far_factor = 1;  // every fourth prototype is this much farther out
  double common = 0;      // the prototypes lie in two groups at +-(common, -common, ..): products that cancel
  DataType type = DataType::kFloat32;
  bool lattice = false;  // prototypes with small integer coordinates: exact ties
};

const std::vector<Layout>& layouts() {
  static const std::vector<Layout> kLayouts = {
      {.name = "line", .d = 1, .k = 64},
      {.name = "plane", .d = 2, .k = 64},
      {.name = "space", .d = 3, .k = 48},
      {.name = "four", .d = 4, .k = 33},
      {.name = "nine", .d = 9, .k = 17},
      {.name = "line far away", .d = 1, .k = 40, .offset = 1e4},
      {.name = "plane far away", .d = 2, .k = 40, .offset = 1e6},
      {.name = "far prototypes", .d = 3, .k = 48, .far_factor = 1e4},
      {.name = "very far prototypes", .d = 2, .k = 32, .far_factor = 1e9},
      {.name = "cancelled sums", .d = 8, .k = 32, .common = 1e3},
      {.name = "small", .d = 2, .k = 32, .scale = 0x1p-60},
      {.name = "denormal products", .d = 2, .k = 32, .scale = 0x1p-80},
      {.name = "large", .d = 3, .k = 32, .scale = 0x1p60},
      {.name = "lattice", .d = 2, .k = 25, .lattice = true},
      {.name = "doubles", .d = 2, .k = 64, .type = DataType::kFloat64},
      {.name = "doubles far away", .d = 3, .k = 32, .offset = 1e5, .type = DataType::kFloat64},
      {.name = "huge doubles", .d = 2, .k = 32, .scale = 0x1p300, .type = DataType::kFloat64},
  };
  return kLayouts;
}

class NearTies {
 public:
  NearTies(const Layout& layout, int64_t n, uint64_t seed) : layout_(layout), n_(n), random_(seed) {
    made_.seed = seed;
    made_.name = fmt::format("near-ties: {}, seed {}", layout.name, seed);
    made_.shape = {n, layout.d, {layout.k}};
    made_.type = layout.type;
  }

  Case make() {
    if (layout_.type == DataType::kFloat64) {
      fill<double>();
    } else {
      fill<float>();
    }
    return std::move(made_);
  }

 private:
  template <class T>
  void fill() {
    const auto size = static_cast<size_t>(n_ * layout_.d);
    made_.bytes.resize(size * sizeof(T));
    std::vector<T> values(size);
    Matrix prototypes(layout_.k, layout_.d, layout_.type);
    place_prototypes(prototypes.values<T>().data());
    find_neighbours(prototypes);
    for (int64_t i = 0; i < n_; ++i) place_point(prototypes, values.data() + i * layout_.d);
    std::memcpy(made_.bytes.data(), values.data(), made_.bytes.size());
    made_.prototypes.push_back(std::move(prototypes));
  }

  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-52 - 1; }

  template <class T>
  void place_prototypes(T* c) {
    for (int64_t k = 0; k < layout_.k; ++k) {
      for (int64_t j = 0; j < layout_.d; ++j) {
        double v = layout_.lattice ? static_cast<double>(random_() % 5) : uniform();
        if (k % 4 == 3) v *= layout_.far_factor;
        v += layout_.offset + ((j + k) % 2 == 0 ? layout_.common : -layout_.common);
        *c++ = static_cast<T>(v * layout_.scale);
      }
    }
  }

  // The nearest other prototype of each, so that their bisector is a border of cells.
  void find_neighbours(const Matrix& c) {
    for (int64_t a = 0; a < layout_.k; ++a) {
      int64_t nearest = a == 0 ? 1 : 0;
      for (int64_t b = 0; b < layout_.k; ++b) {
        if (b != a && squared(c, a, b) < squared(c, a, nearest)) nearest = b;
      }
      neighbour_.push_back(nearest);
    }
  }

  double squared(const Matrix& c, int64_t a, int64_t b) const {
    double sum = 0;
    for (int64_t j = 0; j < layout_.d; ++j) sum += (c.at(a, j) - c.at(b, j)) * (c.at(a, j) - c.at(b, j));
    return sum;
  }

  // Two of three points lie within a few units in the last place of a bisector, the others anywhere near.
  template <class T>
  void place_point(const Matrix& c, T* x) {
    const auto a = static_cast<int64_t>(random_() % static_cast<uint64_t>(layout_.k));
    const int64_t b = neighbour_[static_cast<size_t>(a)];
    const double distance = std::sqrt(squared(c, a, b));
    const bool plain = random_() % 3 == 0;
    std::vector<double> step(static_cast<size_t>(layout_.d));
    double along = 0;
    for (int64_t j = 0; j < layout_.d; ++j) {
      step[static_cast<size_t>(j)] = 0.2 * distance * uniform();
      along += step[static_cast<size_t>(j)] * (c.at(b, j) - c.at(a, j));
    }
    const double remove = plain || distance == 0 ? 0 : along / (distance * distance);
    for (int64_t j = 0; j < layout_.d; ++j) {
      const double difference = c.at(b, j) - c.at(a, j);
      const double middle = plain ? c.at(a, j) : c.at(a, j) + 0.5 * difference;
      x[j] = static_cast<T>(middle + step[static_cast<size_t>(j)] - remove * difference);
    }
    const auto nudged = static_cast<int64_t>(random_() % static_cast<uint64_t>(layout_.d));
    const T towards = random_() % 2 == 0 ? static_cast<T>(HUGE_VAL) : -static_cast<T>(HUGE_VAL);
    for (uint64_t ulps = random_() % 4; ulps > 0; --ulps) x[nudged] = std::nextafter(x[nudged], towards);
  }

  const Layout& layout_;
  int64_t n_;
  std::mt19937_64 random_;
  Case made_;
  std::vector<int64_t> neighbour_;
};

// The worst case for a running sum: prototypes at the corners of a cube around the points, |c|^2 / 2 just above a power
// of two, and points so near the middle that every product x_j c_j is below half a unit of the sum, which swallows
// it. The scores then come out as -|c|^2 / 2 whatever the point is, wrong by up to D units.
Case swallowed_products(int64_t n, int64_t d, uint64_t seed) {
  constexpr int64_t kPrototypes = 24;
  std::mt19937_64 random(seed);
  const double side = std::sqrt(1.02 / static_cast<double>(d));
  Case made;
  made.name = fmt::format("swallowed products, {} columns, seed {}", d, seed);
  made.shape = {n, d, {kPrototypes}};
  Matrix prototypes(kPrototypes, d, DataType::kFloat32);
  // The first prototype is a little nearer to the middle, by some of those units: it wins where all is swallowed.
  const double units = static_cast<double>(d) * (0.2 + 0.4 * static_cast<double>(random() >> 11) * 0x1p-53);
  const double nearer = side - units * 0x1p-24 / (static_cast<double>(d) * side);
  for (size_t i = 0; i < static_cast<size_t>(kPrototypes * d); ++i) {
    const auto c = static_cast<float>(i < static_cast<size_t>(d) ? nearer : side);
    prototypes.values<float>()[i] = random() % 2 == 0 ? c : -c;
  }
  std::vector<float> values;
  for (int64_t i = 0; i < n; i += 2) {
    const auto towards = static_cast<int64_t>(random() % kPrototypes);
    // The first two points are as far out as the prototypes, so that a scale taken from the points fits these too.
    // Every fourth pair lies at the origin, so that means and medians do.
    const auto share = [&] {
      if (i == 0) return 0x1p23;
      return i % 8 == 2 ? 0.0 : 0.4 + 0.09 * static_cast<double>(random() >> 11) * 0x1p-53;
    };
    for (int64_t j = 0; j < d; ++j) {
      values.push_back(static_cast<float>(std::copysign(share() * 0x1p-24 / side, prototypes.at(towards, j))));
    }
    // The mirrored point keeps the mean at 0.
    for (int64_t j = 0; j < d; ++j) values.push_back(-values[values.size() - static_cast<size_t>(d)]);
  }
  made.bytes.resize(values.size() * sizeof(float));
  std::memcpy(made.bytes.data(), values.data(), made.bytes.size());
  made.prototypes.push_back(std::move(prototypes));
  return made;
}

constexpr int64_t kRows = 6000;

// All near-tie cases, made anew at each call: a seed gives the same case.
std::vector<Case> near_tie_cases() {
  std::vector<Case> cases;
  for (uint64_t seed = 100; seed < 103; ++seed) {
    for (const Layout& layout : layouts()) cases.push_back(NearTies(layout, kRows, seed).make());
  }
  for (uint64_t seed = 0; seed < 30; ++seed) {
    for (const int64_t d : {2, 4, 8, 16, 33}) cases.push_back(swallowed_products(400, d, seed));
  }
  return cases;
}

int64_t differences(const Labelling& a, const Labelling& b) {
  int64_t count = 0;
  for (size_t i = 0; i < a.labels.size(); ++i) count += a.labels[i] != b.labels[i];
  return count;
}

class Screen : public testing::Test {
 protected:
  void SetUp() override {
    if (targets_.empty()) GTEST_SKIP() << "there is no backend with a screen";
  }
  std::vector<Target> targets_ = targets();
  std::unique_ptr<Backend> reference_ = make_backend("reference", {});
};

TEST_F(Screen, MillionsOfNearTiesGetTheirCanonicalLabels) {
  int64_t pairs = 0;
  int64_t resolved = 0;
  for (const Case& made : near_tie_cases()) {
    const Labelling expected = label(*reference_, made);
    pairs += made.shape.n * made.shape.k[0];
    for (const Target& target : targets_) {
      for (const char* algorithm : {"matrix", "kdtree"}) {
        if (!takes(target, algorithm, made.shape.d)) continue;
        const Labelling found = label(*target.make(algorithm, 2), made);
        EXPECT_EQ(differences(found, expected), 0) << made.name << " on " << target.name() << " " << algorithm;
        EXPECT_EQ(found.result.certified + found.result.resolved, made.shape.n);
        resolved += found.result.resolved;
        if (std::string_view(algorithm) == "kdtree") continue;  // its numbers tell some of these cases apart at once
        EXPECT_GT(found.result.resolved, 0) << made.name << " on " << target.name();
      }
    }
  }
  EXPECT_GT(pairs, 5'000'000);
  EXPECT_GT(resolved, 0);
  fmt::print("{} pairs of points and prototypes on each instruction set\n", pairs);
}

// Thresholds of a look are distances to prototypes that were the nearest a pass ago.
TEST_F(Screen, LooksGiveCanonicalLabelsAndNeedTheirBound) {
  for (const Target& target : targets_) {
    int64_t wrong = 0;
    int64_t resolved = 0;
    int64_t rows = 0;
    for (const Case& made : near_tie_cases()) {
      if (!looks_in_bytes(target, made.shape.d)) continue;
      const Labelling expected = label(*reference_, made);
      const Labelling found = label_again(*target.make("auto", 2), made);
      EXPECT_EQ(differences(found, expected), 0) << made.name << " on " << target.name();
      EXPECT_EQ(found.result.certified + found.result.resolved, made.shape.n);
      wrong += differences(label_again(*target.make("auto", 2, 0.25), made), expected);
      resolved += found.result.resolved;
      rows += made.shape.n;
    }
    if (rows == 0) continue;
    EXPECT_GT(resolved, rows / 4) << target.name();
    EXPECT_GT(wrong, 0) << target.name();
    fmt::print("{}: {} wrong labels with a quarter of the bound\n", target.name(), wrong);
  }
}

// A first pass that begins from the right labels leaves fewer candidates than one from wrong ones.
TEST_F(Screen, AGuessIsUsed) {
  const Case made = make_case(Family::kNormal, DataType::kFloat32, Weighting::kNone, {20'000, 32, {50}}, 3);
  for (const Target& target : targets_) {
    if (!looks_in_bytes(target, made.shape.d)) continue;
    const std::unique_ptr<Backend> backend = target.make("auto", 2);
    const Labelling plain = label(*backend, made);
    std::vector<uint32_t> wrong = plain.labels;
    for (uint32_t& label : wrong) label = (label + 7) % 50;
    const Labelling from_right = label(*backend, made, centroid(), plain.labels);
    const Labelling from_wrong = label(*backend, made, centroid(), wrong);
    EXPECT_EQ(differences(from_right, plain), 0) << target.name();
    EXPECT_EQ(differences(from_wrong, plain), 0) << target.name();
    EXPECT_LT(4 * from_right.result.candidates, from_wrong.result.candidates) << target.name();
  }
}

TEST_F(Screen, CertifiesPlainRowsAndResolvesNearTies) {
  const Case made = NearTies(layouts()[1], 9000, 7).make();
  for (const Target& target : targets_) {
    // Leaves of slices of 128 rows reach everywhere.
    if (takes(target, "kdtree", made.shape.d) && target.slice_rows == 0) {
      const PassResult by_tree = label(*target.make("kdtree", 3), made).result;
      // On a device boxes hold 128 rows, of these all some near-ties.
      if (target.backend != "cuda") {
        EXPECT_GT(by_tree.certified, 0) << target.name();
      }
      EXPECT_GT(by_tree.resolved, 9000 / 4) << target.name();
      EXPECT_LT(by_tree.candidates, (target.backend == "cuda" ? 10 : 5) * by_tree.resolved) << target.name();
    }
    const std::unique_ptr<Backend> backend = target.make("matrix", 3);
    if (!target.instruction_set.empty()) {
      ASSERT_EQ(backend->instruction_set(), target.instruction_set);
    }
    const PassResult result = label(*backend, made).result;
    // A third of the rows are plain; the others lie on bisectors, which no screen of 24 bits can tell apart.
    EXPECT_GT(result.certified, 9000 / 8) << target.name();
    EXPECT_GT(result.resolved, 9000 / 4) << target.name();
    EXPECT_GE(result.candidates, result.resolved) << target.name();
    if (target.backend != "cpu") continue;  // of so few prototypes devices compute all distances of many rows
    EXPECT_LT(result.candidates, 5 * result.resolved) << target.name() << ": resolving should see few candidates";
  }
}

// If a quarter of the bound were enough, the tests above would prove little.
TEST_F(Screen, AQuarterOfTheBoundGivesWrongLabels) {
  const std::vector<Case> cases = near_tie_cases();
  for (const Target& target : targets_) {
    for (const char* algorithm : {"matrix", "kdtree"}) {
      const std::unique_ptr<Backend> unsound = target.make(algorithm, 2, 0.25);
      int64_t wrong = 0;
      std::string where;
      if (!takes(target, algorithm, 1)) continue;
      for (const Case& made : cases) {
        if (!takes(target, algorithm, made.shape.d)) continue;
        const int64_t found = differences(label(*unsound, made), label(*reference_, made));
        if (found > 0) where += fmt::format("\n  {} in {}", found, made.name);
        wrong += found;
      }
      EXPECT_GT(wrong, 0) << target.name() << " " << algorithm;
      fmt::print("{} {}: {} wrong labels with a quarter of the bound{}\n", target.name(), algorithm, wrong, where);
    }
  }
}

}  // namespace
}  // namespace manymeans::test
