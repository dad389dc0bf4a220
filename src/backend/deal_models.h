// How the models of an ensemble are dealt out to several devices that have all rows each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

/// Where the shares of `devices` devices end. Each has neighbouring models, with about as many clusters as the others
/// have. There are at least as many models as devices; no share is empty.
std::vector<int64_t> deal_models(std::span<const int64_t> clusters, size_t devices);

}  // namespace manymeans
