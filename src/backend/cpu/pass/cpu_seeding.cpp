// D^2 sampling for k-means++ and k-means||: the least distances and the sums of their terms.
#include "backend/cpu/pass/cpu_seeding.h"

#include "core/data_type.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace manymeans {
namespace {

constexpr int kLimbs = kDistanceLimbs;
// Half of the second cache of most server cores.
constexpr int64_t kPieceBytes = 256 << 10;
constexpr int64_t kMaxPieceTiles = 32;
// Choosing a row walks over the sums of all blocks and then over the rows of one.
constexpr int64_t kBlocks = 4096;
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
      labels_(shared, plan_, pool.size()),
      screen_(shared, *std::max_element(k.begin(), k.end()), pool),
      models_(k.size()) {
  labels_.prepare();
  plan_pieces();
}

void CpuSeeding::plan_pieces() {
  const int64_t bytes = std::max<int64_t>(1, screen_.tile_rows() * shared_.input.points.d * screen_.value_bytes());
  const auto most = static_cast<uint64_t>(std::clamp<int64_t>(kPieceBytes / bytes, 1, kMaxPieceTiles));
  piece_tiles_ = static_cast<int64_t>(std::bit_floor(most));
  block_tiles_ = std::min(
      piece_tiles_,
      static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(1, screen_.tiles() / kBlocks)))));
  for (int w = 0; w < pool_.size(); ++w) {
    Scratch& own = scratch_.emplace_back(Scratch{screen_.scratch(piece_tiles_)});
    own.d2.resize(static_cast<size_t>(screen_.tile_rows()));
  }
}

RowWindow::GiveBack CpuSeeding::give_back_of(const SeedModel& state) {
  return [&state](int64_t first, int64_t last) {
    state.least.give_back(static_cast<size_t>(first), static_cast<size_t>(last - first));
  };
}

// Calls body for pieces of all tiles and each model of `slots`. All models share one reading of the points if there are
// enough pieces. A block of rows belongs to one piece, so its sums and distances may be changed in place.
void CpuSeeding::for_each_piece(std::span<const int> slots, const Piece& body) {
  const int64_t p = screen_.tile_rows();
  const int64_t n = shared_.input.points.n;
  const auto models = static_cast<int64_t>(slots.size());
  const int64_t pieces = (screen_.tiles() + piece_tiles_ - 1) / piece_tiles_;
  if (!shared_.input.memory.window.moves() && pieces < 8 * pool_.size()) {
    const int64_t grain = std::max<int64_t>(1, pieces * models / (16 * pool_.size()));
    pool_.for_each_range(pieces * models, grain, [&](int w, int64_t begin, int64_t end) {
      for (int64_t item = begin; item < end; ++item) {
        const int64_t first = item / models * piece_tiles_;
        body(w, static_cast<size_t>(item % models), {first, std::min(screen_.tiles(), first + piece_tiles_)});
      }
    });
    return;
  }
  RowPass pass(shared_.input.memory.window, 0, n, [&](int64_t first, int64_t last) {
    for (const int slot : slots) give_back_of(model(slot))(first, last);
  });
  pool_.for_each_range(screen_.tiles(), piece_tiles_, [&](int w, int64_t first, int64_t last) {
    pass.begin(first * p);
    for (size_t i = 0; i < slots.size(); ++i) body(w, i, {first, last});
    pass.done(first * p, std::min(n, last * p));
  });
}

// Adds sign * T of a row whose least distance is `least`.
void CpuSeeding::add_term(const SeedModel& state, int64_t row, double least, int sign, int64_t* limbs) const {
  if (shared_.input.counted) {
    state.adder.add(least, sign * static_cast<int>(shared_.input.weight(row)), limbs);
  } else {
    state.adder.add(shared_.input.weight(row) * least, sign, limbs);
  }
}

// Canonical distances of a tile's rows to one centre; rows that are not in `rows` may get infinity.
const double* CpuSeeding::distances(const Matrix& centres, int64_t k, int64_t tile, uint64_t rows, int w) {
  const PointsView& points = shared_.input.points;
  const int64_t first = tile * screen_.tile_rows();
  const int64_t count = screen_.rows_of(tile);
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
      if (points.type != DataType::kFloat32) wide.resize(static_cast<size_t>(screen_.tile_rows() * points.d));
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
  const int64_t count = screen_.rows_of(tile);
  std::vector<double>& d2 = scratch(w).residuals;
  if (const auto size = static_cast<size_t>(count * centres.rows()); d2.size() < size) d2.resize(size);
  distances_.find_residuals(centres, {tile * screen_.tile_rows(), count}, worker(w).wide_f32, d2.data());
  return d2.data();
}

