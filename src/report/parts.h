// The parts of a page; each is empty where the result has nothing for it.
#pragma once

#include <manymeans/regress.h>

#include "report/shown_model.h"

#include <string>

namespace manymeans::report {

// The answer.
std::string sentences_part(const ShownModel& shown);
std::string cards_part(const ShownModel& shown);

// Parts about the shown model.
std::string sizes_part(const ShownModel& shown);
std::string heat_map_part(const ShownModel& shown);
std::string silhouettes_part(const ShownModel& shown);
std::string centroids_part(const ShownModel& shown);
std::string map_part(const ShownModel& shown);
std::string models_part(const ShownModel& shown);  // linear ones
/// "cost = 2 + 0.5 age - 3 size": of a linear model, in the units of the file.
std::string equation_of(const ShownModel& shown, size_t cluster);
const LinearCluster& plane_of(const ShownModel& shown, size_t cluster);
std::string parallel_part(const ShownModel& shown);

// Of many models.
std::string criteria_part(const ReportInput& input);
std::string tree_part(const ShownModel& shown);
std::string members_part(const ShownModel& shown);
std::string agreement_part(const ShownModel& shown);
std::string search_part(const ShownModel& shown);
std::string passes_part(const ShownModel& shown);

}  // namespace manymeans::report
