// The points of a tree, where its fits read them, and the rows of nodes as points of their own.
#pragma once

#include <manymeans/fit.h>

#include "backend/backend.h"
#include "core/threads.h"
#include "data/row_copy.h"
#include "engine/shared_nodes.h"

#include <cstdint>
#include <memory>
#include <span>

namespace manymeans {

class PointsToSplit {
 public:
  explicit PointsToSplit(const PointsView& points) : given_(points), view_(points) {}

  /// A device with room for all points gets them once, not for each fit.
  void copy_to_device(const FitOptions& options, const FitHooks& hooks);
  const PointsView& view() const { return view_; }
  /// The max bytes of rows() that a device takes; 0: there is none.
  int64_t max_bytes_of_rows() const;
  /// Copies rows. They lie on the device of the points, if it takes them.
  RowCopy rows(std::span<const int64_t> rows, ThreadPool& pool) const;

 private:
  PointsView given_, view_;
  std::unique_ptr<CopiedPoints> copied_;
};

RowCopy in_memory(Matrix rows);
/// The rows of all ranks of the nodes that this rank splits. `rows`: those that this rank has of all nodes.
Matrix gather_rows(const PointsView& points, const SharedNodes& shared, std::span<const int64_t> rows,
                   ThreadPool& pool);

}  // namespace manymeans
