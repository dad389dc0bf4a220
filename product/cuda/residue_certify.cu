// Sums from their residues, rounded and certified. A thread has four neighbours of a row; bound by the multiplications
// by the weights' limbs and by reading a byte for each modulus.
#include "backend/cuda/runtime/device_memory.h"
#include "product/cuda/residue_product.h"
#include "product/cuda/residue_rounding.h"
#include "product/cuda/unproved.cuh"

#include <cstdint>

namespace manymeans::cuda {
namespace {

constexpr int kAcross = 32, kDown = 8;  // threads
constexpr int kEntries = 4;             // of a thread

// `kModuli`: as many as there are, or more. All bytes of a thread are under way at once.
template <class T, int kModuli, int kLimbs>
__global__ void __launch_bounds__(kAcross* kDown)
    certify_kernel(const __grid_constant__ ResidueBlock task, unsigned blocks_across, bool fours_of_entries) {
  const ProductBlock& block = task.block;
  const int64_t row = int64_t{blockIdx.x / blocks_across} * kDown + threadIdx.y;
  const int64_t column = (int64_t{blockIdx.x % blocks_across} * kAcross + threadIdx.x) * kEntries;
  if (row >= block.rows() || column >= block.columns()) return;
  const uint8_t* from = task.sums + row * task.pitch + column;
  uint32_t bytes[kModuli];
#pragma unroll
  for (int i = 0; i < kModuli; ++i) {
    bytes[i] = i < task.basis.count ? __ldcs(reinterpret_cast<const uint32_t*>(from + i * task.plane_bytes)) : 0;
  }
  uint64_t parts[kEntries][kLimbs] = {};
#pragma unroll
  for (int i = 0; i < kModuli; ++i) {
#pragma unroll
    for (int e = 0; e < kEntries; ++e) {
      const uint32_t residue = bytes[i] >> (8 * e) & 0xff;
#pragma unroll
      for (int limb = 0; limb < kLimbs; ++limb) parts[e][limb] += uint64_t{residue} * task.basis.weights[i][limb];
    }
  }
  const float row_norm = task.a.norms[row], row_error = task.a.errors[row];
  const int row_scale = block.a.exponents[row] - 2 * task.basis.bits;
  T entries[kEntries];
  uint64_t failed = 0;
#pragma unroll
  for (int e = 0; e < kEntries; ++e) {
    const int64_t j = column + e;
    if (j >= block.columns()) break;
    const float error = __fmaf_ru(row_error, task.b.norms[j], __fmul_ru(row_norm, task.b.errors[j]));
    const WindowedSum<T> sum = windowed_sum<T>(parts[e], task.basis);
    if (!certify_sum(sum, error, row_scale + block.b.exponents[j], entries[e])) failed |= uint64_t{1} << e;
  }
  T* to = static_cast<T*>(block.out) + row * block.row_stride + column * block.column_stride;
  if (fours_of_entries && column + kEntries <= block.columns()) {
    if constexpr (sizeof(T) == 4) {
      *reinterpret_cast<float4*>(to) = make_float4(entries[0], entries[1], entries[2], entries[3]);
    } else {
      reinterpret_cast<double2*>(to)[0] = make_double2(entries[0], entries[1]);
      reinterpret_cast<double2*>(to)[1] = make_double2(entries[2], entries[3]);
    }
  } else {
#pragma unroll
    for (int e = 0; e < kEntries; ++e) {
      if (column + e < block.columns()) to[e * block.column_stride] = entries[e];
    }
  }
  leave_unproved(
      block.unproved, failed, [row](int) { return static_cast<int>(row); },
      [column](int e) { return static_cast<int>(column) + e; });
}

template <class T, int kModuli, int kLimbs>
void launch(const ResidueBlock& task, cudaStream_t stream) {
  const ProductBlock& block = task.block;
  const bool fours =
      block.column_stride == 1 && block.row_stride % kEntries == 0 && reinterpret_cast<uintptr_t>(block.out) % 16 == 0;
  const auto across = static_cast<unsigned>((block.columns() + kAcross * kEntries - 1) / (kAcross * kEntries));
  const auto down = static_cast<unsigned>((block.rows() + kDown - 1) / kDown);  // across * down: entries / 2^10
  certify_kernel<T, kModuli, kLimbs><<<across * down, dim3(kAcross, kDown), 0, stream>>>(task, across, fours);
  check_launch("certifying a product of residues");
}

}  // namespace

void certify_residues(const ResidueBlock& block, cudaStream_t stream) {
  if (block.block.wide) {
    launch<double, kMaxModuli, kMaxLimbs>(block, stream);
  } else if (block.basis.limbs <= 3) {
    launch<float, kFewModuli, 3>(block, stream);
  } else {
    launch<float, kMaxFloatModuli, 4>(block, stream);
  }
}

}  // namespace manymeans::cuda
