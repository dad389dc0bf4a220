// Which rows candidates may come nearer to than their centres, and which candidate lowers the potential most:
// docs/developer/screens.md, "Seeding".
#include "backend/cpu/pass/cpu_seeding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace manymeans {
namespace {

constexpr int kLimbs = kDistanceLimbs;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

std::vector<int> CpuSeeding::slots_of(std::span<const Look> looks) {
  std::vector<int> slots;
  for (const Look& look : looks) slots.push_back(look.slot);
  return slots;
}

CpuSeeding::Look CpuSeeding::make_look(int slot, const Matrix& centres) const {
  Look look;
  look.slot = slot;
  look.centres = &centres;
  if (in_bytes_ != nullptr) {
    code_look(look);
  } else if (!exact_) {
    pack_look(look);
  } else {
    for (int64_t k = 0; k < centres.rows(); ++k) look.columns.push_back({k, k, 0, 0});
  }
  return look;
}

void CpuSeeding::pack_look(Look& look) const {
  look.packed = pack_prototypes(*look.centres, *packed_, shared_.kernels, shared_.options.tuning.cpu.bound_scale);
  look.screenable = look.packed.screenable;
  for (int64_t span = 0; span < look.packed.spans; ++span) {
    const auto at = static_cast<size_t>(span);
    for (int64_t i = 0; i < look.packed.columns[at]; ++i) {
      const int64_t place = span * kSpanColumns + i;
      look.columns.push_back({static_cast<int64_t>(look.packed.order[static_cast<size_t>(place)]), place,
                              static_cast<double>(look.packed.bounds.slopes[at]),
                              static_cast<double>(look.packed.bounds.errors[at])});
    }
  }
}

void CpuSeeding::code_look(Look& look) const {
  std::vector<int64_t> distinct;
  for (int64_t k = 0; k < look.centres->rows(); ++k) {
    if (first_equal_row(*look.centres, *look.centres, k) == k) distinct.push_back(k);
  }
  look.coded = code_centres(*look.centres, distinct, *coded_, packed_->frame(), shared_.options.tuning.cpu.bound_scale);
  look.screenable = look.coded.screenable;
  for (size_t c = 0; c < distinct.size(); ++c) {
    look.columns.push_back({distinct[c], static_cast<int64_t>(c), static_cast<double>(look.coded.slopes[c]), 0});
  }
}

std::vector<CpuSeeding::Look> CpuSeeding::make_looks(std::span<const SeedTrial> trials) {
  std::vector<Look> looks(trials.size());
  pool_.for_each_range(static_cast<int64_t>(trials.size()), 8, [&](int, int64_t first, int64_t last) {
    for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i) {
      looks[i] = make_look(trials[i].slot, *trials[i].candidates);
    }
  });
  return looks;
}

// Stores the candidates and makes room for their results.
void CpuSeeding::remember(std::span<const Look> looks) {
  for (const Look& look : looks) {
    Model& state = model(look.slot);
    state.tried = *look.centres;
    state.columns = static_cast<int64_t>(look.columns.size());
    state.column_of.assign(static_cast<size_t>(look.centres->rows()), -1);
    for (size_t c = 0; c < look.columns.size(); ++c) {
      state.column_of[static_cast<size_t>(look.columns[c].centre)] = static_cast<int64_t>(c);
    }
    state.hits.resize(static_cast<size_t>(tiles() * state.columns));
  }
}

double CpuSeeding::underflow() const {
  return static_cast<double>(score_underflow(packed_->frame(), shared_.input.points.d));
}

// Thresholds of a tile that has its first centres, and by how much they may be below the exact ones. Statements about
// the least distances still hold once they have fallen.
void CpuSeeding::begin_thresholds(Model& state, int64_t tile, double farthest) const {
  renew_thresholds(state, tile, every_row(tile));
  float* thresholds = state.thresholds.data() + tile * tile_rows();
  const int64_t rows = rows_of(tile);
  std::fill(thresholds + rows, thresholds + tile_rows(), std::numeric_limits<float>::infinity());
  const double scale = packed_->frame().scale;
  const auto norm = static_cast<double>(tile_norms_[static_cast<size_t>(tile)]);
  double& slack = state.slack[static_cast<size_t>(tile)];
  slack = norm * norm * 0x1p-17 + farthest * scale * scale * 0x1p-18 + 2 * underflow();
  // A threshold that left float32 says nothing of the exact one.
  if (!(*std::min_element(thresholds, thresholds + rows) > -0x1p126F)) slack = kInfinity;
}

