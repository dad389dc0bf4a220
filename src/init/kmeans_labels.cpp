// kmeans: the prototypes of the clusters that k-means finds among the rows, features and target alike. (kmeans-x: the
// clusters are found by the features alone.)
#include "init/init.h"
#include "prototype/row_groups.h"

#include <optional>

namespace manymeans {
namespace {

bool begin_with_clusters(const InitContext& context, std::span<InitModel> models, bool without_target) {
  int64_t step = 0;
  for (InitModel& model : models) {
    if (!context.proceed(step++, static_cast<int64_t>(models.size()))) return false;
    const std::optional<Labels> labels = context.cluster({model.k, model.seed, without_target});
    if (!labels) return false;
    model.prototypes = prototypes_of_labels(context.input, *labels, model.k, context.pool);
  }
  return true;
}

}  // namespace

bool init_kmeans_labels(const InitContext& context, std::span<InitModel> models) {
  return begin_with_clusters(context, models, false);
}

bool init_kmeans_of_features(const InitContext& context, std::span<InitModel> models) {
  return begin_with_clusters(context, models, true);
}

}  // namespace manymeans
