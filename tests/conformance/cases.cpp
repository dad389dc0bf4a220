#include "conformance/cases.h"

#include "core/data_type.h"
#include "data/input.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <cstring>

namespace manymeans::test {
namespace {

using Random = std::mt19937_64;

int64_t below(Random& random, int64_t limit) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
}

// The values of a family as binary64, row-major.
class Values {
 public:
  Values(Family family, DataType type, const Shape& shape, uint64_t seed)
      : family_(family), type_(type), shape_(shape), random_(seed) {}

  std::vector<double> make() {
    prepare();
    std::vector<double> values;
    for (int64_t i = 0; i < shape_.n; ++i) {
      const auto group = static_cast<size_t>(below(random_, static_cast<int64_t>(groups_.size()) / shape_.d));
      for (int64_t j = 0; j < shape_.d; ++j) {
        values.push_back(value(j, groups_[group * static_cast<size_t>(shape_.d) + static_cast<size_t>(j)]));
      }
    }
    place_outlier(values);
    return values;
  }

 private:
  void prepare() {
    offset_ = std::array{1e3, 1e4, 1e5, 1e7}[static_cast<size_t>(below(random_, 4))];
    const int64_t distinct = family_ == Family::kConstant ? 1 : 2 + below(random_, 9);
    for (int64_t i = 0; i < distinct * shape_.d; ++i) groups_.push_back(4 * normal_(random_));
  }

  double value(int64_t j, double of_group) {
    const double z = normal_(random_);
    switch (family_) {
      case Family::kNormal:
      case Family::kOutlier:
      case Family::kHugeOutlier: return z;
      case Family::kClusters: return of_group + z;
      case Family::kOffset: return offset_ + z;
      case Family::kDuplicates:
      case Family::kConstant: return of_group;
      case Family::kGrid: return static_cast<double>(below(random_, 4)) - 1;
      case Family::kConstantParts: return j % 3 == 0 ? 12345.678 : (j % 3 == 1 ? -0.0 : z);
      case Family::kRanges: return std::copysign(std::pow(10.0, 20 * std::clamp(z, -1.5, 1.5)), normal_(random_));
      case Family::kTiny: return z * 0x1p-138;
      case Family::kSpread: return z * std::pow(10.0, static_cast<double>(j % 9) - 4);
    }
    return 0;
  }

  void place_outlier(std::vector<double>& values) {
    if (family_ != Family::kOutlier && family_ != Family::kHugeOutlier) return;
    const double huge = type_ == DataType::kFloat64 ? 0x1p500 : static_cast<double>(FLT_MAX);
    const auto at = static_cast<size_t>(below(random_, static_cast<int64_t>(values.size())));
    values[at] = family_ == Family::kOutlier ? 1e12 : (random_() % 2 == 0 ? huge : -huge);
  }

