// random: the k rows with the smallest (Philox(row), row).
#include "data/gather.h"
#include "init/choose_rows.h"
#include "init/init.h"

#include <utility>
#include <vector>

namespace manymeans {

bool init_random(const InitContext& context, std::span<InitModel> models) {
  if (!context.proceed(0, 1)) return false;
  std::vector<RowWish> wishes;
  for (const InitModel& model : models) wishes.push_back({model.k, model.seed});
  std::vector<std::vector<int64_t>> rows = random_rows(context.input.points.n, wishes, context.pool);
  for (size_t m = 0; m < models.size(); ++m) {
    models[m].prototypes = gather_rows(context.input, rows[m]);
    models[m].rows = std::move(rows[m]);
  }
  return true;
}

}  // namespace manymeans
