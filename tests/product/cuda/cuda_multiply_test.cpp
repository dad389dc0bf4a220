// Products of matrices that lie on a device, and how they are cut to its memory. tests/product/multiply_test.cpp
// compares the values of all backends.
#include <manymeans/multiply.h>

#include "backend/cuda/cuda_present.h"
#include "backend/cuda/device/matrix_operands.h"
#include "backend/cuda/runtime/device_memory.h"
#include "product/cuda/product_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

namespace manymeans::test {
namespace {

using cuda::DeviceBuffer;

std::vector<float> normal_values(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

class OnDevice {
 public:
  explicit OnDevice(const std::vector<float>& values) : values_(values.size(), "values of a test") {
    const device::Settled settled(stream_);
    cuda::copy_to_device(values_.data(), values.data(), values.size(), stream_, "values of a test");
    stream_.synchronize("values of a test");
  }
  float* data() { return values_.data(); }
  MatrixView view(int64_t rows, int64_t columns) {
    MatrixView view(values_.data(), rows, columns, DataType::kFloat32);
    view.place = {"cuda", 0};
    return view;
  }
  std::vector<float> values() {
    std::vector<float> result(values_.size());
    cuda::read_back(result.data(), values_.data(), result.size(), stream_, "values of a test");
    return result;
  }

 private:
  cuda::Stream stream_;
  DeviceBuffer<float> values_;
};

TEST(CudaMultiply, OperandsAndProductsOnTheDevice) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  const int64_t n = 203, k = 310, m = 97;
  const std::vector<float> a = normal_values(n * k, 1), b = normal_values(k * m, 2);
  const MatrixView x(a.data(), n, k, DataType::kFloat32), y(b.data(), k, m, DataType::kFloat32);
  const Matrix expected = multiply(x, y);
  OnDevice there_a(a), there_b(b);
  const auto same = [&](const Matrix& found) {
    return std::memcmp(found.bytes().data(), expected.bytes().data(), expected.bytes().size()) == 0;
  };
  EXPECT_TRUE(same(multiply(there_a.view(n, k), there_b.view(k, m))));
  EXPECT_TRUE(same(multiply(there_a.view(n, k), y)));
  EXPECT_TRUE(same(multiply(x, there_b.view(k, m), {.backend = "cuda"})));
  // Rows, columns, and gaps of the output.
  for (const auto& [rows_apart, columns_apart] :
       {std::pair{m + 3, int64_t{1}}, std::pair{int64_t{1}, n + 1}, std::pair{2 * m, int64_t{2}}}) {
    const int64_t size = (n - 1) * rows_apart + (m - 1) * columns_apart + 1;
    OnDevice out(std::vector<float>(static_cast<size_t>(size), -1));
    multiply_into(there_a.view(n, k), y,
                  {out.data(), n, m, DataType::kFloat32, rows_apart, columns_apart, {"cuda", 0}});
    const std::vector<float> found = out.values();
    size_t untouched = found.size();
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < m; ++j) {
        ASSERT_EQ(found[static_cast<size_t>(i * rows_apart + j * columns_apart)],
                  static_cast<float>(expected.at(i, j)));
        --untouched;
      }
    }
    EXPECT_EQ(static_cast<size_t>(std::ranges::count(found, -1.0F)), untouched);
  }
}

// Sums midway between two numbers, of lines too wide for exact ones: more than the
// list holds.
TEST(CudaMultiply, EntriesThatNoScreenProves) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  for (const int64_t n : {1, 40, 130, 1500}) {
    const int64_t k = 4, m = 90;
    std::vector<float> a(static_cast<size_t>(n * k)), b(static_cast<size_t>(k * m), 1.0F);
    for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
      const float first[] = {1 + static_cast<float>(i) * 0x1p-23F, 0x1p-24F, 0x1p-60F, -0x1p-60F};
      std::ranges::copy(first, a.begin() + static_cast<std::ptrdiff_t>(i) * k);
    }
    const MatrixView x(a.data(), n, k, DataType::kFloat32), y(b.data(), k, m, DataType::kFloat32);
    const Matrix expected = multiply(x, y);
    ProductCounts counts;
    const Matrix found = multiply(x, y, {.backend = "cuda"}, &counts);
    EXPECT_EQ(std::memcmp(found.bytes().data(), expected.bytes().data(), expected.bytes().size()), 0) << n;
    EXPECT_EQ(counts.resolved, n * m);
    EXPECT_EQ(counts.certified, 0);
  }
}

