#include "data/input.h"

#include <manymeans/error.h>

#include "core/data_type.h"
#include "core/exact_numbers.h"
#include "data/weight_range.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace manymeans::test {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Input prepare(const PointsView& points, const std::vector<double>& weights = {}, int threads = 2) {
  ThreadPool pool(threads);
  return prepare_input(points, weights, pool);
}

// The message of the Error(code) that this must throw.
std::string refusal(const PointsView& points, const std::vector<double>& weights, ErrorCode code, int threads = 2) {
  try {
    prepare(points, weights, threads);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(PrepareInput, NamesTheFirstValueThatIsNotFinite) {
  const int64_t n = 60000, d = 3;
  for (const double bad : {kNaN, kInfinity, -kInfinity}) {
    for (const int threads : {1, 2, 7}) {
      std::vector<float> values(static_cast<size_t>(n * d), 1.0f);
      values[static_cast<size_t>(41234 * d + 2)] = static_cast<float>(bad);
      values[static_cast<size_t>(41235 * d + 0)] = static_cast<float>(kNaN);
      values[static_cast<size_t>(59999 * d + 1)] = static_cast<float>(kInfinity);
      const std::string message = refusal(PointsView(values.data(), n, d), {}, ErrorCode::kBadData, threads);
      EXPECT_TRUE(contains(message, "row 41235, column 3")) << message;
    }
  }
}

TEST(PrepareInput, FindsBadValuesAtTheCornersAndInEveryFloatType) {
  for (const size_t at : {size_t{0}, size_t{7}, size_t{34}}) {
    std::vector<double> wide(35, -1.0);
    wide[at] = kInfinity;
    const std::string message = refusal(PointsView(wide.data(), 5, 7), {}, ErrorCode::kBadData);
    EXPECT_TRUE(contains(message, "row " + std::to_string(at / 7 + 1) + ", column " + std::to_string(at % 7 + 1)));
  }
  const std::vector<uint16_t> half = {0x3c00, 0x7c00};
  EXPECT_TRUE(contains(refusal({half.data(), 2, 1, DataType::kFloat16}, {}, ErrorCode::kBadData), "row 2, column 1"));
  const std::vector<uint16_t> brain = {0x3f80, 0x7fc0};
  EXPECT_TRUE(contains(refusal({brain.data(), 1, 2, DataType::kBFloat16}, {}, ErrorCode::kBadData), "row 1, column 2"));
}

TEST(PrepareInput, RefusesShapesWithoutPoints) {
  const float value = 0;
  EXPECT_TRUE(contains(refusal(PointsView(&value, 0, 1), {}, ErrorCode::kBadData), "no rows"));
  EXPECT_TRUE(contains(refusal(PointsView(&value, 1, 0), {}, ErrorCode::kBadData), "no columns"));
  refusal(PointsView(static_cast<const float*>(nullptr), 1, 1), {}, ErrorCode::kUsage);
}

TEST(PrepareInput, RefusesWeightsThatMeanNothing) {
  const std::vector<float> values = {1, 2, 3};
  const PointsView points(values.data(), 3, 1);
  const auto refused = [&](const std::vector<double>& weights, const std::string& part) {
    const std::string message = refusal(points, weights, ErrorCode::kBadData);
    return contains(message, part) ? testing::AssertionSuccess() : testing::AssertionFailure() << message;
  };
  EXPECT_TRUE(refused({1, 2}, "2 weights for 3 rows"));
  EXPECT_TRUE(refused({1, -1, 1}, "row 2"));
  EXPECT_TRUE(refused({1, 1, kNaN}, "row 3"));
  EXPECT_TRUE(refused({kInfinity, 1, 1}, "row 1"));
  EXPECT_TRUE(refused({0, 0, 0}, "all weights are zero"));
}

TEST(PrepareInput, WeightsBelowTheSmallestThatCountsAreZero) {
  const std::vector<float> values = {1, 2, 3};
  const PointsView points(values.data(), 3, 1);
  // w * 2^51: 0.5 rounds to the even 0, anything above to 1.
  const std::vector<double> small = {1, 0x1p-52, 0x1p-60};
  const Input without = prepare(points, small);
  EXPECT_EQ(without.weights, prepare(points, {1, 0, 0}).weights);
  EXPECT_EQ(weight_warning(without, smallest_weight(small)).value_or(""),
            "weights from 8.67362e-19 to 2.22045e-16 are too small compared with the largest, 1, and count as 0: the "
            "weights of 3 rows may span a factor of 2^52");
  const std::vector<double> counts = {1, std::nextafter(0x1p-52, 1.0), 0};
  const Input input = prepare(points, counts);
  EXPECT_FALSE(weight_warning(input, smallest_weight(counts)));
  EXPECT_EQ(input.integer_weight(1), 1);
  EXPECT_EQ(input.weight(1), 0x1p-51);
  EXPECT_EQ(input.weight(2), 0);
}

TEST(PrepareInput, WeightsAreTheNearestIntegersOfTheirScale) {
  std::mt19937_64 random(21);
  for (int round = 0; round < 200; ++round) {
    const auto n = static_cast<int64_t>(1 + random() % 300);
    std::vector<float> values(static_cast<size_t>(n), 1.0f);
    std::vector<double> weights;
    const int high = static_cast<int>(random() % 600) - 300;
    for (int64_t i = 0; i < n; ++i) weights.push_back(std::fabs(random_double(random, high - 40, high)));
    weights[static_cast<size_t>(random() % static_cast<uint64_t>(n))] = std::ldexp(1.0, high);
    const Input input = prepare(PointsView(values.data(), n, 1), weights);
    const double largest = *std::max_element(weights.begin(), weights.end());
    const int bits = std::min(limb_bits(n), 52);
    ASSERT_EQ(input.weight_shift, bits - 1);
    ASSERT_EQ(input.weight_exponent, exponent(largest) - 1);
    ASSERT_GE(input.max_weight, 1);
    ASSERT_LE(input.max_weight, 2);
    for (int64_t i = 0; i < n; ++i) {
      const mpz_class q = nearest_integer(scaled(exact(weights[static_cast<size_t>(i)]), bits - exponent(largest)));
      ASSERT_EQ(mpz_class(static_cast<long>(input.integer_weight(i))), q);
      ASSERT_EQ(exact(input.weight(i)), scaled(q, -input.weight_shift));
    }
  }
}

TEST(PrepareInput, TheScaleOfWeightsIsKeptApart) {
  std::mt19937_64 random(24);
  std::vector<float> values(50, 1.0F);
  std::vector<double> weights;
  for (int i = 0; i < 50; ++i) weights.push_back(static_cast<double>(1 + random() % 1000));
  const PointsView points(values.data(), 50, 1);
  const Input plain = prepare(points, weights);
  for (const int scale : {-1074, -1000, -300, 1, 700, 1000}) {
    std::vector<double> scaled_weights;
    for (const double weight : weights) scaled_weights.push_back(std::ldexp(weight, scale));
    const Input input = prepare(points, scaled_weights);
    EXPECT_EQ(input.weights, plain.weights) << scale;
    EXPECT_EQ(input.columns, plain.columns) << scale;
    EXPECT_EQ(input.weight_exponent, plain.weight_exponent + scale);
  }
}

TEST(PrepareInput, WeightsAllOneAreNoWeights) {
  std::mt19937_64 random(22);
  std::vector<double> values;
  for (int i = 0; i < 300; ++i) values.push_back(random_double(random, -10, 10));
  const PointsView points(values.data(), 100, 3);
  const Input none = prepare(points);
  const Input ones = prepare(points, std::vector<double>(100, 1.0));
  EXPECT_EQ(ones.limbs, none.limbs);
  EXPECT_EQ(ones.columns, none.columns);
  EXPECT_EQ(ones.max_weight, none.max_weight);
  for (int64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(ones.weight(i), none.weight(i));
    // The same number, in units of 2^-weight_shift.
    EXPECT_EQ(std::ldexp(static_cast<double>(ones.integer_weight(i)), -ones.weight_shift),
              static_cast<double>(none.integer_weight(i)));
  }
}

TEST(PrepareInput, RefusesProductsThatOverflow) {
  const std::vector<double> large = {0x1p501, 0};
  EXPECT_TRUE(contains(refusal(PointsView(large.data(), 2, 1), {}, ErrorCode::kBadData), "overflow"));
  const std::vector<double> fine = {0x1p500, -0x1p500};
  EXPECT_NO_THROW(prepare(PointsView(fine.data(), 2, 1)));
  EXPECT_TRUE(contains(refusal(PointsView(fine.data(), 2, 1), {0x1p100, 1e300}, ErrorCode::kBadData), "weight"));
}

TEST(PrepareInput, IntegersTakeOneLimbAndFloatsTwo) {
  std::mt19937_64 random(23);
  std::normal_distribution<float> normal;
  std::vector<uint8_t> pixels(3000);
  std::vector<float> integers(3000), wild(3000);
  for (size_t i = 0; i < 3000; ++i) {
    pixels[i] = static_cast<uint8_t>(random());
    integers[i] = static_cast<float>(static_cast<int>(random() % 2000001) - 1000000);
    wild[i] = static_cast<float>(random_double(random, -120, 120));
  }
  EXPECT_EQ(prepare({pixels.data(), 1000, 3, DataType::kUInt8}).limbs, 1);
  EXPECT_EQ(prepare(PointsView(integers.data(), 1000, 3)).limbs, 1);
  std::vector<float> ordinary(1 << 20);
  for (float& v : ordinary) v = normal(random);
  EXPECT_EQ(prepare(PointsView(ordinary.data(), 1 << 20, 1)).limbs, 2);
  EXPECT_EQ(prepare(PointsView(wild.data(), 1000, 3)).limbs, 4) << "float32 points are capped at four limbs";
  std::vector<double> wilder(3000);
  for (double& v : wilder) v = random_double(random, -450, 450);
  EXPECT_EQ(prepare(PointsView(wilder.data(), 1000, 3)).limbs, 6) << "float64 points are capped at six limbs";
  const std::vector<float> zeros(10, 0.0f);
  EXPECT_EQ(prepare(PointsView(zeros.data(), 5, 2)).limbs, 1);
}

// The exactness rule by brute force: the least number of limbs for which every term is an integer.
TEST(PrepareInput, LimbsAreTheLeastForWhichEveryTermIsExact) {
  std::mt19937_64 random(24);
  for (int round = 0; round < 150; ++round) {
    const auto n = static_cast<int64_t>(1 + random() % 40), d = static_cast<int64_t>(1 + random() % 4);
    const bool weighted = random() % 2 == 0;
    const int width = static_cast<int>(random() % 180);
    std::vector<float> values;
    for (int64_t i = 0; i < n * d; ++i) {
      values.push_back(random() % 9 == 0 ? 0.0f : static_cast<float>(random_double(random, -width, 0)));
    }
    std::vector<double> weights;
    for (int64_t i = 0; weighted && i < n; ++i) weights.push_back(1 + static_cast<double>(random() % 1000));
    const Input input = prepare(PointsView(values.data(), n, d), weights);
    const auto all_exact = [&](int limbs) {
      for (int64_t j = 0; j < d; ++j) {
        double largest = 0;
        for (int64_t i = 0; i < n; ++i) {
          largest = std::max(largest, std::fabs(input.weight(i) * values[static_cast<size_t>(i * d + j)]));
        }
        const SumFormat format = SumFormat::make(input.bits, limbs, largest);
        if (limbs == input.limbs) {
          EXPECT_EQ(input.columns[static_cast<size_t>(j)], format);
        }
        for (int64_t i = 0; i < n; ++i) {
          const double v = input.weight(i) * values[static_cast<size_t>(i * d + j)];
          if (scaled(exact(v), format.shift).get_den() != 1) return false;
        }
      }
      return true;
    };
    int expected = 1;
    while (expected < 4 && !all_exact(expected)) ++expected;
    ASSERT_EQ(input.limbs, expected) << "width " << width << " n " << n;
    all_exact(input.limbs);  // compares the formats
  }
}

TEST(PrepareInput, FindsTheRangeOfEveryColumnWithAnyNumberOfThreads) {
  std::mt19937_64 random(25);
  const int64_t n = 30011, d = 5;
  std::vector<int8_t> values(static_cast<size_t>(n * d));
  for (auto& v : values) v = static_cast<int8_t>(random());
  for (int64_t i = 0; i < n; ++i) values[static_cast<size_t>(i * d + 3)] = -7;
  values[static_cast<size_t>(17 * d + 3)] = -9;
  for (const int threads : {1, 2, 3, 7}) {
    const Input input = prepare({values.data(), n, d, DataType::kInt8}, {}, threads);
    EXPECT_EQ(input.minimum, (std::vector<double>{-128, -128, -128, -9, -128}));
    EXPECT_EQ(input.maximum, (std::vector<double>{127, 127, 127, -7, 127}));
    EXPECT_EQ(input.max_magnitude(), 128);
  }
}

// Copies that lie elsewhere in the host's memory stand for those of devices.
struct Copied {
  static constexpr int64_t d = 3;
  std::vector<float> values, first, second;

  Copied(int64_t n, int64_t rows_of_first) : values(static_cast<size_t>(n * d)) {
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    for (float& value : values) value = normal(random);
    first.assign(values.begin(), values.begin() + rows_of_first * d);
    second.assign(values.begin() + rows_of_first * d, values.end());
  }
  PointsView view(const std::vector<float>& of) const { return {of.data(), static_cast<int64_t>(of.size()) / d, d}; }
  GivenPoints given() const { return {view(values), {values.data(), {view(first), view(second)}}}; }
};

TEST(PrepareInput, CopiesOfDevicesAreReadInsteadOfThePoints) {
  ThreadPool pool(2);
  const Copied copied(1000, 333);
  std::vector<double> weights(1000);
  for (size_t row = 0; row < weights.size(); ++row) weights[row] = static_cast<double>(row % 7);
  for (const bool weighted : {false, true}) {
    const std::span<const double> given = weighted ? std::span(weights) : std::span<const double>();
    const Input whole = prepare_input(copied.view(copied.values), given, pool);
    Copied other = copied;
    std::ranges::fill(other.values, 7.0F);  // nobody looks here
    const Input input = prepare_input(other.given(), given, pool, {}, self_comm());
    EXPECT_EQ(input.minimum, whole.minimum);
    EXPECT_EQ(input.maximum, whole.maximum);
    EXPECT_EQ(input.lowest, whole.lowest);
    EXPECT_EQ(mean_variance(column_moments(input, pool)), mean_variance(column_moments(whole, pool)));
    EXPECT_EQ(rows_of(input, 333, 667).points.data, other.second.data());
    EXPECT_EQ(rows_of(input, 0, 333).points.data, other.first.data());
    EXPECT_EQ(rows_of(input, 0, 334).points.data, other.values.data());  // which no device has
    Input changed = input;
    changed.points = copied.view(copied.values);  // other points: not those that were copied
    EXPECT_TRUE(changed.copies().empty());
  }
}

TEST(PrepareInput, TheFirstBadValueOfAllCopiesIsNamed) {
  ThreadPool pool(2);
  for (const bool both : {false, true}) {
    Copied copied(1000, 400);
    copied.second[100 * 3 + 1] = copied.values[500 * 3 + 1] = static_cast<float>(kInfinity);
    if (both) copied.first[399 * 3 + 2] = copied.values[399 * 3 + 2] = static_cast<float>(kNaN);
    try {
      prepare_input(copied.given(), {}, pool, {}, self_comm());
      ADD_FAILURE() << "nothing was refused";
    } catch (const Error& error) {
      EXPECT_TRUE(contains(error.what(), both ? "row 400, column 3 is NaN" : "row 501, column 2")) << error.what();
    }
  }
}

// By exact rationals, for values whose squares are exact in binary64.
TEST(ColumnMoments, AreThoseOfExactArithmeticWithAnyNumberOfThreads) {
  std::mt19937_64 random(26);
  std::normal_distribution<double> normal;
  const int64_t n = 9001;
  const std::vector<double> offsets = {0, 1e3, 1e5, 1e7, 1e-20};
  const std::vector<double> spreads = {1, 1, 1, 1, 1e-22};
  const auto d = static_cast<int64_t>(offsets.size());
  std::vector<float> values;
  for (int64_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < offsets.size(); ++j) {
      values.push_back(static_cast<float>(offsets[j] + spreads[j] * normal(random)));
    }
  }
  std::vector<Moments> first;
  for (const int threads : {1, 2, 3, 7}) {
    ThreadPool pool(threads);
    const std::vector<Moments> found = column_moments(prepare_input(PointsView(values.data(), n, d), {}, pool), pool);
    if (first.empty()) first = found;
    for (size_t j = 0; j < offsets.size(); ++j) {
      EXPECT_EQ(found[j].mean, first[j].mean);
      EXPECT_EQ(found[j].variance, first[j].variance);
    }
  }
  double sum = 0;
  for (size_t j = 0; j < offsets.size(); ++j) {
    mpq_class s = 0, q = 0;
    for (int64_t i = 0; i < n; ++i) {
      const mpq_class v = exact(values[static_cast<size_t>(i * d) + j]);
      s += v;
      q += v * v;
    }
    const mpq_class mean = s / mpq_class(static_cast<long>(n));
    const mpq_class variance = q / mpq_class(static_cast<long>(n)) - mean * mean;
    EXPECT_LE(abs(exact(first[j].mean) - mean), abs(mean) * mpq_class(1e-15));
    EXPECT_LE(abs(exact(first[j].variance) - variance), variance * mpq_class(1e-12)) << offsets[j];
    sum += first[j].variance;
  }
  EXPECT_EQ(mean_variance(first), sum / static_cast<double>(d));
}

// Mean, variance and the distance of the centre from the mean, in exact arithmetic.
struct ExactMoments {
  mpq_class mean, variance;
  mpq_class ratio;  // (a - mean)^2 / variance: the contract's r

  explicit ExactMoments(const std::vector<double>& column) {
    const mpq_class n(static_cast<long>(column.size()));
    for (const double v : column) mean += exact(v) / n;
    for (const double v : column) variance += (exact(v) - mean) * (exact(v) - mean) / n;
    const auto [low, high] = std::minmax_element(column.begin(), column.end());
    const mpq_class off = exact((*low + *high) / 2) - mean;
    if (variance > 0) ratio = off * off / variance;
  }
};

Moments moments_of(const std::vector<double>& column, int threads) {
  ThreadPool pool(threads);
  const PointsView points(column.data(), static_cast<int64_t>(column.size()), 1);
  return column_moments(prepare_input(points, {}, pool), pool)[0];
}

// The bounds that the contract states, in any order of the rows.
void expect_within_bounds(const char* name, std::vector<double> column) {
  const ExactMoments truth(column);
  const Moments found = moments_of(column, 1);
  const mpq_class root(1.001 * std::sqrt((truth.ratio.get_d() + 1) * truth.variance.get_d()));
  EXPECT_LE(abs(exact(found.mean) - truth.mean),
            scaled(abs(truth.mean), -53) + scaled(root, -51) + scaled(mpq_class(1), -1074))
      << name;
  EXPECT_LE(abs(exact(found.variance) - truth.variance),
            scaled((truth.ratio + 5) * truth.variance, -52) + scaled(mpq_class(1), -1073))
      << name;
  EXPECT_LT(truth.ratio, mpq_class(static_cast<long>(column.size()))) << name;
  std::mt19937_64 random(28);
  for (const int threads : {2, 3, 7}) {
    std::shuffle(column.begin(), column.end(), random);
    const Moments again = moments_of(column, threads);
    EXPECT_EQ(std::bit_cast<uint64_t>(again.mean), std::bit_cast<uint64_t>(found.mean)) << name;
    EXPECT_EQ(again.variance, found.variance) << name;
  }
}

// offset + step * (a pseudo-random integer below `steps`).
std::vector<double> far_column(size_t n, double offset, double step, uint64_t steps) {
  std::mt19937_64 random(29);
  std::vector<double> column;
  for (size_t i = 0; i < n; ++i) column.push_back(offset + step * static_cast<double>(random() % steps));
  return column;
}

TEST(ColumnMoments, UnixTimesHaveTheirDeviation) {
  const std::vector<double> minutes = {1.7e9, 1.7e9 + 60, 1.7e9 + 120, 1.7e9 + 180};
  EXPECT_EQ(moments_of(minutes, 1).mean, 1.7e9 + 90);
  EXPECT_EQ(moments_of(minutes, 1).variance, 4500) << "67.08 squared; sums of x * x gave 66.67";
  for (const double step : {60.0, 1.0, 0.001}) {
    const std::vector<double> times = far_column(20011, 1.7e9, step, 1000);
    const ExactMoments truth(times);
    const double deviation = std::sqrt(moments_of(times, 2).variance);
    EXPECT_NEAR(deviation / std::sqrt(truth.variance.get_d()), 1, 1e-12) << step;
    expect_within_bounds("times", times);
  }
}

TEST(ColumnMoments, KeepTheContractsBoundsFarFromZero) {
  expect_within_bounds("1e15 and small", far_column(5003, 1e15, 0.125, 9));
  expect_within_bounds("-1e15 and small", far_column(5003, -1e15, 0.125, 1000));
  expect_within_bounds("neighbours", far_column(1001, 0x1p53, 2, 2));
  expect_within_bounds("denormals", far_column(999, 0, 0x1p-1074, 7));
  expect_within_bounds("negative denormals", far_column(999, -0x5p-1074, 0x1p-1074, 6));
  expect_within_bounds("squares are denormals", far_column(999, 0x1p-480, 0x1p-540, 1000));
  expect_within_bounds("the limits", {-0x1p500, 0x1p500, 0x1p500, 1, -0x1p-500});
  expect_within_bounds("next to the limit", {0x1p500, 0x1.fffffffffffffp499, 0x1.ffffffffffffep499});
  expect_within_bounds("two values", {1e15 + 0.125, 1e15});
}

TEST(ColumnMoments, KeepTheContractsBoundsBesideOneHugeValue) {
  for (const double huge : {1e9, -1e18, 0x1p500}) {
    std::vector<double> column = far_column(20011, 0.1, 0.37, 1000);
    column[77] = huge;
    expect_within_bounds("one huge value", column);
  }
}

TEST(ColumnMoments, ConstantColumnsHaveNoVarianceAndTheirValueAsMean) {
  for (const double value : {0.0, -0.0, 0.1, -1e15 - 0.125, 0x1p500, 0x1p-1074, -0x3p-1074}) {
    for (const size_t n : {1, 2, 3, 1000}) {
      const Moments found = moments_of(std::vector<double>(n, value), 2);
      EXPECT_EQ(std::bit_cast<uint64_t>(found.mean), std::bit_cast<uint64_t>(value + 0.0)) << value << " " << n;
      EXPECT_EQ(found.variance, 0) << value << " " << n;
    }
  }
  expect_within_bounds("zeros of both signs", {0.0, -0.0, 0.0, -0.0, -0.0});
  EXPECT_FALSE(std::signbit(moments_of({-0.0, -0x1p-1074, -0.0, -0.0, -0.0}, 1).mean));
}

// Near the limits of binary64 the sums take their slow way; an exact power of two must not change the digits.
TEST(ColumnMoments, ScaleWithPowersOfTwoUpToTheLimits) {
  std::mt19937_64 random(27);
  const int64_t n = 20001;  // n^2 max|x|^2 is beyond binary64 at the largest scale
  std::vector<double> unit, values;
  for (int64_t i = 0; i < n; ++i) unit.push_back(static_cast<float>(random_double(random, -20, 0)));
  ThreadPool pool(2);
  const auto of = [&](int scale) {
    values.clear();
    for (const double v : unit) values.push_back(std::ldexp(v, scale));
    return column_moments(prepare_input(PointsView(values.data(), n, 1), {}, pool), pool)[0];
  };
  const Moments plain = of(0);
  for (const int scale : {-400, -250, -140, 100, 290, 310, 480, 499}) {
    const Moments found = of(scale);
    EXPECT_EQ(found.mean, std::ldexp(plain.mean, scale)) << scale;
    EXPECT_EQ(found.variance, std::ldexp(plain.variance, 2 * scale)) << scale;
  }
}

TEST(DistanceFormat, BoundsEveryWeightedDistance) {
  const std::vector<float> values = {-3, 5, 1, 2, 0, 9};
  const Input input = prepare(PointsView(values.data(), 3, 2), {1, 4, 2});
  EXPECT_EQ(distance_format(input, 103), SumFormat::make(input.bits, 3, 103)) << "the largest w' is 1";
}

}  // namespace
}  // namespace manymeans::test
