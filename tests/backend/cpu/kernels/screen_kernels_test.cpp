// Every screen of every instruction set against scores in extended precision: the bounds of docs/developer/screens.md
// hold, and what the kernels say of the best, the second best, hits and certificates follows from them.
#include "backend/cpu/choose/screen_costs.h"
#include "backend/cpu/kernels/instruction_set.h"
#include "backend/cpu/screen/packed_prototypes.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace manymeans {
namespace {

struct Unit {
  const CpuKernels* kernels;
  const ScreenKernels* screen;
};

std::vector<Unit> units() {
  std::vector<Unit> found;
  for (const InstructionSet& set : instruction_sets()) {
    const CpuKernels& kernels = set.kernels();
    for (int i = 0; i < kernels.screen_count; ++i) found.push_back({&kernels, &kernels.screens[i]});
  }
  return found;
}

std::string name_of(const Unit& unit) {
  std::string name = fmt::format("{}_{}", unit.kernels->name, name_of(unit.screen->format));
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

struct Shape {
  int64_t n, d, k;
  double offset = 0;
  double spread = 0;  // decades of the points' deviations
};

float without_place(float score) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(score) & ~kColumnBits);
}

// Random points and prototypes, packed, screened: everything about one tile.
struct Scene {
  Scene(const Unit& unit, const Shape& shape, unsigned seed)
      : n(shape.n),
        d(shape.d),
        x(static_cast<size_t>(shape.n * shape.d)),
        prototypes(shape.k, shape.d, DataType::kFloat32),
        kernels(*unit.kernels) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    for (float& v : x)
      v = static_cast<float>(shape.offset + normal(random) * std::pow(10, shape.spread * normal(random)));
    for (float& v : prototypes.values<float>()) v = static_cast<float>(shape.offset + normal(random));
    input = prepare_input(PointsView(x.data(), n, d), {}, pool);
    PointsPlan plan;
    plan.screen = unit.screen;
    plan.packed = true;
    points = PackedPoints(input, kernels, plan, pool);
    pack();
  }

  void pack(double bound_scale = 1) { columns = pack_prototypes(prototypes, points, kernels, bound_scale); }

  void screen(int64_t t, int64_t first_span, int64_t spans) {
    const auto p = static_cast<size_t>(points.tile_rows());
    best = AlignedBuffer<float>(p * static_cast<size_t>(spans));
    second = AlignedBuffer<float>(p * static_cast<size_t>(spans));
    third = AlignedBuffer<float>(p * static_cast<size_t>(spans));
    const Tile tile = points.tile(t, nullptr);
    const ScreenTile to{tile.values, tile.radii, best.data(), second.data(), third.data()};
    const MatrixSteps steps = points.layout().steps();
    points.screen().screen({columns.view(first_span, spans, points, steps), &to, 1, nullptr, 0});
  }

  // The true score S_c of docs/developer/screens.md.
  long double truth(int64_t row, int64_t column) const {
    long double dot = 0, square = 0;
    const auto k = static_cast<int64_t>(columns.order[static_cast<size_t>(column)]);
    for (int64_t j = 0; j < d; ++j) {
      const long double mu = points.frame().centre[static_cast<size_t>(j)];
      const long double y = (x[static_cast<size_t>(row * d + j)] - mu) * points.frame().scale;
      const long double z = (static_cast<long double>(prototypes.at(k, j)) - mu) * points.frame().scale;
      dot += y * z;
      square += z * z;
    }
    return dot - square / 2;
  }

  bool exists(int64_t column) const { return columns.offsets[static_cast<size_t>(column)] > -0x1p125F; }
  long double bound(int64_t span, float radius) const {
    const auto at = static_cast<size_t>(span);
    return static_cast<long double>(radius) * columns.bounds.slopes[at] + columns.bounds.errors[at];
  }

  int64_t n, d;
  std::vector<float> x;
  Matrix prototypes;
  ThreadPool pool{1};
  Input input;
  const CpuKernels& kernels;
  PackedPoints points;
  PackedPrototypes columns;
  AlignedBuffer<float> best, second, third;
};

class Screens : public testing::TestWithParam<Unit> {
 protected:
  void SetUp() override {
    if (!GetParam().kernels->supported()) GTEST_SKIP() << "this machine has no " << GetParam().kernels->description;
  }
};

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> kShapes = {
      {100, 1, 13},          {100, 2, 33},      {100, 8, 64},       {97, 10, 40},        {100, 11, 17},
      {65, 16, 5},           {100, 17, 70},     {100, 54, 64},      {64, 128, 100},      {40, 200, 33},
      {100, 2, 20, 1e3},     {100, 9, 20, 1e6}, {100, 2, 33, 0, 3}, {100, 40, 33, 0, 3}, {33, 9, 1},
      {100, 64, 31, 1e3, 2}, {1, 3, 2},         {50, 31, 300},      {50, 33, 48},        {100, 12, 95, 10}};
  return kShapes;
}

