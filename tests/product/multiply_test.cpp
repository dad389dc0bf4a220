#include <manymeans/info.h>
#include <manymeans/multiply.h>

#include "backend/backend.h"
#include "backend/devices.h"
#include "core/exact_numbers.h"
#include "core/hostile_environment.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <vector>

namespace manymeans::test {
namespace {

using Random = std::mt19937_64;

// A matrix of one type in memory of its own, with gaps and either order of the values.
struct Given {
  std::vector<std::byte> bytes;
  MatrixView view;
};

void store(Given& given, int64_t at, double value) {
  if (given.view.type == DataType::kFloat64) {
    std::memcpy(given.bytes.data() + at * 8, &value, 8);
  } else {
    const auto narrow = static_cast<float>(value);
    std::memcpy(given.bytes.data() + at * 4, &narrow, 4);
  }
}

double load(const MatrixView& view, int64_t i, int64_t j) {
  const int64_t at = i * view.row_stride + j * view.column_stride;
  if (view.type == DataType::kFloat64) return static_cast<const double*>(view.data)[at];
  return static_cast<const float*>(view.data)[at];
}

struct Shape {
  int64_t rows, columns;
};

Given make_matrix(Shape shape, DataType type, Random& random, const std::function<double()>& next) {
  Given given;
  const int64_t gap = static_cast<int64_t>(random() % 3);
  given.view = MatrixView(nullptr, shape.rows, shape.columns, type);
  given.view.row_stride = shape.columns + gap;
  if (random() % 3 == 0) {  // by columns
    given.view.row_stride = 1;
    given.view.column_stride = shape.rows + gap;
  }
  given.bytes.resize(static_cast<size_t>((shape.rows + gap) * (shape.columns + gap)) * size_of(type) + 8);
  given.view.data = given.bytes.data();
  for (int64_t i = 0; i < shape.rows; ++i) {
    for (int64_t j = 0; j < shape.columns; ++j) {
      store(given, i * given.view.row_stride + j * given.view.column_stride, next());
    }
  }
  return given;
}

// Values of one kind, small sets of which make ties, cancellation and range.
std::function<double()> hostile_values(DataType type, int kind, Random& random) {
  const bool wide = type == DataType::kFloat64;
  const auto ranged = [&random](int low, int high) { return random_double(random, low, high); };
  switch (kind % 8) {
    case 0: return [ranged] { return ranged(-2, 2); };
    case 1: return [&random] { return static_cast<double>(static_cast<int64_t>(random() % 7)) - 3; };
    case 2: return [ranged, wide] { return wide ? ranged(-1074, -1000) : ranged(-149, -120); };  // denormals
    case 3: return [ranged, wide] { return wide ? ranged(-1074, 1023) : ranged(-149, 127); };    // all there is
    case 4:
      return [&random, wide] {  // ties
        const double unit = wide ? 0x1p-53 : 0x1p-24;
        return static_cast<double>(static_cast<int64_t>(random() % 5) - 2) * ((random() & 1) != 0 ? unit : 1);
      };
    case 5: return [ranged, wide] { return wide ? ranged(505, 513) : ranged(60, 66); };  // products beyond the largest
    case 6: return [ranged, wide] { return wide ? ranged(-540, -534) : ranged(-78, -72); };  // products are denormals
    default:
      return [&random, ranged] {
        const uint64_t draw = random() % 12;
        if (draw == 0) return std::numeric_limits<double>::infinity();
        if (draw == 1) return -std::numeric_limits<double>::infinity();
        if (draw == 2) return std::numeric_limits<double>::quiet_NaN();
        return draw < 5 ? 0.0 : ranged(-1, 1);
      };
  }
}

// Appends to every row of a and column of b what takes most of the sum away again.
void cancel(Given& a, Given& b) {
  const int64_t half = a.view.columns / 2;
  for (int64_t l = 0; l < half; ++l) {
    for (int64_t i = 0; i < a.view.rows; ++i) {
      store(a, i * a.view.row_stride + (half + l) * a.view.column_stride, -load(a.view, i, l));
    }
    for (int64_t j = 0; j < b.view.columns; ++j) {
      const double value = load(b.view, l, j);
      const int step = static_cast<int>(j % 3);  // none, one or two units beside
      double beside = value;
      for (int s = 0; s < step && std::isfinite(value); ++s) {
        beside = b.view.type == DataType::kFloat64 ? std::nextafter(beside, 0.0)
                                                   : std::nextafter(static_cast<float>(beside), 0.0F);
      }
      store(b, (half + l) * b.view.row_stride + j * b.view.column_stride, beside);
    }
  }
}

mpq_class half_unit_below_infinity(int digits, int most) {
  return scaled(1, most) - scaled(1, most - digits - 1);
}

// The contract, in rational numbers.
template <class T>
T entry_by_definition(const MatrixView& a, const MatrixView& b, int64_t i, int64_t j) {
  using Limits = std::numeric_limits<T>;
  mpq_class sum = 0;
  double special = 0;
  for (int64_t l = 0; l < a.columns; ++l) {
    const double x = load(a, i, l), y = load(b, l, j);
    if (std::isfinite(x) && std::isfinite(y)) {
      sum += exact(x) * exact(y);
    } else {
      special += x * y;
    }
  }
  if (std::isnan(special)) return Limits::quiet_NaN();
  if (special != 0) return static_cast<T>(special);
  if (sum == 0) return 0;
  if (abs(sum) >= half_unit_below_infinity(Limits::digits, Limits::max_exponent)) {
    return sum < 0 ? -Limits::infinity() : Limits::infinity();
  }
  const int unit = std::max(exponent_of(sum) - Limits::digits, Limits::min_exponent - Limits::digits);
  const double magnitude = std::ldexp(nearest_integer(scaled(sum, -unit)).get_d(), unit);
  return std::copysign(static_cast<T>(magnitude), sum < 0 ? T{-1} : T{1});
}

template <class T>
std::string bits_text(T value) {
  char text[64];
  std::snprintf(text, sizeof text, "%a", static_cast<double>(value));
  return text;
}

template <class T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

template <class T>
void expect_definition(const Given& a, const Given& b, const Matrix& product) {
  for (int64_t i = 0; i < product.rows(); ++i) {
    for (int64_t j = 0; j < product.columns(); ++j) {
      const T expected = entry_by_definition<T>(a.view, b.view, i, j);
      const T found = product.values<T>()[static_cast<size_t>(i * product.columns() + j)];
      ASSERT_TRUE(same_bits(expected, found)) << "(" << i << ", " << j << ") of depth " << a.view.columns << ": "
                                              << bits_text(found) << " instead of " << bits_text(expected);
    }
  }
}

void expect_same(const Matrix& a, const Matrix& b) {
  ASSERT_EQ(a.bytes().size(), b.bytes().size());
  ASSERT_EQ(std::memcmp(a.bytes().data(), b.bytes().data(), a.bytes().size()), 0);
}

struct Factors {
  Given a, b;
};

Factors hostile_factors(DataType type, int kind, Random& random) {
  const auto size = [&random](uint64_t most) { return static_cast<int64_t>(1 + random() % most); };
  const int64_t depth = kind % 5 == 4 ? size(60) : size(6);
  const auto next = hostile_values(type, kind, random);
  Factors factors{make_matrix({size(4), depth}, type, random, next), make_matrix({depth, size(4)}, type, random, next)};
  if (kind % 16 >= 8) cancel(factors.a, factors.b);
  return factors;
}

// The backends that multiply here.
std::vector<std::string> product_backends() {
  std::vector<std::string> names = {"cpu"};
  if (device_count("cuda") > 0) names.emplace_back("cuda");
  return names;
}

// A backend; cuda with both of its screens, whatever the shape.
class MultiplyOn : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::vector<std::string> here = product_backends();
    if (std::ranges::find(here, backend()) == here.end()) GTEST_SKIP() << "there is no such device";
    if (backend() == "cuda") ::setenv("MANYMEANS_CUDA_PRODUCT", GetParam().substr(5).c_str(), 1);
  }
  void TearDown() override { ::unsetenv("MANYMEANS_CUDA_PRODUCT"); }
  static std::string backend() { return GetParam().substr(0, GetParam().find('_')); }
  static MultiplyOptions options() {
    MultiplyOptions here;
    here.backend = backend();
    here.threads = 2;
    return here;
  }
};
// Whether there is a device is asked by the tests: drivers that all tests load have handlers of signals.
INSTANTIATE_TEST_SUITE_P(All, MultiplyOn, ::testing::Values("cpu", "cuda_sums", "cuda_residues"),
                         [](const auto& backend) { return backend.param; });

