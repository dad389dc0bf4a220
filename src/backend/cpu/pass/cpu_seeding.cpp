// D^2 sampling for k-means++ and k-means||: the least distances and the sums of their terms.
#include "backend/cpu/pass/cpu_seeding.h"

#include "core/data_type.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace manymeans {
namespace {

constexpr int kLimbs = kDistanceLimbs;
// Half of the second cache of most server cores.
constexpr int64_t kPieceBytes = 256 << 10;
constexpr int64_t kMaxPieceTiles = 32;
// Choosing a row walks over the sums of all blocks and then over the rows of one.
constexpr int64_t kBlocks = 4096;
// From here on a copy in bytes pays: a step takes a quarter of the time, and the copy as long as a dozen steps.
constexpr int64_t kMinCodedColumns = 32;
constexpr int64_t kMinCodedCentres = 48;
// Up to here distances of several rows are computed at once.
constexpr int64_t kLaneColumns = 4;
// The distances of a tile to this many centres stay in the second cache.
constexpr int64_t kMaxTogether = 1024;
// The kernels' way to make terms is exact up to here (kernels.h, SeedFall).
constexpr int kMaxLaneBits = 50;

}  // namespace

CpuSeeding::CpuSeeding(const CpuShared& shared, std::span<const int64_t> k, ThreadPool& pool)
    : shared_(shared),
      pool_(pool),
      distances_(shared),
      plan_(plan_session(shared, k, pool.size())),
      screen_(shared, plan_, pool.size()),
      packed_(&shared.packed),
      exact_(shared.plan.brute || !shared.prototype.euclidean),
      scratch_(static_cast<size_t>(pool.size())),
      models_(k.size()) {
  screen_.prepare();
  make_copies(*std::max_element(k.begin(), k.end()));
  plan_pieces();
  measure_tiles();
}

// Copies of the points that every step reads.
void CpuSeeding::make_copies(int64_t max_centres) {
  const Input& input = shared_.input;
  const PointsPlan& chosen = shared_.plan;
  if (exact_ || input.memory.limited) return;
  const int64_t budget = copies_budget(input, shared_.options);
  kept_ = chosen.packed;
  if (chosen.tree && PackedPoints::bytes(*chosen.screen, input.points) <= budget) {
    PointsPlan plan = chosen;
    plan.packed = kept_ = true;
    own_packed_ = PackedPoints(input, shared_.kernels, plan, pool_);
    packed_ = &own_packed_;
  }
  const int64_t d = input.points.d;
  const bool pays = d >= kMinCodedColumns && max_centres >= kMinCodedCentres;
  if (!kept_ || !shared_.options.tuning.cpu.seeding_in_bytes.value_or(pays)) return;
  if (!CodedPoints::holds(d) || CodedPoints::bytes(input.points, tile_rows()) > budget) return;
  for (int i = 0; i < shared_.kernels.coded_count; ++i) {
    if (shared_.kernels.coded[i].tile_rows == tile_rows()) in_bytes_ = &shared_.kernels.coded[i];
  }
  if (in_bytes_ == nullptr) return;
  coded_ = &shared_.coded;
  if (chosen.in_bytes == in_bytes_) return;
  own_coded_ = CodedPoints(input, packed_->frame(), tile_rows(), pool_);
  coded_ = &own_coded_;
}

void CpuSeeding::plan_pieces() {
  const PointsView& points = shared_.input.points;
  const auto value = static_cast<int64_t>(in_bytes_ != nullptr ? 1 : sizeof(float));
  const int64_t bytes = std::max<int64_t>(1, tile_rows() * points.d * value);
  const auto most = static_cast<uint64_t>(std::clamp<int64_t>(kPieceBytes / bytes, 1, kMaxPieceTiles));
  piece_tiles_ = static_cast<int64_t>(std::bit_floor(most));
  block_tiles_ =
      std::min(piece_tiles_,
               static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(1, tiles() / kBlocks)))));
  for (Scratch& s : scratch_) {
    s.d2.resize(static_cast<size_t>(tile_rows()));
    s.thresholds.resize(static_cast<size_t>(kept_ ? 0 : piece_tiles_ * tile_rows()));
    if (!kept_ && !exact_) {
      s.packed_tiles = AlignedBuffer<std::byte>(static_cast<size_t>(piece_tiles_) * packed_->tile_bytes());
    }
  }
}

