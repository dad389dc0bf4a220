// The first look of seeding, in bytes, against scores in extended precision: docs/developer/screens.md, "Seeding in
// bytes".
#include "backend/cpu/screen/coded_points.h"

#include "backend/cpu/kernels/instruction_set.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace manymeans {
namespace {

struct Shape {
  int64_t n, d, k;
  double offset = 0;
  double spread = 0;   // decades of the columns' deviations
  double outlier = 0;  // one row, so many times as far
};

struct Scene {
  Scene(const CodedKernels& kernels, const Shape& shape, unsigned seed)
      : unit(kernels), x(static_cast<size_t>(shape.n * shape.d)), centres(shape.k, shape.d, DataType::kFloat32) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    std::vector<double> deviations(static_cast<size_t>(shape.d));
    for (double& deviation : deviations) deviation = std::pow(10, shape.spread * normal(random));
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>(shape.offset + normal(random) * deviations[i % deviations.size()]);
    }
    for (int64_t j = 0; shape.outlier > 0 && j < shape.d; ++j) x[static_cast<size_t>(j + shape.d)] *= shape.outlier;
    for (int64_t k = 0; k < shape.k; ++k) {
      for (int64_t j = 0; j < shape.d; ++j) {
        centres.values<float>()[static_cast<size_t>(k * shape.d + j)] = x[static_cast<size_t>(k * 5 * shape.d + j)];
      }
    }
    input = prepare_input(PointsView(x.data(), shape.n, shape.d), {}, pool);
    frame = find_frame(input);
    points = CodedPoints(input, frame, unit.tile_rows, pool);
  }

  // y.z - |z|^2 / 2 in the frame.
  long double truth(int64_t row, int64_t k) const {
    const int64_t d = input.points.d;
    long double dot = 0, square = 0;
    for (int64_t j = 0; j < d; ++j) {
      const long double mu = frame.centre[static_cast<size_t>(j)];
      const long double y = (x[static_cast<size_t>(row * d + j)] - mu) * frame.scale;
      const long double z = (static_cast<long double>(centres.at(k, j)) - mu) * frame.scale;
      dot += y * z;
      square += z * z;
    }
    return dot - square / 2;
  }

  struct Found {
    int64_t lost = 0;  // rows whose score is above the threshold, without a hit
    int64_t hits = 0;
    int64_t wrong_sums = 0;
  };
  Found look(double bound_scale) const;

  const CodedKernels& unit;
  std::vector<float> x;
  Matrix centres;
  ThreadPool pool{2};
  Input input;
  Frame frame;
  CodedPoints points;
};

// Thresholds are scores of a neighbour in the order of rows, but for a little.
Scene::Found Scene::look(double bound_scale) const {
  std::vector<int64_t> all(static_cast<size_t>(centres.rows()));
  std::iota(all.begin(), all.end(), int64_t{0});
  const CodedCentres columns = code_centres(centres, all, points, frame, bound_scale);
  EXPECT_TRUE(columns.screenable);
  const int64_t p = unit.tile_rows;
  const int64_t tiles = (input.points.n + p - 1) / p;
  std::vector<float> thresholds(static_cast<size_t>(tiles * p), std::numeric_limits<float>::infinity());
  std::vector<float> weights(thresholds.size(), 1);
  for (int64_t i = 0; i < input.points.n; ++i) {
    const long double score = truth(i, i % centres.rows());
    thresholds[static_cast<size_t>(i)] = static_cast<float>(score - std::abs(score) * 0x1p-20L);
    weights[static_cast<size_t>(i)] = static_cast<float>(1 + i % 2);
  }
  std::vector<HitsTile> given;
  for (int64_t t = 0; t < tiles; ++t) {
    const CodedTile tile = points.tile(t);
    given.push_back({tile.values, tile.radii, thresholds.data() + t * p, weights.data() + t * p});
  }
  std::vector<uint64_t> words(static_cast<size_t>(tiles * columns.count));
  std::vector<double> excess(static_cast<size_t>(columns.count));
  unit.hits({columns.view(points), given.data(), tiles, words.data(), excess.data()});
  Found found;
  for (int64_t k = 0; k < centres.rows(); ++k) {
    long double least = 0, most = 0;
    for (int64_t i = 0; i < tiles * p; ++i) {
      const bool hit = (words[static_cast<size_t>(i / p * columns.count + k)] >> (i % p) & 1) != 0;
      if (i >= input.points.n) {
        EXPECT_FALSE(hit) << "there is no such row";
        continue;
      }
      const long double above = truth(i, k) - thresholds[static_cast<size_t>(i)];
      const long double radius = points.tile(i / p).radii[i % p];
      const long double error = 2 * radius * columns.slopes[static_cast<size_t>(k)];
      const long double weight = weights[static_cast<size_t>(i)];
      found.lost += above > 0 && !hit;
      found.hits += hit;
      least += weight * std::max(0.0L, above);
      if (hit) most += weight * (above + error);
    }
    const long double sum = excess[static_cast<size_t>(k)];
    found.wrong_sums += sum * (1 + 2 * kExcessRounding) < least || sum * (1 - 2 * kExcessRounding) > most;
  }
  return found;
}