TEST_P(MultiplyOn, HostileProductsAreExactSumsRoundedOnce) {
  Random random(7);
  for (int round = 0; round < 10'000; ++round) {
    const DataType type = round % 2 == 0 ? DataType::kFloat32 : DataType::kFloat64;
    const Factors given = hostile_factors(type, round / 2, random);
    const Matrix product = multiply(given.a.view, given.b.view, options());
    if (type == DataType::kFloat64) {
      expect_definition<double>(given.a, given.b, product);
    } else {
      expect_definition<float>(given.a, given.b, product);
    }
    if (round % 10 == 0) expect_same(product, multiply(given.a.view, given.b.view, {.backend = "reference"}));
    if (::testing::Test::HasFatalFailure()) FAIL() << "round " << round;
  }
}

std::vector<std::string> usable_sets() {
  std::vector<std::string> names;
  for (const Choice& set : cpu_instruction_sets()) {
    if (set.available) names.push_back(set.name);
  }
  return names;
}

Shape random_shape(Random& random, int round) {
  const uint64_t most = round % 20 == 19 ? 600 : round % 4 == 3 ? 150 : 30;
  return {static_cast<int64_t>(1 + random() % most), static_cast<int64_t>(1 + random() % most)};
}

// Threads, instruction sets and memory for copies, which cuts rows, columns and lines, against the first of them.
TEST(Multiply, SameBitsHoweverItIsCut) {
  Random random(8);
  const std::vector<std::string> sets = usable_sets();
  for (int round = 0; round < 200; ++round) {
    const DataType type = round % 3 == 0 ? DataType::kFloat64 : DataType::kFloat32;
    const Shape rows = random_shape(random, round), columns = random_shape(random, round);
    const int kind = static_cast<int>(random() % (round % 4 == 3 ? 2 : 8));  // sums that are hard are slow
    const auto next = hostile_values(type, kind == 3 || kind == 7 ? 0 : kind, random);
    const Given a = make_matrix({rows.rows, rows.columns}, type, random, next);
    const Given b = make_matrix({rows.columns, columns.columns}, type, random, next);
    const Matrix first = multiply(a.view, b.view, {.instruction_set = sets.front(), .threads = 1});
    for (const std::string& set : sets) {
      expect_same(first, multiply(a.view, b.view, {.instruction_set = set, .threads = 2}));
    }
    const int64_t memory = int64_t{1} << (10 + random() % 12);
    expect_same(first, multiply(a.view, b.view, {.threads = 3, .memory = memory}));
    const Matrix turned = multiply(b.view.transposed(), a.view.transposed(), {});
    for (int64_t i = 0; i < first.rows(); ++i) ASSERT_EQ(first.at(i, 0), turned.at(0, i)) << round;
    if (::testing::Test::HasFatalFailure()) FAIL() << "round " << round;
  }
}