// Renews the rows from the first to the last one in `rows`.
void CpuSeeding::renew_thresholds(Model& state, int64_t tile, uint64_t rows) const {
  const int64_t first = std::countr_zero(rows);
  const int64_t row = tile * tile_rows() + first;
  shared_.kernels.seed_thresholds({packed_->tile(tile, nullptr).norms + first, state.least.data() + row,
                                   static_cast<int64_t>(std::bit_width(rows)) - first, packed_->frame().scale,
                                   underflow(), state.thresholds.data() + row});
}

// Some tiles with their thresholds and weights.
void CpuSeeding::fill_tiles(const Model& state, Tiles some, Scratch& scratch) const {
  const int64_t p = tile_rows();
  scratch.tiles.clear();
  for (int64_t t = some.first; t < some.last; ++t) {
    if (kept_) {
      const float* thresholds = state.thresholds.data() + t * p;
      const float* weights = weights_.data() + (tile_weights_.empty() ? 0 : t * p);
      if (in_bytes_ != nullptr) {
        const CodedTile tile = coded_->tile(t);
        scratch.tiles.push_back({tile.values, tile.radii, thresholds, weights});
      } else {
        const Tile tile = packed_->tile(t, nullptr);
        scratch.tiles.push_back({tile.values, tile.radii, thresholds, weights});
      }
      continue;
    }
    const auto at = static_cast<size_t>(t - some.first);
    const Tile tile = packed_->tile(t, scratch.packed_tiles.data() + at * packed_->tile_bytes());
    float* thresholds = scratch.thresholds.data() + at * static_cast<size_t>(p);
    shared_.kernels.seed_thresholds(
        {tile.norms, state.least.data() + t * p, tile.rows, packed_->frame().scale, underflow(), thresholds});
    std::fill(thresholds + tile.rows, thresholds + p, std::numeric_limits<float>::infinity());
    scratch.tiles.push_back({tile.values, tile.radii, thresholds, weights_.data()});
  }
}

// Hits and excesses of the tiles, by place; returns how many places there are.
int64_t CpuSeeding::screen_tiles(const Look& look, Scratch& scratch) const {
  const auto count = static_cast<int64_t>(scratch.tiles.size());
  const int64_t places = in_bytes_ != nullptr ? look.coded.count : look.packed.spans * kSpanColumns;
  scratch.hits.resize(std::max(scratch.hits.size(), static_cast<size_t>(count * places)));
  scratch.excess.assign(static_cast<size_t>(places), 0);
  if (in_bytes_ != nullptr) {
    in_bytes_->hits(
        {look.coded.view(*coded_), scratch.tiles.data(), count, scratch.hits.data(), scratch.excess.data()});
    return places;
  }
  const MatrixSteps steps = packed_->layout().steps();
  packed_->screen().hits({look.packed.view(0, look.packed.spans, *packed_, steps), scratch.tiles.data(), count,
                          scratch.hits.data(), scratch.excess.data()});
  return places;
}

// Writes the rows that each column may lower: a word for each tile and column.
void CpuSeeding::look_at(const Look& look, Tiles some, Scratch& scratch, uint64_t* words) const {
  const size_t columns = look.columns.size();
  const auto count = static_cast<size_t>(some.last - some.first);
  if (!look.screenable) {
    for (size_t i = 0; i < count * columns; ++i) {
      words[i] = every_row(some.first + static_cast<int64_t>(i / columns));
    }
    return;
  }
  fill_tiles(model(look.slot), some, scratch);
  const auto places = static_cast<size_t>(screen_tiles(look, scratch));
  for (size_t t = 0; t < count; ++t) {
    for (size_t c = 0; c < columns; ++c) {
      *words++ = scratch.hits[t * places + static_cast<size_t>(look.columns[c].place)];
    }
  }
}

