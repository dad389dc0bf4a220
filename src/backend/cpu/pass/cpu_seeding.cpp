// D^2 sampling for k-means++ and k-means||, for all models of an ensemble in the same passes. A candidate pays an
// exact distance only for rows whose upper score says that it may be nearer than the centres so far.
#include "backend/cpu/pass/cpu_session.h"
#include "data/gather.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace manymeans {
namespace {

constexpr int kLimbs = kDistanceLimbs;
constexpr int64_t kBlockRows = 1024;  // about: whole tiles

// The first row of `rows` with the bits of row k of `wanted`; -1: there is none.
int64_t first_equal_row(const Matrix& rows, const Matrix& wanted, int64_t k) {
  const size_t bytes = static_cast<size_t>(rows.columns()) * size_of(rows.type());
  const std::byte* row = wanted.bytes().data() + static_cast<size_t>(k) * bytes;
  for (int64_t i = 0; i < rows.rows(); ++i) {
    if (std::memcmp(rows.bytes().data() + static_cast<size_t>(i) * bytes, row, bytes) == 0) return i;
  }
  return -1;
}

RowPass::GiveBack give_back_of(const SeedState& state) {
  return [&state](int64_t first, int64_t last) {
    state.least.give_back(static_cast<size_t>(first), static_cast<size_t>(last - first));
  };
}

}  // namespace

int64_t CpuSession::seed_block_rows() const {
  const int64_t p = tile_rows();
  return std::max<int64_t>(1, kBlockRows / p) * p;
}

// Adds sign * T of a row whose least distance is `least`.
void CpuSession::seed_add_terms(const SeedState& state, int64_t row, double least, int sign, int64_t* limbs) const {
  if (shared_.input.counted) {
    state.adder.add(least, sign * static_cast<int>(shared_.input.weight(row)), limbs);
  } else {
    state.adder.add(shared_.input.weight(row) * least, sign, limbs);
  }
}

// The first centre: all distances, and from the largest term the format of all sums to come.
void CpuSession::seed_begin(SeedState& state, const Matrix& centre) {
  const int64_t n = shared_.input.points.n;
  state.least = AlignedBuffer<double>(static_cast<size_t>(n), shared_.input.memory.seeding);
  state.tried = {};
  state.lowered.clear();
  std::vector<double> largest(workers_.size(), 0.0);
  const auto begin_rows = [&](int w, int64_t first, int64_t last) {
    Worker& worker = workers_[static_cast<size_t>(w)];
    double most = 0;
    for (int64_t row = first; row < last; ++row) {
      const double d2 = distance(row, centre, 0, worker);
      state.least[static_cast<size_t>(row)] = d2;
      most = std::max(most, shared_.input.counted ? d2 : shared_.input.weight(row) * d2);
    }
    largest[static_cast<size_t>(w)] = std::max(largest[static_cast<size_t>(w)], most);
  };
  for_each_row_range(shared_.input.memory.window, pool_, n, seed_block_rows(), begin_rows, give_back_of(state));
  state.adder =
      TermAdder(SumFormat::make(shared_.input.bits, kLimbs, *std::max_element(largest.begin(), largest.end())));
  seed_sum_blocks(state);
}

void CpuSession::seed_sum_blocks(SeedState& state) {
  const int64_t n = shared_.input.points.n;
  const int64_t block = seed_block_rows();
  state.blocks.assign(static_cast<size_t>((n + block - 1) / block * kLimbs), 0);
  RowPass pass(shared_.input.memory.window, 0, n, give_back_of(state));
  pool_.for_each_range(n, block, [&](int, int64_t first, int64_t last) {
    int64_t* limbs = state.blocks.data() + first / block * kLimbs;
    for (int64_t row = first; row < last; ++row) {
      seed_add_terms(state, row, state.least[static_cast<size_t>(row)], 1, limbs);
    }
    pass.done(first, last);
  });
}

