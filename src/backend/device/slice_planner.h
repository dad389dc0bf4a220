// How many of the points are on a device at a time, from what memory there is.
#pragma once

#include "backend/device/row_slices.h"

#include <cstdint>
#include <functional>
#include <string_view>

namespace manymeans::device {

class SlicePlanner {
 public:
  struct Points {
    int64_t rows = 0;
    int64_t row_bytes = 1;
    bool on_device = false;   ///< they stay there, and take no room
    int64_t max_rows = 0;     ///< of a slice
    int64_t slice_unit = 1;   ///< slices are a multiple of so many rows, but for the last
    int64_t forced_rows = 0;  ///< tests only: a slice is so long whatever there is room for; 0: not so
  };
  /// The memory that everything takes with a plan. (What the plan is for may change between two calls.)
  using Bytes = std::function<int64_t(const SlicePlan&)>;
  SlicePlanner(const Points& points, int64_t room, Bytes bytes);

  /// Returns whether nothing has to be cut into slices.
  bool holds_all() const;
  struct Choice {
    SlicePlan plan;
    int64_t bytes = 0;  ///< may be more than the room: then not even the smallest slices fit
  };
  /// All rows at once where they fit; else slices as large as pays, and as many rows that stay as there is room for.
  Choice choose() const;

 private:
  Choice measured(int64_t slice_rows, int64_t resident_rows) const;
  Choice in_slices(int64_t resident_rows) const;

  Points points_;
  int64_t room_;
  Bytes bytes_;
};

/// Throws Error(kUnavailable) if `bytes` for `what` do not fit into what is free of the backend's device.
void check_room(std::string_view backend, int64_t bytes, int64_t room, std::string_view what);

}  // namespace manymeans::device