// This one also adds the excess of every row that was hit to the gains of the columns, and the maximal overestimate of
// its upper score.
void CpuSeeding::look_at(const Look& look, Tiles some, Scratch& scratch, uint64_t* words, Gain* gains) const {
  look_at(look, some, scratch, words);
  if (!look.screenable) {
    for (size_t c = 0; c < look.columns.size(); ++c) gains[c].excess = kInfinity;
    return;
  }
  const Model& state = model(look.slot);
  for (size_t c = 0; c < look.columns.size(); ++c) {
    const Column& column = look.columns[c];
    double errors = 0;
    for (int64_t t = some.first; t < some.last; ++t) {
      const uint64_t rows = words[static_cast<size_t>(t - some.first) * look.columns.size() + c];
      if (rows == 0) continue;
      const auto at = static_cast<size_t>(t);
      const double weight = tile_weights_.empty() ? 1 : static_cast<double>(tile_weights_[at]);
      const double of_row = 2 * (static_cast<double>(tile_radii_[at]) * column.slope + column.error) + state.slack[at];
      errors += static_cast<double>(std::popcount(rows)) * weight * of_row;
    }
    gains[c].excess += scratch.excess[static_cast<size_t>(column.place)];
    gains[c].error += errors;
  }
}

// Remembers which rows may be lowered.
std::vector<std::vector<CpuSeeding::Gain>> CpuSeeding::look_at_all(std::span<const Look> looks) {
  remember(looks);
  std::vector<size_t> first(looks.size() + 1);
  for (size_t i = 0; i < looks.size(); ++i) first[i + 1] = first[i] + looks[i].columns.size();
  std::vector<std::vector<Gain>> sums(static_cast<size_t>(pool_.size()), std::vector<Gain>(first.back()));
  for_each_piece(slots_of(looks), [&](int w, size_t i, Tiles some) {
    Model& state = model(looks[i].slot);
    look_at(looks[i], some, scratch(w), state.hits.data() + some.first * state.columns,
            sums[static_cast<size_t>(w)].data() + first[i]);
  });
  std::vector<std::vector<Gain>> gains(looks.size());
  for (size_t i = 0; i < looks.size(); ++i) {
    gains[i].resize(looks[i].columns.size());
    for (const std::vector<Gain>& of_worker : sums) {
      for (size_t c = 0; c < gains[i].size(); ++c) {
        gains[i][c].excess += of_worker[first[i] + c].excess;
        gains[i][c].error += of_worker[first[i] + c].error;
      }
    }
  }
  return gains;
}

// The columns that may lower the potential most, by candidate. NaN counts as one of them.
std::vector<int64_t> CpuSeeding::contenders(const Look& look, std::span<const Gain> gains) const {
  // The potential is a sum of integers: each term is rounded by at most half of their unit, before and after.
  const SumFormat& format = model(look.slot).adder.format();
  const double scale = packed_->frame().scale;
  const double rounding = std::ldexp(std::ldexp(scale, -format.shift) * scale, 62 - format.bits);
  double best = 0;
  for (const Gain& gain : gains) {
    if (!(gain.excess < static_cast<double>(std::numeric_limits<float>::max()))) continue;
    best = std::max(best, gain.excess * (1 - 2 * kExcessRounding) - gain.error * (1 + 0x1p-20) - rounding);
  }
  std::vector<int64_t> found;
  for (size_t c = 0; c < gains.size(); ++c) {
    if (gains[c].excess * (1 + 2 * kExcessRounding) + rounding < best) continue;
    found.push_back(static_cast<int64_t>(c));
  }
  std::sort(found.begin(), found.end(), [&](int64_t a, int64_t b) {
    return look.columns[static_cast<size_t>(a)].centre < look.columns[static_cast<size_t>(b)].centre;
  });
  return found;
}