// Odd shapes and strides, in one piece and in several, beside the processor. The output has gaps, and either order.
TEST_P(MultiplyOn, RandomShapesAreTheProcessors) {
  Random random(81);
  for (int round = 0; round < 200; ++round) {
    const DataType type = round % 3 == 0 ? DataType::kFloat64 : DataType::kFloat32;
    const Shape rows = random_shape(random, round), columns = random_shape(random, round);
    const int kind = static_cast<int>(random() % (round % 4 == 3 ? 2 : 8));
    const auto next = hostile_values(type, kind == 3 || kind == 7 ? 0 : kind, random);
    const Given a = make_matrix({rows.rows, rows.columns}, type, random, next);
    const Given b = make_matrix({rows.columns, columns.columns}, type, random, next);
    const Matrix expected = multiply(a.view, b.view);
    Given out = make_matrix({rows.rows, columns.columns}, type, random, [] { return -7.0; });
    const ProductView view{out.bytes.data(),      rows.rows, columns.columns, type, out.view.row_stride,
                           out.view.column_stride};
    ProductCounts counts = multiply_into(a.view, b.view, view, options());
    EXPECT_EQ(counts.entries, rows.rows * columns.columns);
    EXPECT_EQ(counts.certified + counts.resolved, counts.entries);
    for (int64_t i = 0; i < rows.rows; ++i) {
      for (int64_t j = 0; j < columns.columns; ++j) {
        ASSERT_TRUE(same_bits(load(out.view, i, j), expected.at(i, j))) << "round " << round << ", " << i << ", " << j;
      }
    }
  }
}

