#include "backend/cpu/screen/coded_points.h"

#include "core/data_type.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace manymeans {
namespace {

constexpr double kMinCode = -128, kMaxCode = 127;
constexpr double kNothing = 1 + 0x1p-20;  // more than sums, roots and conversions lose
constexpr float kNeverWins = -0x1p126F;
constexpr double kMaxNorm = 0x1p62;    // as in the other screens
constexpr double kMaxScore = 0x1p126;  // so that no score leaves float32
constexpr int64_t kSample = 1024;

double nearest_integer(double v) {
  constexpr double kMagic = 0x1.8p52;
  return (v + kMagic) - kMagic;
}

}  // namespace

// One row on its way into codes.
struct CodedPoints::Row {
  std::vector<double> y;
  std::vector<float> wide;
  std::vector<uint8_t> codes;  // of whole groups
  double norm = 0;             // |q|, from above
  double error = 0;            // |y - y~|, from above

  explicit Row(int64_t d)
      : y(static_cast<size_t>(d)), wide(static_cast<size_t>(d)), codes(static_cast<size_t>(d + kCodedValues), 128) {}
};

namespace {

template <class T>
void centre_row(const T* x, const Frame& frame, std::vector<double>& y) {
  for (size_t j = 0; j < y.size(); ++j) y[j] = (static_cast<double>(x[j]) - frame.centre[j]) * frame.scale;
}

void centre_row(const Input& input, const Frame& frame, int64_t row, float* wide, std::vector<double>& y) {
  const PointsView& points = input.points;
  if (points.type == DataType::kFloat64) {
    centre_row(static_cast<const double*>(points.data) + row * points.d, frame, y);
  } else {
    centre_row(rows_as<float>(points, row, 1, wide), frame, y);
  }
}

template <class Use>
void for_each_of_sample(const Input& input, Use&& use) {
  const int64_t n = input.points.n;
  const int64_t rows = std::min(n, kSample);
  for (int64_t i = 0; i < rows; ++i) use(static_cast<int64_t>(static_cast<__int128>(i) * n / rows));
}

}  // namespace

CodedPoints::CodedPoints(const Input& input, const Frame& frame, int64_t tile_rows, ThreadPool& pool)
    : tile_rows_(tile_rows), groups_((input.points.d + kCodedValues - 1) / kCodedValues) {
  find_steps(input, frame);
  find_ratio(input, frame);
  const int64_t tiles = (input.points.n + tile_rows - 1) / tile_rows;
  values_ = AlignedBuffer<uint8_t>(static_cast<size_t>(tiles * groups_ * kCodedValues * tile_rows));
  radii_ = AlignedBuffer<float>(static_cast<size_t>(tiles * tile_rows));
  std::vector<double> norms(static_cast<size_t>(pool.size()));
  pool.for_each_range(tiles, 8, [&](int w, int64_t first, int64_t last) {
    Row row(input.points.d);
    for (int64_t t = first; t < last; ++t) {
      double& norm = norms[static_cast<size_t>(w)];
      norm = std::max(norm, code_tile(input, frame, t, row));
    }
  });
  max_norm_ = *std::max_element(norms.begin(), norms.end());
  max_radius_ = static_cast<double>(*std::max_element(radii_.data(), radii_.data() + radii_.size()));
}

CodedTile CodedPoints::tile(int64_t t) const {
  return {values_.data() + t * groups_ * kCodedValues * tile_rows_, radii_.data() + t * tile_rows_};
}

// A column reaches a little beyond what a sample of its values does; what lies beyond is cut off.
void CodedPoints::find_steps(const Input& input, const Frame& frame) {
  constexpr double kBeyond = 1.05;
  steps_.assign(static_cast<size_t>(input.points.d), 0);
  Row row(input.points.d);
  for_each_of_sample(input, [&](int64_t i) {
    centre_row(input, frame, i, row.wide.data(), row.y);
    for (size_t j = 0; j < steps_.size(); ++j) steps_[j] = std::max(steps_[j], std::abs(row.y[j]));
  });
  const double largest = *std::max_element(steps_.begin(), steps_.end());
  for (double& step : steps_) {
    const double reach = step > 0 ? step : largest > 0 ? largest : 1;
    step = std::max(reach * kBeyond / kMaxCode, 0x1p-60);
  }
}

void CodedPoints::find_ratio(const Input& input, const Frame& frame) {
  Row row(input.points.d);
  double sum = 0;
  int64_t count = 0;
  for_each_of_sample(input, [&](int64_t i) {
    code_row(input, frame, i, row);
    if (!(row.norm > 0)) return;
    sum += row.error / row.norm;
    ++count;
  });
  if (count > 0 && sum > 0) ratio_ = sum / static_cast<double>(count);
}