// By how much the wanted columns change the sums of T, `remembered` or looked at first. Candidates that are remembered
// are known exactly afterwards.
std::vector<std::vector<WideInt>> CpuSeeding::falls(std::span<const Look> looks,
                                                    std::span<const std::vector<int64_t>> wanted, bool remembered) {
  std::vector<size_t> first(looks.size() + 1);
  for (size_t i = 0; i < looks.size(); ++i) first[i + 1] = first[i] + wanted[i].size() * kLimbs;
  std::vector<std::vector<int64_t>> sums(static_cast<size_t>(pool_.size()), std::vector<int64_t>(first.back()));
  for_each_piece(slots_of(looks), [&](int w, size_t i, Tiles some) {
    const Look& look = looks[i];
    Model& state = model(look.slot);
    Scratch& own = scratch(w);
    const auto columns = static_cast<int64_t>(look.columns.size());
    own.words.resize(static_cast<size_t>((some.last - some.first) * columns));
    if (!remembered && !wanted[i].empty()) look_at(look, some, own, own.words.data());
    uint64_t* words = remembered ? state.hits.data() + some.first * columns : own.words.data();
    for (int64_t t = some.first; t < some.last; ++t, words += columns) {
      int64_t* limbs = sums[static_cast<size_t>(w)].data() + first[i];
      for (size_t c = 0; t + kTilesAhead < some.last && c < wanted[i].size(); ++c) {
        prefetch(t + kTilesAhead, words[kTilesAhead * columns + wanted[i][c]]);
      }
      const double* all = residuals(*look.centres, t, w);
      for (const int64_t c : wanted[i]) {
        const int64_t k = look.columns[static_cast<size_t>(c)].centre;
        if (words[c] != 0) {
          const double* d2 = all != nullptr ? all + k * rows_of(t) : distances(*look.centres, k, t, words[c], w);
          words[c] = lower(state, t, {words[c], d2, false}, limbs);
        }
        if (!remembered && !state.hits.empty()) state.hits[static_cast<size_t>(t * columns + c)] = words[c];
        limbs += kLimbs;
      }
    }
  });
  std::vector<std::vector<WideInt>> found(looks.size());
  for (size_t i = 0; i < looks.size(); ++i) {
    found[i].resize(wanted[i].size());
    for (size_t c = 0; c < wanted[i].size(); ++c) {
      for (const auto& of_worker : sums) {
        found[i][c] += recombine(of_worker.data() + first[i] + c * kLimbs, model(looks[i].slot).adder.format());
      }
    }
  }
  return found;
}

std::vector<int64_t> CpuSeeding::choose(std::span<SeedTrial> trials) {
  if (!kept_) return Seeding::choose(trials);
  const std::vector<Look> looks = make_looks(trials);
  const std::vector<std::vector<Gain>> gains = look_at_all(looks);
  std::vector<std::vector<int64_t>> wanted(looks.size());
  std::vector<int64_t> chosen(looks.size());
  bool known = true;
  for (size_t i = 0; i < looks.size(); ++i) {
    wanted[i] = contenders(looks[i], gains[i]);
    chosen[i] = looks[i].columns[static_cast<size_t>(wanted[i][0])].centre;
    if (wanted[i].size() == 1) wanted[i].clear();
    known = known && wanted[i].empty();
  }
  if (known) return chosen;
  const std::vector<std::vector<WideInt>> found = falls(looks, wanted, true);
  for (size_t i = 0; i < looks.size(); ++i) {
    if (wanted[i].empty()) continue;
    const auto best = std::min_element(found[i].begin(), found[i].end()) - found[i].begin();
    chosen[i] = looks[i].columns[static_cast<size_t>(wanted[i][static_cast<size_t>(best)])].centre;
  }
  return chosen;
}

void CpuSeeding::trial(std::span<SeedTrial> trials) {
  const std::vector<Look> looks = make_looks(trials);
  if (!shared_.input.memory.limited) remember(looks);
  std::vector<std::vector<int64_t>> all(looks.size());
  for (size_t i = 0; i < looks.size(); ++i) {
    all[i].resize(looks[i].columns.size());
    std::iota(all[i].begin(), all[i].end(), int64_t{0});
  }
  const std::vector<std::vector<WideInt>> found = falls(looks, all, false);
  for (size_t i = 0; i < looks.size(); ++i) {
    const WideInt before = total(trials[i].slot);
    const Matrix& candidates = *trials[i].candidates;
    trials[i].potentials.assign(static_cast<size_t>(candidates.rows()), before);
    for (size_t c = 0; c < looks[i].columns.size(); ++c) {
      trials[i].potentials[static_cast<size_t>(looks[i].columns[c].centre)] += found[i][c];
    }
    for (int64_t k = 0; k < candidates.rows(); ++k) {  // what repeats a candidate has its potential
      trials[i].potentials[static_cast<size_t>(k)] =
          trials[i].potentials[static_cast<size_t>(first_equal_row(candidates, candidates, k))];
    }
  }
}

}  // namespace manymeans
