// The points of a tree, resident on a GPU where possible, and copies of the rows of nodes.
#pragma once

#include <manymeans/error.h>
#include <manymeans/fit.h>

#include "backend/backend.h"
#include "core/threads.h"
#include "data/row_copy.h"

#include <cstdint>
#include <memory>
#include <span>

namespace manymeans {

class ResidentPoints {
 public:
  /// Without a limit of memory, nodes of points on a device are copied there.
  ResidentPoints(const PointsView& points, const FitOptions& options)
      : given_(points), view_(points), limited_(options.memory.bytes > 0) {}

  /// A GPU with room for all points gets them once, not for each fit.
  void copy_to_device(const FitOptions& options, const FitHooks& hooks);
  /// Calls fit(view()). If the device has no room for the fit, its copy is freed, and the fit reads the host's points.
  template <class Fit>
  FitResult fit(const Fit& fit) {
    try {
      return fit(view_);
    } catch (const Error& error) {
      if (!release(error)) throw;
      return fit(view_);
    }
  }
  const PointsView& view() const { return view_; }
  /// Bytes of a row among copied rows.
  int64_t row_bytes() const;
  /// The max bytes of rows() that a device takes; 0: all copies are in the host's memory.
  int64_t max_gather_bytes() const;
  /// Copies rows. They lie on the device of the points, if it takes them.
  RowCopy rows(std::span<const int64_t> rows, ThreadPool& pool) const;

 private:
  bool gathers_on_device() const { return view_.on_device() && !limited_; }
  bool release(const Error& error);

  PointsView given_, view_;
  bool limited_;
  std::unique_ptr<CopiedPoints> copied_;
};

RowCopy in_memory(Matrix rows);

}  // namespace manymeans
