// The warnings of all models of an ensemble, those of one kind in one line.
#pragma once

#include "engine/member.h"

#include <span>
#include <string>
#include <vector>

namespace manymeans {

/// Warnings that differ only in their numbers are of one kind: the first of them stands for all, with the count of the
/// others and the names of the first models that have them. Kinds are in the order in which they appear.
std::vector<std::string> gathered_warnings(std::span<const Member> members);

}  // namespace manymeans
