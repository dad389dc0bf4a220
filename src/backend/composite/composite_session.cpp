#include "backend/composite/composite_session.h"

#include <manymeans/error.h>

#include "core/digest.h"
#include "core/label_width.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace manymeans {
namespace {

constexpr int64_t kGrain = 1 << 14;  // rows or sums that a thread takes at a time

void add(std::span<const int64_t> values, std::span<int64_t> sums, ThreadPool& pool) {
  pool.for_each_range(static_cast<int64_t>(sums.size()), kGrain, [&](int, int64_t first, int64_t last) {
    for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i) sums[i] += values[i];
  });
}

// A member that does not come keeps the others from waiting for it.
void for_each_member(device::PassTeam& team, const CompositeParts& parts, ThreadPool& pool,
                     const std::function<void(size_t)>& body) {
  for_each_part(parts, pool, [&](size_t p) {
    try {
      try {
        body(p);
      } catch (...) {
        throw_of_part(*parts[p]);
      }
    } catch (...) {
      team.fail(std::current_exception());
      throw;
    }
  });
}

// By the host, where the part does not know them.
std::vector<LabelSum> sums_of_part(Session& part, std::span<const int> slots, int64_t first_row) {
  std::vector<LabelSum> sums = part.label_sums(slots, first_row);
  if (!sums.empty()) return sums;
  for (const int slot : slots) sums.push_back(label_sum(part.labels(slot), first_row));
  return sums;
}

// The resource that `work` ran out of, which is no reason to end a fit yet; nothing if it finished.
template <class Work>
std::optional<std::string> lack_of(Work&& work) {
  try {
    std::forward<Work>(work)();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnavailable) throw;
    return error.what();
  } catch (const std::bad_alloc&) {
    return "there is not enough memory";
  }
  return std::nullopt;
}

struct LabelChanges {
  int64_t rows = 0;
  LabelSum hash_delta = 0;
};

// Row 0 is number `first_row` of all.
LabelChanges changes_between(const Labels& before, const Labels& now, int64_t first_row, ThreadPool& pool) {
  std::vector<LabelChanges> of_thread(static_cast<size_t>(pool.size()));
  pool.for_each_range(now.size(), kGrain, [&](int worker, int64_t first, int64_t last) {
    std::vector<uint32_t> from(static_cast<size_t>(last - first)), to(from.size());
    before.read(first, last - first, from.data());
    now.read(first, last - first, to.data());
    LabelChanges& mine = of_thread[static_cast<size_t>(worker)];
    for (size_t i = 0; i < to.size(); ++i) {
      if (from[i] == to[i]) continue;
      const int64_t row = first_row + first + static_cast<int64_t>(i);
      ++mine.rows;
      mine.hash_delta += label_term(row, to[i]) - label_term(row, from[i]);
    }
  });
  LabelChanges all;
  for (const LabelChanges& some : of_thread) {
    all.rows += some.rows;
    all.hash_delta += some.hash_delta;
  }
  return all;
}

}  // namespace

CompositeSession::CompositeSession(const CompositeRows& rows, std::span<const int64_t> k, int threads, bool alone)
    : JoinedSession(rows.input, k, threads),
      parts_(rows.parts),
      mover_(rows.mover),
      hold_(rows.mover),
      threads_(threads),
      drivers_(static_cast<int>(rows.parts.size())),
      sessions_(rows.parts.size()),
      labels_(k.size()),
      added_up_(k.size(), 1),
      labelled_(k.size(), 0),
      carried_(k.size()) {
  make_sessions();
  if (alone) form_team();
}

void CompositeSession::make_sessions() {
  for_each_part(parts_, drivers_, [&](size_t p) { sessions_[p] = parts_[p]->upload->session(k(), threads_); });
}

void CompositeSession::form_team() {
  std::vector<device::TeamMember*> members;
  for (const auto& session : sessions_) members.push_back(session->team_member());
  team_ = device::PassTeam::of(members);
  if (!team_) return;
  for_each_member(*team_, parts_, drivers_, [&](size_t p) { members[p]->join_team(*team_, p); });
}

CompositeSession::~CompositeSession() {
  for (size_t p = 0; p < parts_.size(); ++p) {
    parts_[p]->backend->bind_to_destroy();
    sessions_[p].reset();
  }
}

int CompositeSession::advance(std::span<PassModel> models, const PassLimits& limits) {
  for (const PassModel& model : models) labels_[static_cast<size_t>(model.slot)] = {};
  return team_ ? advance_team(models, limits) : advance_joined(models, limits, limits.passes);
}

