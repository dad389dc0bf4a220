// Values become integers q: the nearest multiples of 2^(exponent - bits). The integers become residues. q is cut into
// small digits, so that a sum of digits times their places' residues is exact. Values of float32 have three digits and
// float32 sums (six operations a residue). Values of float64 have two and binary64 sums (five, at half the rate).
#include "backend/cuda/runtime/device_memory.h"
#include "product/cuda/packed_lines.cuh"
#include "product/cuda/residue_product.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kChunkValues = 16;  // bytes of a residue's chunk
constexpr double kLostUnits = 0x1p20, kSquareUnits = 0x1p24;

// Adding and taking away 1.5 times the last power of two with a unit of one rounds to an integer.
template <class Value>
struct Digits;
template <>
struct Digits<float> {
  // Digits are at most 2^15, 2^14 and 2^14. Times at most 2^7 their sum is below 2^22.6. Times 1 / p, which has a
  // relative error of 2^-24, it is 2^-9.4 off. This is less than 1 / 2p, the distance of a whole number over p from a
  // midpoint of two integers. (For p = 256 all is exact.)
  using Sum = float;
  static constexpr int kDigits = 3, kBits = 15;
  static constexpr float kToInteger = 0x1.8p23F;
  static __device__ __forceinline__ float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
  static __device__ __forceinline__ uint32_t low_bits(float integer) { return __float_as_uint(integer); }
};
template <>
struct Digits<double> {
  using Sum = double;  // likewise: below 2^43.1, 2^-17 off
  static constexpr int kDigits = 2, kBits = 36;
  static constexpr double kToInteger = 0x1.8p52;
  static __device__ __forceinline__ double fma(double a, double b, double c) { return __fma_rn(a, b, c); }
  static __device__ __forceinline__ uint32_t low_bits(double integer) {
    return static_cast<uint32_t>(__double2loint(integer));
  }
};

static_assert(kMaxFloatBits - 2 * Digits<float>::kBits <= 15 && kMaxDoubleBits - Digits<double>::kBits <= 36);

template <class Value>
struct PackResidues {
  using Sum = typename Digits<Value>::Sum;
  PackedLines lines[2];
  ResidueLines to[2];
  int32_t count, bits;
  Sum moduli[kMaxModuli], inverses[kMaxModuli];
  Sum places[kMaxModuli][2];  // residues of 2^(kBits), 2^(2 kBits), next to 0
};

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

__device__ __forceinline__ double rounded(double value) {
  constexpr double kToInteger = Digits<double>::kToInteger;
  return __dadd_rn(__dadd_rn(value, kToInteger), -kToInteger);
}

// Up, and never 0 where something is there.
__device__ __forceinline__ unsigned long long fixed(double value, double units, bool nothing) {
  return nothing ? 0ULL : static_cast<unsigned long long>(value * units * (1 + 0x1p-40)) + 1;
}

// A warp packs four lines of a tile; eight threads a line, 16 values each.
template <class Value>
__global__ void __launch_bounds__(kThreads, 2) pack_kernel(const __grid_constant__ PackResidues<Value> task) {
  using Of = Digits<Value>;
  using Sum = typename Of::Sum;
  const PackedLines& lines = task.lines[blockIdx.y];
  const ResidueLines& residues = task.to[blockIdx.y];
  const auto depth_blocks = static_cast<unsigned>(residues.depth_blocks);
  const int line = static_cast<int>(blockIdx.x / depth_blocks) * (kThreads / 8) + static_cast<int>(threadIdx.x) / 8;
  if (line >= residues.tiles * kResidueLines) return;  // whole blocks
  const int chunk = static_cast<int>(threadIdx.x) % 8;
  const auto depth_block = static_cast<int64_t>(blockIdx.x % depth_blocks);
  Value values[kChunkValues];
  load_values(lines, line, depth_block * kResidueDepth + chunk * kChunkValues, values);
  const int exponent = line < lines.padded ? lines.exponents[line] : 0;
  // Two factors, since one might be no normal number.
  const double factor = ldexp(1.0, -(exponent / 2)), more = ldexp(1.0, -(exponent - exponent / 2));
  const double to_first = ldexp(1.0, task.bits - (Of::kDigits - 1) * Of::kBits);
  Sum digits[Of::kDigits][kChunkValues];
  double squares = 0, lost = 0;
  bool exact = true;
#pragma unroll
  for (int v = 0; v < kChunkValues; ++v) {
    const auto value = static_cast<double>(values[v]);
    const double scaled = value * factor * more;
    squares = __fma_rn(scaled, scaled, squares);
    double rest = scaled * to_first;
    bool all_zero = true;
#pragma unroll
    for (int d = 0; d < Of::kDigits; ++d) {
      if (d > 0) rest *= static_cast<double>(int64_t{1} << Of::kBits);
      const double digit = rounded(rest);
      rest -= digit;
      digits[d][v] = static_cast<Sum>(digit);
      all_zero = all_zero && digit == 0;
    }
    lost = __fma_rn(rest, rest, lost);
    if (rest != 0 || (value != 0 && all_zero)) exact = false;  // the square may be too small
  }
  auto lost_units = fixed(lost, kLostUnits, exact), square_units = fixed(squares, kSquareUnits, squares == 0);
#pragma unroll
  for (int offset = 4; offset > 0; offset /= 2) {
    lost_units += __shfl_xor_sync(~0U, lost_units, offset);
    square_units += __shfl_xor_sync(~0U, square_units, offset);
  }
  if (chunk == 0) {
    if (lost_units != 0) atomicAdd(residues.lost + line, lost_units);
    if (square_units != 0) atomicAdd(residues.squares + line, square_units);
  }
  const int in_tile = line % kResidueLines;
  int8_t* to = residues.values + (int64_t{line / kResidueLines} * residues.depth_blocks + depth_block) * kTileBytes +
               in_tile * kResidueDepth + (chunk ^ in_tile % 8) * kChunkValues;
  for (int i = 0; i < task.count; ++i, to += residues.plane_bytes) {
    const Sum p = task.moduli[i], inverse = task.inverses[i], place = task.places[i][0], second = task.places[i][1];
    uint32_t words[4];
#pragma unroll
    for (int word = 0; word < 4; ++word) {
      uint32_t bytes[4];
#pragma unroll
      for (int byte = 0; byte < 4; ++byte) {
        const int v = word * 4 + byte;
        // Exact, and so is what follows but the quotient.
        Sum whole = Of::fma(digits[Of::kDigits - 2][v], place, digits[Of::kDigits - 1][v]);
        if constexpr (Of::kDigits == 3) whole = Of::fma(digits[0][v], second, whole);
        const Sum quotient = Of::fma(whole, inverse, Of::kToInteger) - Of::kToInteger;
        bytes[byte] = Of::low_bits(Of::fma(-quotient, p, whole) + Of::kToInteger);
      }
      words[word] =
          __byte_perm(__byte_perm(bytes[0], bytes[1], 0x0040), __byte_perm(bytes[2], bytes[3], 0x0040), 0x5410);
    }
    *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
  }
}

