// Values become integers q, the multiples of 2^(exponent - bits) next to them, and these become residues. Bound by
// binary64: five operations a residue.
#include "backend/cuda/product/packed_lines.cuh"
#include "backend/cuda/product/residue_product.h"
#include "backend/cuda/runtime/device_memory.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kChunkValues = 16;  // bytes of a residue's chunk
constexpr int kLowBits = 36;      // q = high 2^36 + low
constexpr double kToInteger = 0x1.8p52;
constexpr double kLostUnits = 0x1p20, kSquareUnits = 0x1p24;

struct PackResidues {
  PackedLines lines;
  ResidueLines to;
  ResidueBasis basis;
  double powers[kMostModuli];    // 2^36 modulo p, next to 0
  double inverses[kMostModuli];  // 1 / p
};

__device__ __forceinline__ double rounded(double value) {
  return __dadd_rn(__dadd_rn(value, kToInteger), -kToInteger);
}

// A line's 16 values from the packed ones.
template <class Value>
__device__ __forceinline__ void load_values(const PackedLines& lines, int line, int64_t first,
                                            Value (&to)[kChunkValues]) {
  constexpr int kOfChunk = kChunkBytes / static_cast<int>(sizeof(Value));
#pragma unroll
  for (int part = 0; part < kChunkValues / kOfChunk; ++part) {
    const int64_t chunk = first / kOfChunk + part;
    const bool there = line < lines.padded && chunk < lines.chunks;
    const std::byte* from = lines.values + (there ? unit_place(lines.chunks, line, chunk) : 0);
#pragma unroll
    for (int unit = 0; unit < 4; ++unit) {
      const uint4 bits = there ? *reinterpret_cast<const uint4*>(from + unit * 16) : make_uint4(0, 0, 0, 0);
      memcpy(to + part * kOfChunk + unit * (kOfChunk / 4), &bits, 16);
    }
  }
}

// A warp packs four lines of a tile; eight threads a line, 16 values each.
template <class Value>
__global__ void __launch_bounds__(kThreads) pack_kernel(const __grid_constant__ PackResidues task) {
  const int line = static_cast<int>(blockIdx.x) * (kThreads / 8) + static_cast<int>(threadIdx.x) / 8;
  const int chunk = static_cast<int>(threadIdx.x) % 8;
  const auto depth_block = static_cast<int64_t>(blockIdx.y);
  Value values[kChunkValues];
  load_values(task.lines, line, depth_block * kResidueDepth + chunk * kChunkValues, values);
  const int exponent = line < task.lines.padded ? task.lines.exponents[line] : 0;
  // Two factors, since one might be no normal number.
  const double factor = ldexp(1.0, -(exponent / 2)), more = ldexp(1.0, -(exponent - exponent / 2));
  const double to_high = ldexp(1.0, task.basis.bits - kLowBits);
  double high[kChunkValues], low[kChunkValues];
  double squares = 0, lost = 0;
  bool exact = true;
#pragma unroll
  for (int v = 0; v < kChunkValues; ++v) {
    const auto value = static_cast<double>(values[v]);
    const double scaled = value * factor * more;
    squares = __fma_rn(scaled, scaled, squares);
    const double whole = scaled * to_high;
    high[v] = rounded(whole);
    const double rest = (whole - high[v]) * 0x1p36;
    low[v] = rounded(rest);
    const double left = rest - low[v];
    lost = __fma_rn(left, left, lost);
    if (left != 0 || (value != 0 && high[v] == 0 && low[v] == 0)) exact = false;  // the square may be too small
  }
  // Up, and never 0 where something is lost.
  auto lost_units = exact ? 0ULL : static_cast<unsigned long long>(lost * kLostUnits * (1 + 0x1p-40)) + 1;
  auto square_units = squares == 0 ? 0ULL : static_cast<unsigned long long>(squares * kSquareUnits * (1 + 0x1p-40)) + 1;
#pragma unroll
  for (int offset = 4; offset > 0; offset /= 2) {
    lost_units += __shfl_xor_sync(~0U, lost_units, offset);
    square_units += __shfl_xor_sync(~0U, square_units, offset);
  }
  if (chunk == 0) {
    if (lost_units != 0) atomicAdd(task.to.lost + line, lost_units);
    if (square_units != 0) atomicAdd(task.to.squares + line, square_units);
  }
  const int in_tile = line % kResidueLines;
  int8_t* to = task.to.values + (int64_t{line / kResidueLines} * task.to.depth_blocks + depth_block) * kTileBytes +
               in_tile * kResidueDepth + (chunk ^ in_tile % 8) * kChunkValues;
  for (int i = 0; i < task.basis.count; ++i, to += task.to.plane_bytes) {
    const double p = task.basis.moduli[i], power = task.powers[i], inverse = task.inverses[i];
    uint32_t words[4];
#pragma unroll
    for (int word = 0; word < 4; ++word) {
      uint32_t bytes[4];
#pragma unroll
      for (int byte = 0; byte < 4; ++byte) {
        const int v = word * 4 + byte;
        const double whole = __fma_rn(high[v], power, low[v]);  // exact, and so is what follows but the quotient
        const double quotient = __dadd_rn(__fma_rn(whole, inverse, kToInteger), -kToInteger);
        bytes[byte] = static_cast<uint32_t>(__double2loint(__dadd_rn(__fma_rn(-quotient, p, whole), kToInteger)));
      }
      words[word] =
          __byte_perm(__byte_perm(bytes[0], bytes[1], 0x0040), __byte_perm(bytes[2], bytes[3], 0x0040), 0x5410);
    }
    *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
  }
}

__global__ void __launch_bounds__(kThreads) finish_kernel(PackedLines lines, ResidueLines to, double unit) {
  const int line = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (line >= to.tiles * kResidueLines) return;
  constexpr double kUp = 1 + 0x1p-40;
  const bool finite = line >= lines.padded || lines.widths[line] < kNeverExact;
  const double lost = sqrt(static_cast<double>(to.lost[line]) / kLostUnits) * kUp;
  to.errors[line] = finite ? lost : HUGE_VAL;
  to.norms[line] = (sqrt(static_cast<double>(to.squares[line]) / kSquareUnits) * unit + lost) * kUp;
}

}  // namespace

void pack_residues(const PackedLines& lines, const ResidueLines& to, const ResidueBasis& basis, bool wide,
                   cudaStream_t stream) {
  PackResidues task = {lines, to, basis, {}, {}};
  for (int i = 0; i < basis.count; ++i) {
    const int p = basis.moduli[i];
    const auto power = static_cast<int>((int64_t{1} << kLowBits) % p);
    task.powers[i] = power > p / 2 ? power - p : power;
    task.inverses[i] = 1.0 / p;
  }
  const auto count = static_cast<size_t>(to.tiles) * kResidueLines;
  fill_zero(to.squares, count, stream, "packing residues");
  fill_zero(to.lost, count, stream, "packing residues");
  const dim3 grid(static_cast<unsigned>(count / (kThreads / 8)), static_cast<unsigned>(to.depth_blocks));
  if (wide) {
    pack_kernel<double><<<grid, kThreads, 0, stream>>>(task);
  } else {
    pack_kernel<float><<<grid, kThreads, 0, stream>>>(task);
  }
  check_launch("packing residues");
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  finish_kernel<<<blocks, kThreads, 0, stream>>>(lines, to, std::ldexp(1.0, basis.bits));
  check_launch("measuring residues");
}

}  // namespace manymeans::cuda
