// The optimal clusters of numbers: k-means in one dimension, solved exactly.
#pragma once

#include <manymeans/points.h>
#include <manymeans/result.h>

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace manymeans {

struct Optimal1dOptions {
  std::vector<int64_t> k = {8};  ///< several: the lowest BIC chooses for each row, the smaller k on equality
  int threads = 0;               ///< 0: all usable ones; never changes a bit
  const std::atomic<bool>* abort = nullptr;  ///< set it to give up: the function throws Error(kInterrupted)
};

/// The clusters of the values of each row.
struct Optimal1d {
  /// One for each row: labels of its values, clusters by ascending centre. `k` is the number of distinct values of
  /// weight above zero where that is less than `k_requested`.
  std::vector<ModelResult> models;
  std::vector<double> bic;  ///< of several k: rows x options.k, infinite for more clusters than distinct values
  std::vector<std::string> warnings;
  int64_t rounded = 0;  ///< rows in which rounding moves values or centres from the optimum; the last warning says so
};

/// Finds the k clusters of each row's values that have the lowest possible inertia.
/// The contract ("Optimal clusters of numbers") defines which of several optima is found, and what rounding does.
///
/// values   B x n in a type that fit() takes: B problems of n values.
/// weights  empty, n weights for all rows, or B x n. They are quantised as in a fit, row by row.
/// The BIC is the one of criteria(). Its weights are scaled to a sum of n.
/// fit() of a row that begins with these centres keeps their bits. It keeps the labels and the inertia, too. Where
/// values differ in their last bits only, or some are far larger than others, rounding may move values or centres. Then
/// the answer is the one with which that fit ends, and there is a warning.
/// Throws Error: kUsage (k, k > n), kBadData (NaN, infinity, weights; it names the row and the column), kUnavailable
/// (memory), kInterrupted. Expected time O(n log n) a row and k. Memory: some 200 n bytes a thread, and the result.
/// Source: Aggarwal, Schieber and Tokuyama (1994), Finding a minimum-weight k-link path in graphs with the concave
/// Monge property.
Optimal1d optimal_1d(const PointsView& values, std::span<const double> weights, const Optimal1dOptions& options = {});

}  // namespace manymeans