// Rows whose distances will be wanted: they lie far apart, so the hardware does not foresee them.
void CpuSeeding::prefetch(int64_t tile, uint64_t rows) const {
  if (screen_.exact() || shared_.input.points.d <= kLaneColumns) return;  // all of them, or several share a line
  for (uint64_t bits = rows; bits != 0; bits &= bits - 1) {
    distances_.prefetch_row(tile * screen_.tile_rows() + std::countr_zero(bits));
  }
}

// Adds what the terms change where d2 is less than the least distance; returns for which rows.
uint64_t CpuSeeding::lower(SeedModel& state, int64_t tile, const FallingRows& rows, int64_t* limbs) const {
  const Input& input = shared_.input;
  const int64_t first = tile * screen_.tile_rows() + rows.first();
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
void CpuSeeding::accept(SeedModel& state, const Matrix& centre, int64_t tile, uint64_t rows, int w) {
  if (rows == 0) return;
  const double* d2 = distances(centre, 0, tile, rows, w);
  const uint64_t lowered = lower(state, tile, {rows, d2, true}, block_of(state, tile));
  if (lowered != 0 && screen_.kept()) screen_.renew_thresholds(state, tile, lowered);
}

// The first centres: all distances.
std::vector<double> CpuSeeding::begin(std::span<const SeedCentres> models) {
  const auto n = static_cast<size_t>(shared_.input.points.n);
  std::vector<int> slots;
  for (const SeedCentres& begun : models) {
    slots.push_back(begun.slot);
    SeedModel& state = model(begun.slot);
    state = {};
    state.least = AlignedBuffer<double>(n, shared_.input.memory.seeding);
    state.centres = begun.centres->rows();
    if (!screen_.kept()) continue;
    state.thresholds = AlignedBuffer<float>(static_cast<size_t>(screen_.tiles() * screen_.tile_rows()));
    state.slack.resize(static_cast<size_t>(screen_.tiles()));
  }
  std::vector<std::vector<double>> largest(models.size(), std::vector<double>(static_cast<size_t>(pool_.size())));
  for_each_piece(slots, [&](int w, size_t i, TileRange some) {
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
double CpuSeeding::begin_tile(SeedModel& state, const Matrix& centres, int64_t tile, int w) {
  const Input& input = shared_.input;
  const int64_t first = tile * screen_.tile_rows();
  const int64_t count = screen_.rows_of(tile);
  double* least = state.least.data() + first;
  const double* all = residuals(centres, tile, w);
  for (int64_t c = 0; c < centres.rows(); ++c) {
    const double* d2 = all != nullptr ? all + c * count : distances(centres, c, tile, screen_.every_row(tile), w);
    for (int64_t i = 0; i < count; ++i) least[i] = c == 0 ? d2[i] : std::min(least[i], d2[i]);
  }
  double farthest = 0, most = 0;
  for (int64_t i = 0; i < count; ++i) {
    farthest = std::max(farthest, least[i]);
    most = std::max(most, input.counted ? least[i] : input.weight(first + i) * least[i]);
  }
  if (screen_.kept()) screen_.begin_thresholds(state, tile, farthest);
  return most;
}

void CpuSeeding::fix_scale(int slot, double largest) {
  SeedModel& state = model(slot);
  const SumFormat format = SumFormat::make(shared_.input.bits, kLimbs, largest);
  state.adder = TermAdder(format);
  state.in_lanes = format.bits <= kMaxLaneBits && std::abs(format.shift - 2 * format.bits) < 1022;
  sum_blocks(state);
}

void CpuSeeding::sum_blocks(SeedModel& state) {
  const int64_t blocks = (screen_.tiles() + block_tiles_ - 1) / block_tiles_;
  state.blocks.assign(static_cast<size_t>(blocks * kLimbs), 0);
  RowPass pass(shared_.input.memory.window, 0, shared_.input.points.n, give_back_of(state));
  const std::vector<double> zeros(static_cast<size_t>(screen_.tile_rows()));
  pool_.for_each_range(screen_.tiles(), piece_tiles_, [&](int, int64_t first, int64_t last) {
    for (int64_t t = first; t < last; ++t) {  // by how much the sums fall to zero
      int64_t limbs[kLimbs] = {};
      lower(state, t, {screen_.every_row(t), zeros.data(), false}, limbs);
      for (int g = 0; g < kLimbs; ++g) block_of(state, t)[g] -= limbs[g];
    }
    pass.done(first * screen_.tile_rows(), std::min(shared_.input.points.n, last * screen_.tile_rows()));
  });
}

void CpuSeeding::add(std::span<const SeedCentres> models) {
  std::vector<SeedTrial> single;
  std::vector<SeedCentres> tried;
  for (const SeedCentres& added : models) {
    const SeedModel& state = model(added.slot);
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
  const std::vector<SeedLook> looks = make_looks(models);
  for_each_piece(slots_of(looks), [&](int w, size_t i, TileRange some) {
    SeedModel& state = model(looks[i].slot);
    std::vector<uint64_t>& words = scratch(w).words;
    words.resize(static_cast<size_t>(some.last - some.first));
    screen_.find_rows({state, looks[i], some, scratch(w).screen}, words.data());
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
    SeedModel& state = model(added.slot);
    state.nearest = {};
    ++state.centres;
    slots.push_back(added.slot);
    columns.push_back(state.column_of[static_cast<size_t>(first_equal_row(state.tried, *added.centres, 0))]);
  }
  for_each_piece(slots, [&](int w, size_t i, TileRange some) {
    SeedModel& state = model(slots[i]);
    const uint64_t* words = state.hits.data() + columns[i];
    for (int64_t t = some.first; t < some.last; ++t) {
      if (t + kTilesAhead < some.last) prefetch(t + kTilesAhead, words[(t + kTilesAhead) * state.columns]);
      accept(state, *models[i].centres, t, words[t * state.columns], w);
    }
  });
}

// Many centres at once (k-means||): the nearest of them by the ordinary screen, then one exact distance.
void CpuSeeding::add_many(const SeedCentres& added) {
  const PassTarget target = labels_.make_target(added.slot, *added.centres, false, &pool_);
  SeedModel& state = model(target.slot);
  const int64_t p = screen_.tile_rows();
  begin_nearest(state);
  // There may be more centres than any model has prototypes, and so more scores than a pass has.
  for (Worker& worker : labels_.workers()) {
    worker.screen.reserve(plan_.tiles_per_block * p, target.packed.spans);
  }
  RowPass pass(shared_.input.memory.window, 0, shared_.input.points.n, give_back_of(state));
  pool_.for_each_range(screen_.tiles(), plan_.tiles_per_block, [&](int w, int64_t first, int64_t last) {
    TileBlock block = labels_.make_block(first, last);
    pass.begin(block.first_row);
    labels_.load_tiles(block, worker(w));
    PassResult ignored;
    labels_.find_labels(target, block, worker(w), ignored);
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
    for (int64_t t = first; screen_.kept() && t < last; ++t) screen_.renew_thresholds(state, t, screen_.every_row(t));
    pass.done(block.first_row, block.first_row + block.rows);
  });
  state.centres += target.prototypes->rows();
  sum_blocks(state);
}

// From the first centre on the nearest is known.
void CpuSeeding::begin_nearest(SeedModel& state) {
  if (state.centres != 1 || shared_.input.memory.limited) return;
  const auto n = static_cast<size_t>(shared_.input.points.n);
  state.nearest = AlignedBuffer<uint32_t>(n);
  std::fill_n(state.nearest.data(), n, uint32_t{0});
}

std::vector<int64_t> CpuSeeding::cluster_weights(int slot) {
  const SeedModel& state = model(slot);
  if (state.nearest.size() == 0) return {};
  std::vector<int64_t> weights(static_cast<size_t>(state.centres));
  for (size_t row = 0; row < state.nearest.size(); ++row) {
    weights[state.nearest[row]] += shared_.input.integer_weight(static_cast<int64_t>(row));
  }
  return weights;
}

SeedTerms CpuSeeding::terms_of(const SeedModel& state) const {
  const auto add = [this, &state](int64_t row, int64_t* limbs) {
    add_term(state, row, state.least[static_cast<size_t>(row)], 1, limbs);
  };
  const int64_t block_rows = block_tiles_ * screen_.tile_rows();
  return {shared_.input.points.n, shared_.input.shard.first, block_rows, state.blocks, state.adder.format(), add};
}

WideInt CpuSeeding::total(int slot) {
  return terms_of(model(slot)).total();
}

std::vector<int64_t> CpuSeeding::pick(int slot, std::span<const WideInt> targets) {
  const SeedModel& state = model(slot);
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
  const SeedModel& state = model(slot);
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
  const SeedModel& state = model(slot);
  return {state.least.data(), state.least.size()};
}

std::vector<int> CpuSeeding::slots_of(std::span<const SeedLook> looks) {
  std::vector<int> slots;
  for (const SeedLook& look : looks) slots.push_back(look.slot);
  return slots;
}

std::vector<SeedLook> CpuSeeding::make_looks(std::span<const SeedTrial> trials) {
  std::vector<SeedLook> looks(trials.size());
  pool_.for_each_range(static_cast<int64_t>(trials.size()), 8, [&](int, int64_t first, int64_t last) {
    for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i) {
      looks[i] = screen_.look(trials[i].slot, *trials[i].candidates);
    }
  });
  return looks;
}

// Stores the candidates and makes room for their results.
void CpuSeeding::remember(std::span<const SeedLook> looks) {
  for (const SeedLook& look : looks) {
    SeedModel& state = model(look.slot);
    state.tried = *look.centres;
    state.columns = static_cast<int64_t>(look.columns.size());
    state.column_of.assign(static_cast<size_t>(look.centres->rows()), -1);
    for (size_t c = 0; c < look.columns.size(); ++c) {
      state.column_of[static_cast<size_t>(look.columns[c].centre)] = static_cast<int64_t>(c);
    }
    state.hits.resize(static_cast<size_t>(screen_.tiles() * state.columns));
  }
}

// Remembers which rows may be lowered.
std::vector<std::vector<SeedGain>> CpuSeeding::look_at_all(std::span<const SeedLook> looks) {
  remember(looks);
  std::vector<size_t> first(looks.size() + 1);
  for (size_t i = 0; i < looks.size(); ++i) first[i + 1] = first[i] + looks[i].columns.size();
  std::vector<std::vector<SeedGain>> sums(static_cast<size_t>(pool_.size()), std::vector<SeedGain>(first.back()));
  for_each_piece(slots_of(looks), [&](int w, size_t i, TileRange some) {
    SeedModel& state = model(looks[i].slot);
    const TilesOfLook at{state, looks[i], some, scratch(w).screen};
    uint64_t* words = state.hits.data() + some.first * state.columns;
    screen_.find_rows(at, words);
    screen_.add_gains(at, words, sums[static_cast<size_t>(w)].data() + first[i]);
  });
  std::vector<std::vector<SeedGain>> gains(looks.size());
  for (size_t i = 0; i < looks.size(); ++i) {
    gains[i].resize(looks[i].columns.size());
    for (const std::vector<SeedGain>& of_worker : sums) {
      for (size_t c = 0; c < gains[i].size(); ++c) {
        gains[i][c].excess += of_worker[first[i] + c].excess;
        gains[i][c].error += of_worker[first[i] + c].error;
      }
    }
  }
  return gains;
}

// By how much the wanted columns change the sums of T, `remembered` or looked at first. Candidates that are remembered
// are known exactly afterwards.
std::vector<std::vector<WideInt>> CpuSeeding::falls(std::span<const SeedLook> looks,
                                                    std::span<const std::vector<int64_t>> wanted, bool remembered) {
  std::vector<size_t> first(looks.size() + 1);
  for (size_t i = 0; i < looks.size(); ++i) first[i + 1] = first[i] + wanted[i].size() * kLimbs;
  std::vector<std::vector<int64_t>> sums(static_cast<size_t>(pool_.size()), std::vector<int64_t>(first.back()));
  for_each_piece(slots_of(looks), [&](int w, size_t i, TileRange some) {
    const SeedLook& look = looks[i];
    SeedModel& state = model(look.slot);
    Scratch& own = scratch(w);
    const auto columns = static_cast<int64_t>(look.columns.size());
    own.words.resize(static_cast<size_t>((some.last - some.first) * columns));
    if (!remembered && !wanted[i].empty()) screen_.find_rows({state, look, some, own.screen}, own.words.data());
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
          const double* d2 =
              all != nullptr ? all + k * screen_.rows_of(t) : distances(*look.centres, k, t, words[c], w);
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
  if (!screen_.kept()) return Seeding::choose(trials);
  const std::vector<SeedLook> looks = make_looks(trials);
  const std::vector<std::vector<SeedGain>> gains = look_at_all(looks);
  std::vector<std::vector<int64_t>> wanted(looks.size());
  std::vector<int64_t> chosen(looks.size());
  bool known = true;
  for (size_t i = 0; i < looks.size(); ++i) {
    wanted[i] = screen_.contenders(model(looks[i].slot), looks[i], gains[i]);
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
  const std::vector<SeedLook> looks = make_looks(trials);
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
