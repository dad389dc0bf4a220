#include "backend/cpu/screen/packed_prototypes.h"

#include "backend/cpu/screen/linear_columns.h"
#include "backend/cpu/screen/repeats.h"
#include "core/rounding.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <optional>

namespace manymeans {
namespace {

constexpr float kNeverWins = -0x1p126F;
constexpr uint32_t kNobody = ~uint32_t{0};
constexpr double kMaxNorm = 0x1p62;  // the square stays below 2^126, within float32

// Norms of a prototype and of what rounding took from it.
struct ColumnNorms {
  double exact = 0;    // |z|
  double rounded = 0;  // |z~|, float32
  double rest = 0;     // |z - z~|, bfloat16
  double low = 0;      // |z_lo|
};

// From docs/developer/screens.md: the error of a score is at most r A + n B + C.
struct BoundFactors {
  double accumulation;  // of |x||z|
  double place;         // the column's number in the lowest bits, twice
  double canonical;     // of |z|^2
  double underflow;

  BoundFactors(int64_t d, double unit, int64_t roundings) {
    const double n = static_cast<double>(roundings) * unit;
    accumulation = n <= 0.5 ? n / (1 - n) : std::numeric_limits<double>::infinity();  // too many give no bound
    place = 62 * 0x1p-23 * (1 + 0x1p-7);
    canonical = (static_cast<double>(d) / 8 + 8) * 0x1p-52;
    underflow = static_cast<double>(d + roundings) * 0x1p-84;
  }
};

constexpr double kInflation = 1 + 0x1p-10;  // pays for every rounding of the bounds themselves

struct Bound {
  double slope;
  double error;

  bool says_something() const { return std::isfinite(slope) && std::isfinite(error); }
};

// Float32, rounding to nearest: radius = n.
Bound float32_bound(const ColumnNorms& norms, int64_t d) {
  constexpr double u = 0x1p-24;
  const BoundFactors f(d, u, d + 4);
  const double half = norms.exact * norms.exact / 2;
  return {(2 * u + f.accumulation + f.place) * norms.rounded * kInflation,
          ((f.accumulation + u + f.place) * half + f.canonical * 2 * half + f.underflow) * kInflation};
}

// Residuals of linear models: the float32 bound, plus the difference of canonical residuals.
Bound residual_bound(const ColumnNorms& norms, double offset, double slack, int64_t d) {
  constexpr double u = 0x1p-24;
  const BoundFactors f(d, u, d + 4);
  return {(2 * u + f.accumulation + f.place) * norms.rounded * kInflation,
          ((f.accumulation + u + f.place) * std::fabs(offset) + slack + f.underflow) * kInflation};
}

// Bfloat16 parts, sums in float32 with any rounding, in any order, from the offset on in ScreenLayout::kLanes: radius
// >= r and >= ratio * n.
Bound matrix_bound(const ColumnNorms& norms, int64_t d, const PackedPoints& points) {
  constexpr double kTruncation = 0x1p-23;
  const BoundFactors f(d, kTruncation, points.layout().terms() + 8);
  const double half = norms.exact * norms.exact / 2;
  const double of_rest = norms.exact + norms.rest;
  const double of_norm = norms.rest + 0x1p-8 * norms.low + 1.02 * norms.exact * (f.accumulation + f.place);
  const double of_offset = points.layout().words() > 0 ? f.accumulation : 0;
  const double error =
      (f.place + of_offset + 0x1p-21 + static_cast<double>(d) * 0x1p-51) * half + f.canonical * 2 * half + f.underflow;
  return {(of_rest + of_norm / points.ratio()) * kInflation, error * kInflation};
}

// Integers of 16 bits in bytes: docs/developer/screens.md, "Pairs of bytes". No low byte of a row's values is above
// 128.
Bound bytes_bound(const ColumnNorms& norms, int64_t d, const PackedPoints& points) {
  constexpr double kRoundings = 8 * 0x1p-24;
  const BoundFactors f(d, 0, 0);
  const double share = f.place + kRoundings;
  const double half = norms.exact * norms.exact / 2;
  const double low_row = 128 * points.unit() * std::sqrt(static_cast<double>(d)) * (1 + 0x1p-20);
  const double most = norms.exact + norms.rest + 2 * norms.low;
  const double of_rest = norms.exact + norms.rest + share * most;
  const double of_norm = norms.rest + share * most;
  const double error = low_row * (norms.low + 2 * share * most) +
                       (share + 0x1p-21 + static_cast<double>(d) * 0x1p-51) * half + f.canonical * 2 * half +
                       f.underflow;
  return {(of_rest + of_norm / points.ratio()) * kInflation, error * kInflation};
}

class Packer {
 public:
  Packer(const Matrix& prototypes, const PackedPoints& points, const CpuKernels& kernels, double bound_scale)
      : prototypes_(prototypes),
        points_(points),
        kernels_(kernels),
        d_(prototypes.columns()),
        width_(kernels.screens[0].block_columns),
        bound_scale_(bound_scale) {
    if (!points.frame().scales.empty()) linear_.emplace(prototypes, points.input(), points.frame());
  }

