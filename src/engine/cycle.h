// Brent's method: has a sequence of states begun to repeat? One saved state, compared with every later one;
// the saved state moves ahead at steps 1, 2, 4, ... so that every cycle is found.
#pragma once

#include "core/digest.h"

#include <cstdint>

namespace manymeans {

class CycleFinder {
 public:
  /// All that it remembers.
  struct Memory {
    LabelSum saved = 0;
    uint64_t power = 1;
    uint64_t step = 0;
    bool begun = false;
  };
  CycleFinder() = default;
  explicit CycleFinder(const Memory& memory) : memory_(memory) {}
  const Memory& memory() const { return memory_; }

  /// True if `state` equals the saved one.
  bool seen(LabelSum state) {
    if (memory_.begun && state == memory_.saved) return true;
    if (++memory_.step >= memory_.power || !memory_.begun) {
      memory_.saved = state;
      memory_.power *= 2;
      memory_.step = 0;
      memory_.begun = true;
    }
    return false;
  }
  void reset() { *this = CycleFinder(); }

 private:
  Memory memory_;
};

}  // namespace manymeans
