#include "backend/opencl/pass/tree_screen.h"

#include "backend/opencl/kernels/kernel_sources.h"

#include <fmt/format.h>

#include <algorithm>

namespace manymeans::opencl {
namespace {

constexpr int64_t kLeafList = MANYMEANS_LEAF_LIST;
constexpr int64_t kNodeList = MANYMEANS_NODE_LIST;

}  // namespace

struct TreeScreen::Sizes {
  int64_t leaves, nodes;  // of a slice; one more node, since a slice may begin and end within some
  size_t leaf_lists, node_lists, owners;

  Sizes(const Input& input, std::span<const int64_t> k, const OpenClPlan& plan)
      : leaves(leaves_of(std::min(plan.slice_rows, input.points.n))), nodes(nodes_of(leaves) + 1) {
    const auto models = static_cast<size_t>(std::max<size_t>(1, k.size()));
    leaf_lists = models * static_cast<size_t>(leaves * kLeafList) * sizeof(ListEntry);
    node_lists = models * static_cast<size_t>(nodes * kNodeList) * sizeof(ListEntry);
    owners = models * static_cast<size_t>(leaves) * sizeof(uint32_t);
  }
};

int64_t TreeScreen::bytes(const Input& input, std::span<const int64_t> k, const OpenClPlan& plan) {
  const Sizes sizes(input, k, plan);
  return static_cast<int64_t>(sizes.leaf_lists + sizes.node_lists + sizes.owners);
}

TreeScreen::TreeScreen(const OpenClShared& shared, const device::SessionMemory& memory, const PassArrays& arrays,
                       std::span<const int64_t> k)
    : shared_(shared), queue_(memory.queue()), arrays_(arrays) {
  const int64_t d = shared.input.points.d;
  const Sizes sizes(shared.input, k, shared.plan);
  leaves_ = sizes.leaves;
  nodes_ = sizes.nodes;
  bound_ = box_bound(d, shared.options.tuning.opencl.bound_scale);
  const int64_t filled = d <= 4 ? d : (d + 3) / 4 * 4;  // so that not every number of columns takes a program
  const std::string options =
      fmt::format("-DD={} -DPADDED={} -DLANES={}", filled, filled == d ? 0 : 1, shared.used.launch.contiguous ? 8 : 1);
  const Program& program = shared.exact_program(kTreeSource, options);
  map_nodes_ = Kernel(program, "map_nodes");
  map_leaves_ = Kernel(program, "map_leaves");
  settle_ = Kernel(program, "settle_leaves");
  label_ = Kernel(program, "label_leaves");
  leaf_lists_ = device::Buffer(shared.device, sizes.leaf_lists, "the leaves' candidates");
  node_lists_ = device::Buffer(shared.device, sizes.node_lists, "the nodes' candidates");
  owners_ = device::Buffer(shared.device, sizes.owners, "the leaves' labels");
  queue_.fill(owners_.at(), std::byte{0xff}, owners_.bytes(), "clearing the leaves' labels");
}

TreeScreen::Lists TreeScreen::lists_of(const device::Rows& rows) const {
  Lists lists = {};
  lists.leaves.first = rows.first / MANYMEANS_LEAF_ROWS;
  lists.leaves.count = leaves_of(rows.count);
  lists.leaves.stride = leaves_;
  lists.nodes.first = lists.leaves.first / MANYMEANS_NODE_LEAVES;
  lists.nodes.count = nodes_of(lists.leaves.first + lists.leaves.count) - lists.nodes.first;
  lists.nodes.stride = nodes_;
  return lists;
}

void TreeScreen::label(const device::PassBatch& batch, const device::Rows& rows) {
  const Lists lists = lists_of(rows);
  map(batch, lists);
  const auto models = static_cast<int64_t>(batch.models.size());
  const Shape shape = arrays_.shape(batch);
  const RowBlock block = shared_.block_of(rows);
  const Int32 keeps = shared_.slices->whole() ? 1 : 0;
  settle_(queue_, shared_.grid(lists.leaves.count, models), shape, block, lists.leaves, lists.nodes, keeps,
          arrays_.ranges(), Address{batch.counters.memory, 0}, batch.control, node_lists_.at(), leaf_lists_.at(),
          owners_.at());
  label_(queue_, shared_.grid(rows.count, 1), shape, block, lists.leaves, lists.nodes, arrays_.ranges(), batch.control,
         rows.points, shared_.tree_order.at(), batch.models[0].prototypes, node_lists_.at(), leaf_lists_.at(),
         arrays_.next());
}

void TreeScreen::map(const device::PassBatch& batch, const Lists& lists) {
  const Shape shape = arrays_.shape(batch);
  const Address prototypes = batch.models[0].prototypes;
  map_nodes_(queue_, shared_.grid(lists.nodes.count, 1), shape, lists.nodes, bound_, arrays_.ranges(), batch.control,
             shared_.node_boxes.at(), prototypes, node_lists_.at());
  map_leaves_(queue_, shared_.grid(lists.leaves.count, 1), shape, lists.leaves, lists.nodes, bound_, arrays_.ranges(),
              batch.control, shared_.leaf_boxes.at(), prototypes, node_lists_.at(), leaf_lists_.at());
}

}  // namespace manymeans::opencl