  PackedPrototypes run(ThreadPool* pool) {
    sort_distinct(pool);
    fill_spans();
    allocate();
    find_units();
    std::atomic<bool> screenable{true};
    for_each(pool, out_.spans, 1, [&](int64_t span) {
      Scratch scratch(d_);
      for (int64_t c = span * kSpanColumns; c < (span + 1) * kSpanColumns; ++c) {
        if (out_.order[static_cast<size_t>(c)] != kNobody && !pack_column(c, scratch)) screenable = false;
      }
    });
    out_.screenable = screenable;
    std::replace(out_.order.begin(), out_.order.end(), kNobody, uint32_t{0});
    if (linear_) return std::move(out_);  // a row has no share of its margin
    const BoundFactors factors(d_, 0, 0);
    out_.slack = rounded_up(bound_scale_ * 2 * factors.canonical * kInflation);
    out_.underflow = score_underflow(points_.frame(), d_);
    return std::move(out_);
  }

 private:
  struct Scratch {
    std::vector<uint16_t> high, low;
    explicit Scratch(int64_t d) : high(static_cast<size_t>(d)), low(static_cast<size_t>(d)) {}
  };

  template <class Body>
  static void for_each(ThreadPool* pool, int64_t count, int64_t grain, Body&& body) {
    const auto range = [&](int, int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) body(i);
    };
    if (pool == nullptr || count <= grain) return range(0, 0, count);
    pool->for_each_range(count, grain, range);
  }

  bool in_bytes() const { return points_.screen().format == ScreenFormat::kInt8Pair; }
  bool has_matrix() const { return points_.screen().format != ScreenFormat::kFloat32; }

  // Calls body(j, z_j) for the values of prototype k, centred and scaled.
  template <class Body>
  void for_each_value(int64_t k, Body&& body) const {
    if (linear_) return linear_->for_each_value(k, body);
    const Frame& frame = points_.frame();
    const double* centre = frame.centre.data();
    const auto visit = [&](const auto* c) {
      for (int64_t j = 0; j < d_; ++j) body(j, (static_cast<double>(c[j]) - centre[j]) * frame.scale);
    };
    if (prototypes_.type() == DataType::kFloat64) {
      visit(prototypes_.values<double>().data() + k * d_);
    } else {
      visit(prototypes_.values<float>().data() + k * d_);
    }
  }

  void sort_distinct(ThreadPool* pool) {
    squares_.resize(static_cast<size_t>(prototypes_.rows()));
    for_each(pool, prototypes_.rows(), 64, [&](int64_t k) {
      double sums[4] = {};
      for_each_value(k, [&](int64_t j, double z) { sums[j % 4] += z * z; });
      if (linear_) sums[0] += linear_->offset(k) * linear_->offset(k);
      squares_[static_cast<size_t>(k)] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    });
    Repeats repeats(prototypes_);
    out_.repeated.resize(static_cast<size_t>(prototypes_.rows()));
    for (int64_t k = 0; k < prototypes_.rows(); ++k) {
      const int64_t first = repeats.first_like(k);
      if (first == k) {
        sorted_.push_back(static_cast<uint32_t>(k));
        continue;
      }
      // The first of them wins every tie.
      out_.repeated[static_cast<size_t>(first)] = out_.repeated[static_cast<size_t>(k)] = 1;
    }
    std::stable_sort(sorted_.begin(), sorted_.end(), [&](uint32_t a, uint32_t b) { return squares_[a] < squares_[b]; });
  }

