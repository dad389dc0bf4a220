// A factor as the kernels of products read it: panels of binary64, and what is known of each line.
#pragma once

#include "backend/cpu/kernels/product_kernels.h"
#include "core/aligned_buffer.h"
#include "product/multiplier.h"

#include <array>
#include <cstdint>
#include <vector>

namespace manymeans {

/// How the kernels take one side of a product.
struct ProductSide {
  int width;  // lines of a panel
  void (*measure)(const double* panel, int64_t depth, const LineMeasures&);
  void (*slice)(const double* panel, int64_t depth, const ProductSlices&);
  double bound;  // float32: times the norm of a line is its bound
};

/// Proved bounds of lines (docs/developer/screens.md, "Products"). Padding lines are zeros.
struct LineBounds {
  std::vector<double> bounds;  // as ProductScreen has them
  std::vector<double> widths;
};

/// Some lines of a factor; some of their values are packed at a time.
class ProductPanels {
 public:
  static constexpr int kSlices = 4;  // of float64

  /// `slice_bits`: beta; 0: one slice, the values as they are.
  ProductPanels(const ProductLines& lines, const ProductSide& side, int slice_bits)
      : lines_(lines), side_(side), slice_bits_(slice_bits) {}
  ~ProductPanels();
  ProductPanels(const ProductPanels&) = delete;
  ProductPanels& operator=(const ProductPanels&) = delete;

  int slices() const { return slice_bits_ > 0 ? kSlices : 1; }
  int64_t first() const { return first_; }
  int64_t count() const { return count_; }
  int64_t panels() const { return (count_ + side_.width - 1) / side_.width; }

  /// From here on about lines [first, first + count). Of float64 it reads all their values, for the scales.
  void begin(int64_t first, int64_t count, ThreadPool& pool);
  /// Packs values [from, to) of the lines. All values have to be packed once, in order, before bounds() holds.
  void pack(int64_t from, int64_t to, ThreadPool& pool);
  /// Value `l` of a panel; it must be packed.
  const double* values(int64_t panel, int slice, int64_t l) const {
    return packed_.data() + (panel * slices() + slice) * slice_size() + (l - from_) * side_.width;
  }
  const LineBounds& bounds() const { return bounds_; }
  /// All values of a line of the panels, as they are: `line` counts from the first line of the factor.
  void read(int64_t line, double* values) const;

 private:
  struct Measures {
    std::array<std::vector<double>, 4> of_lines;
    LineMeasures of_panel(int64_t first_line);
  };

  int64_t slice_size() const { return (to_ - from_) * side_.width; }
  void copy(int64_t panel, int64_t from, int64_t to, double* out) const;
  void begin_measures();
  void measure_all(ThreadPool& pool);
  void pack_sliced(int64_t panel, double* scratch);
  void find_bounds();
  void find_scales();
  bool find_width(size_t line);

  ProductLines lines_;
  ProductSide side_;
  int slice_bits_;
  int64_t first_ = 0, count_ = 0;
  int64_t from_ = 0, to_ = 0;
  AlignedBuffer<double> packed_;
  Measures measures_;
  std::vector<double> factors_, more_factors_;
  LineBounds bounds_;
};

}  // namespace manymeans
