// How an ensemble is spread.
#pragma once

#include "core/threads.h"
#include "engine/lloyd.h"

#include <functional>
#include <span>

namespace manymeans {

/// Does this work, and writes the checkpoint in the end, whatever the end is.
void save_at_end(Checkpoint& checkpoint, const FitHooks& hooks, const std::function<void()>& work);

/// save_at_end() for work of a fit, which may have no checkpoint.
void do_and_save(const FitContext& context, const std::function<void()>& work);

/// Fits the members as FitOptions::strategy says: all in one pass, one after the other, or one a thread; with
/// do_and_save().
Cost run_and_save(const FitContext& context, std::span<Member> members, ThreadPool& pool);

}  // namespace manymeans
