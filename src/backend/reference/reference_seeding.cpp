// Seeding for k-means++ and k-means||, in the reference's plain form.
#include "backend/reference/reference_session.h"
#include "core/data_type.h"

#include <algorithm>
#include <limits>

namespace manymeans {

RowWindow::GiveBack ReferenceSeeding::give_back_of(const Model& state) {
  return [&state](int64_t first, int64_t last) {
    state.least.give_back(static_cast<size_t>(first), static_cast<size_t>(last - first));
  };
}

WideInt ReferenceSeeding::term(const Model& state, int64_t row, double least) const {
  int64_t limbs[kDistanceLimbs] = {};
  add_term(input_.weight(row) * least, state.format, 1, limbs);
  return recombine(limbs, state.format);
}

std::vector<double> ReferenceSeeding::begin(std::span<const SeedCentres> models) {
  for (const SeedCentres& begun : models) {
    Model& state = model(begun.slot);
    state.least = AlignedBuffer<double>(static_cast<size_t>(points_.n()), input_.memory.seeding);
    for_each_row(state,
                 [&](int64_t i) { state.least[static_cast<size_t>(i)] = std::numeric_limits<double>::infinity(); });
  }
  add(models);
  std::vector<double> largest;
  for (const SeedCentres& begun : models) {
    const Model& state = model(begun.slot);
    double most = 0;
    for_each_row(state,
                 [&](int64_t i) { most = std::max(most, input_.weight(i) * state.least[static_cast<size_t>(i)]); });
    largest.push_back(most);
  }
  return largest;
}

void ReferenceSeeding::fix_scale(int slot, double largest) {
  model(slot).format = SumFormat::make(input_.bits, kDistanceLimbs, largest);
}

void ReferenceSeeding::add(std::span<const SeedCentres> models) {
  for (const SeedCentres& added : models) {
    Model& state = model(added.slot);
    const std::vector<double> centres = widened(*added.centres);
    points_.for_each_block(give_back_of(state), [&](const ReferencePoints::Block& block) {
      double* least = state.least.data() + block.first;
      for (int64_t c = 0; c < added.centres->rows(); ++c) {
        const std::span<const double> d2 = points_.distances(block, centres.data() + c * added.centres->columns());
        for (size_t i = 0; i < d2.size(); ++i) least[i] = std::min(least[i], d2[i]);
      }
    });
  }
}

WideInt ReferenceSeeding::total(int slot) {
  const Model& state = model(slot);
  WideInt total;
  for_each_row(state, [&](int64_t i) { total += term(state, i, state.least[static_cast<size_t>(i)]); });
  return total;
}

std::vector<int64_t> ReferenceSeeding::pick(int slot, std::span<const WideInt> targets) {
  const Model& state = model(slot);
  std::vector<int64_t> picked;
  for (const WideInt& target : targets) {
    WideInt prefix;
    int64_t i = 0;
    RowPass pass(input_.memory.window, 0, points_.n(), give_back_of(state));
    for (;; ++i) {
      prefix += term(state, i, state.least[static_cast<size_t>(i)]);
      if (prefix > target) break;
      pass.done(i, i + 1);
    }
    picked.push_back(i);
  }
  return picked;
}

void ReferenceSeeding::trial(std::span<SeedTrial> trials) {
  for (SeedTrial& trial : trials) {
    const Model& state = model(trial.slot);
    const std::vector<double> candidates = widened(*trial.candidates);
    trial.potentials.clear();
    for (int64_t c = 0; c < trial.candidates->rows(); ++c) {
      WideInt potential;
      for_each_distance(state, candidates.data() + c * trial.candidates->columns(), [&](int64_t i, double d2) {
        potential += term(state, i, std::min(state.least[static_cast<size_t>(i)], d2));
      });
      trial.potentials.push_back(potential);
    }
  }
}

std::vector<int64_t> ReferenceSeeding::sample(int slot, const SeedSample& sample) {
  const Model& state = model(slot);
  std::vector<int64_t> rows;
  for_each_row(state, [&](int64_t i) {
    const auto row = static_cast<uint64_t>(input_.shard.first + i);
    const uint64_t u = random_u64(sample.key, row, sample.draw, Purpose::kOversample);
    const WideInt mine = term(state, i, state.least[static_cast<size_t>(i)]);
    if (sample.total.times(u) < mine.times(static_cast<uint64_t>(sample.factor)).shift_left_64()) rows.push_back(i);
  });
  return rows;
}

std::span<const double> ReferenceSeeding::least(int slot) {
  const Model& state = model(slot);
  return {state.least.data(), state.least.size()};
}

}  // namespace manymeans
