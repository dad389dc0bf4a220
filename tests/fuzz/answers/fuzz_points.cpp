#include "fuzz/answers/fuzz_points.h"

#include "core/data_type.h"
#include "data/input.h"
#include "fuzz/answers/draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>

namespace manymeans::fuzz {
namespace {

// Of three uniform numbers: mean 0, variance 1, a bell to the eye, and some nanoseconds.
double bell(uint64_t hash) {
  constexpr int64_t kMask = (int64_t{1} << 21) - 1;
  const auto bits = static_cast<int64_t>(hash >> 1);
  const int64_t sum = (bits & kMask) + (bits >> 21 & kMask) + (bits >> 42 & kMask);
  return (static_cast<double>(sum) - 1.5 * kMask) * (2.0 / kMask);
}

double share_of(uint64_t hash) {
  return static_cast<double>(hash >> 11) * 0x1p-53;
}

// The rows of a recipe, one at a time.
class RowMaker {
 public:
  explicit RowMaker(const PointRecipe& recipe)
      : recipe_(recipe), scale_(std::ldexp(1.0, recipe.exponent)), offset_(std::pow(10.0, 1 + recipe.seed % 7)) {}

  void make(int64_t row, double* out) const {
    const uint64_t key = mixed(recipe_.seed ^ mixed(static_cast<uint64_t>(row)));
    const uint64_t group = mixed(recipe_.seed + 1 + key % static_cast<uint64_t>(recipe_.groups));
    fill(key, group, out);
    if (recipe_.kind == PointKind::kOutliers && key % 4096 < 8) place_outlier(key, out);
    if (scale_ == 1) return;
    for (int64_t j = 0; j < recipe_.d; ++j) out[j] *= scale_;
  }

 private:
  void fill(uint64_t key, uint64_t group, double* out) const {
    switch (recipe_.kind) {
      case PointKind::kNoise: return each(out, [&](uint64_t j) { return bell(mixed(key + j)); });
      case PointKind::kSettled:
        return each(out, [&](uint64_t j) { return 8 * bell(mixed(group + j)) + 0.25 * bell(mixed(key + j)); });
      case PointKind::kMoving:
      case PointKind::kOutliers:
        return each(out, [&](uint64_t j) { return bell(mixed(group + j)) + bell(mixed(key + j)); });
      case PointKind::kDuplicates: return each(out, [&](uint64_t j) { return bell(mixed(group + j)); });
      case PointKind::kConstant:
        return each(out, [&](uint64_t j) {
          return j % 2 == 0 ? 1e3 * bell(mixed(recipe_.seed + j)) : bell(mixed(group + j)) + bell(mixed(key + j));
        });
      case PointKind::kOffset:
        return each(out, [&](uint64_t j) { return offset_ + bell(mixed(group + j)) + 0.5 * bell(mixed(key + j)); });
      default: return fill_hostile(key, group, out);
    }
  }

  void fill_hostile(uint64_t key, uint64_t group, double* out) const {
    switch (recipe_.kind) {
      case PointKind::kPixels:
        return each(out, [&](uint64_t j) {
          const double ink = 96 * bell(mixed(group + j)) + 24 * bell(mixed(key + j));
          return std::clamp(std::nearbyint(ink), 0.0, 255.0);
        });
      case PointKind::kSparse: return fill_sparse(key, out);
      case PointKind::kGrid: return each(out, [&](uint64_t j) { return static_cast<double>(mixed(key + j) & 3); });
      case PointKind::kSpread:
        return each(out, [&](uint64_t j) {
          const double wide = std::ldexp(1.0, static_cast<int>(mixed(recipe_.seed + j) % 32) - 16);
          return wide * (bell(mixed(group + j)) + bell(mixed(key + j)));
        });
      case PointKind::kNearTies:
        return each(out, [&](uint64_t j) {
          const double step = recipe_.type == DataType::kFloat64 ? 0x1p-52 : 0x1p-23;
          const auto steps = static_cast<double>(mixed(key + j) % 7) - 3;
          return bell(mixed(group + j)) * (1 + steps * step);
        });
      default: return fill_ranges(key, out);
    }
  }

