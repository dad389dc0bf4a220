// Choosing centres among the rows of all shards.
#pragma once

#include "backend/remote/remote_shards.h"
#include "backend/seeding.h"

#include <span>
#include <vector>

namespace manymeans {

/// Every question names all centres so far, by which a shard has its least distances or finds them again. Adding
/// centres alone asks nothing.
class RemoteSeeding final : public Seeding {
 public:
  RemoteSeeding(RemoteShards& shards, std::span<const int64_t> k);

  std::vector<double> begin(std::span<const SeedCentres> models) override;
  void fix_scale(int slot, double largest) override { of(slot).largest = largest; }
  void add(std::span<const SeedCentres> models) override;
  WideInt total(int slot) override;
  std::vector<int64_t> pick(int slot, std::span<const WideInt> targets) override;
  void trial(std::span<SeedTrial> trials) override;
  std::vector<int64_t> sample(int slot, const SeedSample& sample) override;
  std::vector<int64_t> cluster_weights(int slot) override;
  /// Those are with their shards.
  std::span<const double> least(int /*slot*/) override { return {}; }

 private:
  // The sum of T of the rows of one shard.
  struct ShardTotal {
    int64_t first_row;
    WideInt sum;
  };
  struct Model {
    Matrix centres;
    double largest = 0;
    std::vector<ShardTotal> totals;  // in the order of the rows; none where they are not known
  };

  Model& of(int slot) { return models_[static_cast<size_t>(slot)]; }
  Question question(Asked what) const;
  void ask_about(Question& question, int slot);
  const std::vector<ShardTotal>& totals_of(int slot);
  void gather_totals();

  RemoteShards& shards_;
  std::vector<int64_t> clusters_;
  std::vector<Model> models_;
};

}  // namespace manymeans