std::vector<Shape> shapes() {
  std::vector<Shape> found;
  for (const int64_t d : {1, 2, 4, 7, 32, 130}) {
    for (const int64_t k : {1, 2, 5, 8, 19}) found.push_back({200, d, k});
    found.push_back({300, d, 7, 1000});
    found.push_back({300, d, 7, 0, 2});
    found.push_back({300, d, 7, 3, 0, 1e6});
  }
  return found;
}

template <class Visit>
void for_each_unit(Visit&& visit) {
  for (const InstructionSet& set : instruction_sets()) {
    const CpuKernels& kernels = set.kernels();
    if (kernels.coded_count == 0) continue;
    if (!kernels.supported()) {
      fmt::print("[ NOT HERE ] instruction set {}: this machine does not have it\n", kernels.name);
      continue;
    }
    for (int i = 0; i < kernels.coded_count; ++i) visit(kernels.coded[i]);
  }
}

TEST(CodedPoints, EveryRowThatACentreComesNearerToIsHit) {
  for_each_unit([](const CodedKernels& unit) {
    for (const Shape& shape : shapes()) {
      const Scene scene(unit, shape, 3);
      const Scene::Found found = scene.look(1);
      const auto where = fmt::format("D {} K {} offset {} spread {} outlier {}", shape.d, shape.k, shape.offset,
                                     shape.spread, shape.outlier);
      EXPECT_EQ(found.lost, 0) << where;
      EXPECT_EQ(found.wrong_sums, 0) << where;
    }
  });
}

TEST(CodedPoints, MostRowsThatNoCentreComesNearerToAreNotHit) {
  for_each_unit([](const CodedKernels& unit) {
    const Scene scene(unit, {2000, 64, 16}, 3);
    EXPECT_LT(scene.look(1).hits, 2000 * 16 * 6 / 10);  // half of the scores are above another's
  });
}

TEST(CodedPoints, AQuarterOfTheBoundLosesRows) {
  int64_t lost = 0;
  bool any = false;
  for_each_unit([&](const CodedKernels& unit) {
    any = true;
    for (const int64_t d : {1, 2, 3}) lost += Scene(unit, {5000, d, 16}, 7).look(0.25).lost;
  });
  if (any) {
    EXPECT_GT(lost, 0);
  }
}

TEST(CodedPoints, CentresTooFarOutAreNotScreened) {
  for_each_unit([](const CodedKernels& unit) {
    Scene scene(unit, {100, 4, 2}, 1);
    scene.centres.values<float>()[5] = 1e30F;
    const std::vector<int64_t> both = {0, 1};
    EXPECT_FALSE(code_centres(scene.centres, both, scene.points, scene.frame, 1).screenable);
  });
}

// As a pass looks at points: thresholds are scores of labels, and places stand in spans.
struct LookedAt {
  int64_t lost = 0;  // rows whose score of a prototype is above their threshold, without a hit
  int64_t hits = 0;  // of rows that exist
};

