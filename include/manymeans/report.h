// What criteria say of every k, as a list.
#pragma once

#include <manymeans/choose.h>

#include <cstdint>
#include <string>
#include <vector>

namespace manymeans {

/// What one criterion says of every k: for tables and charts.
struct CriterionSeries {
  std::string name;                 ///< as in Vote
  std::string title;                ///< for a chart
  std::string heading;              ///< short, for a column of a table
  std::string meaning;              ///< which values are good ones
  std::vector<double> values;       ///< one for each evidence; NaN where it is undefined
  std::vector<double> errors = {};  ///< likewise, of a criterion that has some: half the width of a band
  int64_t vote = 0;                 ///< the k that it chooses; 0: it has no vote
  std::string reason = {};          ///< of the vote
};
/// All criteria of a choice, in the order of tables.
std::vector<CriterionSeries> criterion_series(const ChosenK& chosen);

}  // namespace manymeans
