#include "backend/device/statistics_exchange.h"

namespace manymeans::device {

// Others may write into the inbox once all have met.
StatisticsExchange::StatisticsExchange(PassTeam& team, size_t number, const SessionMemory& memory)
    : team_(team),
      number_(number),
      memory_(memory),
      sum_values_(memory.sums().bytes() / sizeof(int64_t)),
      clusters_(static_cast<size_t>(memory.clusters())) {
  const Runtime& runtime = memory.queue().runtime();
  const size_t bytes = counters_at() + static_cast<size_t>(memory.models()) * sizeof(PassCounters);
  joined_ = Buffer(runtime, bytes, "statistics of all devices");
  TeamInbox& inbox = team.inbox(number);
  inbox.bytes = bytes;
  for (Buffer& from_all : inbox.of_members)
    from_all = Buffer(runtime, team.size() * bytes, "statistics of other devices");
  for (auto& event : inbox.sent) event = runtime.make_event();
  team.meet();
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

PassKernels::Joining StatisticsExchange::joining(const PassBatch& own, size_t turn) const {
  const auto counter_values = own.models.size() * sizeof(PassCounters) / sizeof(int64_t);
  PassKernels::Joining joining;
  joining.own = {{{memory_.sums().at(), sum_values_},
                  {memory_.weights().at(), clusters_},
                  {memory_.counts().at(), clusters_},
                  {own.counters, counter_values}}};
  const TeamInbox& here = team_.inbox(number_);
  for (size_t other = 0; other < team_.size(); ++other) {
    if (other == number_) continue;
    const TeamInbox& there = team_.inbox(other);
    joining.to_others.push_back(there.of_members[turn].at(number_ * there.bytes));
    joining.from_others.push_back(here.of_members[turn].at(other * here.bytes));
  }
  joining.sums = joined_.at();
  return joining;
}

// The others wait for an event only after it was recorded: one that never was counts as reached.
void StatisticsExchange::enqueue(const PassBatch& own, PassKernels& kernels) {
  const size_t turn = passes_++ % 2;
  const PassKernels::Joining joining = this->joining(own, turn);
  kernels.send(joining);
  team_.inbox(number_).sent[turn]->record(memory_.queue());
  team_.meet();
  for (size_t other = 0; other < team_.size(); ++other) {
    if (other != number_) memory_.queue().wait_for(*team_.inbox(other).sent[turn], "waiting for another device");
  }
  kernels.join(joining);
}

}  // namespace manymeans::device