// A large one, of which no tile is whole at the edges.
TEST_P(MultiplyOn, LargeSquaresAreTheProcessors) {
  Random random(82);
  const int64_t side = backend() == "cuda" ? 3001 : 301;
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64}) {
    const int64_t n = type == DataType::kFloat64 ? side / 3 : side;
    const auto next = [&random] { return random_double(random, -3, 0); };
    const Given a = make_matrix({n, n + 2}, type, random, next), b = make_matrix({n + 2, n - 1}, type, random, next);
    const Matrix expected = multiply(a.view, b.view);
    for (int repeat = 0; repeat < 3; ++repeat) expect_same(expected, multiply(a.view, b.view, options()));
    MultiplyOptions little = options();
    little.memory = int64_t{24} << 20;
    expect_same(expected, multiply(a.view, b.view, little));
  }
}

// Sums that are neither exact nor certain, all of them: more than a list of exceptions holds.
TEST_P(MultiplyOn, WhereNothingIsProved) {
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64}) {
    Random random(83);
    const int64_t n = 150;
    int64_t turn = 0;
    const double tie = type == DataType::kFloat64 ? 0x1p7 : 0x1p36;
    const Given ones = make_matrix({n, 3}, type, random, [] { return 1.0; });
    const auto next = [&] { return std::array{0x1p60, tie, 0x1p-200}[static_cast<size_t>(turn++ / n)]; };
    const Given more = make_matrix({3, n}, type, random, [&] {
      const double value = next();
      return type == DataType::kFloat32 && value < 1 ? 0x1p-60 : value;
    });
    ProductCounts counts;
    const Matrix product = multiply(ones.view, more.view, options(), &counts);
    EXPECT_EQ(counts.resolved, n * n);
    const double expected = 0x1p60 + 2 * tie;  // a tie but for the last value
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) ASSERT_EQ(product.at(i, j), expected) << i << ", " << j;
    }
  }
}

// Long lines are packed piece by piece, so that sums wait for the next piece.
TEST_P(MultiplyOn, LongLinesInPieces) {
  Random random(9);
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64}) {
    const auto next = [&random] { return random_double(random, -3, 0); };
    const Given a = make_matrix({7, 20'011}, type, random, next), b = make_matrix({20'011, 33}, type, random, next);
    const Matrix whole = multiply(a.view, b.view, options());
    if (backend() == "cpu") expect_same(whole, multiply(a.view, b.view, {.memory = 1}));
    if (backend() == "cpu") expect_same(whole, multiply(a.view, b.view, {.memory = 4 << 20}));
    expect_same(whole, multiply(a.view, b.view, {.backend = "reference"}));
  }
}