// Calls body(row, k) for every row of the tile and prototype k that may be nearer than the row's least distance.
template <class Body>
void CpuSession::for_each_hit(const Target& target, const SeedState& state, const Tile& tile, int64_t first_row,
                              Worker& worker, Body&& body) const {
  const int64_t p = tile_rows();
  const PackedPrototypes& packed = target.packed;
  worker.thresholds.resize(static_cast<size_t>(p));
  worker.hits.resize(static_cast<size_t>(packed.spans * kSpanColumns));
  // d2 >= least is sure when 2 u <= |y|^2 - least, in scaled units: docs/developer/screens.md, "Seeding".
  shared_.kernels.seed_thresholds({tile.norms, state.least.data() + first_row, tile.rows, shared_.packed.frame().scale,
                                   static_cast<double>(packed.underflow), worker.thresholds.data()});
  std::fill(worker.thresholds.begin() + tile.rows, worker.thresholds.end(), std::numeric_limits<float>::infinity());
  const MatrixSteps steps = shared_.packed.layout().steps();
  shared_.packed.screen().hits({packed.view(0, packed.spans, shared_.packed, steps), tile.values, tile.radii,
                                worker.thresholds.data(), worker.hits.data()});
  for (int64_t span = 0; span < packed.spans; ++span) {
    const int64_t first = span * kSpanColumns;
    for (int64_t c = first; c < first + packed.columns[static_cast<size_t>(span)]; ++c) {
      const auto k = static_cast<int64_t>(packed.order[static_cast<size_t>(c)]);
      for (uint64_t bits = worker.hits[static_cast<size_t>(c)]; bits != 0; bits &= bits - 1) {
        body(first_row + std::countr_zero(bits), k);
      }
    }
  }
}

// Calls visit(worker, target, row, k) for all rows and prototypes k of targets that may lower the row's least
// distance; all targets in one reading of the points.
template <class Visit>
void CpuSession::for_each_possible(std::span<const Target> targets, Visit&& visit) {
  const int64_t n = shared_.input.points.n;
  const int64_t p = tile_rows();
  RowPass pass(shared_.input.memory.window, 0, n, [&](int64_t first, int64_t last) {
    for (const Target& target : targets) {
      model(target.slot).seed.least.give_back(static_cast<size_t>(first), static_cast<size_t>(last - first));
    }
  });
  // Packing a tile costs more than the distances of its rows to one prototype.
  const bool few = !shared_.plan.packed && targets.size() == 1 && targets[0].prototypes->rows() == 1;
  const bool exact = shared_.plan.brute || few;
  pool_.for_each_range(n, seed_block_rows(), [&](int w, int64_t first, int64_t last) {
    Worker& worker = workers_[static_cast<size_t>(w)];
    for (int64_t row = first; row < last; row += p) {
      const int64_t end = std::min(last, row + p);
      pass.begin(row);
      Tile tile{};
      if (!exact) tile = shared_.packed.tile(row / p, worker.tiles.data());
      for (size_t i = 0; i < targets.size(); ++i) {
        const SeedState& state = model(targets[i].slot).seed;
        if (!exact && targets[i].packed.screenable) {
          for_each_hit(targets[i], state, tile, row, worker, [&](int64_t hit, int64_t k) { visit(w, i, hit, k); });
          continue;
        }
        for (int64_t all = row; all < end; ++all) {
          for (int64_t k = 0; k < targets[i].prototypes->rows(); ++k) visit(w, i, all, k);
        }
      }
      pass.done(row, end);
    }
  });
}

void CpuSession::seed_add(std::span<const SeedCentres> models) {
  prepare_workers(0);
  std::vector<Target> single;
  std::vector<SeedCentres> tried;
  for (const SeedCentres& added : models) {
    SeedState& state = model(added.slot).seed;
    if (added.first) {
      seed_begin(state, *added.centres);
    } else if (added.centres->rows() > 1) {
      seed_add_many(make_target(added.slot, *added.centres));
    } else if (!state.lowered.empty() && first_equal_row(state.tried, *added.centres, 0) >= 0) {
      tried.push_back(added);
    } else {
      single.push_back(make_target(added.slot, *added.centres));
    }
  }
  for_each_possible(single, [&](int w, size_t i, int64_t row, int64_t) {
    seed_lower(model(single[i].slot).seed, *single[i].prototypes, row, workers_[static_cast<size_t>(w)]);
  });
  seed_add_tried(tried);
}