LookedAt look_in_spans(const CpuKernels& kernels, const CodedKernels& unit, const Shape& shape, double bound_scale) {
  Scene scene(unit, shape, 5);
  // The far row is a prototype, too, and shares a span with others.
  for (int64_t j = 0; shape.outlier > 0 && j < shape.d; ++j) {
    scene.centres.values<float>()[static_cast<size_t>(j)] = scene.x[static_cast<size_t>(shape.d + j)];
  }
  PointsPlan plan;
  plan.screen = &kernels.screens[0];
  plan.frame = scene.frame;
  plan.packed = true;
  const PackedPoints points(scene.input, kernels, plan, scene.pool);
  const PackedPrototypes packed = pack_prototypes(scene.centres, points, kernels, 1);
  EXPECT_TRUE(packed.screenable);
  const CodedPrototypes columns =
      code_prototypes({scene.centres, packed, scene.points, scene.frame, bound_scale}, &scene.pool);
  const int64_t p = unit.tile_rows;
  LookedAt found;
  for (int64_t first = 0; first < shape.n; first += p) {
    const int64_t rows = std::min(p, shape.n - first);
    std::vector<float> thresholds(static_cast<size_t>(p), std::numeric_limits<float>::infinity());
    for (int64_t i = 0; i < rows; ++i) {
      const long double score = scene.truth(first + i, (first + i) % shape.k);
      thresholds[static_cast<size_t>(i)] = static_cast<float>(score - std::abs(score) * 0x1p-20L);
    }
    const CodedTile tile = scene.points.tile(first / p);
    std::vector<CodedHit> hits(columns.offsets.size());
    hits.resize(static_cast<size_t>(
        unit.look({columns.view(scene.points), tile.values, tile.radii, thresholds.data(), hits.data()})));
    std::vector<uint64_t> words(columns.offsets.size());
    for (const CodedHit& hit : hits) words[static_cast<size_t>(hit.place)] = hit.rows;
    for (int64_t span = 0; span < packed.spans; ++span) {
      for (int64_t c = span * kSpanColumns; c < (span + 1) * kSpanColumns; ++c) {
        const auto place = static_cast<size_t>(c);
        if (c % kSpanColumns >= packed.columns[static_cast<size_t>(span)]) {
          EXPECT_EQ(words[place], 0U) << "padding";
          continue;
        }
        EXPECT_EQ(rows == 64 ? 0 : words[place] >> rows, 0U) << "there are no such rows";
        for (int64_t i = 0; i < rows; ++i) {
          const bool hit = (words[place] >> i & 1) != 0;
          found.hits += hit;
          found.lost += !hit && scene.truth(first + i, packed.order[place]) > thresholds[static_cast<size_t>(i)];
        }
      }
    }
  }
  return found;
}

template <class Visit>
void for_each_look(Visit&& visit) {
  for (const InstructionSet& set : instruction_sets()) {
    const CpuKernels& kernels = set.kernels();
    if (!kernels.supported()) continue;
    for (int i = 0; i < kernels.coded_count; ++i) visit(kernels, kernels.coded[i]);
  }
}

TEST(CodedPoints, ALookInSpansFindsEveryRowThatAPrototypeComesNearerTo) {
  for_each_look([](const CpuKernels& kernels, const CodedKernels& unit) {
    std::vector<Shape> all = shapes();
    for (const int64_t d : {3, 12, 100}) {
      all.push_back({500, d, 90});
      all.push_back({100, d, 7, 0, 0, 1e37});
    }
    for (const Shape& shape : all) {
      const auto where = fmt::format("D {} K {} offset {} spread {} outlier {}", shape.d, shape.k, shape.offset,
                                     shape.spread, shape.outlier);
      EXPECT_EQ(look_in_spans(kernels, unit, shape, 1).lost, 0) << where;
    }
    EXPECT_LT(look_in_spans(kernels, unit, {2000, 64, 16}, 1).hits, 2000 * 16 * 6 / 10);
  });
}

TEST(CodedPoints, AQuarterOfTheBoundOfALookLosesRows) {
  int64_t lost = 0;
  bool any = false;
  for_each_look([&](const CpuKernels& kernels, const CodedKernels& unit) {
    any = true;
    for (const int64_t d : {1, 2, 3}) lost += look_in_spans(kernels, unit, {5000, d, 16}, 0.25).lost;
  });
  if (any) {
    EXPECT_GT(lost, 0);
  }
}

}  // namespace
}  // namespace manymeans
