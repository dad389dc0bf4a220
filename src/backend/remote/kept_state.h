// What a shard keeps between questions: a session and a seeding. A question that does not follow from them gets new
// ones.
#pragma once

#include <manymeans/error.h>

#include "backend/make_seeding.h"
#include "backend/remote/question.h"
#include "backend/session.h"
#include "data/gather.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace manymeans {

/// Throws Error(kBadData) unless this holds of the shard's rows: the question was made for others, or is damaged.
inline void check_rows(bool holds) {
  if (holds) return;
  throw Error(ErrorCode::kBadData, "shards",
              "a question was made for rows of other values than this shard has; shards must stay as they are, and "
              "questions as they were made");
}

/// A session, and what the labels of its models are.
class KeptSession {
 public:
  // The session of the question's models, with the labels that they have by the question. `fresh` makes one.
  template <class Fresh>
  Session& at(const Question& question, const Fresh& fresh) {
    if (!follows(question)) restart(question, fresh);
    for (const AskedModel& model : question.models) {
      if (model.labels) go_on(model.slot, *model.labels);
    }
    return *session_;
  }

  // A pass was made with these prototypes.
  void labelled(const AskedModel& model) { of(model.slot) = LabelState{model.prototypes, {}, {}, {}}; }
  void rows_are(int64_t first, int64_t count) { first_ = first, count_ = count; }
  void drop() {
    session_.reset();
    states_.clear();
  }

 private:
  std::optional<LabelState>& of(int32_t slot) { return states_[static_cast<size_t>(slot)]; }

  bool follows(const Question& question) {
    if (!session_ || clusters_ != question.clusters) return false;
    return std::ranges::all_of(question.models, [&](const AskedModel& model) {
      const std::optional<LabelState>& mine = of(model.slot);
      if (model.labels) return mine && model.labels->continues(*mine);
      return !mine && k_[static_cast<size_t>(model.slot)] == model.prototypes.rows();
    });
  }

  // From the passes that gave the labels.
  template <class Fresh>
  void restart(const Question& question, const Fresh& fresh) {
    clusters_ = question.clusters;
    k_ = clusters_;
    std::vector<PassModel> passes;
    for (const AskedModel& model : question.models) {
      const Matrix& prototypes = model.labels ? model.labels->prototypes : model.prototypes;
      k_[static_cast<size_t>(model.slot)] = prototypes.rows();
      if (model.labels) passes.push_back({model.slot, &prototypes, {}});
    }
    states_.assign(clusters_.size(), std::nullopt);
    session_ = nullptr;  // before there is another one
    session_ = fresh(k_);
    if (passes.empty()) return;
    session_->advance(passes, 1);
    for (const PassModel& pass : passes) of(pass.slot) = LabelState{*pass.prototypes, {}, {}, {}};
  }

  void go_on(int32_t slot, const LabelState& wanted) {
    LabelState& mine = *of(slot);
    for (size_t i = mine.moves.size(); i < wanted.moves.size(); ++i) {
      const RowMove& move = wanted.moves[i];
      if (move.row >= first_ && move.row < first_ + count_) session_->move_row(slot, move.row - first_, move.label);
    }
    if (mine.new_label.empty() && !wanted.new_label.empty()) {
      session_->renumber(slot, wanted.new_label, wanted.kept);
    }
    mine = wanted;
  }

  std::unique_ptr<Session> session_;
  std::vector<int64_t> clusters_, k_;              // as asked, and of the session
  std::vector<std::optional<LabelState>> states_;  // none before the first pass
  int64_t first_ = 0, count_ = 0;
};

