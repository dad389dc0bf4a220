// Kernels for any machine: Highway's scalar target, one lane, eight rows at a time.
// Highway switches off its emulated vectors, EMU128, for g++ before 12.3. The screens of matrix units are here so that
// the code around them can be tested anywhere; auto never chooses them.
#include "backend/cpu/kernels/matrix_kernels-inl.h"

#include <bit>
#include <cstring>

namespace manymeans {
namespace {

struct ScalarPairs {
  using Panel = FloatPanel;

  static float value(const char* at) {
    uint16_t bits;
    std::memcpy(&bits, at, sizeof bits);
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }

  static void multiply(const MatrixSteps& steps, const char* tile, const char* span, int columns, float* panel) {
    for (int r = 0; r < columns; ++r) {
      for (int i = 0; i < kMatrixRows; ++i) {
        float sum = 0;
        for (int p = 0; p < steps.products; ++p) {
          const char* x = tile + steps.x[p] * kStepBytes + i / 16 * kUnitBytes + i % 16 * 4;
          const char* z = span + steps.z[p] * kStepBytes + r * 64;
          for (int j = 0; j < 32; ++j) sum += value(x + j / 2 * 64 + j % 2 * 2) * value(z + j * 2);
        }
        panel[r * kMatrixRows + i] = sum;
      }
    }
  }
};

struct ScalarBytes {
  using Panel = IntegerPanels;

  static void multiply(const MatrixSteps& steps, const char* tile, const char* span, int columns, float* panel) {
    for (int r = 0; r < columns; ++r) {
      for (int i = 0; i < kMatrixRows; ++i) {
        int32_t sums[2] = {};
        for (int p = 0; p < steps.products; ++p) {
          const char* x = tile + steps.x[p] * kStepBytes + i / 16 * kUnitBytes + i % 16 * 4;
          const char* z = span + steps.z[p] * kStepBytes + r * 64;
          int32_t& sum = sums[p < steps.whole ? 0 : 1];
          for (int j = 0; j < 64; ++j) {
            sum += static_cast<signed char>(x[j / 4 * 64 + j % 4]) * static_cast<signed char>(z[j]);
          }
        }
        for (int part = 0; part < 2; ++part) {
          panel[part * kPanelFloats + r * kMatrixRows + i] = std::bit_cast<float>(sums[part]);
        }
      }
    }
  }
};

}  // namespace

const CpuKernels& make_portable_kernels() {
  static_assert(HWY_STATIC_TARGET == HWY_SCALAR, "the flags of this file do not give the scalar target");
  static constexpr ScreenKernels kScreens[] = {
      float32_screen<8, 2>(),
      {ScreenFormat::kBfloat16, ScreenLayout::kSteps, kMatrixRows, kMatrixColumns, kMatrixColumns,
       screen_by_panels<ScalarPairs>, hits_by_panels<ScalarPairs>, nullptr},
      {ScreenFormat::kBfloat16Pair, ScreenLayout::kSteps, kMatrixRows, kMatrixColumns, kMatrixColumns,
       screen_by_panels<ScalarPairs>, hits_by_panels<ScalarPairs>, nullptr},
      {ScreenFormat::kInt8Pair, ScreenLayout::kSteps, kMatrixRows, kMatrixColumns, kMatrixColumns,
       screen_by_panels<ScalarBytes>, hits_by_panels<ScalarBytes>, nullptr},
  };
  static constexpr CpuKernels kKernels =
      kernel_table<8, 2>("portable", "any machine (scalar code)", [] { return true; }, kScreens, 4);
  return kKernels;
}

}  // namespace manymeans
