// Nodes of a tree that ranks share out: each is split by one rank, which gets the node's rows from all.
#pragma once

#include <manymeans/comm.h>
#include <manymeans/points.h>

#include "core/threads.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace manymeans {

/// All ranks construct one and call its functions in the same order.
class SharedNodes {
 public:
  /// `held`: rows of each node on this rank. Large nodes are dealt out first, each to the rank that has fewest rows by
  /// then. A rank gets its part of all rows and one node more, at most.
  SharedNodes(Comm& comm, std::span<const int64_t> held);

  bool alone() const { return comm_.alone(); }
  int rank_of(size_t node) const { return ranks_[node]; }
  bool is_mine(size_t node) const { return ranks_[node] == comm_.rank(); }
  /// Where the rows of this rank's nodes begin among all that it gets, and their end.
  std::vector<int64_t> groups() const;

  /// Writes `bytes` a row for the rows [first, last) of all that this rank holds, node after node.
  using Make = std::function<void(int64_t first, int64_t last, std::byte* to)>;
  /// Sends what `make` writes to the ranks that split the nodes: `to` gets it node after node, rows ascending. Every
  /// rank receives the rows of all others, in pieces of 16 MiB, and keeps the rows of its nodes.
  void send(size_t bytes, const Make& make, std::byte* to) const;
  /// Returns the labels of the rows that this rank holds. `labels`: of the rows of its nodes.
  std::vector<uint32_t> labels_of_held(std::span<const uint32_t> labels) const;

 private:
  struct Run {
    int64_t first, count, to;  // values of a rank, and where they go on this one
  };
  struct Stream {
    int root;
    int64_t count;
    size_t bytes;  // of a value
  };
  void share(const Stream& stream, const Make& make, std::span<const Run> wanted, std::byte* to) const;

  Comm& comm_;
  std::vector<std::vector<int64_t>> held_;  // of each rank, by node
  std::vector<int64_t> rows_;               // of all ranks, by node
  std::vector<int> ranks_;
};

/// The rows of all ranks of the nodes that this rank splits. `rows`: those that this rank has of all nodes.
Matrix gather_shared_rows(const PointsView& points, const SharedNodes& shared, std::span<const int64_t> rows,
                          ThreadPool& pool);

}  // namespace manymeans
