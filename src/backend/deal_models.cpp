#include "backend/deal_models.h"

#include <algorithm>
#include <numeric>

namespace manymeans {

std::vector<int64_t> deal_models(std::span<const int64_t> clusters, size_t devices) {
  const auto models = static_cast<int64_t>(clusters.size());
  const auto count = static_cast<int64_t>(devices);
  const int64_t all = std::accumulate(clusters.begin(), clusters.end(), int64_t{0});
  std::vector<int64_t> ends;
  int64_t model = 0, before = 0;
  for (int64_t device = 1; device < count; ++device) {
    const int64_t least = model + 1, most = models - (count - device);
    // The model in which a share would end goes to the share that has more of it.
    while (model < most &&
           (model < least || (2 * before + clusters[static_cast<size_t>(model)]) * count <= 2 * all * device)) {
      before += clusters[static_cast<size_t>(model++)];
    }
    ends.push_back(model);
  }
  ends.push_back(models);
  return ends;
}

}  // namespace manymeans
