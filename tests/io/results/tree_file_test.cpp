#include <manymeans/tree.h>

#include "io/numpy/npz.h"

#include <gtest/gtest.h>

namespace manymeans {
namespace {

TEST(TreeFile, HoldsTheNodes) {
  TreeResult tree;
  tree.vectors = Matrix(4, 2, DataType::kFloat64);
  tree.vectors.values<double>()[7] = 0.1;
  tree.parents = {-1, 0, 1, 1};
  tree.levels = {{1, 9.0}, {1, 8.0}, {2, 7.0}};
  const std::string path = testing::TempDir() + "/nodes.npz";
  save_tree(path, tree);
  const NpzFile file(path, "a tree");
  EXPECT_EQ(file.vector<int64_t>("id"), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(file.vector<int64_t>("parent"), tree.parents);
  EXPECT_EQ(file.vector<int64_t>("level"), (std::vector<int64_t>{0, 1, 2, 2}));
  const NpzArray vectors = file.array("vector");
  EXPECT_EQ(vectors.header().shape, (std::vector<int64_t>{4, 2}));
  EXPECT_EQ(std::memcmp(vectors.values(), tree.vectors.bytes().data(), tree.vectors.bytes().size()), 0);
}

}  // namespace
}  // namespace manymeans
