// The statistics of a session's models over the rows of all members of a team.
#pragma once

#include "backend/device/device_kernels.h"
#include "backend/device/pass_team.h"

#include <cstddef>
#include <memory>

namespace manymeans::device {

/// One member's part in it. Every member keeps the statistics of its own rows unchanged, and has the statistics of all
/// rows in addition. Each member adds up a share of the values for all: a reduce-scatter and an all-gather in one step.
class StatisticsExchange {
 public:
  /// To be made by all members' threads at once; `team` and `memory` must outlive this.
  StatisticsExchange(PassTeam& team, size_t number, const SessionMemory& memory);

  PassTeam& team() { return team_; }
  /// The batch as end_pass() and update() see it.
  PassBatch joined(const PassBatch& own) const;
  /// After a pass of all members: enqueues what makes the statistics and counters of all rows. Meets the others.
  void enqueue(const PassBatch& own, PassKernels& kernels);

 private:
  size_t counters_at() const { return 8 * (sum_values_ + 2 * clusters_); }
  void wait_for_others(std::unique_ptr<Event> TeamEntry::*event);

  PassTeam& team_;
  size_t number_;
  const SessionMemory& memory_;
  size_t sum_values_;
  size_t clusters_;
  Buffer joined_;  // sums, weights, counts, counters
};

}  // namespace manymeans::device
