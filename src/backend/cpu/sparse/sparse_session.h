// Labels and statistics of an ensemble's models over sparse points.
#pragma once

#include "backend/cpu/sparse/sparse_screen.h"
#include "backend/cpu/sums/cpu_changes.h"
#include "backend/session.h"

#include <vector>

namespace manymeans {

class SparseSession final : public Session, public RowQueries {
 public:
  SparseSession(const SparseShared& shared, std::span<const int64_t> k, int threads);

  int advance(std::span<PassModel> models, const PassLimits& limits) override;
  const Labels& labels(int slot) override { return model(slot).labels; }
  const Statistics& statistics(int slot) override { return model(slot).statistics; }
  Labels take_labels(int slot) override;
  void move_row(int slot, int64_t row, uint32_t label) override;
  void renumber(int slot, std::span<const uint32_t> new_label, std::span<const int64_t> kept) override;
  RowQueries& rows() override { return *this; }

  std::vector<DistantRow> farthest_rows(int slot, const Matrix& prototypes, int64_t count) override;
  std::vector<InertiaSum> inertias(std::span<const ModelPrototypes> models) override;
  std::vector<int64_t> inertia_limbs(int slot, const Matrix& prototypes, const SumFormat& format) override;
  std::vector<double> distances(int slot, const Matrix& prototypes) override;
  void transform(const Matrix& prototypes, Matrix& distances) override;

 private:
  struct Model {
    int64_t k = 0;
    Labels labels;  // empty before the first pass
    Statistics statistics;
  };
  struct Worker {
    SparseScratch scratch;
    std::vector<uint32_t> old_labels, labels;  // of a block
    std::vector<uint32_t> places;              // of its rows whose labels differ
    Changes changes;
    PassResult result;
    std::vector<WideSparseRow> rows;  // of one cluster
    std::vector<int64_t> order;       // the rows of a block, cluster by cluster
    std::vector<double> d2;           // of the block
  };

  Model& model(int slot) { return models_[static_cast<size_t>(slot)]; }
  int64_t n() const { return shared_.view.n; }
  int64_t d() const { return shared_.view.d; }
  void assign(PassModel& pass);
  void label_block(const Model& m, int64_t first, int64_t last, Worker& worker) const;
  void record_changes(int64_t first, int64_t last, Worker& worker) const;
  void accumulate(Model& m);
  void add_row(Statistics& statistics, int64_t row, uint32_t cluster, int sign, WideSparseRow& space) const;
  void measure_block(const Model& m, const Matrix& prototypes, int64_t first, int64_t last, Worker& worker) const;
  void measure_rows(std::span<const int64_t> rows, int64_t first, const Matrix& prototypes, Worker& worker) const;
  // Calls body(worker, first, last, d2) with the distances of rows first .. last - 1 to the prototypes of their labels.
  template <class Body>
  void for_each_distance(int slot, const Matrix& prototypes, Body&& body);

  const SparseShared& shared_;
  ThreadPool pool_;
  SparseScreen screen_;
  std::vector<TermAdder> adders_;  // per column
  std::vector<Worker> workers_;
  std::vector<Model> models_;
};

}  // namespace manymeans
