#include "backend/opencl/pass/tree_screen.h"

#include "backend/opencl/kernels/kernel_sources.h"
#include "core/data_type.h"

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
                       std::span<const int64_t> k, int threads)
    : shared_(shared), queue_(memory.queue()), arrays_(arrays) {
  const int64_t d = shared.input.points.d;
  const Sizes sizes(shared.input, k, shared.plan);
  leaves_ = sizes.leaves;
  nodes_ = sizes.nodes;
  bound_ = box_bound(d, shared.options.tuning.opencl.bound_scale);
  const int64_t filled = d <= 4 ? d : (d + 3) / 4 * 4;  // so that not every number of columns takes a program
  const std::string options =
      fmt::format("-DD={} -DPADDED={} -DLANES={}", filled, filled == d ? 0 : 1, shared.used.tuned.contiguous ? 8 : 1);
  const Program& program = shared.exact_program(kTreeSource, options);
  map_nodes_ = Kernel(program, "map_nodes");
  map_leaves_ = Kernel(program, "map_leaves");
  settle_ = Kernel(program, "settle_leaves");
  label_ = Kernel(program, "label_leaves");
  leaf_lists_ = device::Buffer(shared.device, sizes.leaf_lists, "the leaves' candidates");
  node_lists_ = device::Buffer(shared.device, sizes.node_lists, "the nodes' candidates");
  owners_ = device::Buffer(shared.device, sizes.owners, "the leaves' labels");
  queue_.fill(owners_.at(), std::byte{0xff}, owners_.bytes(), "clearing the leaves' labels");
  if (shared.plan.mapping == TreeMapping::kDirect) pool_ = std::make_unique<ThreadPool>(threads, shared.options.abort);
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

Grid TreeScreen::mapped_grid(int64_t items, const device::PassBatch& batch) const {
  const bool apart = shared_.plan.mapping == TreeMapping::kReplicated;
  return shared_.grid(items, apart ? static_cast<int64_t>(batch.models.size()) : 1);
}

void TreeScreen::label(const device::PassBatch& batch, const device::Rows& rows) {
  const Lists lists = lists_of(rows);
  if (pool_) {
    map_on_host(batch, lists);
  } else {
    map(batch, lists);
  }
  const auto models = static_cast<int64_t>(batch.models.size());
  const Shape shape = arrays_.shape(batch);
  const RowBlock block = shared_.block_of(rows);
  const Int32 keeps = shared_.slices->whole() ? 1 : 0;
  settle_(queue_, shared_.grid(lists.leaves.count, models), shape, block, lists.leaves, lists.nodes, keeps,
          arrays_.ranges(), Address{batch.counters.memory, 0}, batch.control, node_lists_.at(), leaf_lists_.at(),
          owners_.at());
  label_(queue_, mapped_grid(rows.count, batch), shape, block, lists.leaves, lists.nodes, arrays_.ranges(),
         batch.control, rows.points, shared_.tree_order.at(), batch.models[0].prototypes, node_lists_.at(),
         leaf_lists_.at(), arrays_.next());
}

void TreeScreen::map(const device::PassBatch& batch, const Lists& lists) {
  const Shape shape = arrays_.shape(batch);
  const Address prototypes = batch.models[0].prototypes;
  map_nodes_(queue_, mapped_grid(lists.nodes.count, batch), shape, lists.nodes, bound_, arrays_.ranges(), batch.control,
             shared_.node_boxes.at(), prototypes, node_lists_.at());
  map_leaves_(queue_, mapped_grid(lists.leaves.count, batch), shape, lists.leaves, lists.nodes, bound_,
              arrays_.ranges(), batch.control, shared_.leaf_boxes.at(), prototypes, node_lists_.at(), leaf_lists_.at());
}

// Reading prototypes waits for all that is enqueued, copies of the lists before included.
void TreeScreen::map_on_host(const device::PassBatch& batch, const Lists& lists) {
  const size_t models = batch.models.size();
  const DataType type = prototype_type(shared_.input.points.type);
  const int64_t d = shared_.input.points.d;
  host_leaf_lists_.resize(models * static_cast<size_t>(leaves_ * kLeafList));
  host_node_lists_.resize(models * static_cast<size_t>(nodes_ * kNodeList));
  for (size_t m = 0; m < models; ++m) {
    const int64_t k = batch.models[m].k;
    values_.resize(static_cast<size_t>(k * d));
    prototypes_.resize(values_.size() * size_of(type));
    queue_.read_back(prototypes_.data(), batch.models[m].prototypes, prototypes_.size(), "fetching prototypes");
    widen(prototypes_.data(), type, 0, k * d, values_.data());
    map_model_on_host({values_.data(), nullptr, k, d}, m, lists);
  }
  const auto send = [&](const device::Buffer& to, const std::vector<ListEntry>& from) {
    queue_.copy_to_device(to.at(), from.data(), from.size() * sizeof(ListEntry), "candidates of leaves");
  };
  send(node_lists_, host_node_lists_);
  send(leaf_lists_, host_leaf_lists_);
}

void TreeScreen::map_model_on_host(const BoxCandidates& all, size_t model, const Lists& lists) {
  const int64_t box = 2 * all.d + 1;
  ListEntry* const of_nodes = host_node_lists_.data() + model * static_cast<size_t>(nodes_ * kNodeList);
  ListEntry* const of_leaves = host_leaf_lists_.data() + model * static_cast<size_t>(leaves_ * kLeafList);
  pool_->for_each_range(lists.nodes.count, 16, [&](int, int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t node = lists.nodes.first + i;
      ListEntry* const of_node = of_nodes + i * kNodeList;
      list_candidates(shared_.tree.nodes.data() + node * box, all, bound_, of_node, kNodeList - 1);
      BoxCandidates from = all;
      if (of_node[0] != MANYMEANS_ALL_OF_PARENT) from.parent = of_node;
      const int64_t begin = std::max(lists.leaves.first, node * MANYMEANS_NODE_LEAVES);
      const int64_t end = std::min(lists.leaves.first + lists.leaves.count, (node + 1) * MANYMEANS_NODE_LEAVES);
      for (int64_t leaf = begin; leaf < end; ++leaf) {
        list_candidates(shared_.tree.leaves.data() + leaf * box, from, bound_,
                        of_leaves + (leaf - lists.leaves.first) * kLeafList, kLeafList - 1);
      }
    }
  });
}

}  // namespace manymeans::opencl
