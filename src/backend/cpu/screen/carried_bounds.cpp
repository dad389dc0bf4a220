#include "backend/cpu/screen/carried_bounds.h"

#include "core/data_type.h"
#include "data/gather.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace manymeans {
namespace {

constexpr double kRounding = 0x1p-20;  // outward, of every distance: pays for all roundings and the canonical slack
constexpr double kOfSums = 0x1p-22;    // of sums over passes, and of the kernel's difference
constexpr int kPassesOfSums = 32;
constexpr double kLongestShift = 0x1p90;  // far beyond any frame; then everything starts again
constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr int64_t kSampledRows = 64;  // a cluster
constexpr int64_t kMinSampledRows = 16;
constexpr double kReach = 1.2;
constexpr double kWorthAReach = 0.95;

// Floats outward: at least v, at most v.
float above(double v) {
  return static_cast<float>(std::clamp(v + std::fabs(v) * 0x1p-23 + 0x1p-120, -0x1p126, 0x1p126));
}
float below(double v) {
  return -above(-v);
}

}  // namespace

void CarriedBounds::start(const Matrix& prototypes, const BoundsFrame& frame) {
  frame_ = frame;
  inflation_ = 1 + kRounding * frame.bound_scale;
  underflow_ = std::sqrt(static_cast<double>(prototypes.columns())) * 0x1p-537 * frame.scale;
  const auto k = static_cast<size_t>(prototypes.rows());
  shifts_.assign(k, 0);
  rivals_shifts_.assign(k, 0);
  passes_ = 0;
  // Where the distances between prototypes cost little against a pass.
  owed_.assign(k <= static_cast<size_t>(frame.n) / k ? k * k : 0, 0);
  if (nearest_.size() != 0) return;
  const size_t rows = static_cast<size_t>(frame.n) + 63;  // KeepTask reads on to the end of a tile
  nearest_ = AlignedBuffer<float>(rows);
  others_ = AlignedBuffer<float>(rows);
}

void CarriedBounds::follow(const Matrix& prototypes, const Labels& labels, std::span<const uint8_t> repeated,
                           const BoundsFrame& frame, ThreadPool& pool) {
  if (filled_ && ++passes_ == kPassesOfSums) begin_sums_anew(labels, pool);
  known_ = filled_ && previous_.rows() == prototypes.rows() && add_shifts(prototypes);
  if (!known_) start(prototypes, frame);
  previous_ = prototypes;
  filled_ = true;
  const auto k = static_cast<size_t>(prototypes.rows());
  halves_.assign(k, 0);
  reaches_.assign(k, kLongestShift);
  if (known_ && !owed_.empty()) {
    find_reaches(labels);
    add_rivals_shifts(prototypes, pool);
  } else if (known_) {
    add_longest_shifts();
  }
  set_thresholds(repeated);
}

// Makes the bounds current and restarts the sums. The allowance for roundings of the sums grows with them. A search,
// whose models jump from swap to swap for thousands of passes, would lose the gain of bounds to it.
void CarriedBounds::begin_sums_anew(const Labels& labels, ThreadPool& pool) {
  constexpr int64_t kRows = 4096;
  pool.for_each_range(frame_.n, kRows, [&](int, int64_t first, int64_t last) {
    uint32_t of_rows[kRows];
    labels.read(first, last - first, of_rows);
    for (int64_t row = first; row < last; ++row) {
      const auto i = static_cast<size_t>(row);
      const uint32_t b = of_rows[row - first];
      nearest_[i] = above(nearest_[i] + shifts_[b] * (1 + kOfSums));
      others_[i] = below(others_[i] - rivals_shifts_[b] * (1 + kOfSums));
    }
  });
  std::ranges::fill(shifts_, 0.0);
  std::ranges::fill(rivals_shifts_, 0.0);
  passes_ = 0;
}

void CarriedBounds::forget() {
  filled_ = known_ = false;
}

void CarriedBounds::forget_row(int64_t row) {
  if (filled_) others_[static_cast<size_t>(row)] = -std::numeric_limits<float>::infinity();
  if (filled_) nearest_[static_cast<size_t>(row)] = std::numeric_limits<float>::infinity();
}