  Family family_;
  DataType type_;
  const Shape& shape_;
  Random random_;
  std::normal_distribution<double> normal_;
  std::vector<double> groups_;
  double offset_ = 0;
};

// Some binary16 near v: the significand is cut, large values become the largest finite one.
uint16_t half_near(double v) {
  const double magnitude = std::min(std::fabs(v), 65504.0);
  int e = 0;
  std::frexp(magnitude, &e);
  e = std::max(e - 11, -24);
  const auto mantissa = static_cast<uint32_t>(std::ldexp(magnitude, -e));
  const uint32_t bits = mantissa < 1024 ? mantissa : (static_cast<uint32_t>(e + 25) << 10) + (mantissa - 1024);
  return static_cast<uint16_t>(bits | (std::signbit(v) ? 0x8000u : 0u));
}

uint16_t bfloat16_near(double v) {
  const auto value = static_cast<float>(std::clamp<double>(v, -FLT_MAX, FLT_MAX));
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
}

// Narrow integers wrap around: any pattern will do.
int64_t integer_near(double v) {
  return static_cast<int64_t>(std::fmod(std::nearbyint(20 * v), 256.0));
}

template <class T, class Convert>
std::vector<std::byte> encoded_as(const std::vector<double>& values, Convert convert) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    const T value = convert(values[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

std::vector<std::byte> encoded(const std::vector<double>& values, DataType type) {
  switch (type) {
    case DataType::kFloat64: return encoded_as<double>(values, [](double v) { return v; });
    case DataType::kFloat32: return encoded_as<float>(values, [](double v) { return static_cast<float>(v); });
    case DataType::kFloat16: return encoded_as<uint16_t>(values, half_near);
    case DataType::kBFloat16: return encoded_as<uint16_t>(values, bfloat16_near);
    case DataType::kUInt8:
      return encoded_as<uint8_t>(values, [](double v) { return static_cast<uint8_t>(integer_near(v)); });
    case DataType::kInt8:
      return encoded_as<int8_t>(values, [](double v) { return static_cast<int8_t>(integer_near(v)); });
  }
  return {};
}

std::vector<double> make_weights(Weighting weighting, int64_t n, Random& random) {
  std::vector<double> weights;
  for (int64_t i = 0; weighting != Weighting::kNone && i < n; ++i) {
    const double share = static_cast<double>(random() >> 11) * 0x1p-53;
    switch (weighting) {
      case Weighting::kIntegers: weights.push_back(static_cast<double>(1 + random() % 7)); break;
      case Weighting::kZeros: weights.push_back(random() % 3 == 0 ? 0.0 : 0.1 + share); break;
      case Weighting::kRanges: weights.push_back(std::pow(10.0, -12 * share)); break;
      default: weights.push_back(1.0);
    }
  }
  if (weighting == Weighting::kZeros) weights[0] = 1;
  return weights;
}

// Rows of the points, some of them twice, some moved a little: equal prototypes and near-ties.
Matrix make_prototypes_of(const Case& made, int64_t k, Random& random) {
  Matrix prototypes(k, made.shape.d, prototype_type(made.type));
  const auto fill = [&](auto values) {
    using T = typename decltype(values)::value_type;
    for (int64_t c = 0; c < k; ++c) {
      T* row = values.data() + c * made.shape.d;
      const bool repeated = c > 0 && random() % 8 == 0;
      if (repeated) {
        std::copy_n(values.data() + below(random, c) * made.shape.d, made.shape.d, row);
      } else {
        widen(made.bytes.data(), made.type, below(random, made.shape.n) * made.shape.d, made.shape.d, row);
      }
      if (random() % 4 == 0) row[below(random, made.shape.d)] *= T{1} + std::numeric_limits<T>::epsilon();
      for (int64_t j = 0; j < made.shape.d; ++j) {
        if (!(std::fabs(row[j]) <= kMaxMagnitude)) row[j] = 0;  // given prototypes are refused there
        row[j] += T{0};
      }
    }
  };
  if (prototypes.type() == DataType::kFloat64) {
    fill(prototypes.values<double>());
  } else {
    fill(prototypes.values<float>());
  }
  return prototypes;
}

}  // namespace

std::string name_of(Family family) {
  constexpr std::array<const char*, kFamilies> kNames = {"normal",       "clusters", "offset",         "duplicates",
                                                         "grid",         "constant", "constant_parts", "outlier",
                                                         "huge_outlier", "ranges",   "tiny",           "spread"};
  return kNames[static_cast<size_t>(family)];
}

Case make_case(Family family, DataType type, Weighting weighting, const Shape& shape, uint64_t seed) {
  Case made;
  Random random(seed);
  made.seed = seed;
  made.shape = shape;
  made.type = type;
  made.bytes = encoded(Values(family, type, made.shape, seed).make(), type);
  made.weights = make_weights(weighting, shape.n, random);
  for (const int64_t k : shape.k) made.prototypes.push_back(make_prototypes_of(made, k, random));
  made.name = fmt::format("{} {} n={} d={} k={} weights={} seed={}", name_of(family), manymeans::name_of(type), shape.n,
                          shape.d, fmt::join(shape.k, ","), static_cast<int>(weighting), seed);
  return made;
}

Case random_case(uint64_t seed) {
  Random random(seed);
  const auto pick = [&](auto... choices) {
    const std::array<int64_t, sizeof...(choices)> all = {choices...};
    return all[random() % all.size()];
  };
  Shape shape;
  shape.n = pick(1, 2, 3, 5, 17, 63, 64, 65, 127, 250, 511, 1000, 1025, 2049, 4097, 9973);
  shape.d = pick(1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 64, 100, 784);
  shape.k.clear();
  for (int64_t m = pick(1, 1, 2, 3); m > 0; --m)
    shape.k.push_back(pick(1, 2, 3, 5, 7, 8, 9, 16, 17, 31, 33, 64, 100, 257));
  int64_t total = 0;
  for (const int64_t k : shape.k) total += k;
  while (shape.n * shape.d * total > 1'500'000 && shape.n > 3) shape.n = shape.n / 2 + 1;
  for (int64_t& k : shape.k) k = random() % 12 == 0 ? std::min<int64_t>(shape.n, 300) : std::min(k, shape.n);
  const auto type = static_cast<DataType>(random() % 3 == 0 ? random() % 6 : random() % 2);
  const auto weighting = static_cast<Weighting>(random() % 2 == 0 ? 0 : random() % kWeightings);
  return make_case(static_cast<Family>(random() % kFamilies), type, weighting, shape, random());
}

Matrix stacked(std::span<const Matrix> prototypes) {
  int64_t rows = 0;
  for (const Matrix& one : prototypes) rows += one.rows();
  Matrix all(rows, prototypes[0].columns(), prototypes[0].type());
  as_float_type(all.type(), [&]<class T>(T) {
    auto to = all.values<T>().begin();
    for (const Matrix& one : prototypes) to = std::ranges::copy(one.values<T>(), to).out;
  });
  return all;
}

std::vector<Case> hostile_cases() {
  const Shape shapes[] = {{1, 1, {1}},         {257, 1, {5, 16}}, {101, 2, {101, 1}}, {1003, 3, {7}},
                          {515, 7, {8, 3, 8}}, {1000, 8, {33}},   {333, 9, {17, 2}},  {20011, 2, {9, 4}},
                          {260, 31, {11}},     {129, 33, {20}},   {101, 100, {6, 5}}, {37, 784, {5}}};
  static_assert(std::size(shapes) == kHostileShapes);
  std::vector<Case> cases;
  uint64_t seed = 1;
  for (int family = 0; family < kFamilies; ++family) {
    for (const Shape& shape : shapes) {
      const DataType type = (seed + seed / kHostileShapes) % 2 == 0 ? DataType::kFloat64 : DataType::kFloat32;
      cases.push_back(
          make_case(static_cast<Family>(family), type, static_cast<Weighting>(seed % kWeightings), shape, seed));
      ++seed;
    }
  }
  return cases;
}

}  // namespace manymeans::test
