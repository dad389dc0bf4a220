// Row queries: distances of all rows to prototypes, and what follows from them.
#pragma once

#include "backend/cpu/pass/cpu_model.h"
#include "backend/cpu/pass/cpu_screen.h"
#include "backend/cpu/pass/cpu_tree.h"

#include <span>
#include <vector>

namespace manymeans {

/// Reads the labels of a session's models and changes none. Owns nothing; works with the screen's scratch, between
/// passes.
class CpuRowQueries final : public RowQueries {
 public:
  /// Keeps references to all arguments.
  CpuRowQueries(const CpuShared& shared, ThreadPool& pool, std::vector<CpuModel>& models, CpuScreen& screen,
                CpuTree& tree)
      : shared_(shared), distances_(shared), pool_(pool), models_(models), screen_(screen), tree_(tree) {}

  std::vector<DistantRow> farthest_rows(int slot, const Matrix& prototypes, int64_t count) override;
  std::vector<InertiaSum> inertias(std::span<const ModelPrototypes> models) override;
  std::vector<int64_t> inertia_limbs(int slot, const Matrix& prototypes, const SumFormat& format) override;
  std::vector<double> distances(int slot, const Matrix& prototypes) override;
  void transform(const Matrix& prototypes, Matrix& distances) override;
  bool two_nearest(const Matrix& prototypes, const TakeTwoNearest& take) override;

 private:
  // Labelled rows and their distances to the prototypes of their labels.
  struct DistanceBlock : LabelledBlock {
    const double* d2 = nullptr;
  };

  CpuModel& model(int slot) { return models_[static_cast<size_t>(slot)]; }
  // Calls body(worker, block) for blocks of all rows.
  template <class Body>
  void for_each_distance(int slot, const Matrix& prototypes, Body&& body);
  DistanceBlock distances_of(int slot, const Matrix& prototypes, int64_t first, int64_t count, Worker& worker);
  template <class T>
  void transform_rows(int64_t first, int64_t last, const Matrix& prototypes, Worker& worker, Matrix& distances) const;
  double farthest_of_sample(int slot, const Matrix& prototypes);
  InertiaSum inertia(int slot, const Matrix& prototypes);
  InertiaSum inertia_near(int slot, const Matrix& prototypes, const SumFormat& guess);

  const CpuShared& shared_;
  CpuDistances distances_;
  ThreadPool& pool_;
  std::vector<CpuModel>& models_;
  CpuScreen& screen_;
  CpuTree& tree_;
};

}  // namespace manymeans
