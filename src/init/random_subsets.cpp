// random-subsets: each prototype is fitted to a few random rows, as many as it has parameters.
#include "core/random.h"
#include "init/choose_rows.h"
#include "init/init.h"
#include "init/row_subsets.h"
#include "prototype/row_groups.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace manymeans {

bool init_random_subsets(const InitContext& context, std::span<InitModel> models) {
  if (!context.proceed(0, 1)) return false;
  const int64_t rows = rows_of_subset(context.input);
  std::vector<uint64_t> u;
  for (const InitModel& model : models) {
    for (int64_t k = 0; k < model.k; ++k) append_subset_draws({model.seed, k, 0, Purpose::kSubsetRow}, rows, u);
  }
  const std::vector<std::vector<int64_t>> subsets = distinct_rows(rows_by_weight(context.input, u), rows);
  std::span<const std::vector<int64_t>> left(subsets);
  for (InitModel& model : models) {
    model.prototypes = prototypes_of_groups(context.input, left.first(static_cast<size_t>(model.k)), context.pool);
    left = left.subspan(static_cast<size_t>(model.k));
  }
  return true;
}

}  // namespace manymeans
