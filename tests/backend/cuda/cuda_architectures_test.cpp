// Each architecture gets its matrix unit, a kernel for every shape, and no more shared memory than a block may have.
// This needs no device.
#include "backend/cuda/exact/resolve.h"
#include "backend/cuda/hopper_device.h"
#include "backend/cuda/linear/linear_plan.h"
#include "backend/cuda/persistent/persistent_passes.h"
#include "backend/cuda/tensor/matrix_kernels.h"
#include "backend/cuda/tensor/matrix_screen.h"
#include "core/threads.h"
#include "prototype/linear_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <vector>

namespace manymeans::cuda {
namespace {

struct Architecture {
  int major, minor;
  int64_t shared_kibibytes;  // that a block may have: CUDA programming guide, "Compute capabilities"
  MatrixUnit unit;

  int64_t shared_bytes() const { return shared_kibibytes << 10; }
  CudaDevice device() const {
    CudaDevice device = hopper();
    device.major = major;
    device.minor = minor;
    device.shared_bytes = static_cast<size_t>(shared_bytes());
    device.matrix_unit = matrix_unit_of(major, minor);
    return device;
  }
};
std::ostream& operator<<(std::ostream& out, const Architecture& one) {
  return out << "sm_" << one.major << one.minor;
}

constexpr Architecture kArchitectures[] = {
    {8, 0, 163, MatrixUnit::kSync},  {8, 6, 99, MatrixUnit::kSync},    {8, 7, 163, MatrixUnit::kSync},
    {8, 9, 99, MatrixUnit::kSync},   {9, 0, 227, MatrixUnit::kHopper}, {10, 0, 227, MatrixUnit::kSync},
    {10, 3, 227, MatrixUnit::kSync}, {12, 0, 99, MatrixUnit::kSync},   {12, 1, 99, MatrixUnit::kSync},
};

class CudaArchitectures : public ::testing::TestWithParam<Architecture> {};
INSTANTIATE_TEST_SUITE_P(All, CudaArchitectures, ::testing::ValuesIn(kArchitectures),
                         ::testing::PrintToStringParamName());

bool serves(MatrixUnit unit, MatrixPurpose purpose, int tile_columns, const PackedRows& rows) {
  return std::ranges::any_of(matrix_instances(unit),
                             [&](const MatrixInstance& one) { return one.serves(purpose, tile_columns, rows); });
}

TEST_P(CudaArchitectures, HasKernelsForEveryShape) {
  const MatrixUnit unit = GetParam().device().matrix_unit;
  ASSERT_EQ(unit, GetParam().unit);
  for (const int64_t n : {1, 1 << 20}) {
    for (const int32_t columns : {16, 32, 48, 64, 96, 112, 128, 144, 256, 272, 512, 528, 100'000}) {
      for (const int64_t k : {1, 64, 65, 128, 129, 100'000}) {
        PackedRows rows;
        rows.rows = rows.padded_rows = n;
        rows.padded_columns = columns;
        const int tile = matrix_tile_columns(unit, columns, k);
        const auto text = ::testing::Message() << n << " x " << columns << ", k = " << k;
        EXPECT_TRUE(serves(unit, MatrixPurpose::kProve, tile, rows)) << text;
        EXPECT_TRUE(serves(unit, MatrixPurpose::kProveCounted, tile, rows)) << text;
        EXPECT_TRUE(serves(unit, MatrixPurpose::kFilter, tile, rows)) << text;
        EXPECT_TRUE(tile != kOneTile || serves(unit, MatrixPurpose::kProveOneTile, tile, rows)) << text;
        EXPECT_TRUE(k * columns <= kDirectValues || serves(unit, MatrixPurpose::kGather, tile, rows)) << text;
      }
    }
  }
}

TEST_P(CudaArchitectures, KernelsOfTheScreenFit) {
  for (const MatrixInstance& one : matrix_instances(GetParam().unit)) {
    EXPECT_LE(one.shared_bytes, GetParam().shared_bytes()) << one.tile_columns << " x " << one.first_columns;
  }
}

TEST_P(CudaArchitectures, SolvesOfLinearModelsFit) {
  ThreadPool pool(1);
  int64_t most = 0;
  for (int64_t d = 2; d < 120; d += 6) {
    std::vector<float> values(static_cast<size_t>(300 * d));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 97) / 8;
    Input input = prepare_input({values.data(), 300, d}, {}, pool);
    use_prototype(input, linear_model(), pool);
    const SolveWords words = make_linear_plan(input, GetParam().device(), {}, {}).solve;
    if (words == SolveWords::kNone) continue;
    most = d;
    EXPECT_LT(solve_bytes(words, d), static_cast<size_t>(GetParam().shared_bytes())) << d;
  }
  EXPECT_GE(most, 38);
  EXPECT_TRUE(GetParam().shared_kibibytes < 227 || most >= 62) << "as a Hopper, and not " << most;
}

TEST_P(CudaArchitectures, SmallProblemsFit) {
  const PersistentDevice device{.multiprocessors = 100, .shared_bytes = GetParam().shared_bytes(), .cooperative = true};
  int fitting = 0;
  for (const int32_t columns : {16, 64, 160}) {
    for (const int64_t rows : {1, 2000, 20'000, 200'000}) {
      for (const int64_t k : {1, 64, 500, 2048}) {
        const PersistentShape shape = persistent_shape({rows, columns, k, 1, 2}, device);
        if (shape.blocks == 0) continue;
        ++fitting;
        EXPECT_LT(shape.bytes(), GetParam().shared_bytes()) << rows << " x " << columns << ", k = " << k;
      }
    }
  }
  EXPECT_GT(fitting, 10);
}

}  // namespace
}  // namespace manymeans::cuda
