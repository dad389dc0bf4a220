// Passes over rows that several devices share: by a team of the devices where they can be one, else by the host.
#pragma once

#include "backend/composite/row_mover.h"
#include "backend/device/pass_team.h"
#include "backend/joined/joined_session.h"

#include <memory>
#include <span>
#include <vector>

namespace manymeans {

/// One session a part, each driven by a thread. Devices of a kind that reach each other's memory add up their results
/// among themselves (device/pass_team.h), and make many passes at once. Otherwise the host adds them up after every
/// pass.
class CompositeSession final : public JoinedSession, private RowQueries {
 public:
  /// `alone`: no other session of the parts works at the same time. Only then it may be a team. Several teams could
  /// wait for work that is queued behind each other's work on the devices.
  CompositeSession(const CompositeRows& rows, std::span<const int64_t> k, int threads, bool alone);
  ~CompositeSession() override;

  int advance(std::span<PassModel> models, const PassLimits& limits) override;
  const Statistics& statistics(int slot) override;
  ClusterSizes sizes(int slot) override;
  const Labels& labels(int slot) override;
  void fetch(std::span<const int> slots, std::span<const int> labels_of) override;
  std::vector<LabelSum> label_sums(std::span<const int> slots, int64_t first_row) override;
  Labels take_labels(int slot) override;
  void move_row(int slot, int64_t row, uint32_t label) override;
  void renumber(int slot, std::span<const uint32_t> new_label, std::span<const int64_t> kept) override;
  RowQueries& rows() override { return *this; }

 private:
  void pass(std::span<PassModel> models) override;
  void make_sessions();
  void form_team();
  void move_rows(std::span<const PassModel> models);
  void carry_labels(std::span<const PassModel> models);
  void place_rows(std::span<const int64_t> ends);
  void compare_with_carried(PassModel& model);
  int advance_team(std::span<PassModel> models, const PassLimits& limits);

  std::vector<DistantRow> farthest_rows(int slot, const Matrix& prototypes, int64_t count) override;
  std::vector<InertiaSum> inertias(std::span<const ModelPrototypes> models) override;
  std::vector<int64_t> inertia_limbs(int slot, const Matrix& prototypes, const SumFormat& format) override;
  std::vector<double> distances(int slot, const Matrix& prototypes) override;
  void transform(const Matrix& prototypes, Matrix& distances) override;
  bool two_nearest(const Matrix& prototypes, const TakeTwoNearest& take) override;

  void add_up(int slot);
  size_t part_of(int64_t row) const;
  void fetch_labels(std::span<const int> slots);

  const CompositeParts& parts_;
  RowMover* mover_;  // null: rows stay where they are
  RowMover::Hold hold_;
  int threads_;
  ThreadPool drivers_;  // a thread a part
  std::vector<std::unique_ptr<Session>> sessions_;
  std::unique_ptr<device::PassTeam> team_;  // null: the host adds up
  std::vector<Labels> labels_;              // by slot, of all rows; empty: not asked for since they changed
  std::vector<char> added_up_;              // by slot: statistics() belong to the last pass
  std::vector<char> labelled_;              // by slot: there are labels that may be read
  std::vector<Labels> carried_;  // by slot: labels that moved with the rows, before the pass that finds them anew
  bool first_pass_ = true;       // the sessions have made none yet
};

}  // namespace manymeans
