// Choosing centres among rows that several devices share.
#pragma once

#include "backend/composite/row_mover.h"

#include <memory>
#include <span>
#include <vector>

namespace manymeans {

/// One part's state for seeding.
struct SeedingOfPart {
  std::unique_ptr<ThreadPool> pool = {};  ///< its own, since parts work at the same time
  std::unique_ptr<Seeding> seeding = {};
};

/// One seeding a part. A row is picked by the prefix sums of the parts: the one in which the target lies looks for it.
class CompositeSeeding final : public Seeding {
 public:
  CompositeSeeding(const CompositeRows& rows, std::vector<SeedingOfPart> seedings);
  ~CompositeSeeding() override;

  std::vector<double> begin(std::span<const SeedCentres> models) override;
  void fix_scale(int slot, double largest) override;
  void add(std::span<const SeedCentres> models) override;
  WideInt total(int slot) override;
  std::vector<int64_t> pick(int slot, std::span<const WideInt> targets) override;
  void trial(std::span<SeedTrial> trials) override;
  std::vector<int64_t> sample(int slot, const SeedSample& sample) override;
  std::vector<int64_t> cluster_weights(int slot) override;
  bool knows_cluster_weights() const override;
  std::span<const double> least(int slot) override;

 private:
  std::vector<WideInt> totals(int slot);

  const CompositeParts& parts_;
  RowMover::Hold hold_;
  ThreadPool drivers_;  // a thread a part
  std::vector<SeedingOfPart> seedings_;
  std::vector<double> least_;  // of all rows, of the slot that was asked about last
};

}  // namespace manymeans
