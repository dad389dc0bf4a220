// Kernels for Intel's matrix unit (AMX, Sapphire Rapids and later): the AVX-512 kernels, and bfloat16 screens by tiles.
//
// A tile register holds 16 columns or 16 rows of 32 values; TDPBF16PS adds 16 x 16 scores' share of one step. Two by
// two registers of sums read each operand register twice, so that loads stay below the unit's rate. Bound: 16 cycles a
// product, about 3300 GFLOP/s a core measured, and 2100 to 2600 with loads and stores of sums. The epilogue adds five
// vector instructions per 16 scores, which brings 32 x 32 x 128 to about 1600. The epilogue reads the panel that was
// stored two panels ago: reading the one just stored waits for the unit. Mixing it in between the products, keeping
// offsets in the sums' initial values, and fetching prototypes ahead into the first cache gained nothing.
#include "backend/cpu/kernels/amx_tiles-inl.h"
#include "backend/cpu/kernels/avx512_bf16-inl.h"
#include "backend/cpu/kernels/matrix_kernels-inl.h"
#include "core/os/machine.h"

#include <cpuid.h>

namespace manymeans {
namespace {

// Registers 0 to 3 are sums (columns low and high, rows low and high), 4 and 5 columns, 6 and 7 rows.
template <int kRegister>
HWY_INLINE void store_sums(float* to) {
  store_tile<kRegister>(to, kMatrixRows * 4);
}
struct Bfloat16Products {
  template <int kSum, int kColumns, int kRows>
  HWY_INLINE static void multiply() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kColumns), "i"(kRows));
  }
};

// Products first .. last - 1 of a tile and a span.
struct Factors {
  const MatrixSteps& steps;
  int first;
  int last;
  const char* tile;
  const char* span;
};

// All 32 columns of the span.
template <class Products>
HWY_INLINE void multiply_span(const Factors& in, float* panel) {
  zero_tile<0>();
  zero_tile<1>();
  zero_tile<2>();
  zero_tile<3>();
  for (int p = in.first; p < in.last; ++p) {
    const char* x = in.tile + in.steps.x[p] * kStepBytes;
    const char* z = in.span + in.steps.z[p] * kStepBytes;
    load_tile<6>(x);
    load_tile<4>(z);
    Products::template multiply<0, 4, 6>();
    load_tile<7>(x + kUnitBytes);
    Products::template multiply<1, 4, 7>();
    load_tile<5>(z + kUnitBytes);
    Products::template multiply<2, 5, 6>();
    Products::template multiply<3, 5, 7>();
  }
  store_sums<0>(panel);
  store_sums<1>(panel + 16);
  store_sums<2>(panel + 16 * kMatrixRows);
  store_sums<3>(panel + 16 * kMatrixRows + 16);
}

// Multiplies 16 columns only.
template <class Products>
HWY_INLINE void multiply_half(const Factors& in, float* panel) {
  zero_tile<0>();
  zero_tile<1>();
  for (int p = in.first; p < in.last; ++p) {
    const char* x = in.tile + in.steps.x[p] * kStepBytes;
    load_tile<6>(x);
    load_tile<4>(in.span + in.steps.z[p] * kStepBytes);
    Products::template multiply<0, 4, 6>();
    load_tile<7>(x + kUnitBytes);
    Products::template multiply<1, 4, 7>();
  }
  store_sums<0>(panel);
  store_sums<1>(panel + 16);
}

template <class Products>
HWY_INLINE void multiply_panel(const Factors& in, int columns, float* panel) {
  if (columns == kSpanColumns) {
    multiply_span<Products>(in, panel);
  } else {
    multiply_half<Products>(in, panel);
  }
}

struct Bfloat16Tiles {
  using Panel = FloatPanel;

  static void multiply(const MatrixSteps& steps, const char* tile, const char* span, int columns, float* panel) {
    multiply_panel<Bfloat16Products>({steps, 0, steps.products, tile, span}, columns, panel);
  }
};

// Eight registers hold one panel's sums and what is multiplied: two panels, one after the other.
struct ByteTiles {
  using Panel = IntegerPanels;