/// A seeding, and the centres that its models have.
class KeptSeeding {
 public:
  // The seeding of the question's models, with the centres that they have by the question. `fresh` makes one.
  template <class Fresh>
  Seeding& at(const Question& question, const Fresh& fresh) {
    Seeding& seeding = of_clusters(question.clusters, fresh);
    std::vector<Matrix> rest;
    rest.reserve(2 * question.seeds.size());  // whose addresses are given away
    std::vector<SeedCentres> begun, added;
    for (const AskedSeeds& wanted : question.seeds) {
      int64_t there = centres_there(of(wanted.slot), wanted);
      if (there == 0) {  // the first alone, as RemoteSeeding::begin does: from there on the nearest centre is known
        rest.push_back(rows_of(wanted.centres, 0, 1));
        begun.push_back({wanted.slot, &rest.back()});
        there = 1;
      }
      if (there == wanted.centres.rows()) continue;
      rest.push_back(rows_of(wanted.centres, there, wanted.centres.rows()));
      added.push_back({wanted.slot, &rest.back()});
    }
    if (!begun.empty()) check_largest(question, begun, seeding.begin(begun));
    for (const SeedCentres& one : begun) of(one.slot) = {};
    for (const AskedSeeds& wanted : question.seeds) {
      if (of(wanted.slot).largest < 0) seeding.fix_scale(wanted.slot, wanted.largest);
    }
    if (!added.empty()) seeding.add(added);
    for (const AskedSeeds& wanted : question.seeds) {
      Begun& mine = of(wanted.slot);
      if (mine.centres.rows() != wanted.centres.rows()) mine = {wanted.centres, wanted.largest};
    }
    return seeding;
  }
  template <class Fresh>
  bool knows_cluster_weights(const Question& question, const Fresh& fresh) {
    return of_clusters(question.clusters, fresh).knows_cluster_weights();
  }
  // The largest v of rows that have this first centre alone.
  template <class Fresh>
  std::vector<double> begin(const Question& question, const Fresh& fresh) {
    std::vector<SeedCentres> first;
    Seeding& seeding = of_clusters(question.clusters, fresh);
    for (const AskedSeeds& seeds : question.seeds) {
      of(seeds.slot) = {};  // without a scale yet
      first.push_back({seeds.slot, &seeds.centres});
    }
    return seeding.begin(first);
  }
  void drop() {
    owner_.seeding.reset();
    owner_.upload.reset();
    owner_.backend.reset();
    begun_.clear();
  }

 private:
  struct Begun {
    Matrix centres;
    double largest = -1;
  };
  Begun& of(int32_t slot) { return begun_[static_cast<size_t>(slot)]; }

  template <class Fresh>
  Seeding& of_clusters(const std::vector<int64_t>& clusters, const Fresh& fresh) {
    if (owner_.seeding && clusters_ == clusters) return *owner_.seeding;
    drop();
    clusters_ = clusters;
    begun_.resize(clusters_.size());
    owner_ = fresh(clusters_);
    return *owner_.seeding;
  }

  static Matrix rows_of(const Matrix& centres, int64_t first, int64_t last) {
    std::vector<int64_t> rows(static_cast<size_t>(last - first));
    std::iota(rows.begin(), rows.end(), first);
    return gather_rows(centres.view(), rows);
  }

  // No term may exceed the room of the scale: terms of begun models have at most these sizes.
  static void check_largest(const Question& question, std::span<const SeedCentres> begun,
                            std::span<const double> largest) {
    for (size_t i = 0; i < begun.size(); ++i) {
      const auto wanted = std::ranges::find(question.seeds, begun[i].slot, &AskedSeeds::slot);
      check_rows(largest[i] <= wanted->largest);
    }
  }

  // How many of the wanted centres the model has; 0 where it has others.
  static int64_t centres_there(const Begun& mine, const AskedSeeds& wanted) {
    const std::span<const std::byte> has = mine.centres.bytes(), wants = wanted.centres.bytes();
    if (mine.largest != wanted.largest || has.size() > wants.size()) return 0;
    return std::ranges::equal(has, wants.first(has.size())) ? mine.centres.rows() : 0;
  }

  SeedingOwner owner_;
  std::vector<int64_t> clusters_;
  std::vector<Begun> begun_;
};

}  // namespace manymeans
