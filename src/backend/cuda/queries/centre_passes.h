// Thousands of centres of a seeding, added by a pass over the points, and the centre that is nearest to each row.
#pragma once

#include <manymeans/points.h>

#include "backend/upload.h"
#include "data/input.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace manymeans::cuda {

/// The nearest of some centres to each row, and its canonical distance.
struct NearestCentres {
  Labels labels;
  std::vector<double> distances;
};

/// By a pass of a session with these centres as prototypes. Its products have 16 bits, the screen's 8, but it reads the
/// points once. Nullopt where the screen is faster, or a session has no room.
std::optional<NearestCentres> nearest_by_pass(Upload* upload, const Input& input, const Matrix& centres);

/// The centre that is nearest to each row, the first of equals; unknown unless passes added all centres but the first.
class NearestOfRows {
 public:
  /// A model has begun with so many centres.
  void begin(int64_t centres) {
    rows_.clear();
    only_first_ = centres == 1;
  }
  /// The screen has added a centre.
  void forget() { begin(0); }
  /// Lowers `least` by what a pass found for centres numbered from `first` on.
  void take(const NearestCentres& found, int64_t first, std::span<double> least);
  /// The sum of q of the rows of each of so many centres; empty if they are unknown.
  std::vector<int64_t> weights(const Input& input, int64_t centres) const;

 private:
  std::vector<uint32_t> rows_;
  bool only_first_ = false;
};

}  // namespace manymeans::cuda