// All members make the same number of passes, since they judge by the same numbers.
int CompositeSession::advance_team(std::span<PassModel> models, const PassLimits& limits) {
  std::vector<std::vector<PassModel>> found(parts_.size(), {models.begin(), models.end()});
  std::vector<int> done(parts_.size());
  for_each_member(*team_, parts_, drivers_, [&](size_t p) { done[p] = sessions_[p]->advance(found[p], limits); });
  for (size_t i = 0; i < models.size(); ++i) {
    PassModel& all = models[i];
    all = std::move(found[0][i]);
    for (size_t p = 1; p < parts_.size(); ++p) {
      const PassModel& part = found[p][i];
      all.result += part.result;
      for (size_t pass = 0; pass < all.earlier.size(); ++pass) all.earlier[pass] += part.earlier[pass];
    }
    added_up_[static_cast<size_t>(all.slot)] = 0;
  }
  return done[0];
}

const Statistics& CompositeSession::statistics(int slot) {
  if (!std::exchange(added_up_[static_cast<size_t>(slot)], 1)) {
    for_each_part(parts_, drivers_, [&](size_t p) { sessions_[p]->statistics(slot); });
    add_up(slot);
  }
  return of(slot);
}

void CompositeSession::pass(std::span<PassModel> models) {
  if (mover_ != nullptr) move_rows(models);
  std::vector<std::vector<PassModel>> found(parts_.size(), {models.begin(), models.end()});
  std::vector<double> seconds(parts_.size());
  for_each_part(parts_, drivers_, [&](size_t p) {
    const auto begin = std::chrono::steady_clock::now();
    sessions_[p]->advance(found[p], 1);
    for (const PassModel& model : models) sessions_[p]->statistics(model.slot);  // all devices' at the same time
    seconds[p] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  });
  const bool first = std::exchange(first_pass_, false);
  if (mover_ != nullptr) mover_->count(seconds, first);
  for (size_t i = 0; i < models.size(); ++i) {
    models[i].result = {};
    for (const std::vector<PassModel>& part : found) models[i].result += part[i].result;
    add_up(models[i].slot);
    labelled_[static_cast<size_t>(models[i].slot)] = 1;
    if (!carried_[static_cast<size_t>(models[i].slot)].empty()) compare_with_carried(models[i]);
  }
}

// Call it before a pass of the models. Labels come along, so that the pass can say what it changed. The pass finds
// everything else anew, so no other model may have labels that are still needed. A move only affects time: without
// memory for it, rows return to their former places and stay there.
void CompositeSession::move_rows(std::span<const PassModel> models) {
  // Labels that come along take at most two 32-bit numbers a row, in addition to the devices' labels.
  constexpr size_t kMaxLabels = 8;
  size_t labels_of_row = 0;
  for (const PassModel& model : models)
    labels_of_row += static_cast<size_t>(label_width(k()[static_cast<size_t>(model.slot)]));
  if (first_pass_ || labels_of_row > kMaxLabels) return;
  std::vector<char> active(k().size(), 0);
  for (const PassModel& model : models) active[static_cast<size_t>(model.slot)] = 1;
  for (size_t slot = 0; slot < k().size(); ++slot) {
    if (labelled_[slot] && !active[slot]) return;
  }
  const std::vector<int64_t> ends = mover_->next_ends(), before = mover_->ends();
  if (ends.empty()) return;
  bool placed = false;
  const std::optional<std::string> lack = lack_of([&] {
    carry_labels(models);
    placed = true;
    place_rows(ends);
    mover_->count_move();
  });
  if (!lack) return;
  mover_->give_up(*lack);
  if (!placed) {
    for (Labels& labels : carried_) labels = {};
    return;
  }
  if (lack_of([&] { place_rows(before); })) throw Error(ErrorCode::kUnavailable, "moving rows", *lack);
}

void CompositeSession::carry_labels(std::span<const PassModel> models) {
  for (const PassModel& model : models) {
    const auto slot = static_cast<size_t>(model.slot);
    labels_[slot] = {};
    labels(model.slot);
    carried_[slot] = std::exchange(labels_[slot], {});
  }
}

// With sessions that have seen no label yet.
void CompositeSession::place_rows(std::span<const int64_t> ends) {
  for_each_part(parts_, drivers_, [&](size_t p) { sessions_[p].reset(); });
  mover_->place(ends, drivers_);
  make_sessions();
  first_pass_ = true;
}

