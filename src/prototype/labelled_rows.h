// Blocks of rows and prototypes, for the functions that work on many rows a call. They hold only addresses and numbers,
// so that code for one instruction set may include this file.
#pragma once

#include <cstdint>

namespace manymeans {

/// Neighbouring rows of points.
template <class T>
struct RowBlock {
  const T* points;  // count x d
  int64_t count;
  int64_t d;
};

/// Rows and the prototypes of their labels.
template <class T>
struct LabelledRows {
  const T* points;  // count x d
  int64_t count;
  int64_t d;
  const T* prototypes;  // k x width
  int64_t k;
  const uint32_t* labels;
};

}  // namespace manymeans
