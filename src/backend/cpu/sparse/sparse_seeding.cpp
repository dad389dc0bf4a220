#include "backend/cpu/sparse/sparse_seeding.h"

#include "core/data_type.h"
#include "data/gather.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

namespace manymeans {
namespace {

constexpr int64_t kRows = 256;                 // that a thread takes at a time
constexpr int64_t kBlockRows = 1024;           // whose terms have a sum
constexpr int64_t kCentres = 64;               // that are added together
constexpr size_t kMaxFalls = size_t{1} << 23;  // that all models remember
constexpr int64_t kFallBytes = 3 * 24;         // of a thread, whose vector grows, and of a model

// The values of each row that are not zero.
std::vector<WideSparseRow> sparse_rows_of(const Matrix& matrix) {
  std::vector<WideSparseRow> rows(static_cast<size_t>(matrix.rows()));
  as_float_type(matrix.type(), [&]<class T>(T) {
    const T* value = matrix.values<T>().data();
    for (WideSparseRow& row : rows) {
      for (int64_t j = 0; j < matrix.columns(); ++j, ++value) {
        if (*value == 0) continue;
        row.values.push_back(static_cast<double>(*value));
        row.columns.push_back(j);
      }
    }
  });
  return rows;
}

SparseTerms terms_in(const WideSparseRow& row) {
  return {row.values.data(), row.columns.data(), row.count()};
}

}  // namespace

// Centres are rows, so that the scale stays what it is, and with it what is known of the rows.
void SparseSeeding::take(const Matrix& centres) {
  screen_.take(centres, false, pool_);
  if (shared_.brute || screen_.factor() == factor_) return;
  factor_ = screen_.factor();
  bounds_.resize(static_cast<size_t>(shared_.view.n));
  pool_.for_each_range(shared_.view.n, kRows, [&](int, int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) bounds_[static_cast<size_t>(i)] = screen_.bounds_of(i);
  });
}

template <class Body>
void SparseSeeding::for_each_nearer_centre(const Model& state, const Matrix& centres, Body&& body) {
  const std::vector<WideSparseRow> rows = sparse_rows_of(centres);
  take(centres);
  if (shared_.brute) bounds_.resize(static_cast<size_t>(shared_.view.n));
  pool_.for_each_range(shared_.view.n, kRows, [&](int w, int64_t first, int64_t last) {
    Worker& worker = workers_[static_cast<size_t>(w)];
    SparseScratch& scratch = worker.scratch;
    for (int64_t i = first; i < last; ++i) {
      const double least = state.least[static_cast<size_t>(i)];
      const std::span<const uint32_t> found = screen_.nearer(scratch, i, bounds_[static_cast<size_t>(i)], least);
      if (!found.empty()) scratch.row.read(shared_.view, i);
      for (const uint32_t c : found) {
        const double d2 = shared_.kernels.sparse.distance(terms_in(scratch.row), terms_in(rows[c]));
        if (d2 < least) body(worker, NearerCentre{i, d2, c});
      }
    }
  });
}

// Few centres at a time: each of them leaves less for the next.
void SparseSeeding::lower(Model& state, const Matrix& centres) {
  for (int64_t first = 0; first < centres.rows(); first += kCentres) {
    std::vector<int64_t> some(static_cast<size_t>(std::min(kCentres, centres.rows() - first)));
    std::iota(some.begin(), some.end(), first);
    const Matrix group = gather_rows(centres.view(), some);
    for_each_nearer_centre(state, group, [&](Worker&, const NearerCentre& found) {
      double& least = state.least[static_cast<size_t>(found.row)];  // a row has one thread
      least = std::min(least, found.d2);
    });
  }
}

std::vector<double> SparseSeeding::begin(std::span<const SeedCentres> models) {
  std::vector<double> largest;
  for (const SeedCentres& begun : models) {
    Model& state = model(begun.slot);
    state.least.assign(static_cast<size_t>(shared_.view.n), std::numeric_limits<double>::infinity());
    state.tried = {};
    lower(state, *begun.centres);
    double most = 0;
    for (size_t i = 0; i < state.least.size(); ++i) {
      most = std::max(most, shared_.input.weight(static_cast<int64_t>(i)) * state.least[i]);
    }
    largest.push_back(most);
  }
  return largest;
}

void SparseSeeding::fix_scale(int slot, double largest) {
  Model& state = model(slot);
  state.adder = TermAdder(SumFormat::make(shared_.input.bits, kDistanceLimbs, largest));
  sum_blocks(state);
}

