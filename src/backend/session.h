// Passes: what the engine asks about models over uploaded points.
#pragma once

#include <manymeans/pass_counts.h>
#include <manymeans/points.h>

#include "backend/pass_limits.h"
#include "backend/row_queries.h"
#include "core/digest.h"
#include "data/statistics.h"

#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

namespace device {
class TeamMember;
}

/// Results of one pass for one model.
struct PassResult : PassCounts {
  LabelSum hash_delta = 0;  ///< change of the label sum (first pass: 0)
  bool relocated = false;   ///< empty clusters got rows after the pass; hash_delta has them, too

  PassResult& operator+=(const PassResult& other) {
    PassCounts::operator+=(other);
    hash_delta += other.hash_delta;
    relocated |= other.relocated;
    return *this;
  }
};

/// One active model of a pass.
struct PassModel {
  int slot = 0;                          ///< index among the session's models
  const Matrix* prototypes = nullptr;    ///< k x D
  PassResult result;                     ///< of the last pass
  std::vector<PassResult> earlier = {};  ///< of the passes before it, where more than one was done
  Matrix last_prototypes = {};           ///< then: the prototypes of the last pass
  PassLimits limits = {};                ///< of Backend::upload_problems(): its own, but for the number of passes
  /// Labels that the first pass may begin from, since most are right or nearly so; empty: none is known.
  std::span<const uint32_t> guess = {};
};

/// Copies labels to those from row `first` on, of any width that holds them.
void copy_labels(const Labels& from, Labels& to, int64_t first);
/// Writes new_label[l] for the labels l of the rows [first, last). `to` may be `from`.
void renumber_labels(const Labels& from, int64_t first, int64_t last, std::span<const uint32_t> new_label, Labels& to);

/// Passes: labels and statistics of models 0 .. M - 1 over the uploaded points.
class Session {
 public:
  virtual ~Session() = default;

  /// Passes for these models within the limits, with updates on the device between them. Returns how many are done. A
  /// backend that leaves all updates to the engine does one. Afterwards labels(slot) and statistics(slot) are results
  /// of the last pass; the engine does its update.
  virtual int advance(std::span<PassModel> models, const PassLimits& limits) = 0;

  virtual const Labels& labels(int slot) = 0;
  virtual const Statistics& statistics(int slot) = 0;
  /// The part of a model's statistics that is there sooner, where the sums are many.
  virtual ClusterSizes sizes(int slot) {
    const Statistics& all = statistics(slot);
    return {all.weights, all.counts};
  }
  /// The update of a model from its statistics, where the session makes it sooner than the engine, which then need not
  /// read them. Returns whether it did. `before` are the prototypes of the last pass.
  virtual bool update(int slot, const Matrix& before, Matrix& after) {
    static_cast<void>(slot);
    static_cast<void>(before);
    static_cast<void>(after);
    return false;
  }
  /// Announces that the statistics of all `slots`, and the labels of `labels_of`, will be read once each. A session
  /// that has them elsewhere may fetch them together.
  virtual void fetch(std::span<const int> slots, std::span<const int> labels_of) {
    static_cast<void>(slots);
    static_cast<void>(labels_of);
  }
  /// Hands the labels over; the slot is empty afterwards.
  virtual Labels take_labels(int slot) = 0;
  /// Writes the labels as int32 to a room that was waited for. The slot is empty afterwards.
  virtual void store_labels(int slot, const ResultRoom& room);
  /// Empties the slot; its labels are not needed.
  virtual void drop_labels(int slot) { take_labels(slot); }
  /// Writes the labels of each of `slots` into `to`, from row `first` on. Returns false if labels() has none.
  virtual bool write_labels(std::span<const int> slots, std::span<Labels* const> to, int64_t first);
  /// The label sums of the models in `slots` after a pass, for a session whose first row is number `first_row` of all.
  /// Empty if labels() must provide them. A session that has its labels elsewhere may know the sums without handing
  /// them over.
  virtual std::vector<LabelSum> label_sums(std::span<const int> slots, int64_t first_row) {
    static_cast<void>(slots);
    static_cast<void>(first_row);
    return {};
  }

  /// Moves one row to another cluster, statistics included.
  virtual void move_row(int slot, int64_t row, uint32_t label) = 0;
  /// Replaces every label l by new_label[l] < kept.size(). The statistics become the statistics of the clusters `kept`
  /// (ascending). The other clusters weigh nothing; rows of weight zero that they may hold count under their new label.
  virtual void renumber(int slot, std::span<const uint32_t> new_label, std::span<const int64_t> kept) = 0;

  /// Announces that the next pass has the prototypes of the last one in another order: number i was order[i]. A session
  /// may put what it knows of the rows into this order.
  virtual void reorder(int slot, std::span<const int64_t> order) {
    static_cast<void>(slot);
    static_cast<void>(order);
  }

  /// Questions about the rows under this session's labels; they live as long as the session.
  virtual RowQueries& rows() = 0;

  /// Itself, where it can make passes together with sessions over other rows, on other devices (device/pass_team.h).
  virtual device::TeamMember* team_member() { return nullptr; }
};

}  // namespace manymeans
