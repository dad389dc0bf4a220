// first: rows 0 .. k - 1.
#include "init/init.h"
#include "prototype/prototype.h"

#include <numeric>
#include <utility>

namespace manymeans {

bool init_first(const InitContext& context, std::span<InitModel> models) {
  for (InitModel& model : models) {
    std::vector<int64_t> rows(static_cast<size_t>(model.k));
    std::iota(rows.begin(), rows.end(), int64_t{0});
    model.prototypes = prototypes_at(context.input, rows);
    model.rows = std::move(rows);
  }
  return true;
}

}  // namespace manymeans