  // Places for all, from the largest norms down.
  void fill_spans() {
    const int64_t block = points_.screen().width_columns;
    int64_t extra = max_extra_spans(prototypes_.rows());
    for (auto end = static_cast<int64_t>(sorted_.size()); end > 0;) {
      int64_t begin = std::max<int64_t>(0, end - kSpanColumns);
      const double least = square_of(end - 1) / 4;
      int64_t cut = end - 1;
      while (cut > begin && square_of(cut - 1) >= least) --cut;
      if (cut > begin && extra > 0) {
        begin = cut;
        --extra;
      }
      const auto at = out_.order.size();
      out_.order.resize(at + kSpanColumns, kNobody);
      std::copy(sorted_.begin() + begin, sorted_.begin() + end, out_.order.begin() + static_cast<std::ptrdiff_t>(at));
      out_.columns.push_back(static_cast<int32_t>(end - begin));
      out_.widths.push_back(static_cast<int32_t>(padded(end - begin, block)));
      end = begin;
    }
    out_.spans = static_cast<int64_t>(out_.widths.size());
  }

  double square_of(int64_t rank) const { return squares_[sorted_[static_cast<size_t>(rank)]]; }

  void allocate() {
    const auto spans = static_cast<size_t>(out_.spans);
    const size_t columns = spans * kSpanColumns;
    out_.values = AlignedBuffer<float>(columns * static_cast<size_t>(d_));
    std::fill_n(out_.values.data(), out_.values.size(), 0.0F);
    out_.offsets = AlignedBuffer<float>(columns);
    std::fill_n(out_.offsets.data(), columns, kNeverWins);
    for (SpanBounds* bounds : {&out_.bounds, &out_.fine}) {
      for (AlignedBuffer<float>* buffer : {&bounds->slopes, &bounds->errors}) {
        *buffer = AlignedBuffer<float>(spans);
        std::fill_n(buffer->data(), spans, 0.0F);
      }
    }
    if (!has_matrix()) return;
    out_.matrix = AlignedBuffer<std::byte>(spans * points_.layout().span_bytes());
    std::fill_n(out_.matrix.data(), out_.matrix.size(), std::byte{0});
  }

  // kInt8Pair: the columns of a span share a unit, so that sums of integers become scores by one factor.
  void find_units() {
    if (!in_bytes()) return;
    out_.scales = AlignedBuffer<float>(static_cast<size_t>(out_.spans));
    units_.resize(static_cast<size_t>(out_.spans));
    for (size_t span = 0; span < units_.size(); ++span) {
      double largest = points_.unit() * 0x1p-10;  // far from any denormal number
      for (size_t c = span * kSpanColumns; c < (span + 1) * kSpanColumns; ++c) {
        const uint32_t k = out_.order[c];
        if (k == kNobody || !(squares_[k] < kMaxNorm * kMaxNorm)) continue;  // too far out: found by pack_column
        for_each_value(k, [&](int64_t, double z) { largest = std::max(largest, std::fabs(z)); });
      }
      units_[span] = static_cast<float>(largest / 32639 * (1 + 0x1p-20));
      out_.scales[span] = static_cast<float>(256 * points_.unit() * units_[span]);
    }
  }

  Bound bound_of(const ColumnNorms& norms) const {
    if (in_bytes()) return bytes_bound(norms, d_, points_);
    return has_matrix() ? matrix_bound(norms, d_, points_) : float32_bound(norms, d_);
  }

  // False if the prototype is too far out, or there are more columns than a bound holds for.
  bool pack_column(int64_t c, Scratch& scratch) {
    const auto k = static_cast<int64_t>(out_.order[static_cast<size_t>(c)]);
    ColumnNorms norms;
    norms.exact = std::sqrt(squares_[static_cast<size_t>(k)]);
    float* values = out_.values.data() + c / width_ * width_ * d_ + c % width_;
    for_each_value(k, [&](int64_t j, double z) { values[j * width_] = static_cast<float>(z); });
    norms.rounded = norms.exact * (1 + 0x1p-23);
    if (!(norms.rounded < kMaxNorm)) return false;
    if (linear_) return pack_residual(c);
    out_.offsets[static_cast<size_t>(c)] = static_cast<float>(-squares_[static_cast<size_t>(k)] / 2);
    const Bound fine = float32_bound(norms, d_);
    widen_bound(out_.fine, c, fine);
    if (has_matrix()) pack_matrix_column(c, k, norms, scratch);
    const Bound bound = bound_of(norms);
    widen_bound(out_.bounds, c, bound);
    return fine.says_something() && bound.says_something();
  }

  bool pack_residual(int64_t c) {
    const auto k = static_cast<int64_t>(out_.order[static_cast<size_t>(c)]);
    const double offset = linear_->offset(k);
    double square = 0;
    for_each_value(k, [&](int64_t, double z) { square += z * z; });
    ColumnNorms norms;
    norms.exact = std::sqrt(square);
    norms.rounded = norms.exact * (1 + 0x1p-23);
    out_.offsets[static_cast<size_t>(c)] = static_cast<float>(offset);
    const Bound bound = residual_bound(norms, offset, linear_->slack(k), d_);
    widen_bound(out_.fine, c, bound);
    widen_bound(out_.bounds, c, bound);
    return bound.says_something();
  }

