// The nodes of a tree, as 'manymeans tree --tree' writes them.
#pragma once

#include <manymeans/manymeans.h>

#include <cstdint>
#include <string>
#include <vector>

namespace manymeans::cli {

struct TreeNodes {
  Dataset vectors;
  std::vector<int64_t> parents;  ///< -1 for the root

  int64_t leaves() const { return parents.empty() ? 0 : vectors.view.n - parents.back() - 1; }  ///< if it is a tree
};

/// Reads a .npz or .parquet; errors are about --tree. `type`: of the vectors.
TreeNodes read_nodes(const std::string& path, DataType type);

/// Returns true for a file of nodes.
bool is_nodes_file(const std::string& path);

/// An error of the library about the nodes becomes one about --tree, and names the file.
Error about_nodes(const std::string& path, const Error& error);

}  // namespace manymeans::cli
