#include "backend/sharded/sharded_session.h"

#include "prototype/prototype.h"

#include <algorithm>
#include <utility>

namespace manymeans {
namespace {

// Integers that are added up over the ranks, written one after the other and read in the same order.
class Numbers {
 public:
  void write(std::span<const int64_t> values) { values_.insert(values_.end(), values.begin(), values.end()); }
  void write(LabelSum sum) {  // four words, whose sums do not overflow
    for (int w = 0; w < 4; ++w) values_.push_back(static_cast<uint32_t>(sum >> (32 * w)));
  }
  void write(const Statistics& statistics) {
    for (const auto* part : {&statistics.sums, &statistics.weights, &statistics.counts}) write(*part);
  }
  void sum(Comm& comm) { comm.sum(std::span(values_)); }
  void read(std::span<int64_t> values) {
    std::copy_n(values_.begin() + at_, values.size(), values.begin());
    at_ += static_cast<std::ptrdiff_t>(values.size());
  }
  LabelSum read_label_sum() {
    int64_t words[4];
    read(words);
    LabelSum sum = 0;
    for (int w = 0; w < 4; ++w) sum += static_cast<LabelSum>(words[w]) << (32 * w);
    return sum;
  }
  void read(Statistics& statistics) {
    for (auto* part : {&statistics.sums, &statistics.weights, &statistics.counts}) read(std::span(*part));
  }

 private:
  std::vector<int64_t> values_;
  std::ptrdiff_t at_ = 0;
};

// What an update moved.
ShiftCounts count_shifts(std::span<const double> squared_shifts, double still) {
  ShiftCounts counts;
  for (const double d2 : squared_shifts) {
    counts.sum += d2;
    counts.still += d2 <= still;
  }
  return counts;
}

// Sums, weight and rows of one cluster.
std::vector<int64_t> cluster_of(const Statistics& statistics, int64_t cluster) {
  std::vector<int64_t> values(statistics.row(cluster), statistics.row(cluster) + statistics.limbs * statistics.d);
  values.push_back(statistics.weights[static_cast<size_t>(cluster)]);
  values.push_back(statistics.counts[static_cast<size_t>(cluster)]);
  return values;
}

void add_to_cluster(Statistics& statistics, int64_t cluster, std::span<const int64_t> values) {
  int64_t* sums = statistics.row(cluster);
  const size_t limbs = values.size() - 2;
  for (size_t i = 0; i < limbs; ++i) sums[i] += values[i];
  statistics.weights[static_cast<size_t>(cluster)] += values[limbs];
  statistics.counts[static_cast<size_t>(cluster)] += values[limbs + 1];
}

}  // namespace

ShardedSession::ShardedSession(const Input& input, std::unique_ptr<Session> local, std::span<const int64_t> k,
                               int threads)
    : input_(input), comm_(*input.comm), local_(std::move(local)), pool_(threads) {
  for (const int64_t count : k) statistics_.emplace_back(count, terms(), input.limbs);
}

int ShardedSession::advance(std::span<PassModel> models, const PassLimits& limits) {
  const auto most = static_cast<int>(comm_.min(int64_t{limits.passes}));
  std::vector<PassModel> pass(models.begin(), models.end());
  std::vector<Matrix> solved(models.size()), next(models.size());
  for (PassModel& model : models) {
    model.earlier.clear();
    model.last_prototypes = {};
  }
  for (int done = 1;; ++done) {
    comm_.begin_pass();
    label_own_rows(pass);
    add_up(pass);
    for (size_t i = 0; i < models.size(); ++i) models[i].result = pass[i].result;
    if (done == most || must_be_judged(pass, limits) || !update(pass, limits.shifts, next)) {
      for (size_t i = 0; i < models.size(); ++i) models[i].last_prototypes = std::move(solved[i]);
      return done;
    }
    for (size_t i = 0; i < models.size(); ++i) {
      models[i].earlier.push_back(models[i].result);
      solved[i] = std::move(next[i]);
      pass[i].prototypes = &solved[i];
    }
  }
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
      numbers.write(Statistics(model.prototypes->rows(), terms(), input_.limbs));
    }
  }
  numbers.sum(comm_);
  for (PassModel& model : models) {
    for (const PassCount& count : kPassCounts) numbers.read({&(model.result.*count.value), 1});
    model.result.hash_delta = numbers.read_label_sum();
    numbers.read(of(model.slot));
  }
}

