// What k-means++ and k-means|| ask about rows.
#pragma once

#include <manymeans/points.h>

#include "core/wide_int.h"

#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

/// Centres to add to one model.
struct SeedCentres {
  int slot = 0;
  const Matrix* centres = nullptr;
};

/// One trial of greedy k-means++: candidates for the next centre of one model.
struct SeedTrial {
  int slot = 0;
  const Matrix* candidates = nullptr;
  std::vector<WideInt> potentials = {};  ///< out: the total with each candidate added
};

/// Random numbers by which one model draws rows.
struct SeedDraw {
  int slot = 0;
  std::vector<uint64_t> u = {};
};

/// Steps of greedy k-means++ that a seeding makes alone for one model.
struct SeedRun {
  int slot = 0;
  uint64_t key = 0;                ///< the model's seed
  int64_t centres = 0;             ///< so far; the next one has this number
  int64_t k = 0;                   ///< wanted in all
  int draws = 0;                   ///< candidates a step
  std::vector<int64_t> rows = {};  ///< out: the rows that became centres, fewer than asked for if the total is zero
};

/// Which rows k-means|| takes in one round: those with u_i * total < factor * T_i * 2^64, u_i from Philox(key, i, draw,
/// kOversample).
struct SeedSample {
  uint64_t key = 0;
  uint32_t draw = 0;
  int64_t factor = 0;
  WideInt total;  ///< of all rows
};

/// Seeding (k-means++ and k-means||) of models 0 .. M - 1 over the uploaded points. For each model it holds m_i, the
/// least d2 of row i to the centres so far. It also holds the terms T_i = RNE(v_i * 2^s) of v_i = RN(w'_i * m_i), of
/// kDistanceLimbs limbs. Its memory is freed with it.
class Seeding {
 public:
  virtual ~Seeding() = default;

  /// Begins each model with its first centres and discards its former ones. Returns the largest v of each, in their
  /// order. fix_scale() comes next.
  virtual std::vector<double> begin(std::span<const SeedCentres> models) = 0;
  /// Fixes s by the largest v of all rows, which begin() returned or which rows elsewhere have. Later centres only
  /// lower v, so it holds for all of them.
  virtual void fix_scale(int slot, double largest) = 0;
  /// Adds centres. A centre that was a candidate of the model's last trial costs no reading of the points.
  virtual void add(std::span<const SeedCentres> models) = 0;
  /// The sum of T over all rows.
  virtual WideInt total(int slot) = 0;
  /// For each target, less than the total: the first row i with T_0 + .. + T_i > target.
  virtual std::vector<int64_t> pick(int slot, std::span<const WideInt> targets) = 0;
  /// For each model the rows that its numbers pick by T, the contract's way; none where the total is zero.
  virtual std::vector<std::vector<int64_t>> draw(std::span<const SeedDraw> draws);
  virtual void trial(std::span<SeedTrial> trials) = 0;
  /// For each trial the candidate that trial() would give the least potential, the first of equals. Potentials are not
  /// filled in: a backend may find the least without them.
  virtual std::vector<int64_t> choose(std::span<SeedTrial> trials);
  /// Makes up to `steps` steps for each model of `runs`, the contract's way: candidates are drawn and tried, and the
  /// best is added. False, and nothing has happened, where the caller has to make them by draw(), choose() and add().
  virtual bool run(std::span<SeedRun> runs, int64_t steps);
  /// The rows of a sample, ascending.
  virtual std::vector<int64_t> sample(int slot, const SeedSample& sample) = 0;
  /// For each added centre, the sum of q of the rows that are nearest to it; the first of equals counts. Empty if that
  /// is not known.
  virtual std::vector<int64_t> cluster_weights(int slot);
  /// Returns whether cluster_weights() knows it for models that began with one centre and whose centres were not tried.
  virtual bool knows_cluster_weights() const { return false; }
  /// m_i of all rows, for callers that choose rows themselves; valid until the next call. A row of weight zero may have
  /// a larger one: its T is zero.
  virtual std::span<const double> least(int slot) = 0;

 protected:
  /// The rows of one draw, by total() and pick().
  std::vector<int64_t> draw_by_picking(const SeedDraw& draw);
};

}  // namespace manymeans