  // Most rows are zero, and the others hold what makes a screen's rounding coarse.
  void fill_sparse(uint64_t key, double* out) const {
    std::fill_n(out, recipe_.d, 0.0);
    if (key % 20 != 0) return;
    each(out, [&](uint64_t j) { return 10 * bell(mixed(key + j)); });
    out[key / 20 % static_cast<uint64_t>(recipe_.d)] = 1e6 * (1 + share_of(mixed(key)));
  }

  void fill_ranges(uint64_t key, double* out) const {
    const int widest = recipe_.type == DataType::kFloat64 ? 400 : 90;
    each(out, [&](uint64_t j) {
      const uint64_t hash = mixed(key + j);
      return std::ldexp(bell(mixed(hash)), static_cast<int>(hash % static_cast<uint64_t>(2 * widest)) - widest);
    });
  }

  void place_outlier(uint64_t key, double* out) const {
    const double far = std::pow(10.0, 2 + 11 * share_of(mixed(key)));
    out[key / 4096 % static_cast<uint64_t>(recipe_.d)] = key % 2 == 0 ? far : -far;
  }

  template <class Value>
  void each(double* out, Value&& value) const {
    for (int64_t j = 0; j < recipe_.d; ++j) out[j] = value(static_cast<uint64_t>(j) * 0x9e3779b97f4a7c15);
  }

  const PointRecipe& recipe_;
  double scale_;
  double offset_;
};

// Some binary16 near v: the significand is cut, large values become the largest finite one.
uint16_t cut_to_half(double v) {
  const float magnitude = static_cast<float>(std::min(std::fabs(v), 65504.0));
  const uint32_t bits = std::bit_cast<uint32_t>(magnitude);
  const uint32_t sign = std::signbit(v) ? 0x8000u : 0u;
  if (magnitude < 0x1p-14f) return static_cast<uint16_t>(sign | static_cast<uint32_t>(magnitude * 0x1p24f));
  return static_cast<uint16_t>(sign | ((bits - (112u << 23)) >> 13));
}

float cut_to_float(double v) {
  return static_cast<float>(std::clamp<double>(v, -FLT_MAX, FLT_MAX));
}

// Bytes hold what fits them; what is a fraction elsewhere is spread over some of their values.
double spread_for_bytes(const PointRecipe& recipe, double v) {
  const bool whole = recipe.kind == PointKind::kPixels || recipe.kind == PointKind::kGrid;
  return std::nearbyint(whole ? v : 20 * v + (recipe.type == DataType::kUInt8 ? 100 : 0));
}

void store(const PointRecipe& recipe, const double* row, std::byte* out) {
  const auto each = [&](auto convert) {
    using T = decltype(convert(0.0));
    for (int64_t j = 0; j < recipe.d; ++j) {
      const T value = convert(row[j]);
      std::memcpy(out + static_cast<size_t>(j) * sizeof(T), &value, sizeof(T));
    }
  };
  switch (recipe.type) {
    case DataType::kFloat64: return each([](double v) { return std::clamp(v, -kMaxMagnitude, kMaxMagnitude); });
    case DataType::kFloat32: return each(cut_to_float);
    case DataType::kFloat16: return each(cut_to_half);
    case DataType::kBFloat16:
      return each([](double v) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(cut_to_float(v)) >> 16); });
    case DataType::kUInt8:
      return each([&](double v) { return static_cast<uint8_t>(std::clamp(spread_for_bytes(recipe, v), 0.0, 255.0)); });
    case DataType::kInt8:
      return each(
          [&](double v) { return static_cast<int8_t>(std::clamp(spread_for_bytes(recipe, v), -128.0, 127.0)); });
  }
}