TEST_P(Screens, BestThreeEncloseTheTrueScores) {
  unsigned seed = 0;
  for (const Shape& shape : shapes()) {
    Scene s(GetParam(), shape, ++seed);
    ASSERT_TRUE(s.columns.screenable);
    const int64_t p = s.points.tile_rows();
    for (int64_t row = 0; row < s.n; ++row) {
      const Tile tile = s.points.tile(row / p, nullptr);
      const int64_t lane = row % p;
      if (lane == 0) s.screen(row / p, 0, s.columns.spans);
      for (int64_t span = 0; span < s.columns.spans; ++span) {
        const float best = s.best[static_cast<size_t>(span * p + lane)];
        const float second = s.second[static_cast<size_t>(span * p + lane)];
        const float third = s.third[static_cast<size_t>(span * p + lane)];
        const int64_t place = std::bit_cast<uint32_t>(best) & kColumnBits;
        const int64_t next = std::bit_cast<uint32_t>(second) & kColumnBits;
        EXPECT_GE(without_place(second), without_place(third)) << "equal sums may stand in either order";
        for (int64_t c = span * 32; c < span * 32 + 32; ++c) {
          if (!s.exists(c)) continue;
          const long double truth = s.truth(row, c);
          if (c == span * 32 + place) {
            EXPECT_GE(best, truth) << "row " << row << " column " << c << " D " << s.d;
            EXPECT_LE(best - 2 * s.bound(span, tile.radii[lane]), truth) << "row " << row << " column " << c;
          } else if (c == span * 32 + next && second > third) {
            EXPECT_GE(second, truth) << "row " << row << " column " << c << " D " << s.d;
            EXPECT_LE(second - 2 * s.bound(span, tile.radii[lane]), truth) << "row " << row << " column " << c;
          } else {
            EXPECT_GE(third, truth) << "row " << row << " column " << c << " D " << s.d;
          }
        }
      }
    }
  }
}

TEST_P(Screens, AChunkOfSpansGivesWhatAllGive) {
  Scene s(GetParam(), {64, 20, 150}, 3);
  const auto p = static_cast<size_t>(s.points.tile_rows());
  s.screen(0, 0, s.columns.spans);
  const std::vector<float> all(s.best.data(), s.best.data() + s.best.size());
  for (int64_t span = 0; span < s.columns.spans; ++span) {
    s.screen(0, span, 1);
    for (size_t i = 0; i < p; ++i) EXPECT_EQ(s.best[i], all[static_cast<size_t>(span) * p + i]);
  }
}

TEST_P(Screens, HitsAreTheUpperScoresAboveTheThresholds) {
  for (const int64_t k : {1, 2, 4, 7, 8, 40}) {
    for (const int64_t d : {1, 2, 3, 4, 9}) {
      constexpr int64_t kTiles = 3;
      Scene s(GetParam(), {64 * kTiles, d, k}, 11);
      const int64_t p = s.points.tile_rows();
      std::vector<float> thresholds(static_cast<size_t>(p * kTiles)), weights(thresholds.size());
      std::vector<HitsTile> tiles;
      for (int64_t i = 0; i < p * kTiles; ++i) {
        thresholds[static_cast<size_t>(i)] = static_cast<float>(s.truth(i, i % k));
        weights[static_cast<size_t>(i)] = static_cast<float>(1 + i % 3);
      }
      thresholds[0] = std::numeric_limits<float>::infinity();  // as behind the last row
      for (int64_t t = 0; t < kTiles; ++t) {
        const Tile tile = s.points.tile(t, nullptr);
        tiles.push_back({tile.values, tile.radii, thresholds.data() + t * p, weights.data() + t * p});
      }
      const int64_t places = s.columns.spans * 32;
      std::vector<uint64_t> hits(static_cast<size_t>(kTiles * places), ~uint64_t{0});
      std::vector<double> excess(static_cast<size_t>(places), 1);
      const MatrixSteps steps = s.points.layout().steps();
      s.points.screen().hits(
          {s.columns.view(0, s.columns.spans, s.points, steps), tiles.data(), kTiles, hits.data(), excess.data()});
      for (int64_t c = 0; c < places; ++c) {
        if (!s.exists(c)) continue;
        long double least = 0, most = 0;
        for (int64_t i = 0; i < p * kTiles; ++i) {
          const uint64_t word = hits[static_cast<size_t>(i / p * places + c)];
          const bool hit = (word >> (i % p) & 1) != 0;
          const long double above = s.truth(i, c) - thresholds[static_cast<size_t>(i)];
          const long double error = 2 * s.bound(c / 32, tiles[static_cast<size_t>(i / p)].radii[i % p]);
          if (above > 0) {
            EXPECT_TRUE(hit) << c << " " << i << " D " << d;
          }
          if (above < -error) {
            EXPECT_FALSE(hit) << c << " " << i << " D " << d;
          }
          if (p < 64) {
            EXPECT_EQ(word >> p, 0U);
          }
          const long double weight = weights[static_cast<size_t>(i)];
          least += weight * std::max(0.0L, above);
          if (hit) most += weight * (above + error);
        }
        EXPECT_GE((excess[static_cast<size_t>(c)] - 1) * (1 + 2 * kExcessRounding), least) << c << " D " << d;
        EXPECT_LE((excess[static_cast<size_t>(c)] - 1) * (1 - 2 * kExcessRounding), most) << c << " D " << d;
      }
    }
  }
}

