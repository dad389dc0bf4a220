// Bounds of one model's rows on their distances, from the passes before, after Hamerly (2010):
// docs/developer/screens.md.
//
//   nearest_i  is at least the distance of row i to the prototype of its label,
//   others_i   at most that to any other prototype,
//
// in the frame's units, when row i was last looked at. Both are stored relative to shifts of prototypes, summed over
// the passes, so that a row that is not looked at is not written. With A_b the shifts of prototype b, nearest_i -
// A_b(then) + A_b(now) bounds today's distance. B_b sums the longest shift of any other prototype in each pass. The
// other bound is others_i + B_b(then) - B_b(now). Only prototypes near b count for B_b: what lies at least T_b from it
// is no rival of a row within T_b / 2. The sums restart every kPassesOfSums passes.
#pragma once

#include <manymeans/points.h>

#include "backend/bounds_policy.h"
#include "backend/cpu/kernels/kernels.h"
#include "core/aligned_buffer.h"
#include "core/threads.h"

#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

/// Data that the bounds of a session's models share.
struct BoundsFrame {
  const CpuKernels* kernels = nullptr;
  int64_t n = 0;           ///< rows
  double scale = 1;        ///< a power of two: from distances of points to the frame's
  double bound_scale = 1;  ///< 1 but in tests that want to see wrong bounds fail
};

class CarriedBounds {
 public:
  static constexpr int64_t kBytesPerRow = 2 * sizeof(float);

  /// At the beginning of a pass: adds the prototypes' shifts since the last one. `repeated` as in PackedPrototypes.
  /// O(K D), and O(K^2 D) where that is little.
  void follow(const Matrix& prototypes, const Labels& labels, std::span<const uint8_t> repeated,
              const BoundsFrame& frame, ThreadPool& pool);
  /// Labels changed by other hands: nothing is known of any row, or of this one.
  void forget();
  void forget_row(int64_t row);
  /// Labels have other numbers: i was order[i].
  void reorder(std::span<const int64_t> order);

  bool allocated() const { return nearest_.size() > 0; }
  bool known() const { return known_; }  ///< in this pass; every row that cannot be kept must then be set
  /// The kernel's task that tells whether rows keep their label.
  KeepTask keep_task(int64_t first_row, int64_t count, const uint32_t* labels) const;
  /// Rows that may not keep their labels: row first_row + places[i] has the label labels[places[i]].
  struct RowsToScreen {
    int64_t first_row;
    std::span<uint32_t> places;
    const uint32_t* labels;
  };
  /// Writes the class of every row: what it lacks (bounds_policy.h).
  void classify(const RowsToScreen& rows, uint8_t* classes) const;
  /// Row places[chosen[i]] lies at the canonical distance d2[i] from the prototype of its label. Leaves the places of
  /// the rows that still may not keep it; returns their number.
  size_t tighten(const RowsToScreen& rows, std::span<const uint32_t> chosen, const double* d2, const uint8_t* classes,
                 TighteningTrials& trials);
  void set(int64_t row, uint32_t label, double nearest, double others);

  /// At least and at most the true distance, in the frame's units, of rows whose canonical distance is d2.
  double at_most(double d2) const;
  double at_least(double d2) const;
  float inflation() const { return static_cast<float>(inflation_); }

 private:
  void start(const Matrix& prototypes, const BoundsFrame& frame);
  void begin_sums_anew(const Labels& labels, ThreadPool& pool);
  bool add_shifts(const Matrix& prototypes);
  void add_longest_shifts();
  void find_reaches(const Labels& labels);
  void add_rivals_shifts(const Matrix& prototypes, ThreadPool& pool);
  void add_rivals_shift(const Matrix& prototypes, int64_t b);
  void set_thresholds(std::span<const uint8_t> repeated);
  double between(const Matrix& a, int64_t i, const Matrix& b, int64_t j) const;

  BoundsFrame frame_;
  bool filled_ = false;  // the rows' bounds belong to previous_
  bool known_ = false;
  int passes_ = 0;                     // since the sums of shifts began
  double inflation_ = 1;               // 1 + 2^-20
  double underflow_ = 0;               // of a canonical distance, in the frame's units
  Matrix previous_;                    // prototypes of the last pass
  std::vector<double> last_shifts_;    // since the last pass
  std::vector<double> shifts_;         // A_b
  std::vector<double> rivals_shifts_;  // B_b
  std::vector<double> reaches_;        // T_b / 2
  std::vector<double> halves_;         // half the distance to the nearest other prototype; 0: not known
  // k x k, row b, column c: the max over earlier passes of (shifts of c since then) - (growth of B_b since then); at
  // least 0.
  std::vector<double> owed_;
  std::vector<float> gap_, reach_, half_;  // KeepTask
  std::vector<float> per_step_;            // 2 / last_shifts_
  std::vector<uint8_t> repeated_;
  AlignedBuffer<float> nearest_, others_;
};

}  // namespace manymeans