// To sessions that have seen no label yet, all of them are new.
void CompositeSession::compare_with_carried(PassModel& model) {
  const auto slot = static_cast<size_t>(model.slot);
  const Labels before = std::exchange(carried_[slot], {});
  labels_[slot] = {};
  labels(model.slot);
  const Labels now = std::exchange(labels_[slot], {});
  const LabelChanges all = changes_between(before, now, input().shard.first, pool());
  model.result.changed = all.rows;
  model.result.hash_delta = all.hash_delta;
}

// The statistics of all parts.
void CompositeSession::add_up(int slot) {
  Statistics all = sessions_[0]->statistics(slot);
  for (size_t p = 1; p < sessions_.size(); ++p) {
    const Statistics& part = sessions_[p]->statistics(slot);
    add(part.sums, all.sums, pool());
    add(part.weights, all.weights, pool());
    add(part.counts, all.counts, pool());
  }
  set(slot, std::move(all));
}

ClusterSizes CompositeSession::sizes(int slot) {
  if (added_up_[static_cast<size_t>(slot)]) return JoinedSession::sizes(slot);
  std::vector<ClusterSizes> of_parts(parts_.size());
  for_each_part(parts_, drivers_, [&](size_t p) { of_parts[p] = sessions_[p]->sizes(slot); });
  ClusterSizes all = std::move(of_parts[0]);
  for (size_t p = 1; p < parts_.size(); ++p) {
    add(of_parts[p].weights, all.weights, pool());
    add(of_parts[p].counts, all.counts, pool());
  }
  return all;
}

// Lets all parts write their labels of some models to where they are among all.
void CompositeSession::fetch_labels(std::span<const int> slots) {
  std::vector<int> wanted;
  std::vector<Labels> all;
  for (const int slot : slots) {
    if (!labels_[static_cast<size_t>(slot)].empty()) continue;
    wanted.push_back(slot);
    all.emplace_back(input().points.n, k()[static_cast<size_t>(slot)], input().memory.labels == Storage::kFile);
  }
  if (wanted.empty()) return;
  std::vector<Labels*> to;
  for (Labels& each : all) to.push_back(&each);
  std::vector<char> wrote(parts_.size());
  for_each_part(parts_, drivers_,
                [&](size_t p) { wrote[p] = sessions_[p]->write_labels(wanted, to, parts_[p]->first); });
  if (std::ranges::find(wrote, 0) != wrote.end()) return;
  for (size_t i = 0; i < wanted.size(); ++i) labels_[static_cast<size_t>(wanted[i])] = std::move(all[i]);
}

const Labels& CompositeSession::labels(int slot) {
  fetch_labels({&slot, 1});
  return labels_[static_cast<size_t>(slot)];
}

void CompositeSession::fetch(std::span<const int> slots, std::span<const int> labels_of) {
  for_each_part(parts_, drivers_, [&](size_t p) { sessions_[p]->fetch(slots, {}); });
  fetch_labels(labels_of);
}

std::vector<LabelSum> CompositeSession::label_sums(std::span<const int> slots, int64_t first_row) {
  std::vector<std::vector<LabelSum>> of_parts(parts_.size());
  for_each_part(parts_, drivers_,
                [&](size_t p) { of_parts[p] = sums_of_part(*sessions_[p], slots, first_row + parts_[p]->first); });
  std::vector<LabelSum> sums(slots.size(), 0);
  for (const std::vector<LabelSum>& part : of_parts) {
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += part[i];
  }
  for (const int slot : slots) labelled_[static_cast<size_t>(slot)] = 0;  // the caller is done with the model
  return sums;
}

Labels CompositeSession::take_labels(int slot) {
  labels(slot);
  labelled_[static_cast<size_t>(slot)] = 0;
  for_each_part(parts_, drivers_, [&](size_t p) { sessions_[p]->drop_labels(slot); });
  return std::exchange(labels_[static_cast<size_t>(slot)], {});
}

size_t CompositeSession::part_of(int64_t row) const {
  const auto after = std::ranges::upper_bound(parts_, row, {}, &CompositePart::first);
  return static_cast<size_t>(after - parts_.begin()) - 1;
}

void CompositeSession::move_row(int slot, int64_t row, uint32_t label) {
  statistics(slot);
  const size_t p = part_of(row);
  parts_[p]->backend->bind_thread();
  apply_move(slot, label, move_own_row(*sessions_[p], slot, row - parts_[p]->first, label));
  Labels& all = labels_[static_cast<size_t>(slot)];
  if (!all.empty()) all.write(row, 1, &label);
}

