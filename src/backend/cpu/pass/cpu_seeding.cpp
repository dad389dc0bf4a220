// D^2 sampling for k-means++ and k-means||, for all models of an ensemble in the same passes. A candidate pays an
// exact distance only for rows whose upper score says that it may be nearer than the centres so far.
#include "backend/cpu/pass/cpu_seeding.h"

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

}  // namespace

CpuSeeding::CpuSeeding(const CpuShared& shared, std::span<const int64_t> k, ThreadPool& pool)
    : shared_(shared), pool_(pool), session_(shared, k, pool), models_(k.size()) {
  session_.prepare_workers(0);
}

RowWindow::GiveBack CpuSeeding::give_back_of(const Model& state) {
  return [&state](int64_t first, int64_t last) {
    state.least.give_back(static_cast<size_t>(first), static_cast<size_t>(last - first));
  };
}

int64_t CpuSeeding::block_rows() const {
  const int64_t p = session_.tile_rows();
  return std::max<int64_t>(1, kBlockRows / p) * p;
}

// Adds sign * T of a row whose least distance is `least`.
void CpuSeeding::add_term(const Model& state, int64_t row, double least, int sign, int64_t* limbs) const {
  if (shared_.input.counted) {
    state.adder.add(least, sign * static_cast<int>(shared_.input.weight(row)), limbs);
  } else {
    state.adder.add(shared_.input.weight(row) * least, sign, limbs);
  }
}

// The first centres: all distances.
std::vector<double> CpuSeeding::begin(std::span<const SeedCentres> models) {
  std::vector<double> largest;
  for (const SeedCentres& begun : models) largest.push_back(begin(model(begun.slot), *begun.centres));
  return largest;
}

double CpuSeeding::begin(Model& state, const Matrix& centres) {
  const int64_t n = shared_.input.points.n;
  state.least = AlignedBuffer<double>(static_cast<size_t>(n), shared_.input.memory.seeding);
  state.tried = {};
  state.lowered.clear();
  std::vector<double> largest(static_cast<size_t>(pool_.size()), 0.0);
  const auto begin_rows = [&](int w, int64_t first, int64_t last) {
    double most = 0;
    for (int64_t row = first; row < last; ++row) {
      double d2 = session_.distance(row, centres, 0, worker(w));
      for (int64_t c = 1; c < centres.rows(); ++c) d2 = std::min(d2, session_.distance(row, centres, c, worker(w)));
      state.least[static_cast<size_t>(row)] = d2;
      most = std::max(most, shared_.input.counted ? d2 : shared_.input.weight(row) * d2);
    }
    largest[static_cast<size_t>(w)] = std::max(largest[static_cast<size_t>(w)], most);
  };
  shared_.input.memory.window.for_each_range(pool_, n, block_rows(), begin_rows, give_back_of(state));
  return *std::max_element(largest.begin(), largest.end());
}

void CpuSeeding::fix_scale(int slot, double largest) {
  Model& state = model(slot);
  state.adder = TermAdder(SumFormat::make(shared_.input.bits, kLimbs, largest));
  sum_blocks(state);
}

void CpuSeeding::sum_blocks(Model& state) {
  const int64_t n = shared_.input.points.n;
  const int64_t block = block_rows();
  state.blocks.assign(static_cast<size_t>((n + block - 1) / block * kLimbs), 0);
  RowPass pass(shared_.input.memory.window, 0, n, give_back_of(state));
  pool_.for_each_range(n, block, [&](int, int64_t first, int64_t last) {
    int64_t* limbs = state.blocks.data() + first / block * kLimbs;
    for (int64_t row = first; row < last; ++row) {
      add_term(state, row, state.least[static_cast<size_t>(row)], 1, limbs);
    }
    pass.done(first, last);
  });
}

