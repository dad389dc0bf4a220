// The nearest two of some centres to a block of rows, and its distances to one point, in the vectors of whatever
// processor runs. These distances are no canonical ones: contract, "Search".
#pragma once

#include <cstdint>
#include <span>

namespace manymeans {

/// Rows of a block: value j of row i is x[j * kCentreRows + i].
constexpr int64_t kCentreRows = 64;

/// Of each row of a block.
struct TwoCentres {
  double least[kCentreRows], second[kCentreRows];            ///< squared distances
  double nearest[kCentreRows], second_nearest[kCentreRows];  ///< whose these are; the second's only if there are two
};

/// One instruction set's functions; all give the same bits.
struct CentreLanes {
  const char* name;
  /// Of k centres, which are k x d values: of equally far ones the lowest comes first.
  void (*two_nearest)(const double* x, int64_t d, const double* centres, int64_t k, TwoCentres* found);
  /// distances[i]: of row i to the point. Returns a bit for each row whose distance is below limits[i].
  uint64_t (*below)(const double* x, int64_t d, const double* point, const double* limits, double* distances);
};
/// Those that this processor can run, the best one first.
std::span<const CentreLanes> centre_lanes();

}  // namespace manymeans
