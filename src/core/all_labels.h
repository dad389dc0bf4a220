// Labels as numbers, whatever their width is.
#pragma once

#include <manymeans/points.h>

#include <cstdint>
#include <vector>

namespace manymeans {

/// Returns all labels as uint32, or as int64 for callers that need a value for "none". O(N).
template <class T = uint32_t>
std::vector<T> all_labels(const Labels& labels) {
  std::vector<uint32_t> all(static_cast<size_t>(labels.size()));
  labels.read(0, labels.size(), all.data());
  return {all.begin(), all.end()};
}

}  // namespace manymeans
