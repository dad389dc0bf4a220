// Labels of a slice's rows by a kd-tree: candidates of its leaves, then canonical distances to these.
#pragma once

#include "backend/opencl/kernels/leaf_boxes.h"
#include "backend/opencl/pass/pass_arrays.h"

#include <cstdint>
#include <span>

namespace manymeans::opencl {

class TreeScreen {
 public:
  /// `k`: of the session's models.
  TreeScreen(const OpenClShared& shared, const device::SessionMemory& memory, const PassArrays& arrays,
             std::span<const int64_t> k);
  /// Bytes that the screen takes of the device's memory.
  static int64_t bytes(const Input& input, std::span<const int64_t> k, const OpenClPlan& plan);

  /// Enqueues the rows' labels.
  void label(const device::PassBatch& batch, const device::Rows& rows);

 private:
  struct Sizes;
  struct Lists {
    NodeLists leaves, nodes;
  };

  Lists lists_of(const device::Rows& rows) const;
  void map(const device::PassBatch& batch, const Lists& lists);

  const OpenClShared& shared_;
  const device::Queue& queue_;
  const PassArrays& arrays_;
  int64_t leaves_, nodes_;  // of a slice, at most
  BoxBound bound_;
  Kernel map_nodes_, map_leaves_, settle_, label_;
  device::Buffer leaf_lists_, node_lists_;  // (models, leaves or nodes) of the batch
  device::Buffer owners_;                   // (slots, leaves): see settle_leaves() of tree.cl
};

}  // namespace manymeans::opencl