// In a few places, so that some warps of the screen resolve theirs and others have too many.
TEST(CudaMultiply, FewAndManyEntriesThatNoScreenProves) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  const int64_t k = 4;
  struct Shape {
    int64_t n, m, step;
  };
  for (const auto& [n, m, step] : {Shape{70, 90, 3}, Shape{500, 520, 3}, Shape{1000, 1000, 6}, Shape{1100, 1000, 3}}) {
    std::vector<float> a = normal_values(n * k, 1), b(static_cast<size_t>(k * m), 0.0F);
    std::fill_n(b.begin(), m, 1.0F);
    for (int64_t l = 0; l < k; ++l) {
      for (int64_t j = 0; j < m; j += step) b[static_cast<size_t>(l * m + j)] = 1;
    }
    const float hostile[] = {1, 0x1p-24F, 0x1p-60F, -0x1p-60F};  // midway, where all four are added
    const int64_t rows[] = {3, 40, 41, 42, 69};
    for (const int64_t row : rows) std::ranges::copy(hostile, a.begin() + row * k);
    const MatrixView x(a.data(), n, k, DataType::kFloat32), y(b.data(), k, m, DataType::kFloat32);
    const Matrix expected = multiply(x, y);
    ProductCounts counts;
    const Matrix found = multiply(x, y, {.backend = "cuda"}, &counts);
    EXPECT_EQ(std::memcmp(found.bytes().data(), expected.bytes().data(), expected.bytes().size()), 0) << n;
    EXPECT_GE(counts.resolved, static_cast<int64_t>(std::size(rows)) * ((m + step - 1) / step)) << n;
    EXPECT_EQ(counts.certified + counts.resolved, n * m);
  }
}

TEST(CudaMultiply, TooLittleMemoryIsSaid) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  const std::vector<float> a = normal_values(300 * 1000, 1);
  const MatrixView x(a.data(), 300, 1000, DataType::kFloat32);
  try {
    multiply(x, x, {.transpose_b = true, .backend = "cuda", .memory = 100'000});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
    EXPECT_NE(std::string(error.what()).find("use --backend cpu"), std::string::npos) << error.what();
  }
}

// Needs no device.
TEST(CudaProductPlan, BlocksFitAndCoverTheProduct) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 500; ++round) {
    const auto size = [&] { return static_cast<int64_t>(1) << random() % 18; };
    const cuda::ProductSize product = {size() + 1, size(), size(), random() % 2 == 0, random() % 2 == 0, 132};
    const int64_t room = int64_t{1} << (28 + random() % 8);
    const auto wish = static_cast<cuda::ScreenWish>(random() % 3);
    try {
      const cuda::ProductPlan plan = cuda::plan_product(product, wish, room, 1 << 20);
      EXPECT_LE(plan.by_residues(), wish != cuda::ScreenWish::kSums);
      EXPECT_LE(plan.bytes, room);
      EXPECT_TRUE(plan.rows == product.rows || plan.rows % cuda::kLinePadding == 0);
      EXPECT_TRUE(plan.columns == product.columns || plan.columns % cuda::kLinePadding == 0);
      EXPECT_GE(plan.splits, 1);
      EXPECT_GE(cuda::roundings_of(plan), std::min<int64_t>(product.depth, cuda::kSumsDepth));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
      EXPECT_GT((2 * cuda::kLinePadding) * product.depth * 4 + (1 << 20), room / 16);
    }
  }
}