// Calls body(row, k) for every row of the tile and prototype k that may be nearer than the row's least distance.
template <class Body>
void CpuSeeding::for_each_hit(const Target& target, const Model& state, const RowsOfTile& rows, Worker& worker,
                              Body&& body) const {
  const Tile& tile = rows.tile;
  const int64_t p = session_.tile_rows();
  const PackedPrototypes& packed = target.packed;
  worker.thresholds.resize(static_cast<size_t>(p));
  worker.hits.resize(static_cast<size_t>(packed.spans * kSpanColumns));
  // d2 >= least is sure when 2 u <= |y|^2 - least, in scaled units: docs/developer/screens.md, "Seeding".
  shared_.kernels.seed_thresholds({tile.norms, state.least.data() + rows.first, tile.rows, shared_.packed.frame().scale,
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
        body(rows.first + std::countr_zero(bits), k);
      }
    }
  }
}

// Calls visit(worker, target, row, k) for all rows and prototypes k of targets that may lower the row's least
// distance; all targets in one reading of the points.
template <class Visit>
void CpuSeeding::for_each_possible(std::span<const Target> targets, Visit&& visit) {
  const int64_t n = shared_.input.points.n;
  const int64_t p = session_.tile_rows();
  RowPass pass(shared_.input.memory.window, 0, n, [&](int64_t first, int64_t last) {
    for (const Target& target : targets) {
      model(target.slot).least.give_back(static_cast<size_t>(first), static_cast<size_t>(last - first));
    }
  });
  // Packing a tile costs more than the distances of its rows to one prototype.
  const bool few = !shared_.plan.packed && targets.size() == 1 && targets[0].prototypes->rows() == 1;
  const bool exact = shared_.plan.brute || few;
  pool_.for_each_range(n, block_rows(), [&](int w, int64_t first, int64_t last) {
    for (int64_t row = first; row < last; row += p) {
      const int64_t end = std::min(last, row + p);
      pass.begin(row);
      Tile tile{};
      if (!exact) tile = shared_.packed.tile(row / p, worker(w).tiles.data());
      for (size_t i = 0; i < targets.size(); ++i) {
        const Model& state = model(targets[i].slot);
        if (!exact && targets[i].packed.screenable) {
          for_each_hit(targets[i], state, {tile, row}, worker(w), [&](int64_t hit, int64_t k) { visit(w, i, hit, k); });
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

void CpuSeeding::add(std::span<const SeedCentres> models) {
  std::vector<Target> single;
  std::vector<SeedCentres> tried;
  for (const SeedCentres& added : models) {
    const Model& state = model(added.slot);
    if (added.centres->rows() > 1) {
      add_many(session_.make_target(added.slot, *added.centres));
    } else if (!state.lowered.empty() && first_equal_row(state.tried, *added.centres, 0) >= 0) {
      tried.push_back(added);
    } else {
      single.push_back(session_.make_target(added.slot, *added.centres));
    }
  }
  for_each_possible(single, [&](int w, size_t i, int64_t row, int64_t) {
    lower(model(single[i].slot), *single[i].prototypes, row, worker(w));
  });
  add_tried(tried);
}

// Gives a row its distance to a new centre where that is less. A block of rows belongs to one thread, so its sums and
// distances are changed in place.
void CpuSeeding::lower(Model& state, const Matrix& centre, int64_t row, Worker& worker) {
  double& least = state.least[static_cast<size_t>(row)];
  const double d2 = session_.distance(row, centre, 0, worker);
  if (!(d2 < least)) return;
  int64_t* limbs = state.blocks.data() + row / block_rows() * kLimbs;
  add_term(state, row, least, -1, limbs);
  add_term(state, row, d2, 1, limbs);
  least = d2;
}

// Centres that were candidates of the last trial: the rows that they lower are known.
void CpuSeeding::add_tried(std::span<const SeedCentres> models) {
  if (models.empty()) return;
  const int64_t p = session_.tile_rows();
  pool_.for_each_range(shared_.input.points.n, block_rows(), [&](int w, int64_t first, int64_t last) {
    for (const SeedCentres& added : models) {
      Model& state = model(added.slot);
      const int64_t k = first_equal_row(state.tried, *added.centres, 0);
      for (int64_t row = first; row < last; row += p) {
        for (uint64_t bits = state.lowered[static_cast<size_t>(row / p * state.tried.rows() + k)]; bits != 0;
             bits &= bits - 1) {
          lower(state, *added.centres, row + std::countr_zero(bits), worker(w));
        }
      }
    }
  });
}

// Many centres at once (k-means||): the nearest of them by the ordinary screen, then one exact distance.
void CpuSeeding::add_many(const Target& target) {
  Model& state = model(target.slot);
  const int64_t p = session_.tile_rows();
  const int64_t tiles = (shared_.input.points.n + p - 1) / p;
  // There may be more centres than any model has prototypes, and so more scores than a pass has.
  for (Worker& worker : session_.workers_) {
    worker.screen.reserve(session_.plan_.tiles_per_block * p, target.packed.spans);
  }
  RowPass pass(shared_.input.memory.window, 0, shared_.input.points.n, give_back_of(state));
  pool_.for_each_range(tiles, session_.plan_.tiles_per_block, [&](int w, int64_t first, int64_t last) {
    CpuSession::TileBlock block = session_.make_block(first, last);
    pass.begin(block.first_row);
    session_.load_tiles(block, worker(w));
    PassResult ignored;
    session_.find_labels(target, block, worker(w), ignored);
    for (int64_t i = 0; i < block.rows; ++i) {
      double& least = state.least[static_cast<size_t>(block.first_row + i)];
      const uint32_t nearest = worker(w).labels[static_cast<size_t>(i)];
      least = std::min(least, session_.distance(block.first_row + i, *target.prototypes, nearest, worker(w)));
    }
    pass.done(block.first_row, block.first_row + block.rows);
  });
  sum_blocks(state);
}

SeedTerms CpuSeeding::terms_of(const Model& state) const {
  const auto add = [this, &state](int64_t row, int64_t* limbs) {
    add_term(state, row, state.least[static_cast<size_t>(row)], 1, limbs);
  };
  return {shared_.input.points.n, shared_.input.shard.first, block_rows(), state.blocks, state.adder.format(), add};
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

void CpuSeeding::trial(std::span<SeedTrial> trials) {
  std::vector<Target> targets;
  for (const SeedTrial& trial : trials) targets.push_back(session_.make_target(trial.slot, *trial.candidates));
  // Per thread, trial and candidate: by how much the potential falls.
  std::vector<size_t> first(trials.size() + 1);
  for (size_t i = 0; i < trials.size(); ++i) {
    first[i + 1] = first[i] + static_cast<size_t>(trials[i].candidates->rows()) * kLimbs;
  }
  std::vector<std::vector<int64_t>> gains(static_cast<size_t>(pool_.size()), std::vector<int64_t>(first.back()));
  const int64_t p = session_.tile_rows();
  const bool remembers = !shared_.input.memory.limited;
  if (remembers) {
    for (const SeedTrial& trial : trials) {
      Model& state = model(trial.slot);
      state.tried = *trial.candidates;
      state.lowered.assign(static_cast<size_t>((shared_.input.points.n + p - 1) / p * state.tried.rows()), 0);
    }
  }
  for_each_possible(targets, [&](int w, size_t i, int64_t row, int64_t k) {
    Model& state = model(targets[i].slot);
    const double least = state.least[static_cast<size_t>(row)];
    const double d2 = session_.distance(row, *targets[i].prototypes, k, worker(w));
    if (!(d2 < least)) return;
    int64_t* gain = gains[static_cast<size_t>(w)].data() + first[i] + static_cast<size_t>(k) * kLimbs;
    add_term(state, row, least, 1, gain);
    add_term(state, row, d2, -1, gain);
    if (remembers) {
      state.lowered[static_cast<size_t>(row / p * state.tried.rows() + k)] |= uint64_t{1} << (row % p);
    }
  });
  for (size_t i = 0; i < trials.size(); ++i) {
    const SumFormat& format = model(trials[i].slot).adder.format();
    const Matrix& candidates = *trials[i].candidates;
    const WideInt before = total(trials[i].slot);
    trials[i].potentials.clear();
    for (int64_t k = 0; k < candidates.rows(); ++k) {
      WideInt potential = before;
      // A candidate that repeats an earlier one is not screened: it has that one's gains.
      const auto same = static_cast<size_t>(first_equal_row(candidates, candidates, k));
      for (const auto& gain : gains) potential = potential - recombine(gain.data() + first[i] + same * kLimbs, format);
      trials[i].potentials.push_back(potential);
    }
  }
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
