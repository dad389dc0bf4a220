#include "backend/cpu/sums/cpu_changes.h"

#include <algorithm>
#include <numeric>

namespace manymeans {

UnitDelta::UnitDelta(int64_t k, int64_t stride)
    : sums(static_cast<size_t>(k * stride)),
      counts(static_cast<size_t>(k)),
      terms(static_cast<size_t>(k)),
      weights(static_cast<size_t>(k)) {
  std::fill_n(sums.data(), sums.size(), 0);
}

UnitSums UnitDelta::sums_for(const UnitScales& scales, int64_t d) {
  return {d,           scales.stride, scales.units.data(), scales.narrow,
          sums.data(), counts.data(), terms.data(),        scales.max_terms};
}

void Changes::append(int64_t first, std::span<const uint32_t> places, const uint32_t* old_labels,
                     const uint32_t* labels) {
  size_t at = rows.size();
  rows.resize(at + places.size());
  from.resize(at + places.size());
  to.resize(at + places.size());
  for (const uint32_t place : places) {
    rows[at] = first + place;
    from[at] = old_labels[place];
    to[at++] = labels[place];
  }
}

void Changes::take_multiples(const Input& input, Changes& multiples) {
  size_t at = 0;
  for (int64_t i = 0; i < size(); ++i) {
    const Change change = this->at(i);
    if (input.weight(change.row) != 1) {
      multiples.rows.push_back(change.row);
      multiples.from.push_back(change.from);
      multiples.to.push_back(change.to);
      continue;
    }
    rows[at] = change.row;
    from[at] = change.from;
    to[at++] = change.to;
  }
  rows.resize(at);
  from.resize(at);
  to.resize(at);
}

void SortedChanges::sort(const Changes& changes, int64_t k) {
  begin.assign(static_cast<size_t>(2 * k + 1), 0);
  const auto count = static_cast<size_t>(changes.size());
  for (size_t i = 0; i < count; ++i) {
    ++begin[2 * static_cast<size_t>(changes.to[i]) + 1];
    if (changes.from[i] != kNoLabel) ++begin[2 * static_cast<size_t>(changes.from[i]) + 2];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  next.assign(begin.begin(), begin.end() - 1);
  rows.resize(static_cast<size_t>(begin.back()));
  for (size_t i = 0; i < count; ++i) {
    const auto place = [&](size_t list) { return static_cast<size_t>(next[list]++); };
    rows[place(2 * static_cast<size_t>(changes.to[i]))] = changes.rows[i];
    if (changes.from[i] != kNoLabel) rows[place(2 * static_cast<size_t>(changes.from[i]) + 1)] = changes.rows[i];
  }
}

void Changes::clear() {
  rows.clear();
  from.clear();
  to.clear();
}

}  // namespace manymeans
