// The members of a fit before it begins, with the initial prototypes that the caller gives.
#pragma once

#include <manymeans/options.h>
#include <manymeans/points.h>

#include "data/input.h"
#include "engine/member.h"

#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

/// The models that these options ask for, in the order of FitResult::models. `given`: their prototypes will be.
std::vector<Member> make_members(const FitOptions& options, bool given, const Input& input);

/// Throws Error unless there are k rows of `width` columns for each model.
void check_given(const PointsView& initial, const FitOptions& options, int64_t width);

/// Sets Member::given of all members to their rows, rounded to the type of prototypes. Throws Error(kBadData) for a
/// value that is not finite, or so large that distances overflow.
void give_prototypes(const PointsView& initial, const Input& input, Metric metric, std::span<Member> members);

}  // namespace manymeans