struct FinishResidues {
  PackedLines lines[2];
  ResidueLines to[2];
  double unit;
};

__global__ void __launch_bounds__(kThreads) finish_kernel(FinishResidues task) {
  const PackedLines& lines = task.lines[blockIdx.y];
  const ResidueLines& to = task.to[blockIdx.y];
  const int line = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (line >= to.tiles * kResidueLines) return;
  constexpr double kUp = 1 + 0x1p-40;
  const bool finite = line >= lines.padded || lines.widths[line] < kNeverExact;
  const double lost = sqrt(static_cast<double>(to.lost[line]) / kLostUnits) * kUp;
  to.errors[line] = finite ? __double2float_ru(lost) : HUGE_VALF;
  const double size = sqrt(static_cast<double>(to.squares[line]) / kSquareUnits) * task.unit;
  to.norms[line] = __double2float_ru((size + lost) * kUp);
}

template <class Value>
void launch_pack(std::span<const ResidueFactor> factors, const ResidueBasis& basis, cudaStream_t stream) {
  PackResidues<Value> task = {};
  int32_t tiles = 0;
  for (size_t i = 0; i < factors.size(); ++i) {
    task.lines[i] = factors[i].lines;
    task.to[i] = factors[i].to;
    tiles = std::max(tiles, factors[i].to.tiles);
  }
  task.count = basis.count;
  task.bits = basis.bits;
  for (int i = 0; i < basis.count; ++i) {
    const int p = basis.moduli[i];
    task.moduli[i] = static_cast<typename Digits<Value>::Sum>(p);
    task.inverses[i] = 1 / task.moduli[i];
    int64_t place = 1;
    for (auto& residue : task.places[i]) {
      place = (place << Digits<Value>::kBits) % p;
      residue = static_cast<typename Digits<Value>::Sum>(place > p / 2 ? place - p : place);
    }
  }
  const dim3 grid(static_cast<unsigned>(tiles * (kResidueLines * 8 / kThreads) * factors[0].to.depth_blocks),
                  static_cast<unsigned>(factors.size()));
  pack_kernel<Value><<<grid, kThreads, 0, stream>>>(task);
  check_launch("packing residues");
}

}  // namespace

void pack_residues(std::span<const ResidueFactor> factors, const ResidueBasis& basis, bool wide, cudaStream_t stream) {
  wide ? launch_pack<double>(factors, basis, stream) : launch_pack<float>(factors, basis, stream);
  FinishResidues task = {};
  int32_t tiles = 0;
  for (size_t i = 0; i < factors.size(); ++i) {
    task.lines[i] = factors[i].lines;
    task.to[i] = factors[i].to;
    tiles = std::max(tiles, factors[i].to.tiles);
  }
  task.unit = std::ldexp(1.0, basis.bits);
  const dim3 grid(static_cast<unsigned>((tiles * kResidueLines + kThreads - 1) / kThreads),
                  static_cast<unsigned>(factors.size()));
  finish_kernel<<<grid, kThreads, 0, stream>>>(task);
  check_launch("measuring residues");
}

}  // namespace manymeans::cuda
