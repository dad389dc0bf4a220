#include "backend/device/statistics_exchange.h"

#include <numeric>

namespace manymeans::device {

StatisticsExchange::StatisticsExchange(PassTeam& team, size_t number, const SessionMemory& memory)
    : team_(team),
      number_(number),
      memory_(memory),
      sum_values_(memory.sums().bytes() / sizeof(int64_t)),
      clusters_(static_cast<size_t>(memory.clusters())) {
  const Runtime& runtime = memory.queue().runtime();
  const size_t bytes = counters_at() + static_cast<size_t>(memory.models()) * sizeof(PassCounters);
  joined_ = Buffer(runtime, bytes, "statistics of all devices");
  TeamEntry& entry = team.entry(number);
  entry.sums = joined_.at();
  entry.counted = runtime.make_event();
  entry.joined = runtime.make_event();
}

PassBatch StatisticsExchange::joined(const PassBatch& own) const {
  PassBatch batch = own;
  for (ModelMemory& model : batch.models) {
    const auto first = static_cast<size_t>(memory_.first_cluster(model.slot));
    model.sums = joined_.at(sizeof(int64_t) * memory_.sum_values(memory_.first_cluster(model.slot)));
    model.weights = joined_.at(sizeof(int64_t) * (sum_values_ + first));
    model.counts = joined_.at(sizeof(int64_t) * (sum_values_ + clusters_ + first));
  }
  batch.counters = joined_.at(counters_at());
  batch.joined = true;
  return batch;
}

// All have recorded their events when they meet: a queue that waits for an event which never was recorded goes on.
void StatisticsExchange::wait_for_others(std::unique_ptr<Event> TeamEntry::*event) {
  (team_.entry(number_).*event)->record(memory_.queue());
  team_.meet();
  for (size_t other = 0; other < team_.size(); ++other) {
    if (other != number_) memory_.queue().wait_for(*(team_.entry(other).*event), "waiting for another device");
  }
}

void StatisticsExchange::enqueue(const PassBatch& own, PassKernels& kernels) {
  team_.entry(number_).own = {memory_.sums().at(), memory_.weights().at(), memory_.counts().at(), own.counters};
  wait_for_others(&TeamEntry::counted);
  PassKernels::Joining joining;
  joining.values = {sum_values_, clusters_, clusters_, own.models.size() * sizeof(PassCounters) / sizeof(int64_t)};
  for (size_t member = 0; member < team_.size(); ++member) {
    joining.members.push_back({team_.entry(member).own, team_.entry(member).sums});
  }
  const size_t all = std::accumulate(joining.values.begin(), joining.values.end(), size_t{0});
  joining.first = all * number_ / team_.size();
  joining.last = all * (number_ + 1) / team_.size();
  kernels.join(joining);
  wait_for_others(&TeamEntry::joined);
}

}  // namespace manymeans::device
