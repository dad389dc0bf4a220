// Criteria of labels of points that are prepared already.
#pragma once

#include <manymeans/criteria.h>
#include <manymeans/points.h>

#include "core/threads.h"
#include "data/input.h"

#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

/// criteria() of an input of this rank alone and without weights, whose rows have these labels.
Criteria criteria_of(const Input& input, std::span<const uint32_t> labels, const CriteriaOptions& options,
                     ThreadPool& pool);

/// Labels, and their criteria, in which the sampled silhouette (Criteria::silhouette) is missing.
struct JudgedLabels {
  const Labels* labels;
  Criteria* criteria;
};

/// Adds the sampled silhouette to all of these criteria. One sample serves all labels, so each distance is computed
/// once. The bits equal those of criteria_of().
void add_sampled_silhouettes(const Input& input, std::span<const JudgedLabels> all, const CriteriaOptions& options,
                             ThreadPool& pool);

/// Returns the silhouettes of `rows` by squared Euclidean distances; Criteria::squared_silhouette is their mean.
/// NaN if there are no two clusters.
std::vector<double> squared_silhouettes(const Input& input, std::span<const uint32_t> labels,
                                        std::span<const int64_t> rows, ThreadPool& pool);

}  // namespace manymeans