// Gives a row its distance to a new centre where that is less. A block of rows belongs to one thread, so its sums and
// distances are changed in place.
void CpuSession::seed_lower(SeedState& state, const Matrix& centre, int64_t row, Worker& worker) {
  double& least = state.least[static_cast<size_t>(row)];
  const double d2 = distance(row, centre, 0, worker);
  if (!(d2 < least)) return;
  int64_t* limbs = state.blocks.data() + row / seed_block_rows() * kLimbs;
  seed_add_terms(state, row, least, -1, limbs);
  seed_add_terms(state, row, d2, 1, limbs);
  least = d2;
}

// Centres that were candidates of the last trial: the rows that they lower are known.
void CpuSession::seed_add_tried(std::span<const SeedCentres> models) {
  if (models.empty()) return;
  const int64_t p = tile_rows();
  pool_.for_each_range(shared_.input.points.n, seed_block_rows(), [&](int w, int64_t first, int64_t last) {
    for (const SeedCentres& added : models) {
      SeedState& state = model(added.slot).seed;
      const int64_t k = first_equal_row(state.tried, *added.centres, 0);
      for (int64_t row = first; row < last; row += p) {
        for (uint64_t bits = state.lowered[static_cast<size_t>(row / p * state.tried.rows() + k)]; bits != 0;
             bits &= bits - 1) {
          seed_lower(state, *added.centres, row + std::countr_zero(bits), workers_[static_cast<size_t>(w)]);
        }
      }
    }
  });
}

// Many centres at once (k-means||): the nearest of them by the ordinary screen, then one exact distance.
void CpuSession::seed_add_many(const Target& target) {
  SeedState& state = model(target.slot).seed;
  const int64_t p = tile_rows();
  const int64_t tiles = (shared_.input.points.n + p - 1) / p;
  // There may be more centres than any model has prototypes, and so more scores than a pass has.
  const auto scores = static_cast<size_t>(plan_.tiles_per_group * p * target.packed.spans);
  for (Worker& worker : workers_) {
    for (AlignedBuffer<float>* buffer : {&worker.best, &worker.second, &worker.third}) {
      if (buffer->size() < scores) *buffer = AlignedBuffer<float>(scores);
    }
  }
  RowPass pass(shared_.input.memory.window, 0, shared_.input.points.n, give_back_of(state));
  pool_.for_each_range(tiles, plan_.tiles_per_group, [&](int w, int64_t first, int64_t last) {
    Worker& worker = workers_[static_cast<size_t>(w)];
    Group group = make_group(first, last);
    pass.begin(group.first_row);
    load_tiles(group, worker);
    PassResult ignored;
    find_labels(target, group, worker, ignored);
    for (int64_t i = 0; i < group.rows; ++i) {
      double& least = state.least[static_cast<size_t>(group.first_row + i)];
      least = std::min(
          least, distance(group.first_row + i, *target.prototypes, worker.labels[static_cast<size_t>(i)], worker));
    }
    pass.done(group.first_row, group.first_row + group.rows);
  });
  seed_sum_blocks(state);
}

SeedTerms CpuSession::seed_terms(const SeedState& state) const {
  const auto add = [this, &state](int64_t row, int64_t* limbs) {
    seed_add_terms(state, row, state.least[static_cast<size_t>(row)], 1, limbs);
  };
  return {shared_.input.points.n, seed_block_rows(), state.blocks, state.adder.format(), add};
}

WideInt CpuSession::seed_total(int slot) {
  return seed_terms(model(slot).seed).total();
}

