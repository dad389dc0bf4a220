#include "backend/cpu/sparse/sparse_screen.h"

#include "backend/cpu/screen/repeats.h"
#include "core/data_type.h"
#include "core/fixed_point.h"
#include "prototype/prototype.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace manymeans {
namespace {

constexpr double kFloatUnit = 0x1p-24;   // a rounding to float32, relative
constexpr double kDoubleUnit = 0x1p-53;  // to binary64
constexpr float kNeverWins = 0x1p100F;   // half the square of a prototype that is none
constexpr float kLowest = -0x1p127F;
constexpr int kMinExponent = -400;  // so that 2^-exponent and its square are numbers

// Bounds that were computed in binary64 with a few roundings become float32, upwards.
float up(double bound) {
  return static_cast<float>(bound * (1 + 0x1p-16) + 0x1p-140);
}

// At least the root of a sum of `count` squares of numbers up to 1; some squares may have underflowed.
double root_up(double squares, int64_t count) {
  return std::sqrt(squares) * (1 + static_cast<double>(count + 8) * 0x1p-52) + 0x1p-500;
}

}  // namespace

// (D/8 + 8) 2^-53: what the canonical distance may be wrong by, of itself and in scores; contract, "Canonical slack".
double SparseScreen::canonical() const {
  return (static_cast<double>(shared_.view.d) / 8 + 8) * kDoubleUnit;
}

void SparseScreen::take(const Matrix& prototypes, bool distinct, ThreadPool& pool) {
  prototypes_ = &prototypes;
  if (shared_.brute) {
    all_.resize(static_cast<size_t>(prototypes.rows()));
    std::iota(all_.begin(), all_.end(), 0);
    return;
  }
  order_.clear();
  Repeats repeats(prototypes);
  for (int64_t k = 0; k < prototypes.rows(); ++k) {
    if (!distinct || repeats.first_like(k) == k) order_.push_back(static_cast<uint32_t>(k));
  }
  choose_scale(pool);
  fill_table(pool);
  if (!distinct) mark_columns();
  pool.for_each_range(columns(), 1, [&](int, int64_t first, int64_t last) {
    for (int64_t place = first; place < last; ++place) measure(place);
  });
}

void SparseScreen::choose_scale(ThreadPool& pool) {
  std::vector<double> largest(static_cast<size_t>(prototypes_->rows()));
  as_float_type(prototypes_->type(), [&]<class T>(T) {
    pool.for_each_range(prototypes_->rows(), 1, [&](int, int64_t k, int64_t) {
      T most = 0;
      for (const T value : prototypes_->values<T>().subspan(static_cast<size_t>(k * shared_.view.d),
                                                            static_cast<size_t>(shared_.view.d))) {
        most = std::max(most, std::fabs(value));
      }
      largest[static_cast<size_t>(k)] = most;
    });
  });
  const double most = std::max(shared_.most, *std::max_element(largest.begin(), largest.end()));
  const int e = std::max(exponent(most), kMinExponent);
  factor_ = std::ldexp(1.0, -e);
  underflow_ = static_cast<double>(shared_.view.d) * (std::ldexp(1.0, -1070 - 2 * e) + 0x1p-1000);
}

// A thread writes some columns of all prototypes: rows of the table that stay in its cache.
void SparseScreen::fill_table(ThreadPool& pool) {
  constexpr int64_t kGrain = 256;
  const int64_t d = shared_.view.d;
  const int64_t stride = (columns() + kSparseLanes - 1) / kSparseLanes * kSparseLanes;
  if (stride != stride_) {
    stride_ = stride;
    table_ = {};  // before there is another one
    const auto size = static_cast<size_t>(stride);
    table_ = AlignedBuffer<float>(static_cast<size_t>(d) * size);
    for (auto* each : {&halves_, &norms_, &residuals_, &fixed_}) *each = AlignedBuffer<float>(size);
  }
  exact_.assign(static_cast<size_t>(columns()), {});
  for (int64_t i = columns(); i < stride; ++i) {
    const auto at = static_cast<size_t>(i);
    halves_[at] = kNeverWins;
    norms_[at] = residuals_[at] = fixed_[at] = 0;
  }
  as_float_type(prototypes_->type(), [&]<class T>(T) {
    pool.for_each_range(d, kGrain, [&](int, int64_t first, int64_t last) {
      for (int64_t i = 0; i < stride; ++i) {
        float* to = table_.data() + first * stride + i;
        if (i >= columns()) {
          for (int64_t j = first; j < last; ++j, to += stride) *to = 0;
          continue;
        }
        const T* c = prototypes_->values<T>().data() + order_[static_cast<size_t>(i)] * d;
        for (int64_t j = first; j < last; ++j, to += stride) {
          *to = static_cast<float>(static_cast<double>(c[j]) * factor_);
        }
      }
    });
  });
}

