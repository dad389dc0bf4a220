#include "comm/ranks_of_machine.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

namespace manymeans {

int rank_on_machine(Comm& comm) {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);  // where that fails, all ranks look alike
  const std::vector<char> all = comm.gather_flat(std::span<const char>(name));
  int before = 0;
  for (int rank = 0; rank < comm.rank(); ++rank) {
    before += std::equal(name.begin(), name.end(), all.begin() + static_cast<ptrdiff_t>(name.size()) * rank);
  }
  return before;
}

}  // namespace manymeans
