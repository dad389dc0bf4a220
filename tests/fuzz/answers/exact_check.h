// What a fit says, computed once more from the contract: no screen, no backend, only canonical distances and order-free
// sums.
#pragma once

#include <manymeans/result.h>

#include "core/threads.h"
#include "data/input.h"

#include <cstdint>
#include <string>

namespace manymeans::fuzz {

/// Checks a model's labels (of as many rows as can be afforded), counts, weights and inertia, all by its prototypes.
/// Complaints, a line each; empty: all is right.
std::string check_model(const Input& input, const ModelResult& model, uint64_t seed, ThreadPool& pool);

/// Checks that `prototypes` are the centroids of these labels. Clusters that weigh nothing are left out; so is
/// everything where the sums would take too much memory.
std::string check_centroids(const Input& input, const Labels& labels, const Matrix& prototypes, ThreadPool& pool);

/// Whether every cluster weighs something: then nobody had to be relocated, kept or dropped.
bool all_weigh(const Input& input, const Labels& labels, int64_t k);

}  // namespace manymeans::fuzz