std::vector<int64_t> CpuSession::seed_pick(int slot, std::span<const uint64_t> u) {
  const SeedState& state = model(slot).seed;
  const SeedTerms terms = seed_terms(state);
  std::vector<int64_t> rows = terms.pick(u);
  for (const int64_t row : rows) {
    const int64_t first = row / terms.block_rows * terms.block_rows;
    state.least.give_back(static_cast<size_t>(first), static_cast<size_t>(std::min(terms.block_rows, terms.n - first)));
  }
  return rows;
}

void CpuSession::seed_try(std::span<SeedTrial> trials) {
  prepare_workers(0);
  std::vector<Matrix> candidates;
  std::vector<Target> targets;
  for (const SeedTrial& trial : trials) candidates.push_back(gather_rows(shared_.input, trial.rows));
  for (size_t i = 0; i < trials.size(); ++i) targets.push_back(make_target(trials[i].slot, candidates[i]));
  // Per thread, trial and candidate: by how much the potential falls.
  std::vector<size_t> first(trials.size() + 1);
  for (size_t i = 0; i < trials.size(); ++i) first[i + 1] = first[i] + trials[i].rows.size() * kLimbs;
  std::vector<std::vector<int64_t>> gains(workers_.size(), std::vector<int64_t>(first.back()));
  const int64_t p = tile_rows();
  const bool remembers = !shared_.input.memory.limited;
  if (remembers) {
    for (size_t i = 0; i < trials.size(); ++i) {
      SeedState& state = model(trials[i].slot).seed;
      state.lowered.assign(static_cast<size_t>((shared_.input.points.n + p - 1) / p * candidates[i].rows()), 0);
      state.tried = candidates[i];
    }
  }
  for_each_possible(targets, [&](int w, size_t i, int64_t row, int64_t k) {
    SeedState& state = model(targets[i].slot).seed;
    const double least = state.least[static_cast<size_t>(row)];
    const double d2 = distance(row, candidates[i], k, workers_[static_cast<size_t>(w)]);
    if (!(d2 < least)) return;
    int64_t* gain = gains[static_cast<size_t>(w)].data() + first[i] + static_cast<size_t>(k) * kLimbs;
    seed_add_terms(state, row, least, 1, gain);
    seed_add_terms(state, row, d2, -1, gain);
    if (remembers) {
      state.lowered[static_cast<size_t>(row / p * candidates[i].rows() + k)] |= uint64_t{1} << (row % p);
    }
  });
  for (size_t i = 0; i < trials.size(); ++i) {
    const SumFormat& format = model(trials[i].slot).seed.adder.format();
    const WideInt total = seed_total(trials[i].slot);
    trials[i].potentials.clear();
    for (size_t k = 0; k < trials[i].rows.size(); ++k) {
      WideInt potential = total;
      // A candidate that repeats an earlier one is not screened: it has that one's gains.
      const auto same = static_cast<size_t>(first_equal_row(candidates[i], candidates[i], static_cast<int64_t>(k)));
      for (const auto& gain : gains) potential = potential - recombine(gain.data() + first[i] + same * kLimbs, format);
      trials[i].potentials.push_back(potential);
    }
  }
}

std::vector<int64_t> CpuSession::seed_sample(int slot, uint64_t key, uint32_t draw, int64_t factor) {
  const SeedState& state = model(slot).seed;
  const SeedTerms terms = seed_terms(state);
  const SeedSample sample{key, draw, factor, terms.total()};
  std::vector<std::vector<int64_t>> found(workers_.size());
  const auto append = [&](int w, int64_t first, int64_t last) {
    sample.append(terms, first, last, found[static_cast<size_t>(w)]);
  };
  for_each_row_range(shared_.input.memory.window, pool_, terms.n, 4096, append, give_back_of(state));
  std::vector<int64_t> rows;
  for (const auto& part : found) rows.insert(rows.end(), part.begin(), part.end());
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::span<const double> CpuSession::seed_least(int slot) const {
  const SeedState& state = models_[static_cast<size_t>(slot)].seed;
  return {state.least.data(), state.least.size()};
}

void CpuSession::seed_end() {
  for (Model& m : models_) m.seed = {};
}

}  // namespace manymeans
