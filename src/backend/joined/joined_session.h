// Passes over rows that several sessions share.
#pragma once

#include "backend/session.h"
#include "core/threads.h"
#include "data/input.h"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace manymeans {

/// Joins sessions over parts of the rows. A subclass makes a pass over the parts and adds it up. This class has the
/// statistics of all rows, and makes the updates by them.
class JoinedSession : public Session {
 public:
  const Statistics& statistics(int slot) override { return of(slot); }

 protected:
  JoinedSession(const Input& input, std::span<const int64_t> k, int threads);

  /// One pass over all rows: the models' results, and the statistics of each in of(slot).
  virtual void pass(std::span<PassModel> models) = 0;
  /// Does advance(), with at most `most` passes.
  int advance_joined(std::span<PassModel> models, const PassLimits& limits, int most);

  /// Moves a row of `part`, which it knows by this number. Returns what apply_move() adds to the statistics of all
  /// rows: the row's former label, and the changes of the two clusters.
  std::vector<int64_t> move_own_row(Session& part, int slot, int64_t row, uint32_t label) const;
  void apply_move(int slot, uint32_t label, std::span<const int64_t> move);
  /// Numbers of a move.
  size_t move_size() const { return 1 + 2 * cluster_size(); }

  int64_t terms() const { return static_cast<int64_t>(input_.columns.size()); }
  std::vector<int64_t>& k() { return k_; }  ///< clusters now, by slot
  /// The statistics of all rows; zeros at first.
  Statistics& of(int slot);
  void set(int slot, Statistics statistics) { statistics_[static_cast<size_t>(slot)] = std::move(statistics); }
  ThreadPool& pool() { return pool_; }
  const Input& input() const { return input_; }

 private:
  size_t cluster_size() const { return static_cast<size_t>(input_.limbs * terms() + 2); }
  bool update(std::span<const PassModel> models, const ShiftLimits& limits, std::span<Matrix> next);
  bool must_be_judged(std::span<const PassModel> models, const PassLimits& limits);

  const Input& input_;
  std::vector<int64_t> k_;
  std::vector<Statistics> statistics_;  // by slot, of all rows; empty before they are wanted
  ThreadPool pool_;                     // for solving
};

/// Keeps the first `count` rows by DistantRow::is_farther.
void keep_farthest(std::vector<DistantRow>& rows, int64_t count);

}  // namespace manymeans
