// The kernels, written once for Highway and compiled once per instruction set: include from a kernels_*.cpp only.
// Everything is in an anonymous namespace, so that code for one instruction set cannot replace another's at link time.
// For the same reason nothing here calls inline functions of the standard library in loops.
#pragma once

#include "backend/cpu/kernels/hit_kernels-inl.h"
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/lanes-inl.h"
#include "backend/cpu/kernels/linear_kernels-inl.h"
#include "backend/cpu/kernels/packing_kernels-inl.h"
#include "backend/cpu/kernels/panel_kernels-inl.h"
#include "backend/cpu/kernels/product_kernels-inl.h"
#include "backend/cpu/kernels/row_kernels-inl.h"
#include "backend/cpu/kernels/screen_kernels-inl.h"
#include "backend/cpu/kernels/sparse_kernels-inl.h"

namespace manymeans {
namespace {

// Twelve sums hide the latency of two multiply-adds a cycle.
template <class Unit>
double peak_of_lanes(int64_t rounds) {
  constexpr int kSums = 12;
  VecF sums[kSums];
#pragma GCC unroll 12
  for (int i = 0; i < kSums; ++i) sums[i] = hn::Zero(kF32);
  const volatile int32_t given = Unit::kHalf;
  const VecF x = hn::BitCast(kF32, hn::Set(kI32, given)), z = x;
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kSums; ++i) sums[i] = Unit::add(x, z, sums[i]);
  }
  for (int i = 1; i < kSums; ++i) sums[0] = hn::Add(sums[0], sums[i]);
  const volatile float kept = hn::GetLane(sums[0]);
  static_cast<void>(kept);
  return 2.0 * Unit::kValues * kLanes * kSums * static_cast<double>(rounds);
}

// The screen of a unit with tiles of MR vectors and blocks of R columns.
template <class Unit, int MR, int R>
constexpr ScreenKernels lanes_screen() {
  static_assert(MR * kLanes <= 64, "a word of hits has 64 bits");
  static_assert(kSpanColumns % R == 0, "a span is a whole number of blocks");
  return {Unit::kFormat,           ScreenLayout::kLanes, MR * kLanes, R, kMinWidth<R>, screen_lanes<Unit, MR, R>,
          hits_lanes<Unit, MR, R>, peak_of_lanes<Unit>};
}

template <int MR, int R>
constexpr ScreenKernels float32_screen() {
  return lanes_screen<FloatUnit, MR, R>();
}

// Of linear models, in the layout of float32_screen.
template <int MR, int R>
constexpr ScreenKernels residual_screen() {
  return {ScreenFormat::kFloat32,
          ScreenLayout::kLanes,
          MR * kLanes,
          R,
          kMinWidth<R>,
          screen_lanes<ResidualUnit, MR, R>,
          nullptr,
          nullptr};
}

// `screens` begins with float32_screen<MR, R>().
template <int MR, int R>
constexpr CpuKernels kernel_table(const char* name, const char* description, bool (*supported)(),
                                  const ScreenKernels* screens, int screen_count) {
  constexpr int kRows = MR * kLanes;
  return {name,
          description,
          supported,
          screens,
          screen_count,
          certify,
          find_candidates,
          bound_distances,
          rows_to_screen,
          changed_labels,
          gather,
          rescore<R>,
          distance<float>,
          distance<double>,
          distances<float>,
          distances<double>,
          add_distances,
          seed_thresholds,
          lower_least,
          add_terms<float>,
          add_terms<double>,
          move_rows<float>,
          move_rows<double>,
          move_products<float>,
          move_products<double>,
          add_segment,
          residual<float>,
          residual<double>,
          residuals<float>,
          residuals<double>,
          all_residuals<float>,
          all_residuals<double>,
          pack<kRows, float>,
          pack<kRows, double>,
          pack_pairs<float>,
          pack_pairs<double>,
          round_row<float>,
          round_row<double>,
          lane_kernels(),
          panel_kernels(),
          residual_screen<MR, R>(),
          sparse_kernels(),
          product_kernels<MR, R>()};
}

}  // namespace
}  // namespace manymeans