TEST_P(Screens, RowsOnPrototypesAreCertifiedAndRowsBetweenThemAreNot) {
  Scene s(GetParam(), {96, 6, 40}, 5);
  for (int64_t i = 0; i < 96; ++i) {  // on prototype i, or half way between two
    for (int64_t j = 0; j < 6; ++j) {
      const double a = s.prototypes.at(i % 40, j), b = s.prototypes.at((i + 1) % 40, j);
      s.x[static_cast<size_t>(i * 6 + j)] = static_cast<float>(i % 2 == 0 ? a : (a + b) / 2);
    }
  }
  Scene packed(GetParam(), {96, 6, 40}, 5);
  packed.x = s.x;
  packed.input = prepare_input(PointsView(packed.x.data(), 96, 6), {}, packed.pool);
  PointsPlan plan;
  plan.screen = GetParam().screen;
  plan.packed = true;
  packed.points = PackedPoints(packed.input, packed.kernels, plan, packed.pool);
  packed.pack();
  packed.screen(0, 0, packed.columns.spans);
  const int64_t p = packed.points.tile_rows();
  const Tile tile = packed.points.tile(0, nullptr);
  std::vector<uint32_t> labels(static_cast<size_t>(p));
  AlignedBuffer<float> upper(static_cast<size_t>(p)), lower(static_cast<size_t>(p)), next(static_cast<size_t>(p));
  const uint64_t unproved =
      packed.kernels.certify({packed.best.data(), packed.second.data(), packed.third.data(), packed.columns.spans,
                              static_cast<int>(p), tile.norms, tile.radii, packed.columns.bounds.slopes.data(),
                              packed.columns.bounds.errors.data(), packed.columns.slack, packed.columns.underflow,
                              packed.columns.order.data(), labels.data(), upper.data(), lower.data(), next.data()});
  EXPECT_NE(unproved, 0U) << "a middle of two neighbours";
  for (int64_t i = 0; i < p; i += 2) {
    EXPECT_EQ(unproved >> i & 1, 0U) << i;
    EXPECT_EQ(labels[static_cast<size_t>(i)], i % 40);
    const auto& order = packed.columns.order;
    const auto column = std::find(order.begin(), order.end(), labels[static_cast<size_t>(i)]) - order.begin();
    const long double truth = packed.truth(i, column);
    EXPECT_GE(upper[static_cast<size_t>(i)], truth);
    EXPECT_LE(lower[static_cast<size_t>(i)], truth);
    EXPECT_LT(next[static_cast<size_t>(i)], lower[static_cast<size_t>(i)]);
  }
}

TEST_P(Screens, RepeatsHaveNoColumnAndFarPrototypesAreNotScreened) {
  Scene s(GetParam(), {50, 3, 5}, 99);
  auto values = s.prototypes.values<float>();
  std::copy_n(values.begin() + 3, 3, values.begin() + 9);  // prototype 3 repeats prototype 1
  s.pack();
  int64_t columns = 0;
  for (int64_t c = 0; c < s.columns.spans * 32; ++c) {
    columns += s.exists(c);
    if (s.exists(c)) {
      EXPECT_NE(s.columns.order[static_cast<size_t>(c)], 3U);
    }
  }
  EXPECT_EQ(columns, 4);
  values[2] = 1e30F;
  s.pack();
  EXPECT_FALSE(s.columns.screenable);
}

