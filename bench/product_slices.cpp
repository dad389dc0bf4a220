// Would the exact matrix product gain by Intel's matrix unit? Products of slices in bytes beside those of binary64.
//
//   product_slices [DEPTH [ROUNDS]]
//
// A float32 becomes six bytes of a fixed point, x = sum d_p 2^(e - 7 - 8 p). The 21 products of slices with p + q <= 5
// leave about as few entries unproved as a sum in binary64 does (docs/developer/screens.md, "The bound in time"). Six
// tile registers hold the sums of 16 x 16 entries, one for each p + q; then the sums become one number of binary64.
// Prints what both ways make on one thread, in turns, as billions of operations of the float32 product a second;
// neither contains packing and certificates. DEPTH is at most 21824, beyond which sums of 32 bits could overflow. What
// was found is in docs/developer/screens.md.
#include "backend/cpu/kernels/amx_tiles-inl.h"
#include "backend/cpu/kernels/instruction_set.h"
#include "core/aligned_buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string_view>

#if defined(__x86_64__)

namespace {

using namespace manymeans;

constexpr int kSlices = 6;
constexpr int64_t kTileBytes = 1024;  // 16 lines of 64 values
constexpr int64_t kRows = 64, kColumns = 256, kTile = 16, kEntries = kTile * kTile;
constexpr int64_t kBlockDepth = 192;  // of binary64, as the backend has it

// Slice kP of the rows times slices kQ, kQ + 1, ... of the columns.
template <int kP, int kQ>
void multiply_slices(const char* a, const char* b) {
  if constexpr (kP < kSlices) {
    if constexpr (kQ == 0) load_tile<6>(a + kP * kTileBytes);
    if constexpr (kP + kQ < kSlices) {
      load_tile<7>(b + kQ * kTileBytes);
      ByteProducts::multiply<kP + kQ, 6, 7>();
      multiply_slices<kP, kQ + 1>(a, b);
    } else {
      multiply_slices<kP + 1, 0>(a, b);
    }
  }
}

template <int kRegister>
void zero_tiles() {
  if constexpr (kRegister < kSlices) {
    zero_tile<kRegister>();
    zero_tiles<kRegister + 1>();
  }
}

template <int kRegister>
void store_tiles(int32_t* to) {
  if constexpr (kRegister < kSlices) {
    store_tile<kRegister>(to, 64);
    store_tiles<kRegister + 1>(to + kEntries);
  }
}

__attribute__((target("avx512f"))) void combine(const int32_t* sums, double* entries) {
  for (int64_t i = 0; i < kEntries; ++i) {
    double value = sums[(kSlices - 1) * kEntries + i];
    for (int level = kSlices - 2; level >= 0; --level) value = value * 0x1p-8 + sums[level * kEntries + i];
    entries[i] = value;
  }
}

void multiply_by_slices(const char* a, const char* b, int64_t depth) {
  alignas(64) int32_t sums[kSlices * kEntries];
  alignas(64) double entries[kEntries];
  for (int64_t row = 0; row < kRows; row += kTile) {
    for (int64_t column = 0; column < kColumns; column += kTile) {
      zero_tiles<0>();
      for (int64_t l = 0; l < depth; l += 64) {
        multiply_slices<0, 0>(a + (row * depth + l * kTile) * kSlices, b + (column * depth + l * kTile) * kSlices);
      }
      store_tiles<0>(sums);
      combine(sums, entries);
      asm volatile("" ::"r"(entries) : "memory");
    }
  }
}

void multiply_in_binary64(const ProductKernels& kernels, const double* a, const double* b, int64_t depth) {
  alignas(64) double sums[kMaxProductTile] = {};
  for (int64_t row = 0; row + kernels.rows <= kRows; row += kernels.rows) {
    for (int64_t column = 0; column + kernels.columns <= kColumns; column += kernels.columns) {
      for (int64_t l = 0; l < depth; l += kBlockDepth) {
        const double* columns = b + column * depth + l * kernels.columns;
        kernels.add(a + row * depth + l * kernels.rows, columns, std::min(kBlockDepth, depth - l), sums, {columns, 0});
      }
    }
  }
}

// Asking whether there is the instruction set asks the system for its registers.
bool may_use_tiles() {
  return choose_kernels("").name == std::string_view("amx");
}

template <class Work>
double rate(int64_t columns, int64_t depth, Work&& work) {
  double least = HUGE_VAL;
  for (int i = 0; i < 12; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return 2e-9 * static_cast<double>(kRows * columns * depth) / least;
}

void measure(int64_t depth, int rounds) {
  AlignedBuffer<char> a(static_cast<size_t>(kRows * depth * kSlices)),
      b(static_cast<size_t>(kColumns * depth * kSlices));
  AlignedBuffer<double> wide_a(static_cast<size_t>(kRows * depth)), wide_b(static_cast<size_t>(kColumns * depth));
  std::mt19937 random(1);
  for (auto* bytes : {&a, &b})
    std::generate_n(bytes->data(), bytes->size(), [&] { return static_cast<char>(random()); });
  for (auto* wide : {&wide_a, &wide_b})
    std::generate_n(wide->data(), wide->size(), [&] { return 0x1p-32 * static_cast<double>(random()) - 0.5; });
  const ProductKernels& kernels = choose_kernels("").product;
  const int64_t whole_columns = kColumns / kernels.columns * kernels.columns;
  const TileRegisters registers;
  for (int round = 0; round < rounds; ++round) {
    const double slices = rate(kColumns, depth, [&] { multiply_by_slices(a.data(), b.data(), depth); });
    const double wide =
        rate(whole_columns, depth, [&] { multiply_in_binary64(kernels, wide_a.data(), wide_b.data(), depth); });
    fmt::print("depth {}: slices in bytes {:.0f}, binary64 {:.0f} Gflop/s\n", depth, slices, wide);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (!may_use_tiles()) {
    fmt::print(stderr, "product_slices: the instruction set in use is not amx\n");
    return 1;
  }
  const int64_t depth = count > 1 ? std::atoll(arguments[1]) / 64 * 64 : 512;
  measure(std::max<int64_t>(depth, 64), count > 2 ? std::atoi(arguments[2]) : 4);
}

#else

int main() {
  fmt::print(stderr, "product_slices: this machine has no AMX\n");
  return 1;
}

#endif