  static void multiply(const MatrixSteps& steps, const char* tile, const char* span, int columns, float* panel) {
    multiply_panel<ByteProducts>({steps, 0, steps.whole, tile, span}, columns, panel);
    multiply_panel<ByteProducts>({steps, steps.whole, steps.products, tile, span}, columns, panel + kPanelFloats);
  }
};

template <class Unit>
void screen_amx(const ScreenTask& in) {
  constexpr int kLag = 2;
  const TileRegisters registers;
  alignas(64) float panels[4][Unit::Panel::kFloats];
  const ScreenColumns& columns = in.columns;
  const int64_t spans = columns.spans;
  // Panels of all tiles in one sequence, so that the lag costs nothing at a tile's end.
  const int64_t count = in.tile_count * spans;
  int64_t tile = 0, span = 0, done_tile = 0, done_span = 0;
  for (int64_t i = 0; i < count + kLag; ++i) {
    if (i < count) {
      if (span == 0) fetch_ahead(in, tile, in.tile_count);
      Unit::multiply(*columns.steps, static_cast<const char*>(in.tiles[tile].values), span_values(columns, span),
                     columns.widths[span], panels[i & 3]);
      if (++span == spans) {
        span = 0;
        ++tile;
      }
    }
    if (i < kLag) continue;
    finish_panel<typename Unit::Panel>(columns, done_span, columns.widths[done_span], panels[(i - kLag) & 3],
                                       in.tiles[done_tile]);
    if (++done_span == spans) {
      done_span = 0;
      ++done_tile;
    }
  }
}

template <class Unit>
void hits_amx(const HitsTask& in) {
  const TileRegisters registers;
  hits_by_panels<Unit>(in);
}

// Four sums, as in a panel; each product reads operands that are in registers.
double peak_amx(int64_t rounds) {
  alignas(64) uint16_t halves[512];
  for (uint16_t& half : halves) half = 0x3f00;  // 0.5
  const TileRegisters registers;
  zero_tile<0>();
  zero_tile<1>();
  zero_tile<2>();
  zero_tile<3>();
  const char* from = reinterpret_cast<const char*>(halves);
  load_tile<4>(from);
  load_tile<5>(from);
  load_tile<6>(from);
  load_tile<7>(from);
  for (int64_t round = 0; round < rounds; ++round) {
    Bfloat16Products::multiply<0, 4, 6>();
    Bfloat16Products::multiply<1, 4, 7>();
    Bfloat16Products::multiply<2, 5, 6>();
    Bfloat16Products::multiply<3, 5, 7>();
  }
  return 4 * 2.0 * 16 * 16 * 32 * static_cast<double>(rounds);
}

bool find_amx() {
  if (!have_avx512_bf16()) return false;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned kBfloat16 = 1U << 22, kTiles = 1U << 24, kInt8 = 1U << 25;
  if ((d & kBfloat16) == 0 || (d & kTiles) == 0 || (d & kInt8) == 0) return false;
  return request_matrix_registers();
}

// The processor has it, the system saves its registers, and this process may use them. Asked once: a virtual machine
// takes as long to answer as a small call.
bool have_amx() {
  static const bool have = find_amx();
  return have;
}

}  // namespace

const CpuKernels& make_amx_kernels() {
  static_assert(HWY_STATIC_TARGET == HWY_AVX3, "the flags of this file do not give AVX-512");
  static constexpr ScreenKernels kScreens[] = {
      float32_screen<3, 8>(),
      {ScreenFormat::kBfloat16, ScreenLayout::kSteps, kMatrixRows, kMatrixColumns, kMatrixColumns,
       screen_amx<Bfloat16Tiles>, hits_amx<Bfloat16Tiles>, peak_amx},
      {ScreenFormat::kBfloat16Pair, ScreenLayout::kSteps, kMatrixRows, kMatrixColumns, kMatrixColumns,
       screen_amx<Bfloat16Tiles>, hits_amx<Bfloat16Tiles>, peak_amx},
      {ScreenFormat::kInt8Pair, ScreenLayout::kSteps, kMatrixRows, kMatrixColumns, kMatrixColumns,
       screen_amx<ByteTiles>, hits_amx<ByteTiles>, nullptr},
  };
  static constexpr CpuKernels kKernels =
      with_coded(kernel_table<3, 8>("amx", "Intel AMX with bfloat16 products", have_amx, kScreens, 4));
  return kKernels;
}

}  // namespace manymeans
