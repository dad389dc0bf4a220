// Brent's method: has a sequence of states begun to repeat? One saved state, compared with every later one;
// the saved state moves ahead at steps 1, 2, 4, ... so that every cycle is found.
#pragma once

#include "core/digest.h"

#include <cstdint>

namespace manymeans {

class CycleFinder {
 public:
  /// True if `state` equals the saved one.
  bool seen(LabelSum state) {
    if (begun_ && state == saved_) return true;
    if (++step_ >= power_ || !begun_) {
      saved_ = state;
      power_ *= 2;
      step_ = 0;
      begun_ = true;
    }
    return false;
  }
  void reset() { *this = CycleFinder(); }

 private:
  LabelSum saved_ = 0;
  uint64_t power_ = 1;
  uint64_t step_ = 0;
  bool begun_ = false;
};

}  // namespace manymeans
