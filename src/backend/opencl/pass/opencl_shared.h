// Everything of an upload that its sessions share and never change.
#pragma once

#include "backend/backend.h"
#include "backend/device/row_slices.h"
#include "backend/frame.h"
#include "backend/opencl/pass/float_bound.h"
#include "backend/opencl/pass/opencl_plan.h"
#include "backend/opencl/runtime/kernel_launch.h"
#include "backend/opencl/runtime/opencl_device.h"
#include "backend/opencl/tree/leaf_tree.h"

#include <memory>

namespace manymeans::opencl {

struct OpenClShared {
  OpenClShared(const Input& data, const OpenClDevice& where, const UsedDevice& use, const BackendOptions& how,
               const Workload& workload);

  /// A program with the options that all kernels have, and these.
  const Program& program(std::string_view source, const std::string& options = "") const;
  /// A program of canonical arithmetic, for the type of the points.
  const Program& exact_program(std::string_view source, const std::string& options = "") const;
  /// A grid of `items` work-items, in groups as the device prefers.
  Grid grid(int64_t items, int64_t models = 1) const;
  /// One group of `items` work-items.
  Grid one_group(int64_t items) const;
  /// Enqueues what puts these rows, packed, at the beginning of `to`.
  void pack_rows(const device::Rows& rows, Address to, const device::Queue& queue) const;
  /// Where kernels find rows.
  RowBlock block_of(const device::Rows& rows) const;
  /// Their weights; another buffer where there are none.
  Address weights_of(const device::Rows& rows) const { return rows.weights ? rows.weights : tops.at(); }

  const Input& input;
  const OpenClDevice& device;
  UsedDevice used;
  BackendOptions options;
  OpenClPlan plan;
  Patience patience;  // of all queues
  Frame frame;
  FloatBound bound;
  device::Buffer centre;                         // of the frame
  device::Buffer tops, exponents, solve_shifts;  // of the columns' sums
  bool normal_tops = true;
  std::unique_ptr<device::RowSlices> slices;
  device::Buffer packed;  // all rows as the screen reads them, if all fit at once
  // Of algorithm kdtree.
  device::Buffer tree_order, leaf_boxes, node_boxes;

 private:
  void upload_tree(ThreadPool& pool, const device::Queue& queue);
  void upload_terms(const device::Queue& queue);
  void pack(const device::Queue& queue);
};

}  // namespace manymeans::opencl
