// Choosing centres among the rows of all ranks.
#pragma once

#include "backend/make_seeding.h"
#include "backend/seeding.h"

#include <span>
#include <vector>

namespace manymeans {

/// A rank's seeding joined with the other ranks' seedings. Rows are picked by the prefix sums of all rows. Every rank
/// knows the totals of all ranks, so the rank that has the row looks for it.
class ShardedSeeding final : public Seeding {
 public:
  /// `local` has no seeding where the rank has no rows.
  ShardedSeeding(const Input& input, SeedingOwner local, size_t models);

  std::vector<double> begin(std::span<const SeedCentres> models) override;
  void fix_scale(int slot, double largest) override;
  void add(std::span<const SeedCentres> models) override;
  WideInt total(int slot) override { return totals_of(slot).all; }
  std::vector<int64_t> pick(int slot, std::span<const WideInt> targets) override;
  void trial(std::span<SeedTrial> trials) override;
  std::vector<int64_t> sample(int slot, const SeedSample& sample) override;
  std::vector<int64_t> cluster_weights(int slot) override;
  /// The least distances of the rank's own rows.
  std::span<const double> least(int slot) override;

 private:
  // Sums of T.
  struct Totals {
    bool known = false;
    bool begun = false;
    WideInt own;     // of this rank's rows
    WideInt before;  // of the rows before them
    WideInt all;
  };

  Seeding* local() const { return local_.seeding.get(); }
  const Totals& totals_of(int slot);
  void gather_totals();

  const Input& input_;
  Comm& comm_;
  SeedingOwner local_;
  std::vector<Totals> totals_;  // by slot
};

}  // namespace manymeans
