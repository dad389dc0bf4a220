#include "flags/checkpoint_flags.h"

#include <manymeans/error.h>
#include <manymeans/io.h>

#include "flags/flag_values.h"
#include "streams/standard_streams.h"

#include <fmt/format.h>

#include <filesystem>

namespace manymeans::cli {
namespace {

bool is_there(const CheckpointOptions& checkpoint) {
  std::error_code ignored;
  return std::filesystem::exists(checkpoint.path, ignored);
}

}  // namespace

void bind_checkpoint_flags(const Command& app, CheckpointOptions& checkpoint, bool time_limits) {
  add_file_flag(app, "--checkpoint", checkpoint.path,
                "Save the state of the fit in FILE. After a crash or an early end, --resume continues from it, to the "
                "same answer. Removed when all outputs are written.")
      .group("Checkpoint");
  const auto set_every = [&checkpoint](const std::string& text) {
    checkpoint.every = parse_number<int64_t>("--every", text, 1);
    if (checkpoint.every >= 1) return;
    throw Error(ErrorCode::kUsage, "--every", fmt::format("must be at least 1, found '{}'", text));
  };
  app.add_option("--every", set_every,
                 "Save it every COUNT iterations. Left out: every ten seconds, or less often, so that saving takes "
                 "less than 1 % of the time.")
      .type_name("COUNT")
      .group("Checkpoint");
  app.add_flag("--resume", checkpoint.resume,
               "Continue from the checkpoint, or begin if there is none yet. Points and options must be the same, "
               "except those that never change the answer" +
                   std::string(time_limits ? " and time limits." : "."))
      .group("Checkpoint");
}

void check_checkpoint(const CheckpointOptions& checkpoint) {
  if (checkpoint.path.empty()) {
    if (!checkpoint.resume && checkpoint.every == 0) return;
    throw Error(ErrorCode::kUsage, checkpoint.resume ? "--resume" : "--every", "needs --checkpoint FILE");
  }
  if (checkpoint.resume) return;  // the fit says what is wrong with the file
  check_checkpoint_path(checkpoint.path);
  if (!is_there(checkpoint)) return;
  throw Error(ErrorCode::kUsage, "--checkpoint",
              fmt::format("'{}' belongs to a fit that has not ended; add --resume to continue it, or delete it",
                          checkpoint.path));
}

void announce_resuming(const CheckpointOptions& checkpoint) {
  if (!checkpoint.resume) return;
  note(is_there(checkpoint) ? fmt::format("going on from {}", checkpoint.path)
                            : fmt::format("there is no {} yet: beginning anew", checkpoint.path));
}

void announce_going_on(const CheckpointOptions& checkpoint) {
  // A disk may have been full: then there is nothing to go on from, and a warning has said so.
  if (checkpoint.path.empty() || !is_there(checkpoint)) return;
  note("the fit has not ended; to continue, give the same command with --resume");
}

void remove_checkpoint(const CheckpointOptions& checkpoint) {
  if (checkpoint.path.empty()) return;
  try {
    manymeans::remove_checkpoint(checkpoint.path);
  } catch (const Error& error) {
    warn(fmt::format("a checkpoint that is not needed any more: {}", error.what()));
  }
}

}  // namespace manymeans::cli
