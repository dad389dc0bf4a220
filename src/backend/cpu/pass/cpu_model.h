// The state of one model that a session's classes share.
#pragma once

#include <manymeans/points.h>

#include "data/statistics.h"

#include <cstdint>
#include <span>

namespace manymeans {

/// Labels and statistics of a model, and what its last pass showed. The session owns it and lends it to the others.
struct CpuModel {
  int slot = 0;
  int64_t k = 0;
  bool labelled = false;
  Labels labels;
  std::span<const uint32_t> guess;  // of the labels, before the first pass
  Statistics statistics;
  int64_t passes = 0;
  double changed_share = 1;  // in the last pass
  bool looks = true;         // a pass may begin with a look in bytes; false once such a look did not pay
  bool looked = false;       // the last pass began with a look
};

}  // namespace manymeans