// Computes what bounds need to know of each tile as a whole.
void CpuSeeding::measure_tiles() {
  const Input& input = shared_.input;
  const int64_t p = tile_rows();
  const bool weighted = kept_ && !input.weights.empty();
  weights_ = AlignedBuffer<float>(static_cast<size_t>(weighted ? tiles() * p : p));
  std::fill_n(weights_.data(), weights_.size(), 1.0F);
  if (!kept_) return;
  tile_norms_.resize(static_cast<size_t>(tiles()));
  tile_radii_.resize(tile_norms_.size());
  tile_weights_.resize(weighted ? tile_norms_.size() : 0);
  pool_.for_each_range(tiles(), 64, [&](int, int64_t first, int64_t last) {
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

int64_t CpuSeeding::first_equal_row(const Matrix& rows, const Matrix& wanted, int64_t k) {
  const size_t bytes = static_cast<size_t>(rows.columns()) * size_of(rows.type());
  const std::byte* row = wanted.bytes().data() + static_cast<size_t>(k) * bytes;
  for (int64_t i = 0; i < rows.rows(); ++i) {
    if (std::memcmp(rows.bytes().data() + static_cast<size_t>(i) * bytes, row, bytes) == 0) return i;
  }
  return -1;
}

RowWindow::GiveBack CpuSeeding::give_back_of(const Model& state) {
  return [&state](int64_t first, int64_t last) {
    state.least.give_back(static_cast<size_t>(first), static_cast<size_t>(last - first));
  };
}

// Calls body for pieces of all tiles and each model of `slots`. All models share one reading of the points if there are
// enough pieces. A block of rows belongs to one piece, so its sums and distances may be changed in place.
void CpuSeeding::for_each_piece(std::span<const int> slots, const Piece& body) {
  const int64_t p = tile_rows();
  const int64_t n = shared_.input.points.n;
  const auto models = static_cast<int64_t>(slots.size());
  const int64_t pieces = (tiles() + piece_tiles_ - 1) / piece_tiles_;
  if (!shared_.input.memory.window.moves() && pieces < 8 * pool_.size()) {
    const int64_t grain = std::max<int64_t>(1, pieces * models / (16 * pool_.size()));
    pool_.for_each_range(pieces * models, grain, [&](int w, int64_t begin, int64_t end) {
      for (int64_t item = begin; item < end; ++item) {
        const int64_t first = item / models * piece_tiles_;
        body(w, static_cast<size_t>(item % models), {first, std::min(tiles(), first + piece_tiles_)});
      }
    });
    return;
  }
  RowPass pass(shared_.input.memory.window, 0, n, [&](int64_t first, int64_t last) {
    for (const int slot : slots) give_back_of(model(slot))(first, last);
  });
  pool_.for_each_range(tiles(), piece_tiles_, [&](int w, int64_t first, int64_t last) {
    pass.begin(first * p);
    for (size_t i = 0; i < slots.size(); ++i) body(w, i, {first, last});
    pass.done(first * p, std::min(n, last * p));
  });
}

// Adds sign * T of a row whose least distance is `least`.
void CpuSeeding::add_term(const Model& state, int64_t row, double least, int sign, int64_t* limbs) const {
  if (shared_.input.counted) {
    state.adder.add(least, sign * static_cast<int>(shared_.input.weight(row)), limbs);
  } else {
    state.adder.add(shared_.input.weight(row) * least, sign, limbs);
  }
}

// Canonical distances of a tile's rows to one centre; rows that are not in `rows` may get infinity.
const double* CpuSeeding::distances(const Matrix& centres, int64_t k, int64_t tile, uint64_t rows, int w) {
  const PointsView& points = shared_.input.points;
  const int64_t first = tile * tile_rows();
  const int64_t count = rows_of(tile);
  double* d2 = scratch(w).d2.data();
  const int64_t enough = points.d <= kLaneColumns ? 4 : count * 3 / 4;
  if (std::popcount(rows) >= enough) {
    static constexpr uint32_t kFirst[64] = {};
    if (points.type == DataType::kFloat64) {
      const double* x = static_cast<const double*>(points.data) + first * points.d;
      shared_.kernels.distances_f64(
          {x, count, points.d, centres.values<double>().data() + k * centres.columns(), 1, kFirst}, d2);
    } else {
      std::vector<float>& wide = worker(w).wide_f32;
      if (points.type != DataType::kFloat32) wide.resize(static_cast<size_t>(tile_rows() * points.d));
      const float* x = rows_as<float>(points, first, count, wide.data());
      shared_.kernels.distances_f32(
          {x, count, points.d, centres.values<float>().data() + k * centres.columns(), 1, kFirst}, d2);
    }
    return d2;
  }
  std::fill_n(d2, count, std::numeric_limits<double>::infinity());
  for (uint64_t bits = rows; bits != 0; bits &= bits - 1) {
    const int64_t i = std::countr_zero(bits);
    d2[i] = distances_.distance(first + i, centres, k, worker(w).wide_f32);
  }
  return d2;
}

// Of linear models, which have no screen: a tile's rows to all centres, one centre after the other. Null where
// distances come one centre at a time.
const double* CpuSeeding::residuals(const Matrix& centres, int64_t tile, int w) {
  if (!shared_.prototype.linear || centres.rows() > kMaxTogether) return nullptr;
  const int64_t count = rows_of(tile);
  std::vector<double>& d2 = scratch(w).residuals;
  if (const auto size = static_cast<size_t>(count * centres.rows()); d2.size() < size) d2.resize(size);
  distances_.find_residuals(centres, {tile * tile_rows(), count}, worker(w).wide_f32, d2.data());
  return d2.data();
}

// Rows whose distances will be wanted: they lie far apart, so the hardware does not foresee them.
void CpuSeeding::prefetch(int64_t tile, uint64_t rows) const {
  if (exact_ || shared_.input.points.d <= kLaneColumns) return;  // all of them, or several share a line
  for (uint64_t bits = rows; bits != 0; bits &= bits - 1) {
    distances_.prefetch_row(tile * tile_rows() + std::countr_zero(bits));
  }
}

// Adds what the terms change where d2 is less than the least distance; returns for which rows.
uint64_t CpuSeeding::lower(Model& state, int64_t tile, const FallingRows& rows, int64_t* limbs) const {
  const Input& input = shared_.input;
  const int64_t first = tile * tile_rows() + rows.first();
  const double* d2 = rows.d2 + rows.first();
  double* least = state.least.data() + first;
  uint64_t lowered = 0;
  if (state.in_lanes) {
    const SumFormat& format = state.adder.format();
    const double* weights = input.weights.empty() ? nullptr : input.weights.data() + first;
    lowered = shared_.kernels.lower_least({d2, least, weights, input.counted, rows.count(), rows.keep,
                                           std::ldexp(1.0, format.shift - 2 * format.bits),
                                           std::ldexp(1.0, format.bits), limbs});
    return lowered << rows.first();
  }
  for (int64_t i = 0; i < rows.count(); ++i) {
    if (!(d2[i] < least[i])) continue;
    lowered |= uint64_t{1} << i;
    add_term(state, first + i, least[i], -1, limbs);
    add_term(state, first + i, d2[i], 1, limbs);
    if (rows.keep) least[i] = d2[i];
  }
  return lowered << rows.first();
}

// The centre is one: the rows of a tile that it may lower.
void CpuSeeding::accept(Model& state, const Matrix& centre, int64_t tile, uint64_t rows, int w) {
  if (rows == 0) return;
  const double* d2 = distances(centre, 0, tile, rows, w);
  const uint64_t lowered = lower(state, tile, {rows, d2, true}, block_of(state, tile));
  if (lowered != 0 && kept_) renew_thresholds(state, tile, lowered);
}

// The first centres: all distances.
std::vector<double> CpuSeeding::begin(std::span<const SeedCentres> models) {
  const auto n = static_cast<size_t>(shared_.input.points.n);
  std::vector<int> slots;
  for (const SeedCentres& begun : models) {
    slots.push_back(begun.slot);
    Model& state = model(begun.slot);
    state = {};
    state.least = AlignedBuffer<double>(n, shared_.input.memory.seeding);
    state.centres = begun.centres->rows();
    if (!kept_) continue;
    state.thresholds = AlignedBuffer<float>(static_cast<size_t>(tiles() * tile_rows()));
    state.slack.resize(static_cast<size_t>(tiles()));
  }
  std::vector<std::vector<double>> largest(models.size(), std::vector<double>(static_cast<size_t>(pool_.size())));
  for_each_piece(slots, [&](int w, size_t i, Tiles some) {
    double& most = largest[i][static_cast<size_t>(w)];
    for (int64_t t = some.first; t < some.last; ++t) {
      most = std::max(most, begin_tile(model(slots[i]), *models[i].centres, t, w));
    }
  });
  std::vector<double> most;
  for (const auto& of_model : largest) most.push_back(*std::max_element(of_model.begin(), of_model.end()));
  return most;
}

// Returns the largest v.
double CpuSeeding::begin_tile(Model& state, const Matrix& centres, int64_t tile, int w) {
  const Input& input = shared_.input;
  const int64_t first = tile * tile_rows();
  const int64_t count = rows_of(tile);
  double* least = state.least.data() + first;
  const double* all = residuals(centres, tile, w);
  for (int64_t c = 0; c < centres.rows(); ++c) {
    const double* d2 = all != nullptr ? all + c * count : distances(centres, c, tile, every_row(tile), w);
    for (int64_t i = 0; i < count; ++i) least[i] = c == 0 ? d2[i] : std::min(least[i], d2[i]);
  }
  double farthest = 0, most = 0;
  for (int64_t i = 0; i < count; ++i) {
    farthest = std::max(farthest, least[i]);
    most = std::max(most, input.counted ? least[i] : input.weight(first + i) * least[i]);
  }
  if (kept_) begin_thresholds(state, tile, farthest);
  return most;
}

void CpuSeeding::fix_scale(int slot, double largest) {
  Model& state = model(slot);
  const SumFormat format = SumFormat::make(shared_.input.bits, kLimbs, largest);
  state.adder = TermAdder(format);
  state.in_lanes = format.bits <= kMaxLaneBits && std::abs(format.shift - 2 * format.bits) < 1022;
  sum_blocks(state);
}

void CpuSeeding::sum_blocks(Model& state) {
  const int64_t blocks = (tiles() + block_tiles_ - 1) / block_tiles_;
  state.blocks.assign(static_cast<size_t>(blocks * kLimbs), 0);
  RowPass pass(shared_.input.memory.window, 0, shared_.input.points.n, give_back_of(state));
  const std::vector<double> zeros(static_cast<size_t>(tile_rows()));
  pool_.for_each_range(tiles(), piece_tiles_, [&](int, int64_t first, int64_t last) {
    for (int64_t t = first; t < last; ++t) {  // by how much the sums fall to zero
      int64_t limbs[kLimbs] = {};
      lower(state, t, {every_row(t), zeros.data(), false}, limbs);
      for (int g = 0; g < kLimbs; ++g) block_of(state, t)[g] -= limbs[g];
    }
    pass.done(first * tile_rows(), std::min(shared_.input.points.n, last * tile_rows()));
  });
}

void CpuSeeding::add(std::span<const SeedCentres> models) {
  std::vector<SeedTrial> single;
  std::vector<SeedCentres> tried;
  for (const SeedCentres& added : models) {
    const Model& state = model(added.slot);
    if (!state.hits.empty() && added.centres->rows() == 1 && first_equal_row(state.tried, *added.centres, 0) >= 0) {
      tried.push_back(added);
    } else if (added.centres->rows() > 1 || !shared_.input.memory.limited) {
      add_many(added);
    } else {
      single.push_back({added.slot, added.centres});
    }
  }
  add_tried(tried);
  add_untried(single);
}

void CpuSeeding::add_untried(std::span<const SeedTrial> models) {
  if (models.empty()) return;
  const std::vector<Look> looks = make_looks(models);
  for_each_piece(slots_of(looks), [&](int w, size_t i, Tiles some) {
    Model& state = model(looks[i].slot);
    std::vector<uint64_t>& words = scratch(w).words;
    words.resize(static_cast<size_t>(some.last - some.first));
    look_at(looks[i], some, scratch(w), words.data());
    for (int64_t t = some.first; t < some.last; ++t) {
      accept(state, *looks[i].centres, t, words[static_cast<size_t>(t - some.first)], w);
    }
  });
}

// Centres that were candidates of the last trial: the rows that they may lower are known.
void CpuSeeding::add_tried(std::span<const SeedCentres> models) {
  if (models.empty()) return;
  std::vector<int> slots;
  std::vector<int64_t> columns;
  for (const SeedCentres& added : models) {
    Model& state = model(added.slot);
    state.nearest = {};
    ++state.centres;
    slots.push_back(added.slot);
    columns.push_back(state.column_of[static_cast<size_t>(first_equal_row(state.tried, *added.centres, 0))]);
  }
  for_each_piece(slots, [&](int w, size_t i, Tiles some) {
    Model& state = model(slots[i]);
    const uint64_t* words = state.hits.data() + columns[i];
    for (int64_t t = some.first; t < some.last; ++t) {
      if (t + kTilesAhead < some.last) prefetch(t + kTilesAhead, words[(t + kTilesAhead) * state.columns]);
      accept(state, *models[i].centres, t, words[t * state.columns], w);
    }
  });
}

// Many centres at once (k-means||): the nearest of them by the ordinary screen, then one exact distance.
void CpuSeeding::add_many(const SeedCentres& added) {
  const PassTarget target = screen_.make_target(added.slot, *added.centres, false, &pool_);
  Model& state = model(target.slot);
  const int64_t p = tile_rows();
  begin_nearest(state);
  // There may be more centres than any model has prototypes, and so more scores than a pass has.
  for (Worker& worker : screen_.workers()) {
    worker.screen.reserve(plan_.tiles_per_block * p, target.packed.spans);
  }
  RowPass pass(shared_.input.memory.window, 0, shared_.input.points.n, give_back_of(state));
  pool_.for_each_range(tiles(), plan_.tiles_per_block, [&](int w, int64_t first, int64_t last) {
    TileBlock block = screen_.make_block(first, last);
    pass.begin(block.first_row);
    screen_.load_tiles(block, worker(w));
    PassResult ignored;
    screen_.find_labels(target, block, worker(w), ignored);
    for (int64_t i = 0; i < block.rows; ++i) {
      const int64_t row = block.first_row + i;
      double& least = state.least[static_cast<size_t>(row)];
      const uint32_t nearest = worker(w).labels[static_cast<size_t>(i)];
      const double d2 = distances_.distance(row, *target.prototypes, nearest, worker(w).wide_f32);
      if (!(d2 < least)) continue;
      least = d2;
      if (state.nearest.size() > 0) {
        state.nearest[static_cast<size_t>(row)] = static_cast<uint32_t>(state.centres) + nearest;
      }
    }
    for (int64_t t = first; kept_ && t < last; ++t) renew_thresholds(state, t, every_row(t));
    pass.done(block.first_row, block.first_row + block.rows);
  });
  state.centres += target.prototypes->rows();
  sum_blocks(state);
}

// From the first centre on the nearest is known.
void CpuSeeding::begin_nearest(Model& state) {
  if (state.centres != 1 || shared_.input.memory.limited) return;
  const auto n = static_cast<size_t>(shared_.input.points.n);
  state.nearest = AlignedBuffer<uint32_t>(n);
  std::fill_n(state.nearest.data(), n, uint32_t{0});
}

std::vector<int64_t> CpuSeeding::cluster_weights(int slot) {
  const Model& state = model(slot);
  if (state.nearest.size() == 0) return {};
  std::vector<int64_t> weights(static_cast<size_t>(state.centres));
  for (size_t row = 0; row < state.nearest.size(); ++row) {
    weights[state.nearest[row]] += shared_.input.integer_weight(static_cast<int64_t>(row));
  }
  return weights;
}

SeedTerms CpuSeeding::terms_of(const Model& state) const {
  const auto add = [this, &state](int64_t row, int64_t* limbs) {
    add_term(state, row, state.least[static_cast<size_t>(row)], 1, limbs);
  };
  const int64_t block_rows = block_tiles_ * tile_rows();
  return {shared_.input.points.n, shared_.input.shard.first, block_rows, state.blocks, state.adder.format(), add};
}

WideInt CpuSeeding::total(int slot) {
  return terms_of(model(slot)).total();
}

std::vector<int64_t> CpuSeeding::pick(int slot, std::span<const WideInt> targets) {
  const Model& state = model(slot);
  const SeedTerms terms = terms_of(state);
  std::vector<int64_t> rows = terms.pick(targets);
  for (const int64_t row : rows) {
    const int64_t first = row / terms.block_rows * terms.block_rows;
    state.least.give_back(static_cast<size_t>(first), static_cast<size_t>(std::min(terms.block_rows, terms.n - first)));
  }
  return rows;
}

// The models apart, each on one thread.
std::vector<std::vector<int64_t>> CpuSeeding::draw(std::span<const SeedDraw> draws) {
  std::vector<std::vector<int64_t>> rows(draws.size());
  const auto grain = std::max<int64_t>(1, static_cast<int64_t>(draws.size()) / (4 * pool_.size()));
  pool_.for_each_range(static_cast<int64_t>(draws.size()), grain, [&](int, int64_t first, int64_t last) {
    for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i) rows[i] = draw_by_picking(draws[i]);
  });
  return rows;
}

std::vector<int64_t> CpuSeeding::sample(int slot, const SeedSample& sample) {
  const Model& state = model(slot);
  const SeedTerms terms = terms_of(state);
  std::vector<std::vector<int64_t>> found(static_cast<size_t>(pool_.size()));
  const auto append = [&](int w, int64_t first, int64_t last) {
    terms.append_sample(sample, first, last, found[static_cast<size_t>(w)]);
  };
  shared_.input.memory.window.for_each_range(pool_, terms.n, 4096, append, give_back_of(state));
  std::vector<int64_t> rows;
  for (const auto& part : found) rows.insert(rows.end(), part.begin(), part.end());
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::span<const double> CpuSeeding::least(int slot) {
  const Model& state = model(slot);
  return {state.least.data(), state.least.size()};
}

}  // namespace manymeans
