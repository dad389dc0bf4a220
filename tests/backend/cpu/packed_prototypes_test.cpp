// The bounds of docs/screens.md against scores in extended precision.
#include "backend/cpu/packed_prototypes.h"

#include "backend/cpu/instruction_set.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace manymeans {
namespace {

struct Scene {
  std::vector<float> x;
  int64_t n, d;
  Matrix prototypes;
  ThreadPool pool{1};
  Input input;
  const CpuKernels& kernels = choose_kernels("");
  PackedPoints packed;

  Scene(int64_t rows, int64_t columns, int64_t k, double offset, double spread, unsigned seed)
      : x(static_cast<size_t>(rows * columns)), n(rows), d(columns), prototypes(k, columns, DataType::kFloat32) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    for (float& v : x) v = static_cast<float>(offset + normal(random) * std::pow(10, spread * normal(random)));
    for (float& v : prototypes.values<float>()) v = static_cast<float>(offset + normal(random));
    input = prepare_input(PointsView(x.data(), n, d), {}, pool);
    packed = PackedPoints(input, kernels, plan_points(input, kernels, "auto", 1 << 30), pool);
  }

  // The true score S_k of docs/screens.md, in extended precision.
  long double score(int64_t row, int64_t k) const {
    long double dot = 0;
    long double square = 0;
    for (int64_t j = 0; j < d; ++j) {
      const long double mu = packed.frame().centre[static_cast<size_t>(j)];
      const long double y = (x[static_cast<size_t>(row * d + j)] - mu) * packed.frame().scale;
      const long double z = (static_cast<long double>(prototypes.at(k, j)) - mu) * packed.frame().scale;
      dot += y * z;
      square += z * z;
    }
    return dot - square / 2;
  }
};

TEST(PackedPrototypes, UpperAndLowerScoresEncloseTheTrueOne) {
  unsigned seed = 0;
  for (const double offset : {0.0, 1e3, 1e6}) {
    for (const double spread : {0.0, 3.0}) {
      for (const int64_t d : {1, 2, 9, 64}) {
        const Scene s(100, d, 13, offset, spread, ++seed);
        const PackedPrototypes p = pack_prototypes(s.prototypes, s.packed.frame(), s.kernels, 1);
        ASSERT_TRUE(p.screenable);
        for (int64_t row = 0; row < s.n; ++row) {
          const int64_t lane = row % s.kernels.tile_rows;
          const Tile tile = s.packed.tile(row / s.kernels.tile_rows, nullptr);
          for (int64_t k = 0; k < p.k; ++k) {
            if (p.offsets[static_cast<size_t>(k)] == -0x1p126F) continue;  // repeats an earlier prototype
            float upper = p.offsets[static_cast<size_t>(k)];
            const int64_t width = s.kernels.block_prototypes;
            for (int64_t j = 0; j < d; ++j) {
              upper += tile.values[j * s.kernels.tile_rows + lane] *
                       p.values[static_cast<size_t>((k / width) * width * d + j * width + k % width)];
            }
            upper += tile.norms[lane] * p.slopes[static_cast<size_t>(k)];
            const long double truth = s.score(row, k);
            EXPECT_GE(static_cast<long double>(upper), truth);
            EXPECT_LE(static_cast<long double>(upper - 2 * p.bound(k, tile.norms[lane])), truth);
          }
        }
      }
    }
  }
}

TEST(PackedPrototypes, RepeatsAndPaddingNeverWin) {
  Scene s(50, 3, 5, 0, 0, 99);
  auto values = s.prototypes.values<float>();
  std::copy_n(values.begin() + 3, 3, values.begin() + 9);  // prototype 3 repeats prototype 1
  const PackedPrototypes p = pack_prototypes(s.prototypes, s.packed.frame(), s.kernels, 1);
  EXPECT_GT(p.offsets[1], -0x1p125F);
  EXPECT_EQ(p.offsets[3], -0x1p126F);
  for (auto k = static_cast<size_t>(p.k); k < p.offsets.size(); ++k) EXPECT_EQ(p.offsets[k], -0x1p126F);
}

TEST(PackedPrototypes, FarPrototypesAreNotScreened) {
  Scene s(50, 2, 3, 0, 0, 5);
  s.prototypes.values<float>()[2] = 1e30F;
  EXPECT_FALSE(pack_prototypes(s.prototypes, s.packed.frame(), s.kernels, 1).screenable);
}

TEST(FindFrame, IsNotMovedByOutliers) {
  Scene s(1000, 1, 2, 5, 0, 6);
  s.x[17] = 1e30F;
  s.input = prepare_input(PointsView(s.x.data(), s.n, s.d), {}, s.pool);
  EXPECT_NEAR(find_frame(s.input).centre[0], 5, 1);
}

}  // namespace
}  // namespace manymeans
