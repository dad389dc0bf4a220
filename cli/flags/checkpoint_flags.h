// The checkpoint of `fit`: its flags, what is said of it, and its end.
#pragma once

#include <manymeans/fit.h>

#include "flags/command_line.h"

namespace manymeans::cli {

/// Adds --checkpoint, --every and --resume; parsing stores into `checkpoint`, which must outlive `app`. `time_limits`:
/// whether the command has some.
void bind_checkpoint_flags(const Command& app, CheckpointOptions& checkpoint, bool time_limits);

/// Throws Error(kUsage) for flags without --checkpoint, and for an existing file without --resume. Such a file belongs
/// to a fit that has not ended, and must not be lost.
void check_checkpoint(const CheckpointOptions& checkpoint);

/// With --resume: whether there is something to go on from.
void announce_resuming(const CheckpointOptions& checkpoint);

/// After a fit that was stopped: how to go on.
void announce_going_on(const CheckpointOptions& checkpoint);

/// The fit has ended and its outputs are written.
void remove_checkpoint(const CheckpointOptions& checkpoint);

}  // namespace manymeans::cli
