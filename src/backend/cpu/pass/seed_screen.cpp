#include "backend/cpu/pass/seed_screen.h"

#include "core/data_type.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace manymeans {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// From here on a copy in bytes pays: a step takes a quarter of the time, and the copy as long as a dozen steps.
constexpr int64_t kMinCodedColumns = 32;
constexpr int64_t kMinCodedCentres = 48;

}  // namespace

SeedScreen::SeedScreen(const CpuShared& shared, int64_t max_centres, ThreadPool& pool)
    : shared_(shared),
      tile_rows_(shared.plan.screen->tile_rows),
      packed_(&shared.packed),
      exact_(shared.plan.brute || !shared.prototype.euclidean) {
  make_copies(max_centres, pool);
  measure_tiles(pool);
}

SeedScratch SeedScreen::scratch(int64_t piece_tiles) const {
  SeedScratch scratch;
  if (kept_) return scratch;
  scratch.thresholds.resize(static_cast<size_t>(piece_tiles * tile_rows_));
  if (!exact_)
    scratch.packed_tiles = AlignedBuffer<std::byte>(static_cast<size_t>(piece_tiles) * packed_->tile_bytes());
  return scratch;
}

void SeedScreen::make_copies(int64_t max_centres, ThreadPool& pool) {
  const Input& input = shared_.input;
  const PointsPlan& chosen = shared_.plan;
  if (exact_ || input.memory.limited) return;
  kept_ = chosen.packed;
  if (chosen.tree && has_room(input, shared_.options, PackedPoints::bytes(*chosen.screen, input.points))) {
    PointsPlan plan = chosen;
    plan.packed = kept_ = true;
    own_packed_ = PackedPoints(input, shared_.kernels, plan, pool);
    packed_ = &own_packed_;
  }
  const int64_t d = input.points.d;
  const bool pays = d >= kMinCodedColumns && max_centres >= kMinCodedCentres;
  if (!kept_ || !shared_.options.tuning.cpu.seeding_in_bytes.value_or(pays)) return;
  if (!CodedPoints::holds(d)) return;
  if (!has_room(input, shared_.options, CodedPoints::bytes(input.points, tile_rows_))) return;
  for (int i = 0; i < shared_.kernels.coded_count; ++i) {
    if (shared_.kernels.coded[i].tile_rows == tile_rows_) in_bytes_ = &shared_.kernels.coded[i];
  }
  if (in_bytes_ == nullptr) return;
  coded_ = &shared_.coded;
  if (chosen.in_bytes == in_bytes_) return;
  own_coded_ = CodedPoints(input, packed_->frame(), tile_rows_, pool);
  coded_ = &own_coded_;
}

// Computes what bounds need to know of each tile as a whole.
void SeedScreen::measure_tiles(ThreadPool& pool) {
  const Input& input = shared_.input;
  const int64_t p = tile_rows_;
  const bool weighted = kept_ && !input.weights.empty();
  weights_ = AlignedBuffer<float>(static_cast<size_t>(weighted ? tiles() * p : p));
  std::fill_n(weights_.data(), weights_.size(), 1.0F);
  if (!kept_) return;
  tile_norms_.resize(static_cast<size_t>(tiles()));
  tile_radii_.resize(tile_norms_.size());
  tile_weights_.resize(weighted ? tile_norms_.size() : 0);
  pool.for_each_range(tiles(), 64, [&](int, int64_t first, int64_t last) {
    for (int64_t t = first; t < last; ++t) {
      const Tile tile = packed_->tile(t, nullptr);
      tile_norms_[static_cast<size_t>(t)] = *std::max_element(tile.norms, tile.norms + p);
      const float* radii = in_bytes_ != nullptr ? coded_->tile(t).radii : tile.radii;
      tile_radii_[static_cast<size_t>(t)] = *std::max_element(radii, radii + p);
      if (!weighted) continue;
      float* weights = weights_.data() + t * p;
      for (int64_t i = 0; i < tile.rows; ++i) {
        weights[i] = static_cast<float>(input.weight(t * p + i) * (1 + 0x1p-22));  // no less than w'
      }
      tile_weights_[static_cast<size_t>(t)] = *std::max_element(weights, weights + tile.rows);
    }
  });
}

int64_t first_equal_row(const Matrix& rows, const Matrix& wanted, int64_t k) {
  const size_t bytes = static_cast<size_t>(rows.columns()) * size_of(rows.type());
  const std::byte* row = wanted.bytes().data() + static_cast<size_t>(k) * bytes;
  for (int64_t i = 0; i < rows.rows(); ++i) {
    if (std::memcmp(rows.bytes().data() + static_cast<size_t>(i) * bytes, row, bytes) == 0) return i;
  }
  return -1;
}

