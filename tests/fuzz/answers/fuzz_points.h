// Points and weights of the fuzzer: every value is a function of (seed, row, column), so that the first rows of a case
// are those of the same case with fewer of them.
#pragma once

#include <manymeans/points.h>

#include "core/aligned_buffer.h"
#include "core/threads.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace manymeans::fuzz {

enum class PointKind : uint8_t {
  kNoise,       // N(0, 1) or nearly so
  kSettled,     // groups far apart: labels stay after a few passes
  kMoving,      // groups that overlap: labels go on changing
  kDuplicates,  // a few rows, many times
  kConstant,    // groups, and every second column constant
  kOffset,      // groups around a value 10 to 10^7 times as large as they are wide
  kOutliers,    // groups, and one row in many with a value that is far out
  kPixels,      // integers 0 .. 255, most of them 0
  kSparse,      // most rows zero, few with one large value and small others
  kGrid,        // integers 0 .. 3: exact ties everywhere
  kSpread,      // columns of very different scales
  kNearTies,    // rows that differ from a few others by a rounding or so
  kRanges,      // magnitudes all over the type's range
};
constexpr int kPointKinds = 13;
const char* name_of(PointKind kind);

enum class WeightKind : uint8_t {
  kNone,
  kOnes,
  kIntegers,  // 1 .. 9
  kZeros,     // one in three
  kRanges,    // over a factor of 2^20
  kTiny,      // all of them among the smallest numbers there are
  kHuge,      // all of them about 2^200
};
constexpr int kWeightKinds = 7;
const char* name_of(WeightKind kind);

struct PointRecipe {
  PointKind kind = PointKind::kNoise;
  DataType type = DataType::kFloat32;
  WeightKind weights = WeightKind::kNone;
  int64_t n = 1, d = 1;
  int64_t groups = 8;  ///< of rows that belong together
  int exponent = 0;    ///< everything is multiplied by 2^exponent
  uint64_t seed = 0;

  std::string text() const;
};

/// Where the rows lie.
struct MadePoints {
  AlignedBuffer<std::byte> bytes;
  PointsView view;
};
MadePoints make_points(const PointRecipe& recipe, ThreadPool& pool, Storage storage = Storage::kMemory);
std::vector<double> make_weights(const PointRecipe& recipe);

/// k prototypes near rows of the points: some on a row, some twice, some a rounding beside another, some where no row
/// is.
Matrix make_given(const PointsView& points, int64_t k, uint64_t seed);

}  // namespace manymeans::fuzz
