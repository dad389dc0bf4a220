// The problems of fit_each(), each as fit() takes it.
#pragma once

#include <manymeans/fit_each.h>

#include "core/aligned_buffer.h"
#include "core/sparse_rows.h"
#include "core/threads.h"
#include "engine/checkpoint.h"

#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

class Problems {
 public:
  /// Throws Error for what no problem of the call can have. All arguments must outlive this.
  Problems(const PointsView& points, std::span<const double> weights, std::span<const int64_t> groups,
           const EachOptions& options, const PointsView& initial);

  int64_t count() const { return std::ssize(groups_) - 1; }
  const PointsView& all_points() const { return points_; }
  bool weighted() const { return !weights_.empty(); }
  /// The number of its first row among all rows.
  int64_t first_row(int64_t problem) const { return groups_[static_cast<size_t>(problem)]; }
  PointsView points(int64_t problem) const;
  /// As above. Points of a view of sparse points are a view themselves, which `sparse` keeps.
  PointsView points(int64_t problem, SparseView& sparse) const;
  std::span<const double> weights(int64_t problem) const;
  FitOptions options(int64_t problem) const;
  PointsView initial(int64_t problem) const;
  size_t models() const;  ///< of each problem
  /// Prototypes of all its models; where k is out of range, those that it may have.
  int64_t prototypes(int64_t problem) const;
  FitIdentity identity(ThreadPool& pool) const;
  /// Returns whether some problems take a thread of the processor less time than it takes to tell a device what to do.
  bool are_small(std::span<const int64_t> some) const;
  /// From a device; the host has all points then.
  void fetch_points();

 private:
  void place_initial();

  PointsView points_;
  std::span<const double> weights_;
  std::span<const int64_t> groups_;
  const EachOptions& options_;
  PointsView initial_;
  std::vector<int64_t> initial_ends_;
  AlignedBuffer<std::byte> fetched_, fetched_initial_;  // from a device
};

/// The checkpoint of a call that fits problems as a part of its work, and the number of each problem's state there.
struct SavedProblems {
  Checkpoint* checkpoint = nullptr;  ///< null: none
  std::vector<size_t> states = {};
};

/// Does the work of fit_each().
EachResult fit_problems(Problems& problems, const EachOptions& options, const FitHooks& hooks,
                        const SavedProblems& saved = {});

}  // namespace manymeans