double weight_of(WeightKind kind, uint64_t hash) {
  switch (kind) {
    case WeightKind::kNone:
    case WeightKind::kOnes: return 1;
    case WeightKind::kIntegers: return static_cast<double>(1 + hash % 9);
    case WeightKind::kZeros: return hash % 3 == 0 ? 0.0 : 0.1 + share_of(mixed(hash));
    case WeightKind::kRanges: return std::exp2(-20 * share_of(hash));
    case WeightKind::kTiny: return std::ldexp(static_cast<double>(1 + hash % 3), -1074);
    case WeightKind::kHuge: return std::ldexp(1 + share_of(hash), 200);
  }
  return 1;
}

template <class T>
void fill_given(const PointsView& points, Matrix& given, Draw& draw) {
  T* const values = given.values<T>().data();
  for (int64_t c = 0; c < given.rows(); ++c) {
    T* row = values + c * given.columns();
    if (c > 0 && draw.chance(0.06)) {
      std::copy_n(values + draw.below(c) * given.columns(), given.columns(), row);
    } else {
      widen_row(points, draw.below(points.n), row);
    }
    T& some = row[draw.below(given.columns())];
    if (draw.chance(0.1)) some *= T{1} + std::numeric_limits<T>::epsilon();
    if (draw.chance(0.02)) some = static_cast<T>(draw.pick({1e9, -1e9, 0.0}));
    for (int64_t j = 0; j < given.columns(); ++j) row[j] = std::fabs(row[j]) <= kMaxMagnitude ? row[j] + T{0} : T{0};
  }
}

}  // namespace

const char* name_of(PointKind kind) {
  constexpr std::array<const char*, kPointKinds> kNames = {"noise",  "settled",   "moving", "duplicates", "constant",
                                                           "offset", "outliers",  "pixels", "sparse",     "grid",
                                                           "spread", "near-ties", "ranges"};
  return kNames[static_cast<size_t>(kind)];
}

const char* name_of(WeightKind kind) {
  constexpr std::array<const char*, kWeightKinds> kNames = {"none",   "ones", "integers", "zeros",
                                                            "ranges", "tiny", "huge"};
  return kNames[static_cast<size_t>(kind)];
}

std::string PointRecipe::text() const {
  return fmt::format("{} x {} {} {}, {} groups, times 2^{}, weights {}", n, d, manymeans::name_of(type),
                     fuzz::name_of(kind), groups, exponent, fuzz::name_of(weights));
}

MadePoints make_points(const PointRecipe& recipe, ThreadPool& pool, Storage storage) {
  const size_t row_bytes = static_cast<size_t>(recipe.d) * size_of(recipe.type);
  MadePoints made;
  made.bytes = AlignedBuffer<std::byte>(static_cast<size_t>(recipe.n) * row_bytes, storage);
  made.view = PointsView(made.bytes.data(), recipe.n, recipe.d, recipe.type);
  const RowMaker maker(recipe);
  pool.for_each_range(recipe.n, std::max<int64_t>(1, 65536 / recipe.d), [&](int, int64_t first, int64_t last) {
    std::vector<double> row(static_cast<size_t>(recipe.d));
    for (int64_t i = first; i < last; ++i) {
      maker.make(i, row.data());
      store(recipe, row.data(), made.bytes.data() + static_cast<size_t>(i) * row_bytes);
    }
  });
  return made;
}

std::vector<double> make_weights(const PointRecipe& recipe) {
  std::vector<double> weights;
  if (recipe.weights == WeightKind::kNone) return weights;
  for (int64_t i = 0; i < recipe.n; ++i) {
    weights.push_back(weight_of(recipe.weights, mixed(~recipe.seed ^ mixed(static_cast<uint64_t>(i)))));
  }
  weights[0] = weight_of(recipe.weights, 1);  // one that counts
  return weights;
}

Matrix make_given(const PointsView& points, int64_t k, uint64_t seed) {
  Matrix given(k, points.d, prototype_type(points.type));
  Draw draw(seed);
  if (given.type() == DataType::kFloat64) {
    fill_given<double>(points, given, draw);
  } else {
    fill_given<float>(points, given, draw);
  }
  return given;
}

}  // namespace manymeans::fuzz