// Whatever radius and slope give: no score is infinite or NaN, and a span of which nothing is known is passed on whole.
TEST_P(Screens, ABoundBeyondFloat32ProvesNothing) {
  Scene s(GetParam(), {64, 9, 100}, 17);
  const int64_t p = s.points.tile_rows();
  const Tile tile = s.points.tile(0, nullptr);
  for (const float slope : {0x1p100F, std::numeric_limits<float>::max(), std::numeric_limits<float>::infinity()}) {
    for (int64_t span = 0; span < s.columns.spans; ++span) {
      s.pack();
      s.columns.bounds.slopes[static_cast<size_t>(span)] = slope;
      s.screen(0, 0, s.columns.spans);
      for (const AlignedBuffer<float>* scores : {&s.best, &s.second, &s.third}) {
        for (size_t i = 0; i < scores->size(); ++i) ASSERT_TRUE(std::isfinite((*scores)[i]));
      }
      std::vector<uint32_t> labels(static_cast<size_t>(p));
      AlignedBuffer<float> upper(static_cast<size_t>(p)), lower(static_cast<size_t>(p)), next(static_cast<size_t>(p));
      const CertifyTask task{s.best.data(),
                             s.second.data(),
                             s.third.data(),
                             s.columns.spans,
                             static_cast<int>(p),
                             tile.norms,
                             tile.radii,
                             s.columns.bounds.slopes.data(),
                             s.columns.bounds.errors.data(),
                             s.columns.slack,
                             s.columns.underflow,
                             s.columns.order.data(),
                             labels.data(),
                             upper.data(),
                             lower.data(),
                             next.data()};
      const uint64_t all = p == 64 ? ~uint64_t{0} : (uint64_t{1} << p) - 1;
      ASSERT_EQ(s.kernels.certify(task) & all, all);
      std::vector<SpanCandidates> found(static_cast<size_t>(s.columns.spans));
      const int64_t count = s.kernels.candidates(task, all, found.data());
      bool listed = false;
      for (int64_t i = 0; i < count; ++i)
        listed = listed || (found[static_cast<size_t>(i)].span == span && found[static_cast<size_t>(i)].best == all);
      EXPECT_TRUE(listed) << span;
    }
  }
}

// More roundings than a bound can hold for: the bound would be negative.
TEST_P(Screens, SoManyColumnsAreNotScreened) {
  if (GetParam().screen->format == ScreenFormat::kInt8Pair) GTEST_SKIP() << "takes at most 32768 columns";
  const bool pair = GetParam().screen->format == ScreenFormat::kBfloat16Pair;
  const int64_t most = GetParam().screen->format == ScreenFormat::kFloat32 ? 1 << 23 : (pair ? 1400000 : 1 << 22);
  EXPECT_FALSE(Scene(GetParam(), {2, most + 64, 2}, 1).columns.screenable);
  EXPECT_TRUE(Scene(GetParam(), {2, 100000, 2}, 1).columns.screenable);
}

TEST_P(Screens, UnpackedTilesAreThePackedOnes) {
  Scene s(GetParam(), {101, 7, 3}, 1);
  PointsPlan plan;
  plan.screen = GetParam().screen;
  const PackedPoints loose(s.input, s.kernels, plan, s.pool);
  AlignedBuffer<std::byte> scratch(loose.tile_bytes());
  for (int64_t t = 0; t < loose.tiles(); ++t) {
    const Tile a = loose.tile(t, scratch.data());
    const Tile b = s.points.tile(t, nullptr);
    EXPECT_EQ(a.rows, b.rows);
    for (int64_t i = 0; i < loose.tile_rows(); ++i) {
      EXPECT_EQ(a.norms[i], b.norms[i]);
      EXPECT_EQ(a.radii[i], b.radii[i]);
    }
  }
}

TEST(FindFrame, IsNotMovedByOutliers) {
  Scene s(units().back(), {1000, 1, 2, 5}, 6);
  s.x[17] = 1e30F;
  s.input = prepare_input(PointsView(s.x.data(), s.n, s.d), {}, s.pool);
  EXPECT_NEAR(find_frame(s.input).centre[0], 5, 1);
}

INSTANTIATE_TEST_SUITE_P(All, Screens, testing::ValuesIn(units()),
                         [](const auto& unit) { return name_of(unit.param); });

}  // namespace
}  // namespace manymeans
