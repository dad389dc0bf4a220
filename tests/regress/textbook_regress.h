// Regression clustering written down once more, from the contract: one model, float32 rows without weights, one thread,
// rational arithmetic where the library has integers in limbs.
#pragma once

#include <cstdint>
#include <vector>

namespace manymeans::test {

struct TextbookTask {
  std::vector<float> rows;  // N x (D + 1)
  int64_t n = 0, d = 0, k = 0;
  uint64_t seed = 0;  // of the model
  int64_t swaps = 0;
  int64_t max_iter = 0;
};

struct TextbookAnswer {
  std::vector<float> models;  // K x (D + 1)
  std::vector<uint32_t> labels;
  double inertia = 0;
  int64_t iterations = 0;
  int64_t trials = 0;
};

/// With random-subsets, the stop rule strict and no cycle; clusters that are empty keep their models.
TextbookAnswer textbook_regress(const TextbookTask& task);

}  // namespace manymeans::test
