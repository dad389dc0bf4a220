// random: the k rows with the smallest (Philox(row), row).
#include "data/gather.h"
#include "init/choose_rows.h"
#include "init/init.h"

namespace manymeans {

bool init_random(const InitContext& context, std::span<InitModel> models) {
  int64_t step = 0;
  for (InitModel& model : models) {
    if (!context.proceed(step++, static_cast<int64_t>(models.size()))) return false;
    model.rows = random_rows(context.input.points.n, model.k, model.seed, {}, context.pool);
    model.prototypes = gather_rows(context.input, model.rows);
  }
  return true;
}

}  // namespace manymeans
