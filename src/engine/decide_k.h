// The answer of a choice: one k, several, none, or one group.
#pragma once

#include <manymeans/choose.h>

#include "io/table/short_list.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace manymeans {

/// From these values on, clusters return in other rows, and valleys separate them.
constexpr double kMinStrength = 0.8, kMinStability = 0.85, kMinValley = 0.7;

/// Returns whether valleys separate its clusters.
inline bool separate(const Evidence& its) {
  return its.valley >= kMinValley;
}

/// The number with `digits` decimals, or as many as show on which side of its limit it lies.
std::string beside_limit(double value, double limit, int digits);
/// "0.8312", or "0.7812, within its standard error of 0.8" of a strength that is enough by its error.
std::string strength_text(const Evidence& its, int digits);

/// Columns and rows that mislead criteria.
struct Shape {
  size_t columns = 0, skewed = 0;
  size_t two_valued = 0;           ///< of the columns; categories become such columns
  size_t skewed_two_valued = 0;    ///< of the skewed ones
  int64_t rows = 0, outliers = 0;  ///< of the rows that were looked at
  bool sampled = false;            ///< these are not all rows
  ShortList tails = ShortList(3);  ///< names of the skewed columns that have more than two values
  ShortList far = ShortList(3);    ///< names of the columns with outliers

  bool is_skewed() const;    ///< a tenth of the columns, or more
  std::string text() const;  ///< "skewed columns mislead criteria ...", or nothing
};

/// Looks at up to 4,096 rows. A column of skewness 1.5 is skewed. An outlier is six deviations away in a column.
/// Columns without a name have their number from 1.
Shape shape_of(const PointsView& points, std::span<const std::string> names = {});

/// Sets votes, status, k, answer, reason, defensible and warnings from the evidence.
void decide(ChosenK& found, const Shape& shape);

}  // namespace manymeans
