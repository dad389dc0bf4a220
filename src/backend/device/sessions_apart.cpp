#include "backend/device/sessions_apart.h"

#include <algorithm>
#include <utility>

namespace manymeans::device {

// Several models end where the engine must judge the first of them, which none knows of the others: so a pass each.
int SessionsApart::advance(std::span<PassModel> models, const PassLimits& limits) {
  int done = 1;
  for (PassModel& model : models) {
    PassModel alone{0, model.prototypes, {}};
    done = of(model.slot).advance({&alone, 1}, models.size() == 1 ? limits : PassLimits());
    model.result = alone.result;
    model.earlier = std::move(alone.earlier);
    model.last_prototypes = std::move(alone.last_prototypes);
  }
  return done;
}

std::vector<InertiaSum> SessionsApart::inertias(std::span<const ModelPrototypes> models) {
  std::vector<InertiaSum> sums;
  for (const ModelPrototypes& asked : models) {
    const ModelPrototypes alone{0, asked.prototypes};
    sums.push_back(of(asked.slot).rows().inertias({&alone, 1})[0]);
  }
  return sums;
}

void SessionsApart::fetch(std::span<const int> slots, std::span<const int> labels_of) {
  const int only = 0;
  const std::span<const int> none;
  for (const int slot : slots) {
    const bool labels = std::ranges::find(labels_of, slot) != labels_of.end();
    of(slot).fetch({&only, 1}, labels ? std::span(&only, 1) : none);
  }
}

std::vector<LabelSum> SessionsApart::label_sums(std::span<const int> slots, int64_t first_row) {
  const int only = 0;
  std::vector<LabelSum> sums;
  for (const int slot : slots) {
    const std::vector<LabelSum> sum = of(slot).label_sums({&only, 1}, first_row);
    if (sum.empty()) return {};
    sums.push_back(sum[0]);
  }
  return sums;
}

}  // namespace manymeans::device