SeedLook SeedScreen::look(int slot, const Matrix& centres) const {
  SeedLook look;
  look.slot = slot;
  look.centres = &centres;
  if (in_bytes_ != nullptr) {
    code(look);
  } else if (!exact_) {
    pack(look);
  } else {
    for (int64_t k = 0; k < centres.rows(); ++k) look.columns.push_back({k, k, 0, 0});
  }
  return look;
}

void SeedScreen::pack(SeedLook& look) const {
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

void SeedScreen::code(SeedLook& look) const {
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

double SeedScreen::underflow() const {
  return static_cast<double>(score_underflow(packed_->frame(), shared_.input.points.d));
}

void SeedScreen::begin_thresholds(SeedModel& state, int64_t tile, double farthest) const {
  renew_thresholds(state, tile, every_row(tile));
  float* thresholds = state.thresholds.data() + tile * tile_rows_;
  const int64_t rows = rows_of(tile);
  std::fill(thresholds + rows, thresholds + tile_rows_, std::numeric_limits<float>::infinity());
  const double scale = packed_->frame().scale;
  const auto norm = static_cast<double>(tile_norms_[static_cast<size_t>(tile)]);
  double& slack = state.slack[static_cast<size_t>(tile)];
  slack = norm * norm * 0x1p-17 + farthest * scale * scale * 0x1p-18 + 2 * underflow();
  // A threshold that left float32 says nothing of the exact one.
  if (!(*std::min_element(thresholds, thresholds + rows) > -0x1p126F)) slack = kInfinity;
}

void SeedScreen::renew_thresholds(SeedModel& state, int64_t tile, uint64_t rows) const {
  const int64_t first = std::countr_zero(rows);
  const int64_t row = tile * tile_rows_ + first;
  shared_.kernels.seed_thresholds({packed_->tile(tile, nullptr).norms + first, state.least.data() + row,
                                   static_cast<int64_t>(std::bit_width(rows)) - first, packed_->frame().scale,
                                   underflow(), state.thresholds.data() + row});
}

// Some tiles with their thresholds and weights.
void SeedScreen::fill_tiles(const SeedModel& state, TileRange some, SeedScratch& scratch) const {
  const int64_t p = tile_rows_;
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
int64_t SeedScreen::screen_tiles(const SeedLook& look, SeedScratch& scratch) const {
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

void SeedScreen::find_rows(const TilesOfLook& at, uint64_t* words) const {
  const auto& [state, look, some, scratch] = at;
  const size_t columns = look.columns.size();
  const auto count = static_cast<size_t>(some.last - some.first);
  if (!look.screenable) {
    for (size_t i = 0; i < count * columns; ++i) {
      words[i] = every_row(some.first + static_cast<int64_t>(i / columns));
    }
    return;
  }
  fill_tiles(state, some, scratch);
  const auto places = static_cast<size_t>(screen_tiles(look, scratch));
  for (size_t t = 0; t < count; ++t) {
    for (size_t c = 0; c < columns; ++c) {
      *words++ = scratch.hits[t * places + static_cast<size_t>(look.columns[c].place)];
    }
  }
}

void SeedScreen::add_gains(const TilesOfLook& at, const uint64_t* words, SeedGain* gains) const {
  const auto& [state, look, some, scratch] = at;
  if (!look.screenable) {
    for (size_t c = 0; c < look.columns.size(); ++c) gains[c].excess = kInfinity;
    return;
  }
  for (size_t c = 0; c < look.columns.size(); ++c) {
    const SeedColumn& column = look.columns[c];
    double errors = 0;
    for (int64_t t = some.first; t < some.last; ++t) {
      const uint64_t rows = words[static_cast<size_t>(t - some.first) * look.columns.size() + c];
      if (rows == 0) continue;
      const auto tile = static_cast<size_t>(t);
      const double weight = tile_weights_.empty() ? 1 : static_cast<double>(tile_weights_[tile]);
      const double of_row =
          2 * (static_cast<double>(tile_radii_[tile]) * column.slope + column.error) + state.slack[tile];
      errors += static_cast<double>(std::popcount(rows)) * weight * of_row;
    }
    gains[c].excess += scratch.excess[static_cast<size_t>(column.place)];
    gains[c].error += errors;
  }
}

std::vector<int64_t> SeedScreen::contenders(const SeedModel& state, const SeedLook& look,
                                            std::span<const SeedGain> gains) const {
  // The potential is a sum of integers: each term is rounded by at most half of their unit, before and after.
  const SumFormat& format = state.adder.format();
  const double scale = packed_->frame().scale;
  const double rounding = std::ldexp(std::ldexp(scale, -format.shift) * scale, 62 - format.bits);
  double best = 0;
  for (const SeedGain& gain : gains) {
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

}  // namespace manymeans
