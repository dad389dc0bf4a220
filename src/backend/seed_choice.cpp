#include "backend/seed_choice.h"

#include "core/random.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace manymeans {

std::vector<int64_t> Seeding::draw_by_picking(const SeedDraw& draw) {
  const WideInt all = total(draw.slot);
  if (all.is_zero()) return {};
  std::vector<WideInt> targets;
  for (const uint64_t u : draw.u) targets.push_back(all.times(u).shift_right_64());
  return pick(draw.slot, targets);
}

std::vector<std::vector<int64_t>> Seeding::draw(std::span<const SeedDraw> draws) {
  std::vector<std::vector<int64_t>> rows;
  for (const SeedDraw& draw : draws) rows.push_back(draw_by_picking(draw));
  return rows;
}

std::vector<int64_t> Seeding::cluster_weights(int) {
  return {};
}

bool Seeding::run(std::span<SeedRun>, int64_t) {
  return false;
}

std::vector<int64_t> Seeding::choose(std::span<SeedTrial> trials) {
  trial(trials);
  std::vector<int64_t> chosen;
  for (const SeedTrial& trial : trials) {
    const auto& p = trial.potentials;
    chosen.push_back(std::min_element(p.begin(), p.end()) - p.begin());
  }
  return chosen;
}

namespace {

// Blocks that are walked over together.
constexpr int64_t kGroup = 32;

std::vector<int64_t> sums_of_groups(std::span<const int64_t> blocks) {
  constexpr size_t kSize = static_cast<size_t>(kGroup) * kDistanceLimbs;
  std::vector<int64_t> groups((blocks.size() + kSize - 1) / kSize * kDistanceLimbs);
  for (size_t first = 0; first < blocks.size(); first += kSize) {
    int64_t* sums = groups.data() + first / kSize * kDistanceLimbs;
    const size_t last = std::min(blocks.size(), first + kSize);
    for (size_t i = first; i < last; i += kDistanceLimbs) {
      for (size_t g = 0; g < kDistanceLimbs; ++g) sums[g] += blocks[i + g];
    }
  }
  return groups;
}

// A sum of limbs that grows, compared with a target. Binary64 decides but for sums near the target.
class GrowingSum {
 public:
  explicit GrowingSum(const SumFormat& format)
      : format_(format), unit_{1, std::ldexp(1.0, format.bits), std::ldexp(1.0, 2 * format.bits)} {}

  void add(const int64_t* limbs) {
    for (size_t g = 0; g < kDistanceLimbs; ++g) limbs_[g] += limbs[g];
  }
  int64_t* limbs() { return limbs_; }

  bool is_above(const WideInt& target, double rounded) const {
    double sum = 0, magnitude = std::abs(rounded);
    for (size_t g = 0; g < kDistanceLimbs; ++g) {
      const double part = static_cast<double>(limbs_[g]) * unit_[g];
      sum += part;
      magnitude += std::abs(part);
    }
    // Six roundings of 2^-53 of parts of the magnitude at most.
    const double doubt = magnitude * 0x1p-48;
    if (std::abs(sum - rounded) > doubt) return sum > rounded;
    return recombine(limbs_, format_) > target;
  }

 private:
  SumFormat format_;
  double unit_[kDistanceLimbs];
  int64_t limbs_[kDistanceLimbs] = {};
};

}  // namespace

WideInt SeedTerms::total() const {
  int64_t limbs[kDistanceLimbs] = {};
  for (size_t i = 0; i < blocks.size(); i += kDistanceLimbs) {
    for (size_t g = 0; g < kDistanceLimbs; ++g) limbs[g] += blocks[i + g];
  }
  return recombine(limbs, format);
}

std::vector<int64_t> SeedTerms::pick(std::span<const WideInt> targets) const {
  std::vector<size_t> order(targets.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return targets[a] < targets[b]; });
  std::vector<int64_t> rows(targets.size());
  const std::vector<int64_t> groups = sums_of_groups(blocks);
  GrowingSum before(format);  // of all blocks before `at`
  int64_t at = 0;
  for (const size_t i : order) {  // they ascend: one walk over the blocks serves all
    const WideInt& wanted = targets[i];
    const double rounded = wanted.to_double();
    for (;;) {
      const bool group = at % kGroup == 0;
      GrowingSum next = before;
      if (group) {
        next.add(groups.data() + at / kGroup * kDistanceLimbs);
        if (!next.is_above(wanted, rounded)) {
          before = next;
          at += kGroup;
          continue;
        }
        next = before;
      }
      next.add(blocks.data() + at * kDistanceLimbs);
      if (next.is_above(wanted, rounded)) break;
      before = next;
      ++at;
    }
    const int64_t last = std::min(n, (at + 1) * block_rows);
    GrowingSum sum = before;
    int64_t row = at * block_rows;
    for (; row < last; ++row) {
      add(row, sum.limbs());
      if (sum.is_above(wanted, rounded)) break;
    }
    rows[i] = row;
  }
  return rows;
}

void SeedTerms::append_sample(const SeedSample& sample, int64_t first, int64_t last,
                              std::vector<int64_t>& found) const {
  // A quick comparison in binary64 decides all but the rows within 2^-40 of the threshold.
  const double ratio = std::ldexp(static_cast<double>(sample.factor), 64) / sample.total.to_double();
  for (int64_t row = first; row < last; ++row) {
    int64_t limbs[kDistanceLimbs] = {};
    add(row, limbs);
    const uint64_t u =
        random_u64(sample.key, static_cast<uint64_t>(first_row + row), sample.draw, Purpose::kOversample);
    const double term = rounded_sum(limbs, format) * ratio;
    const double number = static_cast<double>(u);
    if (number > term * (1 + 0x1p-40)) continue;
    if (number < term * (1 - 0x1p-40) ||
        sample.total.times(u) < recombine(limbs, format).times(static_cast<uint64_t>(sample.factor)).shift_left_64()) {
      found.push_back(row);
    }
  }
}

}  // namespace manymeans
