// Points, weights and prototypes that go wrong elsewhere: the inputs of the conformance tests.
#pragma once

#include <manymeans/points.h>

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace manymeans::test {

/// What the values of a case look like.
enum class Family : uint8_t {
  kNormal,         // N(0, 1)
  kClusters,       // overlapping groups
  kOffset,         // N(0, 1) shifted by 1e3 .. 1e7
  kDuplicates,     // a few distinct rows, many times
  kGrid,           // small integers: exact ties everywhere
  kConstant,       // every row the same
  kConstantParts,  // some columns constant, some zero
  kOutlier,        // N(0, 1) and one 1e12 in a column
  kHugeOutlier,    // N(0, 1) and one FLT_MAX (2^500 in float64 points) in a column
  kRanges,         // magnitudes from 1e-30 to 1e30 within a column
  kTiny,           // near and among the denormals of float32
  kSpread,         // columns of very different scales
};
constexpr int kFamilies = 12;
std::string name_of(Family family);

enum class Weighting : uint8_t { kNone, kOnes, kIntegers, kZeros, kRanges };  // kRanges: 1e-12 to 1
constexpr int kWeightings = 5;

struct Shape {
  int64_t n = 1, d = 1;
  std::vector<int64_t> k = {1};  // one per model
};

struct Case {
  std::string name;
  uint64_t seed = 0;
  Shape shape;
  DataType type = DataType::kFloat32;
  std::vector<std::byte> bytes;
  std::vector<double> weights;
  std::vector<Matrix> prototypes;  // one matrix per model

  PointsView points() const { return {bytes.data(), shape.n, shape.d, type}; }
};

/// These prototypes, one below the other.
Matrix stacked(std::span<const Matrix> prototypes);

Case make_case(Family family, DataType type, Weighting weighting, const Shape& shape, uint64_t seed);

/// A case of everything: family, type, weights and an odd shape, all from the seed.
Case random_case(uint64_t seed);

/// Every family in kHostileShapes shapes, small and of several blocks, in float32 and float64.
std::vector<Case> hostile_cases();
constexpr size_t kHostileShapes = 12;

}  // namespace manymeans::test
