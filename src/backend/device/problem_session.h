// A session of models that have rows of their own: many small problems in the passes of one device. Each model has its
// own limits, and stops alone. The host copies the data of all models together: a copy for each model would take longer
// than the passes. Kernels may give rows to empty clusters; the host does what they leave.
#pragma once

#include "backend/device/problem_kernels.h"
#include "backend/row_queries.h"
#include "backend/session.h"
#include "backend/upload.h"
#include "data/input.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace manymeans::device {

class ProblemSession final : public Session, private RowQueries {
 public:
  struct Parts {
    std::unique_ptr<Queue> queue;
    std::unique_ptr<ProblemKernels> kernels;
  };
  /// `input` and `slices`, which have all rows on the device, must outlive this.
  ProblemSession(const Input& input, const RowSlices& slices, std::span<const ModelRows> models, Parts parts);
  ~ProblemSession() override;

  int advance(std::span<PassModel> models, const PassLimits& limits) override;
  const Labels& labels(int slot) override;
  const Statistics& statistics(int slot) override;
  ClusterSizes sizes(int slot) override;
  bool update(int slot, const Matrix& before, Matrix& after) override;
  void fetch(std::span<const int> slots, std::span<const int> labels_of) override;
  Labels take_labels(int slot) override;
  std::vector<LabelSum> label_sums(std::span<const int> slots, int64_t first_row) override;
  void move_row(int slot, int64_t row, uint32_t label) override;
  void renumber(int slot, std::span<const uint32_t> new_label, std::span<const int64_t> kept) override;
  RowQueries& rows() override { return *this; }
  /// See ProblemUpload.
  std::vector<double> ranges(std::span<const int> slots);

 private:
  struct Model {
    int64_t k = 0;  // now; renumber() lowers it
    bool labelled = false;
    bool labels_here = false, statistics_here = false;  // the host's copies equal the device's
    bool updated = false;                               // its last batch ended with an update, in updated_
    Labels labels;
    Statistics statistics;
  };

  std::vector<DistantRow> farthest_rows(int slot, const Matrix& prototypes, int64_t count) override;
  std::vector<InertiaSum> inertias(std::span<const ModelPrototypes> models) override;
  std::vector<int64_t> inertia_limbs(int slot, const Matrix& prototypes, const SumFormat& format) override;
  std::vector<double> distances(int slot, const Matrix& prototypes) override;
  void transform(const Matrix& prototypes, Matrix& distances) override;

  Model& model(int slot) { return models_[static_cast<size_t>(slot)]; }
  const ProblemModel& place(int slot) const { return places_.as<ProblemModel>()[slot]; }
  size_t prototype_bytes() const { return static_cast<size_t>(d_) * size_of(type_); }
  size_t sum_values(int64_t clusters) const { return static_cast<size_t>(clusters * input_.limbs * d_); }
  const Queue& queue() const { return *queue_; }
  void activate(std::span<const ModelPrototypes> models);
  void clear_statistics(std::span<const PassModel> models);
  void end_batch(std::span<PassModel> models);
  std::vector<ProblemFacts> ask_facts(std::span<const ModelPrototypes> models);
  std::vector<int64_t> ask_terms(std::span<const SumFormat> formats);
  Matrix prototypes_in(const std::byte* all, int slot) const;
  ClusterSizes sizes_of(int slot);
  void fetch_statistics(int slot);
  void send_statistics(int slot);
  void fetch_labels(std::span<const int> slots);
  void send_labels(int slot, int64_t row, std::span<const uint32_t> labels);

  const Input& input_;
  int64_t d_;
  DataType type_;  // of prototypes
  std::unique_ptr<Queue> queue_;
  std::vector<Model> models_;
  std::vector<std::byte> updated_;  // prototypes of all models after the last batch, if some were updated last
  ClusterSizes all_sizes_;          // of all models after the last batch; empty: not fetched
  PinnedBytes places_, prototypes_here_, controls_here_, counters_here_;
  Buffer places_there_, controls_, counters_, labels_, prototypes_, before_, sums_, weights_, counts_, answers_;
  ProblemBatch batch_;
  std::unique_ptr<ProblemKernels> kernels_;
};

/// The upload that makes such sessions.
class ProblemPoints final : public ProblemUpload {
 public:
  using MakeParts = std::function<ProblemSession::Parts()>;
  ProblemPoints(const Input& input, std::span<const ModelRows> models, std::shared_ptr<RowSlices> slices,
                MakeParts make)
      : input_(input), models_(models.begin(), models.end()), slices_(std::move(slices)), make_(std::move(make)) {}

  std::unique_ptr<Session> session(std::span<const int64_t> /*k*/, int /*threads*/) override { return make_session(); }
  std::vector<double> ranges(std::span<const int> slots) override { return make_session()->ranges(slots); }
  std::unique_ptr<Seeding> seeding(std::span<const int64_t> /*k*/, ThreadPool& /*pool*/) override { return nullptr; }
  std::string plan() const override { return "common passes of many problems"; }

 private:
  std::unique_ptr<ProblemSession> make_session() {
    return std::make_unique<ProblemSession>(input_, *slices_, models_, make_());
  }

  const Input& input_;
  std::vector<ModelRows> models_;
  std::shared_ptr<RowSlices> slices_;
  MakeParts make_;
};

}  // namespace manymeans::device