// More rows and columns than are packed at a time.
TEST(Multiply, FactorsInSeveralBlocks) {
  Random random(91);
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64}) {
    const auto next = [&random] { return random_double(random, -3, 0); };
    const int64_t rows = 150, depth = 2100, columns = 4101;
    const Given a = make_matrix({rows, depth}, type, random, next),
                b = make_matrix({depth, columns}, type, random, next);
    const Matrix whole = multiply(a.view, b.view, {.threads = 1});
    expect_same(whole, multiply(a.view, b.view, {.threads = 2, .memory = 4 << 20}));
    MatrixView last_rows = a.view, last_columns = b.view;  // beside the ends of blocks
    const auto size = static_cast<int64_t>(size_of(type));
    last_rows.data = a.bytes.data() + 126 * a.view.row_stride * size;
    last_rows.rows = 4;
    last_columns.data = b.bytes.data() + 4078 * b.view.column_stride * size;
    last_columns.columns = 4;
    const Matrix exact = multiply(last_rows, last_columns, {.backend = "reference"});
    for (int64_t i = 0; i < 4; ++i) {
      for (int64_t j = 0; j < 4; ++j) ASSERT_EQ(whole.at(126 + i, 4078 + j), exact.at(i, j)) << i << ", " << j;
    }
  }
}

TEST_P(MultiplyOn, OrdinaryEntriesAreCertifiedAndTiesResolved) {
  Random random(10);
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64}) {
    const auto next = [&random] { return random_double(random, -3, 0); };
    const Given a = make_matrix({200, 300}, type, random, next), b = make_matrix({300, 200}, type, random, next);
    ProductCounts counts;
    multiply(a.view, b.view, options(), &counts);
    EXPECT_EQ(counts.entries, 40'000);
    EXPECT_EQ(counts.certified + counts.resolved, counts.entries);
    EXPECT_LT(counts.resolved, 40);
    EXPECT_TRUE(GetParam() == "cuda_residues" || counts.screen == "sums") << counts.screen;
  }
  const Given a = make_matrix({1, 2}, DataType::kFloat32, random, [] { return 1.0; });
  int turn = 0;
  const Given b = make_matrix({2, 1}, DataType::kFloat32, random, [&turn] { return turn++ == 0 ? 0x1p60 : 0x1p36; });
  ProductCounts counts;
  EXPECT_EQ(multiply(a.view, b.view, options(), &counts).at(0, 0), 0x1p60);
  EXPECT_EQ(counts.resolved, 0);  // the sum is exact in binary64: a tie, and known to be one
  turn = 0;
  const Given more = make_matrix({3, 1}, DataType::kFloat32, random,
                                 [&turn] { return std::array{0x1p60, 0x1p36, 0x1p-40}[static_cast<size_t>(turn++)]; });
  const Given ones = make_matrix({1, 3}, DataType::kFloat32, random, [] { return 1.0; });
  EXPECT_EQ(multiply(ones.view, more.view, options(), &counts).at(0, 0), 0x1p60 + 0x1p37);
  EXPECT_EQ(counts.resolved, 1);
}

