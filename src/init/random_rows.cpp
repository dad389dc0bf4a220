// random: the k rows with the smallest (Philox(row), row).
#include "data/gather.h"
#include "init/choose_rows.h"
#include "init/init.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace manymeans {

bool init_random(const InitContext& context, std::span<InitModel> models) {
  // As many models at a time as give all threads work for some milliseconds; then the fit may be stopped.
  constexpr int64_t kDraws = int64_t{1} << 26;
  const int64_t n = context.input.points.n;
  const auto together = static_cast<size_t>(std::max<int64_t>(1, kDraws / n));
  for (size_t first = 0; first < models.size(); first += together) {
    if (!context.proceed(static_cast<int64_t>(first), static_cast<int64_t>(models.size()))) return false;
    const std::span<InitModel> some = models.subspan(first, std::min(together, models.size() - first));
    std::vector<RowWish> wishes;
    for (const InitModel& model : some) wishes.push_back({model.k, model.seed});
    std::vector<std::vector<int64_t>> rows = random_rows(n, wishes, context.pool);
    for (size_t m = 0; m < some.size(); ++m) {
      some[m].prototypes = gather_rows(context.input, rows[m]);
      some[m].rows = std::move(rows[m]);
    }
  }
  return true;
}

}  // namespace manymeans