void CarriedBounds::reorder(std::span<const int64_t> order) {
  if (!filled_) return;
  const auto k = order.size();
  previous_ = gather_rows(previous_.view(), order);
  const std::vector<double> shifts = shifts_, rivals = rivals_shifts_, owed = owed_;
  for (size_t b = 0; b < k; ++b) {
    const auto from = static_cast<size_t>(order[b]);
    shifts_[b] = shifts[from];
    rivals_shifts_[b] = rivals[from];
    for (size_t c = 0; !owed.empty() && c < k; ++c) owed_[b * k + c] = owed[from * k + static_cast<size_t>(order[c])];
  }
}

double CarriedBounds::at_most(double d2) const {
  return (std::sqrt(d2) * frame_.scale + underflow_) * inflation_;
}

double CarriedBounds::at_least(double d2) const {
  return std::max(0.0, (std::sqrt(d2) * frame_.scale - underflow_) * (2 - inflation_));
}

// Canonical distance of row i of a to row j of b.
double CarriedBounds::between(const Matrix& a, int64_t i, const Matrix& b, int64_t j) const {
  const int64_t d = a.columns();
  if (a.type() == DataType::kFloat64) {
    return frame_.kernels->distance_f64(a.values<double>().data() + i * d, b.values<double>().data() + j * d, d);
  }
  return frame_.kernels->distance_f32(a.values<float>().data() + i * d, b.values<float>().data() + j * d, d);
}

// False if the shifts have become too long to be of use.
bool CarriedBounds::add_shifts(const Matrix& prototypes) {
  const auto k = static_cast<size_t>(prototypes.rows());
  const size_t bytes = prototypes.bytes().size() / k;
  last_shifts_.assign(k, 0);
  for (size_t b = 0; b < k; ++b) {
    if (std::memcmp(prototypes.bytes().data() + b * bytes, previous_.bytes().data() + b * bytes, bytes) == 0) continue;
    const auto row = static_cast<int64_t>(b);
    last_shifts_[b] = frame_.bound_scale * at_most(between(previous_, row, prototypes, row));
    shifts_[b] += last_shifts_[b];
    if (!(shifts_[b] < kLongestShift && rivals_shifts_[b] < kLongestShift)) return false;
  }
  return true;
}

// All others count.
void CarriedBounds::add_longest_shifts() {
  const auto farthest =
      static_cast<size_t>(std::max_element(last_shifts_.begin(), last_shifts_.end()) - last_shifts_.begin());
  double second = 0;
  for (size_t b = 0; b < last_shifts_.size(); ++b) second = b == farthest ? second : std::max(second, last_shifts_[b]);
  for (size_t b = 0; b < last_shifts_.size(); ++b) rivals_shifts_[b] += b == farthest ? second : last_shifts_[farthest];
}

// Any reach is right; nearly all rows of the cluster should be within it, which a sample of them tells.
void CarriedBounds::find_reaches(const Labels& labels) {
  const auto k = static_cast<int64_t>(shifts_.size());
  const int64_t count = std::min(frame_.n, kSampledRows * k);
  std::vector<int64_t> seen(shifts_.size());
  std::vector<double> farthest(shifts_.size());
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = static_cast<int64_t>(static_cast<__int128>(i) * frame_.n / count);
    const uint32_t b = labels[row];
    const double nearest = static_cast<double>(nearest_[static_cast<size_t>(row)]) + shifts_[b];
    if (!(nearest < kLongestShift)) continue;  // nothing is known of the row
    farthest[b] = std::max(farthest[b], nearest);
    ++seen[b];
  }
  for (size_t b = 0; b < seen.size(); ++b) {
    if (seen[b] >= kMinSampledRows) reaches_[b] = farthest[b] * kReach;
  }
}

void CarriedBounds::add_rivals_shifts(const Matrix& prototypes, ThreadPool& pool) {
  pool.for_each_range(prototypes.rows(), 16, [&](int, int64_t first, int64_t last) {
    for (int64_t b = first; b < last; ++b) add_rivals_shift(prototypes, b);
  });
}

