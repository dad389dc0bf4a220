#include "backend/device/least_distances.h"

#include <algorithm>
#include <utility>

namespace manymeans::device {
namespace {

constexpr int64_t kBlockRows = 1024;   // whose terms have a sum
constexpr int64_t kGrain = 64 * 1024;  // rows that a thread takes at a time

}  // namespace

LeastDistances::LeastDistances(const Input& input, RowSlices& slices, Parts parts, size_t models, ThreadPool& pool)
    : input_(input), slices_(slices), parts_(std::move(parts)), models_(models), pool_(pool) {}

// Members' memory must not go while the device uses it.
LeastDistances::~LeastDistances() {
  queue().settle();
}

// The queue's copy may still be under way.
Buffer LeastDistances::send(const Matrix& centres) const {
  Buffer there(queue().runtime(), centres.bytes().size(), "centres");
  queue().copy_to_device(there.at(), centres.bytes().data(), centres.bytes().size(), "centres");
  return there;
}

// One reading of the points for all models.
void LeastDistances::lower(std::span<const SeedCentres> models, bool first) {
  parts_.kernels->use_device();
  std::vector<Buffer> centres(models.size());
  const Settled settled(queue());
  for (size_t i = 0; i < models.size(); ++i) {
    Model& m = model(models[i].slot);
    m.here.clear();
    m.blocks.clear();
    if (m.least.empty()) m.least = Buffer(queue().runtime(), static_cast<size_t>(n()) * sizeof(double), "distances");
    centres[i] = send(*models[i].centres);
  }
  slices_.for_each(queue(), [&](const Rows& rows) {
    for (size_t i = 0; i < models.size(); ++i) {
      const Address least = model(models[i].slot).least.at(static_cast<size_t>(rows.first) * sizeof(double));
      parts_.kernels->lower(rows, {centres[i].at(), models[i].centres->rows()}, first, least);
    }
  });
  queue().synchronize("finding least distances");
}

std::vector<double> LeastDistances::begin(std::span<const SeedCentres> models) {
  lower(models, true);
  std::vector<double> found;
  for (const SeedCentres& begun : models) found.push_back(largest(begun.slot));
  return found;
}

void LeastDistances::add(std::span<const SeedCentres> models) {
  lower(models, false);
}

std::span<const double> LeastDistances::least(int slot) {
  Model& m = model(slot);
  if (m.here.empty()) {
    parts_.kernels->use_device();
    m.here.resize(static_cast<size_t>(n()));
    queue().read_back(m.here.data(), m.least.at(), m.here.size() * sizeof(double), "fetching least distances");
  }
  return m.here;
}

double LeastDistances::largest(int slot) {
  const std::span<const double> here = least(slot);
  std::vector<double> found(static_cast<size_t>(pool_.size()), 0.0);
  pool_.for_each_range(n(), kGrain, [&](int worker, int64_t first, int64_t last) {
    double& most = found[static_cast<size_t>(worker)];
    for (int64_t i = first; i < last; ++i) most = std::max(most, input_.weight(i) * here[static_cast<size_t>(i)]);
  });
  return *std::ranges::max_element(found);
}

void LeastDistances::fix_scale(int slot, double largest) {
  model(slot).format = SumFormat::make(input_.bits, kDistanceLimbs, largest);
  model(slot).blocks.clear();
}

SeedTerms LeastDistances::terms(int slot) {
  Model& m = model(slot);
  const std::span<const double> here = least(slot);
  SeedTerms terms{n(), input_.shard.first, kBlockRows, {}, m.format, {}};
  terms.add = [this, here, adder = TermAdder(m.format)](int64_t row, int64_t* limbs) {
    adder.add(input_.weight(row) * here[static_cast<size_t>(row)], 1, limbs);
  };
  if (m.blocks.empty()) {
    m.blocks.resize(static_cast<size_t>((n() + kBlockRows - 1) / kBlockRows * kDistanceLimbs));
    pool_.for_each_range(n(), kGrain, [&](int, int64_t first, int64_t last) {
      static_assert(kGrain % kBlockRows == 0, "a block is one thread's");
      for (int64_t i = first; i < last; ++i) terms.add(i, m.blocks.data() + i / kBlockRows * kDistanceLimbs);
    });
  }
  terms.blocks = m.blocks;
  return terms;
}

WideInt LeastDistances::total(int slot) {
  return terms(slot).total();
}

std::vector<int64_t> LeastDistances::pick(int slot, std::span<const WideInt> targets) {
  return terms(slot).pick(targets);
}

std::vector<int64_t> LeastDistances::sample(int slot, const SeedSample& sample) {
  std::vector<int64_t> found;
  terms(slot).append_sample(sample, 0, n(), found);
  return found;
}

// One reading of the points for all trials.
void LeastDistances::trial(std::span<SeedTrial> trials) {
  parts_.kernels->use_device();
  size_t all = 0;
  for (const SeedTrial& trial : trials) all += static_cast<size_t>(trial.candidates->rows());
  std::vector<int64_t> limbs(all * kDistanceLimbs);
  const size_t bytes = limbs.size() * sizeof(int64_t);
  const Buffer sums(queue().runtime(), bytes, "potentials");
  std::vector<Buffer> candidates(trials.size());
  const Settled settled(queue());
  queue().fill(sums.at(), std::byte{0}, bytes, "clearing potentials");
  for (size_t i = 0; i < trials.size(); ++i) candidates[i] = send(*trials[i].candidates);
  slices_.for_each(queue(), [&](const Rows& rows) {
    size_t at = 0;
    for (size_t i = 0; i < trials.size(); ++i) {
      const Model& m = model(trials[i].slot);
      const int64_t k = trials[i].candidates->rows();
      const Address least = m.least.at(static_cast<size_t>(rows.first) * sizeof(double));
      parts_.kernels->add_potentials(
          rows, {{candidates[i].at(), k}, least, m.format, sums.at(at * kDistanceLimbs * sizeof(int64_t))});
      at += static_cast<size_t>(k);
    }
  });
  queue().read_back(limbs.data(), sums.at(), bytes, "adding up potentials");
  const int64_t* of_candidate = limbs.data();
  for (SeedTrial& trial : trials) {
    trial.potentials.clear();
    for (int64_t c = 0; c < trial.candidates->rows(); ++c, of_candidate += kDistanceLimbs) {
      trial.potentials.push_back(recombine(of_candidate, model(trial.slot).format));
    }
  }
}

}  // namespace manymeans::device