void CodedPoints::code_row(const Input& input, const Frame& frame, int64_t i, Row& row) const {
  centre_row(input, frame, i, row.wide.data(), row.y);
  double square = 0, code_square = 0, rest_square = 0;
  for (size_t j = 0; j < steps_.size(); ++j) {
    const double code = std::clamp(nearest_integer(row.y[j] / steps_[j]), kMinCode, kMaxCode);
    const double rest = row.y[j] - code * steps_[j];
    row.codes[j] = static_cast<uint8_t>(static_cast<int>(code) + 128);
    square += row.y[j] * row.y[j];
    code_square += code * code;
    rest_square += rest * rest;
  }
  row.norm = std::sqrt(code_square) * kNothing;
  row.error = (std::sqrt(rest_square) + std::sqrt(square) * 0x1p-48) * kNothing;
}

// Returns the largest |q|.
double CodedPoints::code_tile(const Input& input, const Frame& frame, int64_t t, Row& row) {
  const int64_t bytes = groups_ * kCodedValues * tile_rows_;
  uint8_t* values = values_.data() + t * bytes;
  float* radii = radii_.data() + t * tile_rows_;
  std::fill_n(values, bytes, uint8_t{128});
  std::fill_n(radii, tile_rows_, 0.0F);
  double most = 0;
  const int64_t rows = std::min(tile_rows_, input.points.n - t * tile_rows_);
  for (int64_t i = 0; i < rows; ++i) {
    code_row(input, frame, t * tile_rows_ + i, row);
    for (int64_t g = 0; g < groups_; ++g) {
      std::memcpy(values + (g * tile_rows_ + i) * kCodedValues, row.codes.data() + g * kCodedValues, kCodedValues);
    }
    radii[i] = rounded_up(std::max(row.error, ratio_ * row.norm));
    most = std::max(most, row.norm);
  }
  return most;
}

bool CodedPoints::keeps_to_float(double of_codes, double of_radius, double rest) const {
  return of_codes * max_norm_ + of_radius * max_radius_ + rest < kMaxScore;
}

CodedColumns CodedCentres::view(const CodedPoints& points) const {
  return {points.groups(), count, values.data(), corrections.data(), units.data(), slopes.data(), offsets.data()};
}

namespace {

// One centre on its way into codes.
struct CodedCentre {
  std::vector<double> z;
  std::vector<double> weighted;  // W: times the columns' steps
  double square = 0;             // |z|^2
  double largest = 0;            // of |W|
};

CodedCentre weigh(const Matrix& centres, int64_t k, const CodedPoints& points, const Frame& frame) {
  CodedCentre centre;
  const auto d = static_cast<size_t>(centres.columns());
  centre.z.resize(d);
  centre.weighted.resize(d);
  if (centres.type() == DataType::kFloat64) {
    centre_row(centres.values<double>().data() + k * centres.columns(), frame, centre.z);
  } else {
    centre_row(centres.values<float>().data() + k * centres.columns(), frame, centre.z);
  }
  for (size_t j = 0; j < d; ++j) {
    centre.weighted[j] = centre.z[j] * points.steps()[j];
    centre.square += centre.z[j] * centre.z[j];
    centre.largest = std::max(centre.largest, std::abs(centre.weighted[j]));
  }
  return centre;
}

}  // namespace

namespace {

// A centre in codes, and the numbers that its bounds need.
struct CodedColumn {
  int32_t sum = 0;   // of the codes
  double codes = 0;  // a |p|, from above
  double slope = 0;
};

// The codes of a centre in units of `unit`; `to` is the column's first byte, groups of codes are kCodedColumns apart.
CodedColumn code_column(const CodedCentre& centre, float unit, const CodedPoints& points, int8_t* to) {
  CodedColumn column;
  double rest_square = 0, code_square = 0;
  for (size_t j = 0; j < centre.z.size(); ++j) {
    const double code = unit > 0 ? nearest_integer(centre.weighted[j] / static_cast<double>(unit)) : 0;
    const double rest = centre.weighted[j] - code * static_cast<double>(unit);
    to[j / kCodedValues * kCodedColumns * kCodedValues + j % kCodedValues] = static_cast<int8_t>(code);
    column.sum += static_cast<int32_t>(code);
    rest_square += rest * rest;
    code_square += code * code;
  }
  column.codes = static_cast<double>(unit) * std::sqrt(code_square) * kNothing;
  const double error = std::sqrt(rest_square) * kNothing + column.codes * 0x1p-20;  // E
  column.slope = (std::sqrt(centre.square) * kNothing + error / points.ratio()) * (1 + 0x1p-18);
  return column;
}

}  // namespace

