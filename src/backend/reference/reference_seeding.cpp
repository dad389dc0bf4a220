// What k-means++ and k-means|| ask of a backend, in the reference's plain form.
#include "backend/reference/reference_session.h"
#include "core/data_type.h"
#include "core/distance.h"

#include <algorithm>
#include <limits>

namespace manymeans {

WideInt ReferenceSession::seed_term(const Model& state, int64_t row, double least) const {
  int64_t limbs[kDistanceLimbs] = {};
  add_term(input_.weight(row) * least, state.seed_format, 1, limbs);
  return recombine(limbs, state.seed_format);
}

void ReferenceSession::seed_add(std::span<const SeedCentres> models) {
  for (const SeedCentres& seed : models) {
    Model& state = model(seed.slot);
    if (seed.first) state.least = AlignedBuffer<double>(static_cast<size_t>(n()), input_.memory.seeding);
    const std::vector<double> centres = widened(*seed.centres);
    double largest = 0;
    for_each_row(state, [&](int64_t i) {
      double& least = state.least[static_cast<size_t>(i)];
      if (seed.first) least = std::numeric_limits<double>::infinity();
      const double* x = point(i);
      for (int64_t c = 0; c < seed.centres->rows(); ++c) {
        least = std::min(least, canonical_distance(x, centres.data() + c * d(), d()));
      }
      largest = std::max(largest, input_.weight(i) * least);
    });
    // Later centres only lower the distances, so this format holds for all of them.
    if (seed.first) state.seed_format = SumFormat::make(input_.bits, kDistanceLimbs, largest);
  }
}

WideInt ReferenceSession::seed_total(int slot) {
  const Model& state = model(slot);
  WideInt total;
  for_each_row(state, [&](int64_t i) { total += seed_term(state, i, state.least[static_cast<size_t>(i)]); });
  return total;
}

std::vector<int64_t> ReferenceSession::seed_pick(int slot, std::span<const uint64_t> u) {
  const Model& state = model(slot);
  const WideInt total = seed_total(slot);
  std::vector<int64_t> picked;
  for (const uint64_t share : u) {
    const WideInt threshold = total.times(share).shift_right_64();
    WideInt prefix;
    int64_t i = 0;
    {
      RowPass pass(input_.memory.window, 0, n(), [&](int64_t first, int64_t last) {
        state.least.give_back(static_cast<size_t>(first), static_cast<size_t>(last - first));
      });
      for (; i < n(); ++i) {
        prefix += seed_term(state, i, state.least[static_cast<size_t>(i)]);
        if (prefix > threshold) break;
        pass.done(i, i + 1);
      }
    }
    picked.push_back(i);  // n when the total is zero: nothing can be picked
  }
  return picked;
}

void ReferenceSession::seed_try(std::span<SeedTrial> trials) {
  std::vector<double> centre(static_cast<size_t>(d()));
  for (SeedTrial& trial : trials) {
    const Model& state = model(trial.slot);
    trial.potentials.clear();
    for (const int64_t candidate : trial.rows) {
      std::copy_n(point(candidate), d(), centre.data());
      WideInt potential;
      for_each_row(state, [&](int64_t i) {
        const double distance = canonical_distance(point(i), centre.data(), d());
        potential += seed_term(state, i, std::min(state.least[static_cast<size_t>(i)], distance));
      });
      trial.potentials.push_back(potential);
    }
  }
}

std::vector<int64_t> ReferenceSession::seed_sample(int slot, uint64_t key, uint32_t draw, int64_t factor) {
  const Model& state = model(slot);
  const WideInt total = seed_total(slot);
  std::vector<int64_t> rows;
  for_each_row(state, [&](int64_t i) {
    const uint64_t u = random_u64(key, static_cast<uint64_t>(i), draw, Purpose::kOversample);
    const WideInt term = seed_term(state, i, state.least[static_cast<size_t>(i)]);
    if (total.times(u) < term.times(static_cast<uint64_t>(factor)).shift_left_64()) rows.push_back(i);
  });
  return rows;
}

void ReferenceSession::seed_end() {
  for (Model& state : models_) state.least = {};
}

}  // namespace manymeans
