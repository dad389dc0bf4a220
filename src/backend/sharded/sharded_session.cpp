#include "backend/sharded/sharded_session.h"

#include "core/merged_integers.h"
#include "prototype/prototype.h"

#include <algorithm>
#include <utility>

namespace manymeans {
namespace {

// Integers that are added up over the ranks, written one after the other and read in the same order.
class Numbers {
 public:
  void write(std::span<const int64_t> values) { values_.insert(values_.end(), values.begin(), values.end()); }
  void write(LabelSum sum) { write(words_of(sum)); }
  void write(const Statistics& statistics) {
    for (const auto* part : {&statistics.sums, &statistics.weights, &statistics.counts}) write(*part);
  }
  void sum(Comm& comm) { comm.sum(std::span(values_)); }
  void read(std::span<int64_t> values) {
    std::copy_n(values_.begin() + at_, values.size(), values.begin());
    at_ += static_cast<std::ptrdiff_t>(values.size());
  }
  LabelSum read_label_sum() {
    int64_t words[kLabelSumWords];
    read(words);
    return label_sum_of(words);
  }
  void read(Statistics& statistics) {
    for (auto* part : {&statistics.sums, &statistics.weights, &statistics.counts}) read(std::span(*part));
  }

 private:
  std::vector<int64_t> values_;
  std::ptrdiff_t at_ = 0;
};

}  // namespace

ShardedSession::ShardedSession(const Input& input, std::unique_ptr<Session> local, std::span<const int64_t> k,
                               int threads)
    : JoinedSession(input, k, threads), comm_(*input.comm), local_(std::move(local)) {}

int ShardedSession::advance(std::span<PassModel> models, const PassLimits& limits) {
  return advance_joined(models, limits, static_cast<int>(comm_.min(int64_t{limits.passes})));
}

void ShardedSession::pass(std::span<PassModel> models) {
  comm_.begin_pass();
  label_own_rows(models);
  add_up(models);
}

void ShardedSession::label_own_rows(std::span<PassModel> models) {
  if (local_) {
    local_->advance(models, 1);
  } else {
    for (PassModel& model : models) model.result = {};
  }
}

// One collective for everything that all models' results and statistics consist of.
void ShardedSession::add_up(std::span<PassModel> models) {
  Numbers numbers;
  for (const PassModel& model : models) {
    for (const PassCount& count : kPassCounts) numbers.write({&(model.result.*count.value), 1});
    numbers.write(model.result.hash_delta);
    if (local_) {
      numbers.write(local_->statistics(model.slot));
    } else {
      numbers.write(Statistics(model.prototypes->rows(), terms(), input().limbs));
    }
  }
  numbers.sum(comm_);
  for (PassModel& model : models) {
    for (const PassCount& count : kPassCounts) numbers.read({&(model.result.*count.value), 1});
    model.result.hash_delta = numbers.read_label_sum();
    numbers.read(of(model.slot));
  }
}

void ShardedSession::fetch(std::span<const int> slots, std::span<const int> labels_of) {
  if (local_) local_->fetch(slots, labels_of);
}

std::vector<LabelSum> ShardedSession::label_sums(std::span<const int> slots, int64_t first_row) {
  return local_ ? local_->label_sums(slots, first_row) : std::vector<LabelSum>();
}

// The rank that has the row tells the others what became of the two clusters.
void ShardedSession::move_row(int slot, int64_t row, uint32_t label) {
  const int owner = input().shard.owner(row);
  std::vector<int64_t> move(move_size());
  if (owner == comm_.rank()) move = move_own_row(*local_, slot, row - input().shard.first, label);
  comm_.broadcast(std::span(move), owner);
  apply_move(slot, label, move);
}

void ShardedSession::renumber(int slot, std::span<const uint32_t> new_label, std::span<const int64_t> kept) {
  if (local_) local_->renumber(slot, new_label, kept);
  set(slot, of(slot).renumbered(new_label, kept));
}

std::vector<DistantRow> ShardedSession::farthest_rows(int slot, const Matrix& prototypes, int64_t count) {
  std::vector<DistantRow> rows;
  if (local_) rows = local_->rows().farthest_rows(slot, prototypes, count);
  for (DistantRow& row : rows) row.row += input().shard.first;
  rows = comm_.gather_flat(std::span<const DistantRow>(rows));
  keep_farthest(rows, count);
  return rows;
}

std::vector<int64_t> ShardedSession::own_limbs(int slot, const Matrix& prototypes, const SumFormat& format) {
  if (!local_) return std::vector<int64_t>(static_cast<size_t>(format.limbs));
  return local_->rows().inertia_limbs(slot, prototypes, format);
}

std::vector<InertiaSum> ShardedSession::inertias(std::span<const ModelPrototypes> models) {
  std::vector<InertiaSum> sums(models.size());
  if (local_) sums = local_->rows().inertias(models);
  std::vector<double> farthest;
  for (const InertiaSum& sum : sums) farthest.push_back(sum.farthest);
  comm_.max(std::span(farthest));
  Numbers numbers;
  for (size_t i = 0; i < models.size(); ++i) {
    const SumFormat format = distance_format(input(), farthest[i]);
    if (format != sums[i].format) sums[i].limbs = own_limbs(models[i].slot, *models[i].prototypes, format);
    sums[i].farthest = farthest[i];
    sums[i].format = format;
    numbers.write(sums[i].limbs);
  }
  numbers.sum(comm_);
  for (InertiaSum& sum : sums) numbers.read(sum.limbs);
  return sums;
}

std::vector<int64_t> ShardedSession::inertia_limbs(int slot, const Matrix& prototypes, const SumFormat& format) {
  std::vector<int64_t> limbs = own_limbs(slot, prototypes, format);
  comm_.sum(std::span(limbs));
  return limbs;
}

std::vector<double> ShardedSession::distances(int slot, const Matrix& prototypes) {
  return local_ ? local_->rows().distances(slot, prototypes) : std::vector<double>{};
}

void ShardedSession::transform(const Matrix& prototypes, Matrix& distances) {
  if (local_) local_->rows().transform(prototypes, distances);
}

bool ShardedSession::two_nearest(const Matrix& prototypes, const TakeTwoNearest& take) {
  return !local_ || local_->rows().two_nearest(prototypes, take);
}

}  // namespace manymeans