  void pack_matrix_column(int64_t c, int64_t k, ColumnNorms& norms, Scratch& scratch) {
    const MatrixLayout& layout = points_.layout();
    const Frame& frame = points_.frame();
    const double unit = in_bytes() ? units_[static_cast<size_t>(c / kSpanColumns)] : 0;
    RoundedRow rounded{
        points_.screen().format == ScreenFormat::kBfloat16Pair, scratch.high.data(), scratch.low.data(), 0, 0, unit};
    const PackTask task{1, d_, frame.centre.data(), frame.scale};
    if (prototypes_.type() == DataType::kFloat64) {
      kernels_.round_f64(prototypes_.values<double>().data() + k * d_, task, rounded);
    } else {
      kernels_.round_f32(prototypes_.values<float>().data() + k * d_, task, rounded);
    }
    std::byte* span = out_.matrix.data() + static_cast<size_t>(c / kSpanColumns) * layout.span_bytes();
    for (const MatrixLayout::Copy& copy : layout.span_copies()) {
      const uint16_t* parts = copy.low ? rounded.low : rounded.high;
      for (int64_t j = 0; j < d_; ++j) {
        std::byte* to = span + layout.span_offset(copy.first + j, c % kSpanColumns);
        if (in_bytes()) {
          *to = static_cast<std::byte>(parts[j]);
        } else {
          std::memcpy(to, parts + j, sizeof(uint16_t));
        }
      }
    }
    norms.rest = std::sqrt(rounded.rest_square) * (1 + 0x1p-20) + norms.exact * 0x1p-50;
    double low_square = 0;
    for (int64_t j = 0; (rounded.pair || in_bytes()) && j < d_; ++j) {
      const double low = in_bytes() ? static_cast<double>(static_cast<int16_t>(rounded.low[j])) * unit
                                    : static_cast<double>(from_bfloat16(rounded.low[j]));
      low_square += low * low;
    }
    norms.low = std::sqrt(low_square) * (1 + 0x1p-20);
  }

  void widen_bound(SpanBounds& bounds, int64_t c, const Bound& bound) const {
    const auto span = static_cast<size_t>(c / kSpanColumns);
    bounds.slopes[span] = std::max(bounds.slopes[span], rounded_up(bound_scale_ * bound.slope));
    bounds.errors[span] = std::max(bounds.errors[span], rounded_up(bound_scale_ * bound.error));
  }

  const Matrix& prototypes_;
  const PackedPoints& points_;
  const CpuKernels& kernels_;
  int64_t d_;
  int64_t width_;
  double bound_scale_;
  std::optional<LinearColumns> linear_;
  std::vector<double> units_;     // per span
  std::vector<double> squares_;   // per prototype
  std::vector<uint32_t> sorted_;  // the distinct ones
  PackedPrototypes out_;
};

}  // namespace

float score_underflow(const Frame& frame, int64_t d) {
  const double underflow = std::ldexp(static_cast<double>(d), 2 * std::min(frame.exponent, 600) - 1074);
  return rounded_up(std::max(underflow, 0x1p-100));
}

int64_t PackedPrototypes::span_bytes(const ScreenKernels& screen, int64_t d) {
  if (screen.format == ScreenFormat::kFloat32) return kSpanColumns * d * static_cast<int64_t>(sizeof(float));
  return static_cast<int64_t>(MatrixLayout(screen, d).span_bytes());
}

ScreenColumns PackedPrototypes::view(int64_t first, int64_t count, const PackedPoints& points,
                                     const MatrixSteps& steps) const {
  const int64_t column = first * kSpanColumns;
  const void* packed = values.data() + column * static_cast<int64_t>(points.frame().centre.size());
  if (matrix.size() > 0) packed = matrix.data() + static_cast<size_t>(first) * points.layout().span_bytes();
  return {points.words(),
          &steps,
          packed,
          offsets.data() + column,
          bounds.slopes.data() + first,
          bounds.errors.data() + first,
          widths.data() + first,
          scales.size() > 0 ? scales.data() + first : nullptr,
          std::min(count, spans - first)};
}

PackedPrototypes pack_prototypes(const Matrix& prototypes, const PackedPoints& points, const CpuKernels& kernels,
                                 double bound_scale, ThreadPool* pool) {
  return Packer(prototypes, points, kernels, bound_scale).run(pool);
}

}  // namespace manymeans
