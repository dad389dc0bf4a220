// Counts of the labels of passes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace manymeans {

/// Counts of the labels of one pass, or of several passes.
struct PassCounts {
  int64_t changed = 0;     ///< other than after the pass before (first pass: all)
  int64_t repeated = 0;    ///< came with the label of a duplicate
  int64_t skipped = 0;     ///< kept without a look, by bounds
  int64_t certified = 0;   ///< certified by the screen
  int64_t resolved = 0;    ///< decided by canonical distances
  int64_t candidates = 0;  ///< canonical distances computed for the resolved
  int64_t tightened = 0;   ///< canonical distances to a row's assigned prototype, computed to renew its bound

  PassCounts& operator+=(const PassCounts& other);
};
/// The name and the member of one count.
struct PassCount {
  using Member = int64_t PassCounts::*;
  std::string_view name;
  Member value = nullptr;
};
/// All of them.
inline constexpr std::array<PassCount, 7> kPassCounts = {{{"changed", &PassCounts::changed},
                                                          {"repeated", &PassCounts::repeated},
                                                          {"skipped", &PassCounts::skipped},
                                                          {"certified", &PassCounts::certified},
                                                          {"resolved", &PassCounts::resolved},
                                                          {"candidates", &PassCounts::candidates},
                                                          {"tightened", &PassCounts::tightened}}};

}  // namespace manymeans
