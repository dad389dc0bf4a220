// kmeans: the prototypes of the clusters that k-means finds among the rows, features and target alike.
#include "init/init.h"
#include "prototype/row_groups.h"

#include <optional>

namespace manymeans {

bool init_kmeans_labels(const InitContext& context, std::span<InitModel> models) {
  int64_t step = 0;
  for (InitModel& model : models) {
    if (!context.proceed(step++, static_cast<int64_t>(models.size()))) return false;
    const std::optional<Labels> labels = context.cluster(model.k, model.seed);
    if (!labels) return false;
    model.prototypes = prototypes_of_labels(context.input, *labels, model.k, context.pool);
  }
  return true;
}

}  // namespace manymeans
