#include "product/cpu/product_panels.h"

#include "core/fixed_point.h"
#include "product/cpu/spare_memory.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace manymeans {
namespace {

constexpr int64_t kPiece = 256;      // values of a line that are read at once
constexpr double kNever = 0x1p30;    // a width that is never exact
constexpr double kAlways = -0x1p20;  // of a line of zeros: always

// Panels that a thread takes at once.
int64_t grain(int64_t panels, const ThreadPool& pool) {
  return std::clamp<int64_t>(panels / (8 * int64_t{pool.size()}), 1, 64);
}

// Some values of a panel's lines on their way into it.
template <class T>
struct LineValues {
  const T* first;
  int64_t stride, step;  // to the next line, to a line's next value
  int lines, width;      // of the panel
};

// Values of neighbouring lines are neighbours. The next ones may be pages away, where the processor does not look
// ahead.
template <class T>
void copy_across(const LineValues<T>& from, int64_t count, double* out) {
  constexpr int64_t kAhead = 16, kCacheLine = 64 / sizeof(T);
  for (int64_t l = 0; l < count; ++l, out += from.width) {
    const T* at = from.first + l * from.step;
    __builtin_prefetch(at + kAhead * from.step);
    __builtin_prefetch(at + kAhead * from.step + kCacheLine);
    for (int w = 0; w < from.lines; ++w) out[w] = static_cast<double>(at[w]);
  }
}

// A line's values are neighbours. The loop reads a cache line of each line, then the next ones: lines whose length is a
// power of two share one set of the cache.
template <class T>
void copy_along(const LineValues<T>& from, int64_t count, double* out) {
  constexpr int64_t kUnit = 16;
  for (int64_t l = 0; l < count; l += kUnit, out += kUnit * from.width) {
    const int64_t some = std::min(kUnit, count - l);
    for (int w = 0; w < from.lines; ++w) {
      const T* at = from.first + w * from.stride + l;
      double* to = out + w;
      if (some == kUnit) {  // unrolled
        for (int64_t i = 0; i < kUnit; ++i, to += from.width) *to = static_cast<double>(at[i]);
      } else {
        for (int64_t i = 0; i < some; ++i) to[i * from.width] = static_cast<double>(at[i]);
      }
    }
  }
}

template <class T>
void copy_each(const LineValues<T>& from, int64_t count, double* out) {
  for (int64_t l = 0; l < count; ++l, out += from.width) {
    for (int w = 0; w < from.lines; ++w) out[w] = static_cast<double>(from.first[l * from.step + w * from.stride]);
  }
}

}  // namespace

ProductPanels::~ProductPanels() {
  keep_memory(std::move(packed_));
}

LineMeasures ProductPanels::Measures::of_panel(int64_t first_line) {
  return {of_lines[0].data() + first_line, of_lines[1].data() + first_line, of_lines[2].data() + first_line,
          of_lines[3].data() + first_line};
}

void ProductPanels::begin_measures() {
  const auto lines = static_cast<size_t>(panels() * side_.width);
  for (std::vector<double>& values : measures_.of_lines) values.assign(lines, 0);
  measures_.of_lines[2].assign(lines, std::numeric_limits<double>::infinity());
}

// Values [from, to) of a panel's lines, as they are.
void ProductPanels::copy(int64_t panel, int64_t from, int64_t to, double* out) const {
  const int width = side_.width;
  const int64_t line = panel * width;
  const int there = static_cast<int>(std::min<int64_t>(width, count_ - line));
  if (there < width) std::fill_n(out, (to - from) * width, 0.0);
  with_values(lines_, [&]<class T>(const T* values) {
    const LineValues<T> given{values + (first_ + line) * lines_.stride + from * lines_.step, lines_.stride, lines_.step,
                              there, width};
    if (lines_.stride == 1) {
      copy_across(given, to - from, out);
    } else if (lines_.step == 1) {
      copy_along(given, to - from, out);
    } else {
      copy_each(given, to - from, out);
    }
  });
}

void ProductPanels::begin(int64_t first, int64_t count, ThreadPool& pool) {
  first_ = first;
  count_ = count;
  begin_measures();
  if (slice_bits_ == 0) return;
  measure_all(pool);
  find_scales();
}

void ProductPanels::measure_all(ThreadPool& pool) {
  pool.for_each_range(panels(), grain(panels(), pool), [&](int, int64_t first, int64_t last) {
    AlignedBuffer<double> piece(static_cast<size_t>(kPiece * side_.width));
    for (int64_t panel = first; panel < last; ++panel) {
      for (int64_t l = 0; l < lines_.depth; l += kPiece) {
        const int64_t end = std::min(l + kPiece, lines_.depth);
        copy(panel, l, end, piece.data());
        side_.measure(piece.data(), end - l, measures_.of_panel(panel * side_.width));
      }
    }
  });
}