void CompositeSession::renumber(int slot, std::span<const uint32_t> new_label, std::span<const int64_t> kept) {
  for_each_part(parts_, drivers_, [&](size_t p) {
    sessions_[p]->renumber(slot, new_label, kept);
    sessions_[p]->statistics(slot);
  });
  k()[static_cast<size_t>(slot)] = static_cast<int64_t>(kept.size());
  labels_[static_cast<size_t>(slot)] = {};
  added_up_[static_cast<size_t>(slot)] = 1;
  add_up(slot);
}

std::vector<DistantRow> CompositeSession::farthest_rows(int slot, const Matrix& prototypes, int64_t count) {
  std::vector<std::vector<DistantRow>> found(parts_.size());
  for_each_part(parts_, drivers_,
                [&](size_t p) { found[p] = sessions_[p]->rows().farthest_rows(slot, prototypes, count); });
  std::vector<DistantRow> rows;
  for (size_t p = 0; p < parts_.size(); ++p) {
    for (DistantRow& row : found[p]) {
      row.row += parts_[p]->first;
      rows.push_back(row);
    }
  }
  keep_farthest(rows, count);
  return rows;
}

// A sum's format follows from the farthest of all rows, so that parts may have to add theirs up again.
std::vector<InertiaSum> CompositeSession::inertias(std::span<const ModelPrototypes> models) {
  std::vector<std::vector<InertiaSum>> found(parts_.size());
  for_each_part(parts_, drivers_, [&](size_t p) { found[p] = sessions_[p]->rows().inertias(models); });
  std::vector<InertiaSum> sums = found[0];
  for (size_t i = 0; i < models.size(); ++i) {
    for (const std::vector<InertiaSum>& part : found) sums[i].farthest = std::max(sums[i].farthest, part[i].farthest);
    sums[i].format = distance_format(input(), sums[i].farthest);
  }
  for_each_part(parts_, drivers_, [&](size_t p) {
    for (size_t i = 0; i < models.size(); ++i) {
      if (found[p][i].format == sums[i].format) continue;
      found[p][i].limbs = sessions_[p]->rows().inertia_limbs(models[i].slot, *models[i].prototypes, sums[i].format);
    }
  });
  for (size_t i = 0; i < models.size(); ++i) {
    sums[i].limbs.assign(static_cast<size_t>(sums[i].format.limbs), 0);
    for (const std::vector<InertiaSum>& part : found) add(part[i].limbs, sums[i].limbs, pool());
  }
  return sums;
}

std::vector<int64_t> CompositeSession::inertia_limbs(int slot, const Matrix& prototypes, const SumFormat& format) {
  std::vector<std::vector<int64_t>> found(parts_.size());
  for_each_part(parts_, drivers_,
                [&](size_t p) { found[p] = sessions_[p]->rows().inertia_limbs(slot, prototypes, format); });
  std::vector<int64_t> limbs(static_cast<size_t>(format.limbs));
  for (const std::vector<int64_t>& part : found) add(part, limbs, pool());
  return limbs;
}

std::vector<double> CompositeSession::distances(int slot, const Matrix& prototypes) {
  std::vector<double> all(static_cast<size_t>(input().points.n));
  for_each_part(parts_, drivers_, [&](size_t p) {
    std::ranges::copy(sessions_[p]->rows().distances(slot, prototypes), all.begin() + parts_[p]->first);
  });
  return all;
}

void CompositeSession::transform(const Matrix& prototypes, Matrix& distances) {
  const size_t row = static_cast<size_t>(distances.columns()) * size_of(distances.type());
  std::byte* const to = distances.values<std::byte>().data();
  for_each_part(parts_, drivers_, [&](size_t p) {
    Matrix own = Matrix::unwritten(parts_[p]->rows(), distances.columns(), distances.type());
    sessions_[p]->rows().transform(prototypes, own);
    std::ranges::copy(own.bytes(), to + static_cast<size_t>(parts_[p]->first) * row);
  });
}

// `take` is called only once all parts have answered.
bool CompositeSession::two_nearest(const Matrix& prototypes, const TakeTwoNearest& take) {
  std::vector<std::vector<TwoNearest>> found(parts_.size());
  std::vector<char> answered(parts_.size());
  for_each_part(parts_, drivers_, [&](size_t p) {
    found[p].resize(static_cast<size_t>(parts_[p]->rows()));
    answered[p] = sessions_[p]->rows().two_nearest(prototypes, [&](int64_t first, std::span<const TwoNearest> rows) {
      std::ranges::copy(rows, found[p].begin() + first);
    });
  });
  if (std::ranges::find(answered, 0) != answered.end()) return false;
  for (size_t p = 0; p < parts_.size(); ++p) take(parts_[p]->first, found[p]);
  return true;
}

}  // namespace manymeans
