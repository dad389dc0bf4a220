#include "backend/cuda/pass/sessions_apart.h"

#include <utility>

namespace manymeans::cuda {

SessionsApart::SessionsApart(const CudaShared& shared, std::span<const int64_t> k,
                             std::vector<std::unique_ptr<Session>> sessions)
    : sessions_(std::move(sessions)),
      stream_(shared.patience),
      seeding_(shared, std::vector<int64_t>(k.begin(), k.end()), stream_) {}

// Several models end where the engine must judge the first of them, which none knows of the others: so a pass each.
int SessionsApart::advance(std::span<PassModel> models, int n) {
  int done = 1;
  for (PassModel& model : models) {
    PassModel alone{0, model.prototypes, {}};
    done = of(model.slot).advance({&alone, 1}, models.size() == 1 ? n : 1);
    model.result = alone.result;
    model.earlier = std::move(alone.earlier);
    model.moved = std::move(alone.moved);
  }
  return done;
}

void SessionsApart::fetch(std::span<const int> slots) {
  const int only = 0;
  for (const int slot : slots) of(slot).fetch({&only, 1});
}

}  // namespace manymeans::cuda
