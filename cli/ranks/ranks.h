// The ranks that a launcher such as mpirun has started. This process is one of them.
#pragma once

#include <manymeans/comm.h>
#include <manymeans/error.h>

#include <memory>
#include <string>

namespace manymeans::cli {

/// The launcher's variables in the environment.
struct Launched {
  int processes = 1;  ///< that it has started together, this one included
  int rank = 0;       ///< which of them this is
  bool several() const { return processes > 1; }
};
Launched launched();

/// Throws Error(kUsage) where several processes would all do what this command does for one.
void check_ranks_of(const std::string& command);

/// The ranks, joined by the first call; null for a process that was started alone. Throws Error(kUnavailable) where
/// this build has no MPI. The program ends by end_ranks() or give_up().
std::shared_ptr<Comm> join_ranks();

/// Ranks on this machine that may run on the same processors as this one, itself included. All ranks call it.
int ranks_on_same_processors(Comm& ranks);

/// Leaves the ranks after all is done. Returns the exit code.
int end_ranks(int exit_code);

/// Ends the ranks with an error. All ranks that were joined hear of it, and one of them reports it. A process that has
/// not joined them reports its own error, because the others may run another program. Returns the exit code.
int give_up(const Error& error);

/// An error as this process says it, which names its rank where several processes were started. Returns the exit code.
int complain_as_rank(const Error& error);

}  // namespace manymeans::cli
