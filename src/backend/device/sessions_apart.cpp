#include "backend/device/sessions_apart.h"

#include <utility>

namespace manymeans::device {

// Several models end where the engine must judge the first of them, which none knows of the others: so a pass each.
int SessionsApart::advance(std::span<PassModel> models, int n) {
  int done = 1;
  for (PassModel& model : models) {
    PassModel alone{0, model.prototypes, {}};
    done = of(model.slot).advance({&alone, 1}, models.size() == 1 ? n : 1);
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

void SessionsApart::fetch(std::span<const int> slots) {
  const int only = 0;
  for (const int slot : slots) of(slot).fetch({&only, 1});
}

}  // namespace manymeans::device