// Integers of eight bits are summed exactly, ties and zeros too.
TEST_P(MultiplyOn, NarrowTypes) {
  Random random(11);
  std::vector<int8_t> a(30 * 70);
  std::vector<uint8_t> b(70 * 50);
  for (int8_t& value : a) value = static_cast<int8_t>(random());
  for (uint8_t& value : b) value = static_cast<uint8_t>(random());
  ProductCounts counts;
  const Matrix product =
      multiply({a.data(), 30, 70, DataType::kInt8}, {b.data(), 70, 50, DataType::kUInt8}, options(), &counts);
  EXPECT_EQ(product.type(), DataType::kFloat32);
  EXPECT_EQ(counts.resolved, 0);
  for (size_t i = 0; i < 30; ++i) {
    for (size_t j = 0; j < 50; ++j) {
      int sum = 0;
      for (size_t l = 0; l < 70; ++l) sum += a[i * 70 + l] * b[l * 50 + j];
      ASSERT_EQ(product.values<float>()[i * 50 + j], static_cast<float>(sum));
    }
  }
  const std::vector<uint16_t> halves = {0x3c00, 0x4000, 0x0001};  // float16: 1, 2, 2^-24; bfloat16: 2^-7, 2, 2^-133
  const MatrixView column(halves.data(), 3, 1, DataType::kFloat16);
  MultiplyOptions turned = options();
  turned.transpose_a = true;
  EXPECT_EQ(multiply(column, column, turned).at(0, 0), 5);
  const MatrixView brain(halves.data(), 3, 1, DataType::kBFloat16);
  EXPECT_EQ(multiply(brain, brain, turned).at(0, 0), 0x1p-14 + 4);
  const double wide[] = {1, 1, 0x1p-30};
  const Matrix mixed = multiply({wide, 1, 3, DataType::kFloat64}, column, options());
  EXPECT_EQ(mixed.type(), DataType::kFloat64);
  EXPECT_EQ(mixed.at(0, 0), 3 + 0x1p-54 - 0x1p-54);
}

TEST(Multiply, EmptySumsAreZeroAndEmptyProductsAreEmpty) {
  std::vector<std::string> backends = product_backends();
  backends.emplace_back("reference");
  for (const std::string& backend : backends) {
    const Matrix zeros =
        multiply({nullptr, 3, 0, DataType::kFloat64}, {nullptr, 0, 2, DataType::kFloat32}, {.backend = backend});
    EXPECT_EQ(zeros.rows(), 3);
    for (const double value : zeros.values<double>()) EXPECT_TRUE(value == 0 && !std::signbit(value));
    EXPECT_TRUE(
        multiply({nullptr, 0, 5, DataType::kFloat32}, {zeros.bytes().data(), 5, 1, DataType::kFloat32}).empty());
  }
}

TEST(Multiply, IntoMemoryWithStrides) {
  const std::vector<float> a = {1, 2, 3, 4}, b = {5, 6, 7, 8};
  std::vector<float> out(16, -1);
  const MatrixView x(a.data(), 2, 2, DataType::kFloat32), y(b.data(), 2, 2, DataType::kFloat32);
  multiply_into(x, y, {out.data(), 2, 2, DataType::kFloat32, 2, 7});
  EXPECT_EQ(out, (std::vector<float>{19, -1, 43, -1, -1, -1, -1, 22, -1, 50, -1, -1, -1, -1, -1, -1}));
  MatrixView reversed = x;  // rows and columns from the end
  reversed.data = a.data() + 3;
  reversed.row_stride = -2;
  reversed.column_stride = -1;
  EXPECT_EQ(multiply(reversed, y).at(0, 0), 4 * 5 + 3 * 7);
  MatrixView repeated = x;  // one row, again and again
  repeated.row_stride = 0;
  EXPECT_EQ(multiply(repeated, y).at(1, 1), 1 * 6 + 2 * 8);
}

