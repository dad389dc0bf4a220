// Seeding on a device, for any prototypes. Kernels find the least distances and the changes by candidates. The host
// fetches a model's distances when they are needed, and picks rows by them.
#pragma once

#include "backend/device/device_kernels.h"
#include "backend/device/row_slices.h"
#include "backend/seed_choice.h"
#include "backend/seeding.h"
#include "core/threads.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace manymeans::device {

class LeastDistances final : public Seeding {
 public:
  struct Parts {
    std::unique_ptr<Queue> queue;
    std::unique_ptr<SeedKernels> kernels;
  };
  /// 8 bytes a row and model on the device, and as many on the host for models whose rows are picked. All but `parts`
  /// must outlive this.
  LeastDistances(const Input& input, RowSlices& slices, Parts parts, size_t models, ThreadPool& pool);
  ~LeastDistances() override;

  std::vector<double> begin(std::span<const SeedCentres> models) override;
  void fix_scale(int slot, double largest) override;
  void add(std::span<const SeedCentres> models) override;
  WideInt total(int slot) override;
  std::vector<int64_t> pick(int slot, std::span<const WideInt> targets) override;
  void trial(std::span<SeedTrial> trials) override;
  std::vector<int64_t> sample(int slot, const SeedSample& sample) override;
  std::span<const double> least(int slot) override;

 private:
  struct Model {
    Buffer least;
    SumFormat format;
    std::vector<double> here;     // the host's copy; empty: not fetched
    std::vector<int64_t> blocks;  // sums of terms; empty: not known
  };

  Model& model(int slot) { return models_[static_cast<size_t>(slot)]; }
  const Queue& queue() const { return *parts_.queue; }
  int64_t n() const { return input_.points.n; }
  Buffer send(const Matrix& centres) const;
  void lower(std::span<const SeedCentres> models, bool first);
  SeedTerms terms(int slot);
  double largest(int slot);

  const Input& input_;
  RowSlices& slices_;
  Parts parts_;
  std::vector<Model> models_;
  ThreadPool& pool_;
};

}  // namespace manymeans::device
