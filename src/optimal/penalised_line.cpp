#include "optimal/penalised_line.h"

#include "core/threads.h"

#include <algorithm>
#include <cmath>

namespace manymeans {
namespace {

// A sum that keeps what additions round off.
struct Running {
  double high = 0, low = 0;

  void add(double term) {
    const double sum = high + term;
    const double added = sum - high;
    low += (high - (sum - added)) + (term - added);
    high = sum;
  }
  double value() const { return high + low; }
};

}  // namespace

PenalisedLine::PenalisedLine(const WeightedLine& line, size_t k) : abort_(line.abort), before_(line.size() + 1) {
  cuts_.reserve(line.size() + 1);
  reigns_.reserve(line.size() + 1);
  double sum = 0, weight = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    sum += static_cast<double>(line.weights[i]) * line.values[i];
    weight += static_cast<double>(line.weights[i]);
  }
  const double centre = sum / weight;
  const double largest = std::max(std::fabs(line.values.front() - centre), std::fabs(line.values.back() - centre));
  constexpr int kMaxShift = 1000;  // 2^-1074 becomes 2^-74, whose square is a normal number
  const double unit = std::ldexp(1.0, std::min(-std::ilogb(std::max(largest, 0x1p-1074)), kMaxShift));
  Running sums, squares;
  double magnitudes = 0;
  int64_t below = 0;
  cuts_.emplace_back();
  for (size_t i = 0; i < line.size(); ++i) {
    const double y = (line.values[i] - centre) * unit;
    const double term = static_cast<double>(line.weights[i]) * y;
    sums.add(term);
    squares.add(term * y);
    magnitudes += std::fabs(term);
    below += line.weights[i];
    cuts_.push_back({squares.value(), sums.value(), below, 0});
  }
  error_ = 0x1p-48 * (squares.value() + largest * unit * magnitudes);
  tolerance_ = static_cast<double>(2 * k + 6) * error_;
}

bool PenalisedLine::beats(size_t challenger, size_t holder, size_t at) {
  const double lead = through(holder, at) - through(challenger, at);
  if (std::fabs(lead) <= tolerance_) {
    sure_ = false;
    close_ += std::fabs(lead) <= 2 * error_;
  }
  return lead > 0;
}

// The first cut after `low` where the challenger beats the holder, which it does not at `low`; after the last cut:
// none.
size_t PenalisedLine::takeover(size_t challenger, size_t holder, size_t low, size_t hint) {
  size_t high = cuts_.size(), probe = std::clamp(hint, low + 1, size()), step = 1;
  bool up = false, down = false;
  while (high - low > 1) {
    const bool ahead = beats(challenger, holder, probe);
    (ahead ? high : low) = probe;
    (ahead ? down : up) = true;
    const size_t room = high - low;
    if ((up && down) || step >= room) {
      probe = low + room / 2;
      continue;
    }
    probe = ahead ? high - step : low + step;
    step *= 4;
  }
  return high;
}

// A later cut that beats an earlier one before some cut beats it before all later ones, since costs of parts satisfy
// the quadrangle inequality. So each cut reigns over a range.
void PenalisedLine::challenge(size_t challenger) {
  while (reigns_.size() > reign_) {
    const Reign holder = reigns_.back();
    const size_t first = std::max(holder.first, challenger + 1);
    if (!beats(challenger, holder.from, first)) {
      if (first == size()) return;
      const size_t at = takeover(challenger, holder.from, first, hint_ + 1);
      hint_ = at;
      if (at <= size()) reigns_.push_back({challenger, at});
      return;
    }
    reigns_.pop_back();
  }
  reigns_.push_back({challenger, challenger + 1});
}

void PenalisedLine::relax(double penalty) {
  penalty_ = penalty;
  sure_ = true;
  close_ = 0;
  hint_ = 0;
  reign_ = 0;
  reigns_.assign(1, {0, 1});
  constexpr size_t kLook = 1 << 16;
  for (size_t i = 1; i <= size(); ++i) {
    if (i % kLook == 1) check_abort(abort_);
    while (reign_ + 1 < reigns_.size() && reigns_[reign_ + 1].first <= i) ++reign_;
    before_[i] = reigns_[reign_].from;
    cuts_[i].length = through(before_[i], i) + penalty;
    if (i < size()) challenge(i);
  }
}

// The least detour to these cuts, by halves: a later cut has a later cut before it. Each half may miss the least by the
// rounding of one comparison.
double PenalisedLine::least_detour(Range cuts, Range before) const {
  const size_t middle = cuts.first + (cuts.last - cuts.first) / 2;
  size_t best = before.first;
  double least = detour(best, middle);
  for (size_t j = best + 1; j <= std::min(before.last, middle - 1); ++j) {
    const double other = detour(j, middle);
    if (other < least) {
      least = other;
      best = j;
    }
  }
  if (middle > cuts.first) least = std::min(least, least_detour({cuts.first, middle - 1}, {before.first, best}));
  if (middle < cuts.last) least = std::min(least, least_detour({middle + 1, cuts.last}, {best, before.last}));
  return least;
}

double PenalisedLine::loss() const {
  const double comparisons = std::log2(static_cast<double>(size())) + 2;
  if (static_cast<double>(close_) <= comparisons) return static_cast<double>(2 * close_ + 1) * error_;
  return std::max(0.0, -least_detour({1, size()}, {0, size() - 1})) + (2 * comparisons + 1) * error_;
}

size_t PenalisedLine::parts() const {
  size_t count = 0;
  for (size_t cut = size(); cut > 0; cut = before_[cut]) ++count;
  return count;
}

std::vector<size_t> PenalisedLine::ends() const {
  std::vector<size_t> ends;
  for (size_t cut = size(); cut > 0; cut = before_[cut]) ends.push_back(cut);
  std::ranges::reverse(ends);
  return ends;
}

}  // namespace manymeans
