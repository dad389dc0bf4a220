// How far the search before a fit is, between two of its rounds (contract, "Search"): what a checkpoint has of it.
#pragma once

#include <manymeans/points.h>
#include <manymeans/search.h>

#include <cstdint>

namespace manymeans {

/// The state of a model that walks by swaps, between two rounds; its centroids are not in it.
struct WalkRecord {
  double most = 0;       ///< swaps of the next try
  int64_t failures = 0;  ///< rounds in a row that gained nothing
  int64_t draws = 0;     ///< random numbers that it has used
};

/// Everything else of a search is a function of its centroids, the points, the options and the seed.
struct SearchRecord {
  Matrix best;          ///< k x D: the best centroids so far; empty where there was no search yet
  double inertia = 0;   ///< theirs
  int64_t trials = 0;   ///< that have begun
  bool walking = true;  ///< the swaps of the first model have not ended: `walk` says where they are
  WalkRecord walk;
  double seconds = 0;     ///< that it has taken
  SearchSummary summary;  ///< so far
};

}  // namespace manymeans
