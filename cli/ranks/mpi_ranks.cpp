// Ranks over MPI.
#include <manymeans/mpi.h>

#include "ranks/ranks.h"
#include "streams/standard_streams.h"

#include <csignal>

namespace manymeans::cli {
namespace {

// The processes of MPI are one for the whole program, like MPI itself.
std::shared_ptr<MpiComm>& joined() {
  static std::shared_ptr<MpiComm> comm;
  return comm;
}

}  // namespace

std::shared_ptr<Comm> join_ranks() {
  if (joined() || !launched().several()) return joined();
  int given = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given) != MPI_SUCCESS || given < MPI_THREAD_FUNNELED) {
    throw Error(ErrorCode::kUnavailable, "MPI", "it cannot be started for a program with threads");
  }
  joined() = std::make_shared<MpiComm>(
      MPI_COMM_WORLD, MpiSettings{.last_words = [](const Error& why) { complain(why.code(), why.what()); }});
  return joined();
}

int end_ranks(int exit_code) {
  if (!joined()) return exit_code;
  joined().reset();
  MPI_Finalize();
  return exit_code;
}

// All ranks come here: those that have heard, too. So they can leave MPI together.
int give_up(const Error& error) {
  try {
    join_ranks();
  } catch (const Error&) {
    // MPI is no help, so this process ends alone, and the launcher ends the others.
  }
  if (!joined()) return complain(error.code(), error.what());
  std::signal(SIGTERM, SIG_IGN);  // the launcher hurries the ranks that leave last, which is no news
  joined()->abort(error);
  const auto& aborted = joined()->aborted();
  const ErrorCode code = aborted ? aborted->error.code() : error.code();
  if (!aborted || aborted->rank == joined()->rank()) complain(code, aborted ? aborted->error.what() : error.what());
  return end_ranks(static_cast<int>(code));
}

}  // namespace manymeans::cli
