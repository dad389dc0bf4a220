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

/// Labels that were judged without Criteria::silhouette.
struct JudgedLabels {
  const Labels* labels;
  Criteria* criteria;
};

/// Adds that to all of them, of one sample, whose distances are computed once: the bits that criteria_of() gives each.
void add_sampled_silhouettes(const Input& input, std::span<const JudgedLabels> all, const CriteriaOptions& options,
                             ThreadPool& pool);

/// Returns the silhouettes of `rows` by squared Euclidean distances; Criteria::squared_silhouette is their mean.
/// NaN if there are no two clusters.
std::vector<double> squared_silhouettes(const Input& input, std::span<const uint32_t> labels,
                                        std::span<const int64_t> rows, ThreadPool& pool);

}  // namespace manymeans