// Where residues do not fit, or blocks are so small that they do not pay, sums are made.
TEST(CudaProductPlan, ResiduesWhereTheyFitAndPay) {
  using cuda::ScreenWish;
  const auto by_residues = [](const cuda::ProductSize& size, int64_t room) {
    return cuda::plan_product(size, ScreenWish::kBest, room, 0).by_residues();
  };
  constexpr int64_t kRoom = int64_t{70} << 30;
  EXPECT_TRUE(by_residues({4096, 4096, 4096, false, false, 132}, kRoom));
  EXPECT_TRUE(by_residues({2048, 2048, 2048, true, false, 132}, kRoom));
  EXPECT_TRUE(by_residues({1024, 1024, 1'000'000, false, false, 132}, kRoom));
  EXPECT_FALSE(by_residues({512, 512, 512, false, false, 132}, kRoom));
  EXPECT_FALSE(by_residues({8'388'608, 1024, 128, false, false, 132}, kRoom));
  EXPECT_FALSE(by_residues({4096, 4096, 4096, false, false, 132}, 20'000'000));
  const cuda::ProductSize deep = {2000, 2000, 30'000, false, false, 132};
  EXPECT_FALSE(cuda::plan_product(deep, ScreenWish::kResidues, 100'000'000, 0).by_residues());
}

// A device without units for bytes makes sums, whatever the wish is.
TEST(CudaProductPlan, OnlyHopperMakesResidues) {
  using cuda::possible_wish;
  using cuda::ScreenWish;
  constexpr int kOthers[][2] = {{8, 0}, {8, 6}, {8, 9}, {10, 0}, {10, 3}, {12, 0}, {12, 1}};
  EXPECT_EQ(cuda::matrix_unit_of(9, 0), cuda::MatrixUnit::kHopper);
  for (const auto& [major, minor] : kOthers) {
    const bool byte_units = cuda::matrix_unit_of(major, minor) == cuda::MatrixUnit::kHopper;
    for (const char* asked : {"", "sums", "residues"}) {
      for (const ScreenWish wish : {ScreenWish::kBest, ScreenWish::kSums, ScreenWish::kResidues}) {
        EXPECT_EQ(possible_wish(wish, asked, byte_units), ScreenWish::kSums) << major << "." << minor << " " << asked;
        EXPECT_FALSE(cuda::plan_product({4096, 4096, 4096, false, false, 132}, possible_wish(wish, asked, byte_units),
                                        int64_t{70} << 30, 0)
                         .by_residues());
      }
    }
  }
  EXPECT_EQ(possible_wish(ScreenWish::kBest, "residues", true), ScreenWish::kResidues);
  EXPECT_EQ(possible_wish(ScreenWish::kBest, "", true), ScreenWish::kBest);
  EXPECT_EQ(possible_wish(ScreenWish::kSums, "residues", true), ScreenWish::kSums) << "residues were given up";
}

// Of both screens; in blocks; of lines longer than sums of bytes are exact; and where residues give up.
class CudaResidues : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!device_present()) GTEST_SKIP() << "no CUDA device";
    ::setenv("MANYMEANS_CUDA_PRODUCT", "residues", 1);
  }
  void TearDown() override { ::unsetenv("MANYMEANS_CUDA_PRODUCT"); }
  static ProductCounts expect_the_processors(const std::vector<float>& a, const std::vector<float>& b, int64_t depth,
                                             int64_t memory = 0) {
    const auto rows = static_cast<int64_t>(a.size()) / depth, columns = static_cast<int64_t>(b.size()) / depth;
    const MatrixView x(a.data(), rows, depth, DataType::kFloat32), y(b.data(), depth, columns, DataType::kFloat32);
    const Matrix expected = multiply(x, y);
    ProductCounts counts;
    const Matrix found = multiply(x, y, {.backend = "cuda", .memory = memory}, &counts);
    EXPECT_EQ(std::memcmp(found.bytes().data(), expected.bytes().data(), expected.bytes().size()), 0);
    return counts;
  }
};

TEST_F(CudaResidues, InBlocks) {
  expect_the_processors(normal_values(700 * 500, 1), normal_values(500 * 900, 2), 500, 12'000'000);
}

TEST_F(CudaResidues, OfLongLines) {
  const ProductCounts counts =
      expect_the_processors(normal_values(70 * 140'001, 1), normal_values(140'001 * 60, 2), 140'001);
  EXPECT_LT(counts.resolved, 100);
}

TEST_F(CudaResidues, GivenUpWhereLinesHaveOutliers) {
  std::vector<float> a = normal_values(300 * 40, 1), b = normal_values(40 * 300, 2);
  for (size_t i = 0; i < 300; ++i) a[i * 40 + i % 20] = 1e30F;
  std::fill_n(b.begin(), 20 * 300, 0.0F);  // so that nothing is left of what integers keep
  expect_the_processors(a, b, 40);
}

}  // namespace
}  // namespace manymeans::test
