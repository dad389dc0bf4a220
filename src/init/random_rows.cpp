// random: k rows, by weight where there are different weights.
#include "data/gather.h"
#include "init/choose_rows.h"
#include "init/init.h"
#include "prototype/prototype.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace manymeans {
namespace {

// Such prototypes have no points at first; the caller should know.
void warn_of_zero_weights(const Input& input, const std::vector<int64_t>& rows, InitModel& model) {
  if (!input.weighted) return;
  const std::vector<int64_t> weights = weights_from_all(input, rows);
  const auto weighty = std::count_if(weights.begin(), weights.end(), [](int64_t weight) { return weight > 0; });
  if (weighty == static_cast<int64_t>(rows.size())) return;
  model.warnings.push_back(fmt::format(
      "random for k = {} (seed {}) found only {} rows of a weight above zero; the other prototypes are rows of "
      "weight zero",
      model.k, model.seed, weighty));
}

}  // namespace

bool init_random(const InitContext& context, std::span<InitModel> models) {
  if (!context.proceed(0, 1)) return false;
  std::vector<RowWish> wishes;
  for (const InitModel& model : models) wishes.push_back({model.k, model.seed});
  std::vector<std::vector<int64_t>> rows = random_rows(context.input, wishes, context.pool);
  for (size_t m = 0; m < models.size(); ++m) {
    warn_of_zero_weights(context.input, rows[m], models[m]);
    models[m].prototypes = prototypes_at(context.input, rows[m]);
    models[m].rows = std::move(rows[m]);
  }
  return true;
}

}  // namespace manymeans
