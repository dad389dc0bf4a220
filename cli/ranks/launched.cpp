#include "core/os/machine.h"
#include "ranks/ranks.h"
#include "streams/standard_streams.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace manymeans::cli {
namespace {

// The number in a variable; -1 without one.
int number_in(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr) return -1;
  const std::string_view text = value;
  int number = -1;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc() && end == text.data() + text.size() ? number : -1;
}

// How a launcher tells its processes.
struct Variables {
  const char* processes;
  const char* rank;
};
constexpr Variables kLaunchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},  // mpirun of Open MPI
    {"PMI_SIZE", "PMI_RANK"},                          // MPICH and Intel, srun --mpi=pmi2
    {"SLURM_STEP_NUM_TASKS", "PMIX_RANK"},             // srun --mpi=pmix
};

}  // namespace

Launched launched() {
  for (const auto& [processes, rank] : kLaunchers) {
    const Launched found{number_in(processes), number_in(rank)};
    if (found.processes > 0 && found.rank >= 0) return found;
  }
  return {};
}

void check_ranks_of(const std::string& command) {
  constexpr std::array<std::string_view, 4> kShared = {"fit", "regress", "predict", "tree"};
  if (!launched().several() || std::ranges::find(kShared, command) != kShared.end()) return;
  throw Error(ErrorCode::kUsage, "ranks",
              fmt::format("'manymeans {}' is not shared by ranks, and {} processes were started; start one, without "
                          "mpirun",
                          command, launched().processes));
}

int complain_as_rank(const Error& error) {
  const Launched process = launched();
  return complain(error.code(),
                  process.several() ? fmt::format("[rank {}] {}", process.rank, error.what()) : error.what());
}

int ranks_on_same_processors(Comm& ranks) {
  struct Place {
    char machine[256];
    ProcessorMask processors;
    bool operator==(const Place& other) const { return std::memcmp(this, &other, sizeof other) == 0; }
  };
  Place mine{};
  ::gethostname(mine.machine, sizeof mine.machine - 1);
  mine.processors = allowed_mask();  // where the system does not say, all ranks look alike
  const std::vector<Place> all = ranks.gather_flat(std::span<const Place>(&mine, 1));
  return static_cast<int>(std::ranges::count(all, mine));
}

}  // namespace manymeans::cli
