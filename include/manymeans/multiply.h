// The matrix product, every entry rounded once: the same bits for any number of threads, instruction set and block
// size.
#pragma once

#include <manymeans/error.h>
#include <manymeans/points.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace manymeans {

/// Values of a matrix where they lie: value (i, j) is number i * row_stride + j * column_stride
/// from `data`. Strides count values, and may be zero or negative. The values are aligned for their type.
struct MatrixView {
  const void* data = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;
  DataType type = DataType::kFloat32;
  int64_t row_stride = 0;
  int64_t column_stride = 1;
  MemoryPlace place = {};  ///< host memory, or the memory of a CUDA device

  MatrixView() = default;
  /// Row-major without gaps.
  MatrixView(const void* values, int64_t row_count, int64_t column_count, DataType value_type)
      : data(values), rows(row_count), columns(column_count), type(value_type), row_stride(column_count) {}
  MatrixView(const PointsView& points) : MatrixView(points.data, points.n, points.d, points.type) {
    place = points.place;
  }

  MatrixView transposed() const {
    MatrixView result = *this;
    result.rows = columns;
    result.columns = rows;
    result.row_stride = column_stride;
    result.column_stride = row_stride;
    return result;
  }
};

/// Where a product is written: memory of the caller that overlaps neither factor.
struct ProductView {
  void* data = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;
  DataType type = DataType::kFloat32;  ///< the type of product_type()
  int64_t row_stride = 0;              ///< as in MatrixView, but no two values lie at one place
  int64_t column_stride = 1;
  MemoryPlace place = {};  ///< as in MatrixView
};

/// The type of a product: float64 where a factor is, else float32.
constexpr DataType product_type(DataType a, DataType b) {
  return a == DataType::kFloat64 || b == DataType::kFloat64 ? DataType::kFloat64 : DataType::kFloat32;
}

/// Options that do not change a bit of the product.
struct MultiplyOptions {
  bool transpose_a = false;  ///< the factor is the transpose of `a`
  bool transpose_b = false;  ///< the factor is the transpose of `b`
  /// "cpu", "cuda" ("cuda:1" names a device), or "reference" (slow, and written to be read). "auto": cuda if a factor
  /// or the output lies on a device, else cpu.
  std::string backend = "auto";
  std::string instruction_set = {};  ///< of cpu, a name that info() lists; empty: the best, or MANYMEANS_CPU_ISA
  int threads = 0;                   ///< 0: all usable ones
  /// Max bytes for reordered copies of the factors, in addition to factors and product. 0: a quarter of the available
  /// memory, up to 1 GiB; copies of up to 64 MiB are always made. A few MiB are enough, and a little slower. Two copies
  /// of up to 16 MiB are kept for the next call. For cuda: max memory of the device; 0: all that is free.
  int64_t memory = 0;
  const std::atomic<bool>* abort = nullptr;  ///< set it to give up: the function throws Error(kInterrupted)
};

/// How entries of a product came to their bits.
struct ProductCounts {
  int64_t entries = 0;
  int64_t certified = 0;  ///< the error bound of the fast product left one rounding
  int64_t resolved = 0;   ///< summed again, exactly where need be, which takes some hundred times as long
  /// The fast product: "sums" of binary64 or "residues", which need a Hopper GPU. Empty: there was none.
  std::string_view screen = {};
};

/// The product A B. Entry (i, j) is the exact sum of a_il b_lj, rounded once (contract, "Products"); what is exactly
/// zero is +0, and what is not finite follows IEEE 754.
///
/// Throws Error(kUsage) for shapes, options, and memory of a device that the backend does not read. Throws it also for
/// an output of a wrong type or shape, or one that overlaps a factor. Throws Error(kUnavailable) for memory, a device's
/// too, or a backend; Error(kInterrupted). Time O(rows * columns * depth). Memory: the product, and
/// MultiplyOptions::memory.
Matrix multiply(const MatrixView& a, const MatrixView& b, const MultiplyOptions& options = {},
                ProductCounts* counts = nullptr);
/// Writes the product to memory of the caller. If it throws no Error, all of it is written.
ProductCounts multiply_into(const MatrixView& a, const MatrixView& b, const ProductView& out,
                            const MultiplyOptions& options = {});

}  // namespace manymeans