void SparseSeeding::sum_blocks(Model& state) {
  const int64_t n = shared_.view.n;
  const int64_t blocks = (n + kBlockRows - 1) / kBlockRows;
  state.blocks.assign(static_cast<size_t>(blocks * kDistanceLimbs), 0);
  pool_.for_each_range(blocks, 1, [&](int, int64_t block, int64_t) {
    int64_t* sums = state.blocks.data() + block * kDistanceLimbs;
    for (int64_t i = block * kBlockRows; i < std::min(n, (block + 1) * kBlockRows); ++i) {
      state.adder.add(shared_.input.weight(i) * state.least[static_cast<size_t>(i)], 1, sums);
    }
  });
}

void SparseSeeding::add(std::span<const SeedCentres> models) {
  for (const SeedCentres& added : models) {
    Model& state = model(added.slot);
    if (!add_tried(state, *added.centres)) lower(state, *added.centres);
    state.tried = {};
    state.nearer.clear();
    sum_blocks(state);
  }
}

bool SparseSeeding::add_tried(Model& state, const Matrix& centre) {
  if (centre.rows() != 1 || state.tried.empty()) return false;
  const auto size = centre.bytes().size();
  for (int64_t c = 0; c < state.tried.rows(); ++c) {
    if (std::memcmp(state.tried.bytes().data() + static_cast<size_t>(c) * size, centre.bytes().data(), size) != 0) {
      continue;
    }
    for (const std::vector<NearerCentre>& some : state.nearer) {
      for (const NearerCentre& found : some) {
        if (found.centre == static_cast<uint32_t>(c)) state.least[static_cast<size_t>(found.row)] = found.d2;
      }
    }
    return true;
  }
  return false;
}

SeedTerms SparseSeeding::terms_of(const Model& state) const {
  const auto add = [this, &state](int64_t row, int64_t* limbs) {
    state.adder.add(shared_.input.weight(row) * state.least[static_cast<size_t>(row)], 1, limbs);
  };
  return {shared_.view.n, shared_.input.shard.first, kBlockRows, state.blocks, state.adder.format(), add};
}

std::vector<int64_t> SparseSeeding::pick(int slot, std::span<const WideInt> targets) {
  return terms_of(model(slot)).pick(targets);
}

void SparseSeeding::trial(std::span<SeedTrial> trials) {
  for (SeedTrial& trial : trials) try_candidates(model(trial.slot), trial);
}

// Of a thread and model. Under a limit, bounds that are carried from pass to pass give their room: there are none.
size_t SparseSeeding::max_falls() const {
  const MemoryPlan& memory = shared_.input.memory;
  const size_t room = memory.limited ? static_cast<size_t>(memory.bounds / kFallBytes) : kMaxFalls;
  return std::min(room, kMaxFalls) / (models_.size() * workers_.size());
}

// The total, less by how much the terms of the rows that come nearer fall.
void SparseSeeding::try_candidates(Model& state, SeedTrial& trial) {
  const auto count = static_cast<size_t>(trial.candidates->rows());
  for (Worker& worker : workers_) {
    worker.limbs.assign(count * kDistanceLimbs, 0);
    worker.nearer.clear();
  }
  const size_t most = max_falls();
  for_each_nearer_centre(state, *trial.candidates, [&](Worker& worker, const NearerCentre& found) {
    const double weight = shared_.input.weight(found.row);
    int64_t* limbs = worker.limbs.data() + found.centre * static_cast<size_t>(kDistanceLimbs);
    state.adder.add(weight * state.least[static_cast<size_t>(found.row)], 1, limbs);
    state.adder.add(weight * found.d2, -1, limbs);
    if (worker.nearer.size() <= most) worker.nearer.push_back(found);
  });
  const WideInt all = terms_of(state).total();
  trial.potentials.clear();
  for (size_t c = 0; c < count; ++c) {
    WideInt fallen;
    for (const Worker& worker : workers_) {
      fallen += recombine(worker.limbs.data() + c * kDistanceLimbs, state.adder.format());
    }
    trial.potentials.push_back(all - fallen);
  }
  remember(state, *trial.candidates);
}

void SparseSeeding::remember(Model& state, const Matrix& candidates) {
  const size_t most = max_falls();
  state.tried = {};
  state.nearer.clear();
  if (std::ranges::any_of(workers_, [&](const Worker& worker) { return worker.nearer.size() > most; })) return;
  state.tried = candidates;
  for (Worker& worker : workers_) state.nearer.push_back(worker.nearer);
}

std::vector<int64_t> SparseSeeding::sample(int slot, const SeedSample& sample) {
  const SeedTerms terms = terms_of(model(slot));
  std::vector<std::vector<int64_t>> found(workers_.size());
  pool_.for_each_range(terms.n, 4096, [&](int w, int64_t first, int64_t last) {
    terms.append_sample(sample, first, last, found[static_cast<size_t>(w)]);
  });
  std::vector<int64_t> rows;
  for (const auto& part : found) rows.insert(rows.end(), part.begin(), part.end());
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace manymeans
