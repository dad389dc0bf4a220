// How an ensemble is spread.
#pragma once

#include "core/threads.h"
#include "engine/lloyd.h"

#include <span>

namespace manymeans {

/// Fits the members as FitOptions::strategy says: all in one pass, one after the other, or one a thread. Where there is
/// a checkpoint it is written in the end, whatever the end is.
Cost run_and_save(const FitContext& context, std::span<Member> members, ThreadPool& pool);

}  // namespace manymeans
