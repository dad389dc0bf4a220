// Labels and statistics of an ensemble's models on a CUDA device.
#pragma once

#include "backend/backend.h"
#include "backend/cuda/device/pass_ranges.h"
#include "backend/cuda/device/pass_screen.h"
#include "backend/cuda/pass/cuda_shared.h"
#include "backend/cuda/pass/make_screen.h"
#include "backend/cuda/pass/session_arrays.h"
#include "backend/cuda/queries/assigned_distances.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/device/staging.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace manymeans::cuda {

class CudaSession final : public Session, public RowQuestions {
 public:
  CudaSession(const CudaShared& shared, std::span<const int64_t> k, int threads);
  ~CudaSession() override;

  int advance(std::span<PassModel> models, int n) override;
  const Labels& labels(int slot) override;
  void fetch(std::span<const int> slots) override;
  const Statistics& statistics(int slot) override;
  Labels take_labels(int slot) override;
  void move_row(int slot, int64_t row, uint32_t label) override;
  void relabel(int slot, std::span<const uint32_t> new_label, std::span<const int64_t> kept) override;
  RowQuestions& rows() override { return *this; }

  std::vector<DistantRow> farthest_rows(int slot, const Matrix& prototypes, int64_t count) override;
  std::vector<InertiaSum> inertias(std::span<const ModelPrototypes> models) override;
  std::vector<int64_t> inertia_limbs(int slot, const Matrix& prototypes, const SumFormat& format) override;
  std::vector<double> distances(int slot, const Matrix& prototypes) override;
  void transform(const Matrix& prototypes, Matrix& distances) override;

 private:
  struct Model {
    int64_t k = 0;                                      // now; `relabel` lowers it
    int64_t first = 0;                                  // its first cluster among those of all models
    bool labelled = false;                              // there are labels
    bool labels_here = false, statistics_here = false;  // the host's copies are those of the device
    Labels labels;
    Statistics statistics;
  };

  CudaSession(const CudaShared& shared, const SessionShape& shape, int threads);
  Model& model(int slot) { return models_[static_cast<size_t>(slot)]; }
  int64_t n() const { return shared_.input.points.n; }
  int64_t d() const { return shared_.input.points.d; }
  bool float64() const { return shared_.input.points.type == DataType::kFloat64; }
  size_t prototype_bytes() const { return float64() ? 8 : 4; }
  PassRange range_of(int slot) const;
  LabelRows current_rows() { return {arrays_.current.data(), stride_, width_}; }
  // Of the slice at work.
  LabelRows next_rows() { return {arrays_.next.data(), next_stride_, width_}; }
  DeviceLabels labels_of(int slot);
  void fetch_labels(std::span<const int> slots);
  void make_statistics(Model& m);
  void fetch_statistics();
  void upload_prototypes(int slot, const Matrix& prototypes);
  void download_prototypes(int slot, Matrix& prototypes);
  void send_statistics(int slot);

  // One batch of passes.
  PassRanges begin_batch(std::span<const PassModel> models, int n);
  PassRanges enqueue_ranges(std::span<const PassModel> models);
  PassWork work_of(const PassRanges& ranges);
  int enqueue_passes(PassRanges& ranges, int from, int to, size_t models);
  void enqueue_pass(const PassRanges& ranges);
  void enqueue_solve(const PassRanges& ranges);
  bool enqueue_persistent(const PassRanges& ranges, int most);
  int passes_between_questions(std::span<const PassModel> models) const;
  int end_batch(std::span<PassModel> models);
  void fetch_counters(size_t models);
  void learn_from_passes(size_t models);
  std::span<const PassCounters> counters_of(size_t pass, size_t models) {
    return {host_counters_.data() + pass * models, models};
  }

  const CudaShared& shared_;
  std::vector<Model> models_;
  int64_t stride_;  // between the labels of two slots
  int64_t next_stride_;
  int32_t width_;  // bytes of a label

  Stream stream_;
  SessionArrays arrays_;
  std::unique_ptr<Screen> screen_;
  std::unique_ptr<PersistentKernel> persistent_;  // null where batches are never one kernel
  DeviceBuffer<PassCounters> counters_;           // (passes, models)
  PinnedBuffer<PassRange> host_ranges_;
  PinnedBuffer<PassCounters> host_counters_;
  size_t fetched_passes_ = 0;  // of this batch, whose counters the host has
  PinnedBuffer<PassControl> host_control_;
  device::Buffer moved_row_;
  int threads_ = 1;
  std::unique_ptr<device::Staging> label_staging_;  // where labels are many, from the first that are fetched on
  AssignedDistances assigned_distances_;
};

}  // namespace manymeans::cuda