// Computes the bounds' data of one prototype.
void SparseScreen::measure(int64_t place) {
  const int64_t d = shared_.view.d;
  const auto at = static_cast<size_t>(place);
  double squares[8] = {};
  double rests = 0;
  as_float_type(prototypes_->type(), [&]<class T>(T) {
    const T* c = prototypes_->values<T>().data() + order_[at] * d;
    for (int64_t j = 0; j < d; ++j) {
      const double v = static_cast<double>(c[j]) * factor_;
      const double rest = v - static_cast<double>(static_cast<float>(v));
      squares[j % 8] += v * v;
      rests += rest * rest;
    }
  });
  const double square = std::accumulate(std::begin(squares), std::end(squares), 0.0);
  const double residual = root_up(rests, d);
  Column& column = exact_[at];
  column.half = square / 2;
  column.norm = root_up(square, d) + residual;  // bounds the norm of c~, too
  const double scale = shared_.options.tuning.cpu.bound_scale;
  halves_[at] = static_cast<float>(column.half);
  norms_[at] = static_cast<float>(column.norm * (1 + 0x1p-20)) + 0x1p-120F;
  residuals_[at] = static_cast<float>(residual * (1 + 0x1p-20)) + 0x1p-120F;
  fixed_[at] = up(scale * (4 * kFloatUnit * column.half + 3 * canonical() * column.norm * column.norm + 0x1p-140));
}

void SparseScreen::mark_columns() {
  const int64_t d = shared_.view.d;
  marks_.assign(static_cast<size_t>((d + 63) / 64), 0);
  as_float_type(prototypes_->type(), [&]<class T>(T) {
    const T* value = prototypes_->values<T>().data();
    for (int64_t k = 0; k < prototypes_->rows(); ++k) {
      for (int64_t j = 0; j < d; ++j, ++value) {
        if (*value != 0) marks_[static_cast<size_t>(j / 64)] |= uint64_t{1} << (j % 64);
      }
    }
  });
}

SparseBounds SparseScreen::bounds_of(int64_t row) const {
  return as_sparse_types(shared_.view, [&]<class T, class Index>(T, Index) {
    const SparseRow<T, Index> x = sparse_row<T, Index>(shared_.view, row);
    double squares = 0, rests = 0;
    for (int64_t i = 0; i < x.count; ++i) {
      const double v = static_cast<double>(x.values[i]) * factor_;
      const double rest = v - static_cast<double>(static_cast<float>(v));
      squares += v * v;
      rests += rest * rest;
    }
    const double rest = root_up(rests, x.count);
    return SparseBounds{root_up(squares, x.count) + rest, rest, squares};
  });
}

void SparseScreen::load_marked(SparseScratch& scratch, int64_t row) const {
  as_sparse_types(shared_.view, [&]<class T, class Index>(T, Index) {
    const SparseRow<T, Index> x = sparse_row<T, Index>(shared_.view, row);
    scratch.values.resize(static_cast<size_t>(x.count));
    scratch.offsets.resize(static_cast<size_t>(x.count));
    size_t kept = 0;
    for (int64_t i = 0; i < x.count; ++i) {
      const auto column = static_cast<int64_t>(x.columns[i]);
      scratch.values[kept] = static_cast<float>(static_cast<double>(x.values[i]) * factor_);
      scratch.offsets[kept] = column * stride_;
      kept += marks_[static_cast<size_t>(column / 64)] >> (column % 64) & 1;
    }
    scratch.values.resize(kept);
    scratch.offsets.resize(kept);
  });
}

SparseBounds SparseScreen::load(SparseScratch& scratch) const {
  const auto count = scratch.row.values.size();
  scratch.values.resize(count);
  scratch.offsets.resize(count);
  double squares = 0, rests = 0;
  for (size_t i = 0; i < count; ++i) {
    const double v = scratch.row.values[i] * factor_;
    const auto rounded = static_cast<float>(v);
    const double rest = v - static_cast<double>(rounded);
    squares += v * v;
    rests += rest * rest;
    scratch.values[i] = rounded;
    scratch.offsets[i] = scratch.row.columns[i] * stride_;
  }
  const auto n = static_cast<int64_t>(count);
  const double rest = root_up(rests, n);
  scratch.norm = root_up(squares, n) + rest;
  return {scratch.norm, rest, squares};
}

