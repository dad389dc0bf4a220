// Shortest paths over the cuts of a line, where each part costs a penalty in addition to its squared distances.
#pragma once

#include "optimal/weighted_line.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace manymeans {

/// The paths are from cut 0 to cut n = the number of values. An edge (j, i) is the part of values [j, i). The costs are
/// binary64, in units of their own; error() bounds what rounding does to one edge. src/optimal/README.md has the proof.
class PenalisedLine {
 public:
  /// k: the number of parts of the paths that results are to decide about.
  PenalisedLine(const WeightedLine& line, size_t k);

  size_t size() const { return cuts_.size() - 1; }
  /// Finds a shortest path under this penalty for each part.
  void relax(double penalty);
  double penalty() const { return penalty_; }
  /// Parts on the path to the last cut.
  size_t parts() const;
  /// The ends of these parts.
  std::vector<size_t> ends() const;
  /// The length of the path to a cut.
  double length(size_t cut) const { return cuts_[cut].length; }
  /// How much longer the path to cut i through cut j is.
  double detour(size_t j, size_t i) const { return through(j, i) + penalty_ - cuts_[i].length; }
  /// The sum of squared distances of all values, as one part. No penalty above it is sensible.
  double whole() const { return cost(0, size()); }
  double error() const { return error_; }
  /// Whether all comparisons were decided beyond rounding. Then a path of k parts is the only optimum of k parts.
  bool sure() const { return sure_; }
  /// No exact detour() is below -loss(). Takes O(n log n) where many comparisons were close.
  double loss() const;

 private:
  struct Cut {
    double squares = 0, sum = 0;  // of what lies below it
    int64_t weight = 0;
    double length = 0;
  };

  double cost(size_t j, size_t i) const {
    const Cut &from = cuts_[j], &to = cuts_[i];
    const double sum = to.sum - from.sum;
    return (to.squares - from.squares) - sum * sum / static_cast<double>(to.weight - from.weight);
  }
  double through(size_t j, size_t i) const { return cuts_[j].length + cost(j, i); }
  bool beats(size_t challenger, size_t holder, size_t at);
  size_t takeover(size_t challenger, size_t holder, size_t low, size_t hint);

  struct Reign {
    size_t from, first;  // the best last cut before the cuts from `first` on
  };
  struct Range {
    size_t first, last;  // both included
  };
  double least_detour(Range cuts, Range before) const;
  void challenge(size_t challenger);

  const std::atomic<bool>* abort_;
  std::vector<Cut> cuts_;
  std::vector<size_t> before_;  // each cut: the one before it on its path
  std::vector<Reign> reigns_;   // those from `reign_` on are to come
  size_t reign_ = 0, hint_ = 0;
  double penalty_ = 0, error_ = 0, tolerance_ = 0;
  size_t close_ = 0;  // comparisons that may be wrong
  bool sure_ = true;
};

}  // namespace manymeans
