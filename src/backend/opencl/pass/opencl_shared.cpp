#include "backend/opencl/pass/opencl_shared.h"

#include "backend/device/sum_scales.h"
#include "backend/opencl/kernels/kernel_sources.h"
#include "backend/opencl/pass/pass_arrays.h"
#include "core/rounding.h"
#include "core/threads.h"

#include <fmt/format.h>

#include <algorithm>

namespace manymeans::opencl {
namespace {

// Returns new memory and enqueues a copy of the values into it. They must stay until the queue is done.
template <class Values>
device::Buffer sent(const device::Queue& queue, const Values& values, const char* what) {
  const size_t bytes = values.size() * sizeof(values[0]);
  device::Buffer to(queue.runtime(), bytes, what);
  queue.copy_to_device(to.at(), values.data(), bytes, what);
  return to;
}

}  // namespace

OpenClShared::OpenClShared(const Input& data, const OpenClDevice& where, const UsedDevice& use,
                           const BackendOptions& how, const Workload& workload)
    : input(data), device(where), used(use), options(how), plan(make_plan(data, use, how, workload)) {
  const int threads = thread_count(options.threads);
  if (input.points.d > kRegisterColumns) used.launch.columns = used.launch.long_columns;
  if (!plan.exact) {
    ThreadPool pool(threads, options.abort);
    frame = find_frame(input, &pool);
    bound = FloatBound::make(input.points.d, frame.exponent, options.tuning.opencl.bound_scale);
  }
  patience = {Patience::Seconds(plan.usual_seconds), Patience::kMin, options.abort, options.cancel};
  const std::unique_ptr<device::Queue> queue = device.make_queue(patience);
  const Settled settled(*queue);
  upload_terms(*queue);
  slices = std::make_unique<device::RowSlices>(input, plan, device::RowSlices::Host{threads, options.abort}, *queue);
  if (!plan.exact && slices->whole()) pack(*queue);
  if (plan.tree) {
    ThreadPool pool(threads, options.abort);
    upload_tree(pool, *queue);
  }
  queue->synchronize("uploading points");
}

const Program& OpenClShared::program(std::string_view source, const std::string& more) const {
  return device.program(source, fmt::format("-cl-std=CL1.2 -w {} {}", used.launch.options(), more));
}

const Program& OpenClShared::exact_program(std::string_view source, const std::string& more) const {
  return program(source, fmt::format("-DPOINT_TYPE={} {}", static_cast<int>(input.points.type), more));
}

Grid OpenClShared::grid(int64_t items, int64_t models) const {
  const int64_t group = used.launch.group;
  const int64_t most = std::max<int64_t>(
      group, static_cast<int64_t>(used.launch.items_a_unit) * used.facts.compute_units / group * group);
  const int64_t wanted = std::clamp<int64_t>(padded(items, group), group, most);
  return {static_cast<size_t>(wanted), static_cast<size_t>(models), static_cast<size_t>(group), used.launch.contiguous};
}

Grid OpenClShared::one_group(int64_t items) const {
  return {static_cast<size_t>(items), 1, static_cast<size_t>(items), used.launch.contiguous};
}

RowBlock OpenClShared::block_of(const device::Rows& rows) const {
  RowBlock block = {};
  block.points = static_cast<int64_t>(rows.points.offset);
  block.weights = static_cast<int64_t>(rows.weights.offset / sizeof(double));
  block.first = rows.first;
  block.number = input.shard.first + rows.first;
  block.count = rows.count;
  block.weighted = rows.weights ? 1 : 0;
  return block;
}

void OpenClShared::upload_terms(const device::Queue& queue) {
  const device::SumScales scales(input);
  normal_tops = scales.normal;
  const char* const what = "the sums' formats";
  const Settled settled(queue);
  tops = sent(queue, scales.tops, what);
  exponents = sent(queue, scales.exponents, what);
  solve_shifts = sent(queue, scales.solve_shifts, what);
  if (!frame.centre.empty()) centre = sent(queue, frame.centre, what);
  queue.synchronize("uploading the sums' formats");
}

void OpenClShared::upload_tree(ThreadPool& pool, const device::Queue& queue) {
  const LeafTree tree = LeafTree::build(input.points, plan.slice_rows, pool);
  const char* const what = "the kd-tree";
  const Settled settled(queue);
  tree_order = sent(queue, tree.order, what);
  leaf_boxes = sent(queue, tree.leaves, what);
  node_boxes = sent(queue, tree.nodes, what);
  queue.synchronize("uploading the kd-tree");
}

void OpenClShared::pack(const device::Queue& queue) {
  const auto values = static_cast<size_t>(packed_rows(input.points.n) * (input.points.d + 1));
  packed = device::Buffer(device, values * sizeof(float), "the packed points");
  pack_rows(slices->all(), packed.at(), queue);
}

void OpenClShared::pack_rows(const device::Rows& rows, Address to, const device::Queue& queue) const {
  const Kernel kernel(exact_program(kExactSource), "pack_points");
  kernel(queue, grid(rows.count), block_of(rows), input.points.d, frame.scale, rows.points, centre.at(), to);
}

}  // namespace manymeans::opencl
