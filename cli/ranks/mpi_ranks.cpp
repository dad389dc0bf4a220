// Ranks over MPI.
#include <manymeans/mpi.h>

#include "ranks/ranks.h"
#include "streams/standard_streams.h"

#include <fmt/format.h>

#include <csignal>
#include <string>
#include <string_view>

namespace manymeans::cli {
namespace {

// The processes of MPI are one for the whole program, like MPI itself.
std::shared_ptr<MpiComm>& joined() {
  static std::shared_ptr<MpiComm> comm;
  return comm;
}

// "Open MPI v4.1.4", the start of a text with packages and dates.
std::string library_name() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string_view version(text, static_cast<size_t>(length));
  return std::string(version.substr(0, version.find_first_of(",\n\r")));
}

// The launcher of another MPI leaves each process alone, and all of them would write the same files.
void check_all_are_seen() {
  int seen = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &seen);
  if (seen == launched().processes) return;
  MPI_Finalize();
  throw Error(
      ErrorCode::kUnavailable, "MPI",
      fmt::format("{} processes were started, and the MPI of this build sees {}; start them by the mpirun of {}",
                  launched().processes, seen, library_name()));
}

// Returns true if all ranks gave up at once, as for points that all of them read.
bool by_all(const PlainComm::Failure& end) {
  return !std::string_view(end.error.what()).starts_with(fmt::format("[rank {}] ", end.rank));
}

}  // namespace

std::shared_ptr<Comm> join_ranks() {
  if (joined() || !launched().several()) return joined();
  int given = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given) != MPI_SUCCESS || given < MPI_THREAD_FUNNELED) {
    throw Error(ErrorCode::kUnavailable, "MPI", "it cannot be started for a program with threads");
  }
  check_all_are_seen();
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

// All ranks that were joined come here: those that have heard, too. So they can leave MPI together.
int give_up(const Error& error) {
  std::signal(SIGTERM, SIG_IGN);  // the launcher hurries the ranks that leave last, which is no news
  if (!joined()) return complain_as_rank(error);
  joined()->abort(error);
  const auto& aborted = joined()->aborted();
  if (!aborted) return end_ranks(complain_as_rank(error));
  // In its own words: what a rank has told the others knows nothing of the file that its rows come from.
  if (aborted->rank == joined()->rank()) {
    by_all(*aborted) ? complain(error.code(), error.what()) : complain_as_rank(error);
  }
  return end_ranks(static_cast<int>(aborted->error.code()));
}

}  // namespace manymeans::cli
