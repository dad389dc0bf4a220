// Greedy k-means++ (Arthur and Vassilvitskii 2007, with the greedy trials of their implementation), exact:
// docs/developer/contract.md, "Random".
#pragma once

#include "init/init.h"

namespace manymeans {

bool init_kmeans_plus_plus(const InitContext& context, std::span<InitModel> models);

}  // namespace manymeans
