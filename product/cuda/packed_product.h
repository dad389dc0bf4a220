// Kernels of matrix products, and the layout of factors on the device (contract, "Products"; docs/developer/screens.md,
// "Products").
//
// A packed line is chunks of 64 bytes: 16 values of float32, 8 of float64. A band is 32 lines. Its chunks are side by
// side, chunk after chunk: a tile of the screen copies 2 KiB at a time. Eight threads read 128 adjacent bytes of shared
// memory.
#pragma once

#include "core/data_type.h"
#include "core/everywhere.h"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace manymeans::cuda {

constexpr int kBandLines = 32;
constexpr int kChunkBytes = 64;
constexpr int kBandBytes = kBandLines * kChunkBytes;  // of one chunk
constexpr int kLinePadding = 128;                     // lines are padded with zeros to a multiple
constexpr int kPackDepth = 128;                       // values of a line that one block packs
constexpr int kCellEntries = 32;                      // rows and columns of a cell of the product
constexpr int kSumsDepth = 512;  // values whose products meet each other's roundings, before sums of sums begin
constexpr int kValueSlices = 4;  // of float64; the values as they are follow them
constexpr int kNeverExact = 1 << 28, kAlwaysExact = -(1 << 20);  // widths

/// Properties of some values of a line.
struct LineMeasure {
  double squares;  // their sum, rounded
  int32_t top;     // every magnitude is below 2^top; kNoTop where all are 0
  int32_t lowest;  // all are multiples of 2^lowest
  int32_t finite;
  int32_t unused;
};

struct PackedLines {
  std::byte* values = nullptr;
  int64_t slice_bytes = 0;  // float64: from one slice to the next; 0 where there are none
  int32_t chunks = 0;       // of a line
  int32_t count = 0;        // lines
  int32_t padded = 0;
  int32_t blocks = 0;            // of kPackDepth values of a line
  LineMeasure* parts = nullptr;  // block b of line i at [b * padded + i]
  double* bounds = nullptr;      // float32: norms, rounded up. float64: what scales a line back
  int32_t* widths = nullptr;     // bits from the largest to the lowest one
  int32_t* exponents = nullptr;  // of the largest value
  float* factors = nullptr;      // float32: of two lines they make the bound of a quick proof (quick_proof.h)
};

/// Describes lines [first_line, first_line + lines), values [first_value, first_value + values). Value (i, l) is number
/// i * stride + l * step of `from`. first_line is a multiple of a band, first_value of kPackDepth. Lines and values
/// behind the last are packed as zeros.
struct PackTask {
  const void* from = nullptr;
  DataType type = DataType::kFloat32;
  int64_t stride = 0, step = 0;
  int32_t first_line = 0, lines = 0;
  int64_t first_value = 0, values = 0;
  PackedLines to;
};

/// Entries that the screen did not prove and has left: as many as the list holds, and the cells of the others.
struct Unproved {
  unsigned long long* counted = nullptr;
  unsigned long long* settled = nullptr;      // those that the screen itself has resolved
  unsigned long long* blocks_done = nullptr;  // of a screen that does so
  unsigned long long* found = nullptr;        // in pinned memory of the host: what is left, and what is settled
  uint2* list = nullptr;                      // row, column
  uint32_t capacity = 0;
  uint8_t* cells = nullptr;
  int32_t cells_across = 0;
  unsigned long long most = ~0ULL;  // with more, none is summed: another screen will do better
};

struct ProductBlock {
  PackedLines a, b;
  bool wide = false;        // float64
  int32_t exact_width = 0;  // up to which the widths of row and column together leave sums exact
  double gamma = 0;         // float32: times both norms bounds the error of a sum
  double second_gamma = 0;  // float32: of the compensated sum
  double error = 0;         // float64: of the scaled sums
  void* out = nullptr;
  int64_t row_stride = 0, column_stride = 0;
  Unproved unproved;
  // Sums that are kept before they are certified, part after part; null: tiles are certified where they are summed.
  double* sums = nullptr;
  int32_t splits = 1;  // of the depth; float64 stores high, middle and low sums for each

  MANYMEANS_EVERYWHERE int32_t rows() const { return a.count; }
  MANYMEANS_EVERYWHERE int32_t columns() const { return b.count; }
  MANYMEANS_EVERYWHERE int32_t parts() const { return splits * (wide ? 3 : 1); }
  MANYMEANS_EVERYWHERE int64_t part_sums() const { return int64_t{a.padded} * b.padded; }
};

/// Bands of lines [first_line, ..) up to the padding, if these are the last lines. One or two factors.
void pack_lines(std::span<const PackTask> tasks, bool wide, cudaStream_t stream);
/// From the measures of all blocks: bounds, widths, exponents; of float64, the slices.
struct LineRounding {
  double squares_up;                 // by which a sum of a line's squares is rounded up
  double factor_of_norm;             // float32: what makes a norm the line's factor
  double first_slice, second_slice;  // float64: 1.5 * 2^(52 - beta), 1.5 * 2^(52 - 2 beta)
};
/// Fills `cleared`, whole units of 16 bytes, with zeros.
void finish_lines(std::span<const PackedLines> factors, const LineRounding& rounding, bool wide,
                  std::span<std::byte> cleared, cudaStream_t stream);
/// Packs and finishes float32 lines that each task has from beginning to end. Returns false and does nothing if lines
/// are long or the device has no block clusters.
bool pack_whole_lines(std::span<const PackTask> tasks, const LineRounding& rounding, std::span<std::byte> cleared,
                      cudaStream_t stream);
/// Splits of the depth that give every multiprocessor a tile.
int product_splits(int64_t rows, int64_t columns, int64_t depth, int multiprocessors);
/// Screens and certifies. Returns true if the screen resolves what it can, so that usually nothing is left: `found`
/// says so after a wait for the stream.
bool screen_product(const ProductBlock& block, int multiprocessors, cudaStream_t stream);
/// float32: in tiles of 64 x 64 entries, or small ones of 32 x 32 (product_teams.cu), which resolve.
void screen_by_teams(const ProductBlock& block, bool small, cudaStream_t stream);
/// Sums exactly what was left.
void resolve_product(const ProductBlock& block, int multiprocessors, cudaStream_t stream);

}  // namespace manymeans::cuda