// e_k = r_x |c_k| + |x~| r_ck + accumulation + rounding of |c_k|^2 / 2 + canonical slack. Sums of n products round n
// times, fused or not; s_k and s_k + e_k round three times more. Products with zero take none.
std::span<const uint32_t> SparseScreen::screen(SparseScratch& scratch, const SparseBounds& row, float threshold,
                                               bool rank) const {
  const auto n = static_cast<double>(scratch.values.size());
  const double unit = n * kFloatUnit;
  const double scale = shared_.options.tuning.cpu.bound_scale;
  const double roundings = unit / (1 - unit) + 3 * kFloatUnit;
  const double rest = n * 0x1p-148 + 2 * canonical() * row.norm * row.norm + underflow_;
  if (scratch.upper.size() < static_cast<size_t>(stride_)) {
    scratch.upper = AlignedBuffer<float>(static_cast<size_t>(stride_));
    scratch.found.resize(static_cast<size_t>(stride_));
  }
  const SparseScoreTask task{scratch.values.data(),
                             scratch.offsets.data(),
                             static_cast<int64_t>(scratch.values.size()),
                             table_.data(),
                             stride_,
                             halves_.data(),
                             norms_.data(),
                             residuals_.data(),
                             fixed_.data(),
                             up(scale * (row.rest + roundings * row.norm)),
                             up(scale * row.norm),
                             unit < 0.25 ? up(scale * rest) : std::numeric_limits<float>::infinity(),
                             threshold,
                             rank,
                             scratch.upper.data()};
  int64_t count = shared_.kernels.sparse.candidates(task, scratch.found.data());
  while (count > 0 && scratch.found[static_cast<size_t>(count - 1)] >= order_.size()) --count;  // padding
  return std::span(scratch.found).first(static_cast<size_t>(count));
}

std::span<const uint32_t> SparseScreen::candidates(SparseScratch& scratch) const {
  if (shared_.brute) return all_;
  return screen(scratch, load(scratch), kLowest, true);
}

// d2 < m means S > (|x|^2 - m) / 2, both within their bounds.
std::span<const uint32_t> SparseScreen::nearer(SparseScratch& scratch, int64_t row, const SparseBounds& bounds,
                                               double than) const {
  if (shared_.brute) return all_;
  load_marked(scratch, row);
  const auto n = static_cast<double>(shared_.view.starts[row + 1] - shared_.view.starts[row]);
  const double least = (bounds.square * (1 - (n + 8) * kDoubleUnit) - than * factor_ * factor_ * (1 + 0x1p-50)) / 2;
  const auto threshold = static_cast<float>(least - std::fabs(least) * 0x1p-22 - 0x1p-140);
  return screen(scratch, bounds, std::max(threshold, kLowest), false);
}

// Screens the prototypes in some places again, in binary64. It leaves the prototypes that are as good as equally near.
std::span<const uint32_t> SparseScreen::refine(SparseScratch& scratch, std::span<const uint32_t> places) const {
  const int64_t d = shared_.view.d;
  const double n = static_cast<double>(scratch.row.count());
  const double scale = shared_.options.tuning.cpu.bound_scale;
  double lower = -std::numeric_limits<double>::infinity();
  scratch.scores.clear();
  as_float_type(prototypes_->type(), [&]<class T>(T) {
    for (const uint32_t place : places) {
      const T* c = prototypes_->values<T>().data() + order_[place] * d;
      double dot = 0;
      for (size_t i = 0; i < scratch.row.values.size(); ++i) {
        dot += scratch.row.values[i] * factor_ * (static_cast<double>(c[scratch.row.columns[i]]) * factor_);
      }
      const Column& column = exact_[place];
      const double norm = scratch.norm;
      const double error = scale * ((n + 8) * kDoubleUnit * norm * column.norm +
                                    4 * canonical() * (norm * norm + column.norm * column.norm) + underflow_);
      scratch.scores.push_back(dot - column.half + error);
      lower = std::max(lower, dot - column.half - error);
    }
  });
  size_t kept = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    if (scratch.scores[i] >= lower) scratch.found[kept++] = places[i];
  }
  return std::span(scratch.found).first(kept);
}

template <class T>
uint32_t SparseScreen::resolve(SparseScratch& scratch, std::span<const uint32_t> candidates) const {
  const int64_t d = shared_.view.d;
  const T* x = scratch.fill<T>(d);
  uint32_t label = 0;
  double least = std::numeric_limits<double>::infinity();
  for (const uint32_t candidate : candidates) {
    const uint32_t k = shared_.brute ? candidate : order_[candidate];
    const T* c = prototypes_->values<T>().data() + k * d;
    double d2 = 0;
    if constexpr (sizeof(T) == 8) {
      d2 = shared_.kernels.distance_f64(x, c, d);
    } else {
      d2 = shared_.kernels.distance_f32(x, c, d);
    }
    if (d2 < least) {
      least = d2;
      label = k;
    }
  }
  scratch.clear<T>();
  return label;
}

uint32_t SparseScreen::nearest(SparseScratch& scratch, PassCounts& counts) const {
  std::span<const uint32_t> found = candidates(scratch);
  if (!shared_.brute && found.size() > 1) found = refine(scratch, found);
  if (!shared_.brute && found.size() == 1) {
    ++counts.certified;
    return order_[found[0]];
  }
  ++counts.resolved;
  counts.candidates += static_cast<int64_t>(found.size());
  return as_float_type(prototypes_->type(), [&]<class T>(T) { return resolve<T>(scratch, found); });
}

}  // namespace manymeans