// B_b grows by the longest that any prototype nearer than T_b is owed. Then none of them is owed anything. The others'
// shift beyond B_b is kept for the pass in which they come near.
void CarriedBounds::add_rivals_shift(const Matrix& prototypes, int64_t b) {
  const int64_t k = prototypes.rows();
  const auto at = static_cast<size_t>(b);
  double* owed = owed_.data() + b * k;
  double nearest = kLongestShift;
  double longest = 0;  // of prototypes nearer than T_b
  double longest_of_all = 0;
  for (int64_t c = 0; c < k; ++c) {
    if (c == b) continue;
    const double apart = at_least(between(prototypes, b, prototypes, c));
    nearest = std::min(nearest, apart);
    owed[c] += last_shifts_[static_cast<size_t>(c)];
    longest_of_all = std::max(longest_of_all, owed[c]);
    if (!(apart >= 2 * reaches_[at])) longest = std::max(longest, owed[c]);
  }
  if (longest >= kWorthAReach * longest_of_all) {  // rows beyond the reach would suffer for little
    longest = longest_of_all;
    reaches_[at] = kLongestShift;
  }
  for (int64_t c = 0; c < k; ++c) owed[c] = std::max(0.0, owed[c] - longest);
  rivals_shifts_[at] += longest;
  halves_[at] = nearest / 2;
}

// A row keeps label b if others - nearest > slack and 2 nearest + slack < T_b, or if 2 nearest + slack < the distance
// to the nearest other prototype.
void CarriedBounds::set_thresholds(std::span<const uint8_t> repeated) {
  const size_t k = shifts_.size();
  const double slack = 2 * underflow_ + 0x1p-100;
  gap_.resize(k);
  reach_.resize(k);
  half_.resize(k);
  per_step_.assign(k, 0);
  repeated_.assign(repeated.begin(), repeated.end());
  for (size_t b = 0; b < k; ++b) {
    const auto within = [&](double v) { return below(v - slack - (v + shifts_[b]) * kOfSums - shifts_[b]); };
    gap_[b] = above((shifts_[b] + rivals_shifts_[b] + slack) * (1 + kOfSums));
    reach_[b] = within(reaches_[b]);
    half_[b] = within(halves_[b]);
    if (known_) per_step_[b] = static_cast<float>(2 / std::max(last_shifts_[b], 0x1p-100));
  }
}

KeepTask CarriedBounds::keep_task(int64_t first_row, int64_t count, const uint32_t* labels) const {
  return {labels, nearest_.data() + first_row, others_.data() + first_row, gap_.data(), reach_.data(), half_.data(),
          count};
}

void CarriedBounds::set(int64_t row, uint32_t label, double nearest, double others) {
  const auto i = static_cast<size_t>(row);
  // A repeated prototype is as near as the row's assigned one and may go another way.
  nearest_[i] = above(nearest - shifts_[label]);
  others_[i] = repeated_[label] != 0 ? -0x1p126F : below(others + rivals_shifts_[label]);
}

void CarriedBounds::classify(const RowsToScreen& rows, uint8_t* classes) const {
  constexpr float kLast = kLackClasses - 1;
  const float* nearest = nearest_.data() + rows.first_row;
  const float* others = others_.data() + rows.first_row;
  for (size_t i = 0; i < rows.places.size(); ++i) {
    const uint32_t place = rows.places[i];
    const uint32_t label = rows.labels[place];
    const float to_gap = std::max(gap_[label] - (others[place] - nearest[place]), nearest[place] - reach_[label]);
    const float lack = std::min(to_gap, nearest[place] - half_[label]) * per_step_[label];
    classes[i] = static_cast<uint8_t>(std::max(0.0F, std::min(kLast, lack)));  // NaN: the last class
  }
}

size_t CarriedBounds::tighten(const RowsToScreen& rows, std::span<const uint32_t> chosen, const double* d2,
                              const uint8_t* classes, TighteningTrials& trials) {
  constexpr uint32_t kKept = ~uint32_t{0};
  float* nearest = nearest_.data() + rows.first_row;
  const float* others = others_.data() + rows.first_row;
  for (size_t c = 0; c < chosen.size(); ++c) {  // without branches: which rows are kept cannot be foreseen
    uint32_t& place = rows.places[chosen[c]];
    const uint32_t label = rows.labels[place];
    const float now = above(at_most(d2[c]) - shifts_[label]);
    nearest[place] = now;
    const bool apart = (others[place] - now > gap_[label]) & (now < reach_[label]);
    const bool kept = apart | (now < half_[label]);
    const size_t lack_class = classes[chosen[c]];
    ++trials.tried[lack_class];
    trials.spared[lack_class] += kept ? 1 : 0;
    place = kept ? kKept : place;
  }
  size_t count = 0;
  for (const uint32_t place : rows.places) {
    rows.places[count] = place;
    count += place != kKept ? 1 : 0;
  }
  return count;
}

}  // namespace manymeans
