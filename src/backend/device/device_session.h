// A session on a device with queues and memory of its own: batches of passes, and the host's copies of labels and
// statistics. The kernels (device/device_kernels.h) define what is computed.
#pragma once

#include "backend/device/device_kernels.h"
#include "backend/device/device_row_queries.h"
#include "backend/device/staging.h"
#include "backend/device/statistics_exchange.h"
#include "backend/session.h"

#include <memory>
#include <vector>

namespace manymeans::device {

class DeviceSession final : public Session, private TeamMember {
 public:
  struct Parts {
    std::unique_ptr<SessionMemory> memory;
    std::unique_ptr<PassKernels> passes;
    std::unique_ptr<RowKernels> rows;
  };
  /// `slices` must outlive this; `threads` copy labels.
  DeviceSession(Parts parts, RowSlices& slices, std::span<const int64_t> k, int threads);
  ~DeviceSession() override;

  int advance(std::span<PassModel> models, const PassLimits& limits) override;
  const Labels& labels(int slot) override;
  void fetch(std::span<const int> slots, std::span<const int> labels_of) override;
  std::vector<LabelSum> label_sums(std::span<const int> slots, int64_t first_row) override;
  const Statistics& statistics(int slot) override;
  ClusterSizes sizes(int slot) override;
  bool update(int slot, const Matrix& before, Matrix& after) override;
  Labels take_labels(int slot) override;
  void store_labels(int slot, const ResultRoom& room) override;
  void drop_labels(int slot) override;
  bool write_labels(std::span<const int> slots, std::span<Labels* const> to, int64_t first) override;
  void move_row(int slot, int64_t row, uint32_t label) override;
  void renumber(int slot, std::span<const uint32_t> new_label, std::span<const int64_t> kept) override;
  RowQueries& rows() override { return questions_; }
  TeamMember* team_member() override { return passes_->joins() ? this : nullptr; }

 private:
  struct Model {
    int64_t k = 0;                                      // now; `renumber` lowers it
    bool labelled = false;                              // there are labels
    bool labels_here = false, statistics_here = false;  // the host's copies equal the device's
    Labels labels;
    Statistics statistics;
  };

  Model& model(int slot) { return models_[static_cast<size_t>(slot)]; }
  ModelMemory memory_of(int slot) { return memory_->model(slot, model(slot).k); }
  const Queue& queue() const { return memory_->queue(); }
  // Returns whether the device makes updates: not if twice it could not.
  bool updates() const { return passes_->updates() && unsolved_ < 2; }
  const Input& input() const { return memory_->input(); }
  int64_t n() const { return input().points.n; }

  const Queue& team_queue() const override { return queue(); }
  void join_team(PassTeam& team, size_t number) override;

  void fetch_labels(std::span<const int> slots);
  void make_statistics(Model& m);
  bool few_statistics() const;
  bool fetches_all() const { return models_.size() > 1 && few_statistics(); }
  void send_control(const PassLimits& limits);
  uint32_t label_of(int slot, int64_t row);
  void fetch_statistics();
  void send_statistics(int slot);
  void upload_prototypes(int slot, const Matrix& prototypes);
  void download_prototypes(int slot, Address from, Matrix& prototypes);

  void begin_batch(std::span<const PassModel> models, const PassLimits& limits);
  int enqueue_passes(int from, int to);
  int64_t agree(int64_t value) { return exchange_ ? exchange_->team().agree(value) : value; }
  void ask_control(const char* doing, int passes);
  std::span<const PassCounters> fetch_counters();
  void learn();
  int end_batch(std::span<PassModel> models);

  std::unique_ptr<SessionMemory> memory_;
  RowSlices& slices_;
  int threads_;
  std::vector<Model> models_;
  PassBatch batch_;
  std::unique_ptr<StatisticsExchange> exchange_;  // in a team
  PassBatch joined_batch_;                        // then: of all members' rows
  Buffer counters_;                               // (passes, models) of the batch
  PinnedBytes host_counters_;
  PinnedBytes host_control_;
  int unsolved_ = 0;           // batches since the last update that the device made
  size_t fetched_passes_ = 0;  // of this batch, whose counters the host has
  Buffer moved_row_;
  Buffer label_sums_;                       // LabelTermSums of the models that were asked for last
  std::unique_ptr<Staging> label_staging_;  // where labels are many, from the first that are fetched on
  std::unique_ptr<PassKernels> passes_;
  std::unique_ptr<RowKernels> rows_;
  DeviceRowQueries questions_;
};

}  // namespace manymeans::device