std::string complaint(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(Multiply, BadInputIsRefused) {
  std::vector<float> a(6), b(6), out(9);
  const MatrixView x(a.data(), 2, 3, DataType::kFloat32), y(b.data(), 2, 3, DataType::kFloat32);
  const auto said = [&](const MatrixView& one, const MatrixView& other, const MultiplyOptions& options) {
    return complaint([&] { multiply(one, other, options); });
  };
  EXPECT_EQ(said(x, y, {}),
            "[multiply] a is 2 x 3, b is 2 x 3, transposes taken; a needs as many columns as b has rows");
  for (const char* other : {"gpu", "opencl", "opencl:0"}) {
    EXPECT_EQ(
        said(x, y, {.transpose_b = true, .backend = other}),
        "[backend] there is no backend '" + std::string(other) + "' of products; known: auto, cpu, reference, cuda");
  }
  for (const char* none : {"cpu:0", "cuda:", "cuda:-1", "cuda:1x", "cuda:0,cpu", "opencl:0,cpu"}) {
    EXPECT_EQ(said(x, y, {.transpose_b = true, .backend = none}),
              "[backend] '" + std::string(none) + "' names no device; cuda and opencl have some, as in cuda:0");
  }
  MatrixView there = y;
  there.place = {"cuda", 0};
  EXPECT_EQ(said(x, there, {.transpose_b = true, .backend = "cpu"}),
            "[backend] the values lie in the memory of a device, and the backend 'cpu' cannot read them; use auto or "
            "cuda, or copy them to the host's memory");
  MatrixView elsewhere = x;
  elsewhere.place = {"cuda", 1};
  EXPECT_EQ(said(elsewhere, there, {.transpose_b = true}),
            "[multiply] the factors and the output lie on different devices; copy them to one");
  EXPECT_EQ(said(x, y, {.transpose_b = true, .threads = -1}), "[multiply] threads is -1; it must be at least 0");
  EXPECT_EQ(said(x, y, {.transpose_b = true, .memory = -1}), "[multiply] memory is -1; it must be at least 0");
  EXPECT_EQ(said({nullptr, 2, 3, DataType::kFloat32}, y, {.transpose_b = true}), "[multiply] a has no values");
  EXPECT_EQ(said({a.data(), -2, 3, DataType::kFloat32}, y, {.transpose_b = true}), "[multiply] a has the shape -2 x 3");
  MatrixView huge(a.data(), int64_t{1} << 40, 1, DataType::kFloat32);
  huge.row_stride = 0;
  EXPECT_EQ(said(huge, huge, {.transpose_b = true}),
            "[multiply] a product of 1099511627776 x 1099511627776 values is larger than any memory");
  const auto into = [&](const ProductView& view) {
    return complaint([&] { multiply_into(x, y, view, {.transpose_b = true}); });
  };
  EXPECT_EQ(into({out.data(), 2, 2, DataType::kFloat64, 2}),
            "[multiply] the output is float64; a product of float32 and float32 is float32");
  EXPECT_EQ(into({out.data(), 3, 3, DataType::kFloat32, 3}), "[multiply] the output is 3 x 3; the product is 2 x 2");
  EXPECT_EQ(into({out.data(), 2, 2, DataType::kFloat32, 1}),
            "[multiply] values of the output lie at one place; its strides are too small");
  EXPECT_EQ(into({b.data() + 2, 2, 2, DataType::kFloat32, 2}),
            "[multiply] the output overlaps b; it needs memory of its own");
  EXPECT_EQ(into({out.data(), 2, 2, DataType::kFloat32, 2}), "none");
}

TEST_P(MultiplyOn, CanBeGivenUp) {
  const std::vector<float> values(100 * 100, 1);
  const MatrixView x(values.data(), 100, 100, DataType::kFloat32);
  const std::atomic<bool> stop = true;
  MultiplyOptions stopped = options();
  stopped.abort = &stop;
  EXPECT_THROW(multiply(x, x, stopped), Error);
}

TEST_P(MultiplyOn, TheCallersRoundingDoesNotMatter) {
  Random random(12);
  const auto next = [&random] { return random_double(random, -3, 0); };
  const Given a = make_matrix({20, 30}, DataType::kFloat32, random, next),
              b = make_matrix({30, 20}, DataType::kFloat32, random, next);
  const Matrix expected = multiply(a.view, b.view);
  const HostileEnvironment hostile;
  expect_same(expected, multiply(a.view, b.view, options()));
}

}  // namespace
}  // namespace manymeans::test
