// The warnings of all models of an ensemble, one line for each kind.
#pragma once

#include <manymeans/result.h>

#include "engine/member.h"

#include <span>
#include <string>
#include <vector>

namespace manymeans {

/// Warnings that differ only in their numbers are of one kind. The first of them represents all, with the count of the
/// others and the names of the first models that have them. Kinds are in the order in which they appear.
std::vector<std::string> gathered_warnings(std::span<const Member> members);

/// Moves the models into the result, with their warnings.
void collect(std::vector<Member>& members, FitResult& result);

/// Adds a warning where fewer ranks would be faster.
void advise_ranks(std::span<const Member> members, int ranks, FitResult& result);

}  // namespace manymeans
