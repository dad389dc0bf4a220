#include "engine/fit_kind.h"

#include "engine/search_task.h"

#include <fmt/format.h>

namespace manymeans {

std::vector<std::pair<std::string, std::string>> FitKind::deciding() const {
  if (search != nullptr) {
    return {{"rounds", fmt::format("{}", search->options.rounds)},
            {"trials", fmt::format("{}", search->options.trials)}};
  }
  if (prototype.euclidean) return {};
  return {{"prototype", std::string(prototype.name)},
          {"ridge", fmt::format("{}", linear.ridge)},
          {"intercept", fmt::format("{}", linear.intercept)},
          {"swaps", fmt::format("{}", swaps)}};
}

}  // namespace manymeans
