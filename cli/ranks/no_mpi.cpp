// Replacements for a build without MPI.
#include "ranks/ranks.h"

#include <fmt/format.h>

namespace manymeans::cli {

std::shared_ptr<Comm> join_ranks() {
  if (!launched().several()) return nullptr;
  throw Error(ErrorCode::kUnavailable, "MPI",
              fmt::format("{} processes were started together, and this build of manymeans has no MPI; build it where "
                          "MPI is installed (Debian: libopenmpi-dev), or start one process, without mpirun",
                          launched().processes));
}

int end_ranks(int exit_code) {
  return exit_code;
}

int give_up(const Error& error) {
  return complain_as_rank(error);
}

}  // namespace manymeans::cli