// The prototypes of the next pass; false where it may not come.
bool ShardedSession::update(std::span<const PassModel> models, const ShiftLimits& limits, std::span<Matrix> next) {
  for (size_t i = 0; i < models.size(); ++i) {
    const Matrix& before = *models[i].prototypes;
    next[i] = solve_prototypes(of(models[i].slot), input_, before, pool_);
    if (!limits.any()) continue;
    const ShiftCounts counts = count_shifts(squared_shifts(prototype_of(input_), before, next[i], &pool_), limits.each);
    if (may_be_last(limits, counts, before.rows())) return false;
  }
  return true;
}

bool ShardedSession::must_be_judged(std::span<const PassModel> models, const PassLimits& limits) {
  return std::ranges::any_of(models, [&](const PassModel& model) {
    const std::vector<int64_t>& weights = of(model.slot).weights;
    return model.result.changed <= limits.changed || std::ranges::find(weights, 0) != weights.end();
  });
}

void ShardedSession::fetch(std::span<const int> slots) {
  if (local_) local_->fetch(slots);
}

// The rank that has the row tells the others what became of the two clusters.
void ShardedSession::move_row(int slot, int64_t row, uint32_t label) {
  const int owner = input_.shard.owner(row);
  const auto values = static_cast<size_t>(input_.limbs * terms() + 2);
  std::vector<int64_t> told(1 + 2 * values);  // the row's label, what is added to that cluster and to the other one
  if (owner == comm_.rank()) {
    const int64_t own = row - input_.shard.first;
    told[0] = local_->labels(slot)[own];
    const int64_t clusters[] = {told[0], label};
    std::vector<int64_t> before[2];
    for (size_t c = 0; c < 2; ++c) before[c] = cluster_of(local_->statistics(slot), clusters[c]);
    local_->move_row(slot, own, label);
    for (size_t c = 0; c < 2; ++c) {
      const std::vector<int64_t> after = cluster_of(local_->statistics(slot), clusters[c]);
      std::ranges::transform(after, before[c], told.begin() + 1 + static_cast<std::ptrdiff_t>(c * values),
                             std::minus());
    }
  }
  comm_.broadcast(std::span(told), owner);
  add_to_cluster(of(slot), told[0], std::span(told).subspan(1, values));
  add_to_cluster(of(slot), label, std::span(told).subspan(1 + values, values));
}

void ShardedSession::relabel(int slot, std::span<const uint32_t> new_label, std::span<const int64_t> kept) {
  Statistics own(static_cast<int64_t>(kept.size()), terms(), input_.limbs);
  if (local_) {
    local_->relabel(slot, new_label, kept);
    own = local_->statistics(slot);
  }
  Numbers numbers;
  numbers.write(own);
  numbers.sum(comm_);
  numbers.read(own);
  of(slot) = std::move(own);
}

std::vector<DistantRow> ShardedSession::farthest_rows(int slot, const Matrix& prototypes, int64_t count) {
  std::vector<DistantRow> rows;
  if (local_) rows = local_->rows().farthest_rows(slot, prototypes, count);
  for (DistantRow& row : rows) row.row += input_.shard.first;
  rows = comm_.gather_flat(std::span<const DistantRow>(rows));
  std::ranges::sort(rows, DistantRow::is_farther);
  if (static_cast<int64_t>(rows.size()) > count) rows.resize(static_cast<size_t>(count));
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
    const SumFormat format = distance_format(input_, farthest[i]);
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
