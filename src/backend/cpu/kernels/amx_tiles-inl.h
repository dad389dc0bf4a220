// The tile registers of Intel's matrix unit (AMX), 8 of 16 rows x 64 bytes. They are named in assembler, so that no
// flag of the compiler is needed.
#pragma once

#include <cstdint>

#define MANYMEANS_TILE_INLINE inline __attribute__((always_inline))

namespace manymeans {
namespace {

struct alignas(64) TileConfiguration {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

/// The tile registers belong to one call: other code of this thread may use them too.
class TileRegisters {
 public:
  TileRegisters() {
    const TileConfiguration configuration;
    asm volatile("ldtilecfg %0" ::"m"(configuration));
  }
  ~TileRegisters() { asm volatile("tilerelease" ::); }
  TileRegisters(const TileRegisters&) = delete;
  TileRegisters& operator=(const TileRegisters&) = delete;
};

/// 1 KiB, row after row.
template <int kRegister>
MANYMEANS_TILE_INLINE void load_tile(const char* from) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(int64_t{64}), "i"(kRegister) : "memory");
}

/// Rows of 32-bit sums that are `stride` bytes apart.
template <int kRegister>
MANYMEANS_TILE_INLINE void store_tile(void* to, int64_t stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(stride), "i"(kRegister) : "memory");
}

template <int kRegister>
MANYMEANS_TILE_INLINE void zero_tile() {
  asm volatile("tilezero %%tmm%c0" ::"i"(kRegister));
}

/// Sums of 32 bits of products of signed bytes, four at a time.
struct ByteProducts {
  template <int kSum, int kColumns, int kRows>
  MANYMEANS_TILE_INLINE static void multiply() {
    asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kColumns), "i"(kRows));
  }
};

}  // namespace
}  // namespace manymeans
