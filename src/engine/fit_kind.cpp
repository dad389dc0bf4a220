#include "engine/fit_kind.h"

#include "engine/search_task.h"
#include "engine/tuned.h"

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

FitResult fit_kind(const Prototype& prototype, const PointsView& points, std::span<const double> weights,
                   const FitOptions& options, const FitHooks& hooks) {
  return fit_kind(FitKind{prototype}, points, weights, options, hooks);
}

}  // namespace manymeans