void ProductPanels::pack(int64_t from, int64_t to, ThreadPool& pool) {
  if (from == 0 && slice_bits_ == 0) begin_measures();
  from_ = from;
  to_ = to;
  const auto size = static_cast<size_t>(panels() * slices() * slice_size());
  if (packed_.size() < size) {
    keep_memory(std::move(packed_));
    packed_ = take_memory(size);
  }
  pool.for_each_range(panels(), grain(panels(), pool), [&](int, int64_t first, int64_t last) {
    AlignedBuffer<double> piece(slice_bits_ == 0 ? 0 : static_cast<size_t>(kPiece * side_.width));
    if (slice_bits_ > 0) {
      for (int64_t panel = first; panel < last; ++panel) pack_sliced(panel, piece.data());
      return;
    }
    for (int64_t l = from; l < to; l += kPiece) {  // panel after panel: they share the cache lines of each value
      const int64_t end = std::min(l + kPiece, to);
      for (int64_t panel = first; panel < last; ++panel) {
        double* out = packed_.data() + panel * slice_size() + (l - from) * side_.width;
        copy(panel, l, end, out);
        side_.measure(out, end - l, measures_.of_panel(panel * side_.width));
      }
    }
  });
  if (to == lines_.depth && slice_bits_ == 0) find_bounds();
}

void ProductPanels::read(int64_t line, double* values) const {
  if (slice_bits_ > 0 || to_ - from_ < lines_.depth) return read_line(lines_, line, values);
  const int64_t place = line - first_;  // near each other, where the lines themselves may be pages apart
  const double* from = packed_.data() + place / side_.width * slice_size() + place % side_.width;
  for (int64_t l = 0; l < lines_.depth; ++l) values[l] = from[l * side_.width];
}

void ProductPanels::pack_sliced(int64_t panel, double* piece) {
  const int64_t line = panel * side_.width;
  ProductSlices slices{factors_.data() + line,
                       more_factors_.data() + line,
                       1.5 * std::ldexp(1.0, 52 - slice_bits_),
                       1.5 * std::ldexp(1.0, 52 - 2 * slice_bits_),
                       nullptr,
                       slice_size()};
  for (int64_t l = from_; l < to_; l += kPiece) {
    const int64_t end = std::min(l + kPiece, to_);
    copy(panel, l, end, piece);
    slices.out = packed_.data() + panel * kSlices * slice_size() + (l - from_) * side_.width;
    side_.slice(piece, end - l, slices);
  }
}

// The width of a line; whether all its values are finite.
bool ProductPanels::find_width(size_t line) {
  const double largest = measures_.of_lines[0][line];
  const bool finite = measures_.of_lines[3][line] == 0;
  double width = kNever;
  if (finite) width = largest == 0 ? kAlways : exponent(largest) - exponent(measures_.of_lines[2][line]) + 1;
  bounds_.widths[line] = width;
  return finite;
}

// Of float32: bounds from Euclidean norms, rounded up.
void ProductPanels::find_bounds() {
  const size_t lines = measures_.of_lines[0].size();
  bounds_.bounds.assign(lines, 0);
  bounds_.widths.assign(lines, kAlways);
  const double up = 1 + static_cast<double>(lines_.depth + 8) * 0x1p-52;  // each sum of squares rounds once
  for (size_t line = 0; line < lines; ++line) {
    const bool finite = find_width(line);
    const double norm = std::sqrt(measures_.of_lines[1][line] * up) * (1 + 0x1p-40);
    bounds_.bounds[line] = finite ? norm * side_.bound : std::numeric_limits<double>::infinity();
  }
}

// Of float64: powers of two that bring the largest value of each line into [1/2, 1).
void ProductPanels::find_scales() {
  const size_t lines = measures_.of_lines[0].size();
  bounds_.bounds.assign(lines, 1);
  bounds_.widths.assign(lines, kAlways);
  factors_.assign(lines, 1);
  more_factors_.assign(lines, 1);
  for (size_t line = 0; line < lines; ++line) {
    if (!find_width(line)) continue;
    const int e = exponent(measures_.of_lines[0][line]);
    bounds_.bounds[line] = std::ldexp(1.0, e);  // infinite for the largest values: their entries are resolved
    factors_[line] = std::ldexp(1.0, -(e / 2));
    more_factors_[line] = std::ldexp(1.0, -(e - e / 2));
  }
}

}  // namespace manymeans
