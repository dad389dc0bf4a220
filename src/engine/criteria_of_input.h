// Criteria of labels of points that are prepared already.
#pragma once

#include <manymeans/criteria.h>

#include "core/threads.h"
#include "data/input.h"

#include <cstdint>
#include <span>

namespace manymeans {

/// criteria() of an input of this rank alone and without weights, whose rows have these labels.
Criteria criteria_of(const Input& input, std::span<const uint32_t> labels, const CriteriaOptions& options,
                     ThreadPool& pool);

}  // namespace manymeans
