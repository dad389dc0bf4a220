// Labels of a slice's rows by a kd-tree: candidates of its leaves, then canonical distances to these.
#pragma once

#include "backend/opencl/kernels/leaf_boxes.h"
#include "backend/opencl/pass/pass_arrays.h"
#include "core/threads.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace manymeans::opencl {

class TreeScreen {
 public:
  /// Of a session of these models.
  TreeScreen(const OpenClShared& shared, const device::SessionMemory& memory, const PassArrays& arrays,
             std::span<const int64_t> k, int threads);
  /// What that takes of the device's memory.
  static int64_t bytes(const Input& input, std::span<const int64_t> k, const OpenClPlan& plan);

  /// Enqueues labels of these rows. Where the host finds candidates, it waits for the prototypes.
  void label(const device::PassBatch& batch, const device::Rows& rows);

 private:
  struct Sizes;
  struct Lists {
    NodeLists leaves, nodes;
  };

  Lists lists_of(const device::Rows& rows) const;
  /// So many items, once for each model where each is mapped by itself, else for all models together.
  Grid mapped_grid(int64_t items, const device::PassBatch& batch) const;
  void map(const device::PassBatch& batch, const Lists& lists);
  void map_on_host(const device::PassBatch& batch, const Lists& lists);
  void map_model_on_host(const BoxCandidates& all, size_t model, const Lists& lists);

  const OpenClShared& shared_;
  const device::Queue& queue_;
  const PassArrays& arrays_;
  int64_t leaves_, nodes_;  // of a slice, at most
  BoxBound bound_;
  Kernel map_nodes_, map_leaves_, settle_, label_;
  device::Buffer leaf_lists_, node_lists_;  // (models, leaves or nodes) of the batch
  device::Buffer owners_;                   // (slots, leaves): see settle_leaves() of tree.cl
  std::unique_ptr<ThreadPool> pool_;        // these four where the host finds candidates
  std::vector<std::byte> prototypes_;
  std::vector<double> values_;
  std::vector<ListEntry> host_leaf_lists_, host_node_lists_;
};

}  // namespace manymeans::opencl