CodedCentres code_centres(const Matrix& centres, std::span<const int64_t> which, const CodedPoints& points,
                          const Frame& frame, double bound_scale) {
  CodedCentres out;
  out.count = (static_cast<int64_t>(which.size()) + 1) / 2 * 2;
  const auto count = static_cast<size_t>(out.count);
  const int64_t blocks = (out.count + kCodedColumns - 1) / kCodedColumns;
  const int64_t block_bytes = points.groups() * kCodedColumns * kCodedValues;
  out.values.assign(static_cast<size_t>(blocks * block_bytes), 0);
  out.corrections.assign(count, 0);
  out.units.assign(count, 0);
  out.slopes.assign(count, 0);
  out.offsets.assign(count, kNeverWins);
  for (size_t c = 0; c < which.size(); ++c) {
    const CodedCentre centre = weigh(centres, which[c], points, frame);
    const auto at = static_cast<int64_t>(c);
    const float unit = rounded_up(centre.largest / kMaxCode);
    const CodedColumn column = code_column(
        centre, unit, points, out.values.data() + at / kCodedColumns * block_bytes + at % kCodedColumns * kCodedValues);
    out.corrections[c] = -128 * column.sum;
    out.units[c] = unit;
    out.slopes[c] = rounded_up(column.slope * bound_scale);
    out.offsets[c] = rounded_up(-centre.square / 2 + centre.square * 0x1p-18);
    if (!(std::sqrt(centre.square) * kNothing < kMaxNorm) ||
        !points.keeps_to_float(column.codes, static_cast<double>(out.slopes[c]), centre.square)) {
      out.screenable = false;
    }
  }
  return out;
}

CodedSpans CodedPrototypes::view(const CodedPoints& points) const {
  return {points.groups(), static_cast<int64_t>(widths.size()),
          values.data(),   offsets.data(),
          inverses.data(), slopes.data(),
          widths.data()};
}

namespace {

// Offsets in units of the span, rounded up; what is below the least one is raised to it.
void code_span(const CodingTask& task, int64_t span, CodedPrototypes& out) {
  const auto& [prototypes, packed, points, frame, bound_scale] = task;
  const int64_t block_bytes = points.groups() * kCodedColumns * kCodedValues;
  const auto at = static_cast<size_t>(span);
  const int64_t first = span * kSpanColumns;
  std::vector<CodedCentre> centres;
  double largest = 0x1p-60;
  for (int64_t c = first; c < first + packed.columns[at]; ++c) {
    const auto k = static_cast<int64_t>(packed.order[static_cast<size_t>(c)]);
    centres.push_back(weigh(prototypes, k, points, frame));
    largest = std::max(largest, centres.back().largest);
  }
  const float unit = rounded_up(largest / kMaxCode);
  out.inverses[at] = 1 / unit;
  double slope = 0;
  for (size_t i = 0; i < centres.size(); ++i) {
    const int64_t c = first + static_cast<int64_t>(i);
    int8_t* to = out.values.data() + c / kCodedColumns * block_bytes + c % kCodedColumns * kCodedValues;
    const CodedColumn column = code_column(centres[i], unit, points, to);
    slope = std::max(slope, column.slope);
    const double offset = std::ceil(-centres[i].square * (0.5 - 0x1p-18) / static_cast<double>(unit));
    out.offsets[static_cast<size_t>(c)] =
        static_cast<int32_t>(std::max<double>(offset, kMinCodedOffset)) - 128 * column.sum;
  }
  out.slopes[at] = rounded_up(slope * bound_scale);
}

}  // namespace

CodedPrototypes code_prototypes(const CodingTask& task, ThreadPool* pool) {
  CodedPrototypes out;
  const auto spans = static_cast<size_t>(task.packed.spans);
  const int64_t span_bytes = kSpanColumns / kCodedColumns * task.points.groups() * kCodedColumns * kCodedValues;
  out.values.assign(spans * static_cast<size_t>(span_bytes), 0);
  out.offsets.assign(spans * kSpanColumns, kMinCodedOffset);
  out.inverses.assign(spans, 0);
  out.slopes.assign(spans, 0);
  for (const int32_t columns : task.packed.columns) {
    out.widths.push_back((columns + kCodedColumns - 1) / kCodedColumns * kCodedColumns);
  }
  const auto code_spans = [&](int, int64_t begin, int64_t end) {
    for (int64_t span = begin; span < end; ++span) code_span(task, span, out);
  };
  if (pool == nullptr) {
    code_spans(0, 0, task.packed.spans);
  } else {
    pool->for_each_range(task.packed.spans, 1, code_spans);
  }
  return out;
}

}  // namespace manymeans
