// What screens cost on this machine: constants that ship with the program, or that `manymeans bench --calibrate`
// measured here. They decide which screen runs, never what it says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace manymeans {

/// Nanoseconds on one thread.
struct ScreenCosts {
  double score = 0;         ///< of a row and column, float32
  double value = 0;         ///< and per value of the row
  double matrix_score = 0;  ///< of a row and column, bfloat16; 0 where there is no such screen
  double step = 0;          ///< and per product of 32 values
  double resolve = 0;       ///< of a row that is not proved
  double resolve_value = 0;
  double byte = 0;  ///< of a row's rounded copy
};

/// Calls visit(name, member, of_matrix) for each; the last says that it matters for bfloat16 screens only.
template <class Costs, class Visit>
void for_each_cost(Costs& costs, Visit&& visit) {
  visit("score", costs.score, false);
  visit("value", costs.value, false);
  visit("matrix_score", costs.matrix_score, true);
  visit("step", costs.step, true);
  visit("resolve", costs.resolve, false);
  visit("resolve_value", costs.resolve_value, false);
  visit("byte", costs.byte, false);
}

struct CostTable {
  ScreenCosts costs;
  bool measured = false;
  std::string warning;  ///< empty, or why the user's file was not used
};

/// Costs of an instruction set: from the file that MANYMEANS_CPU_COSTS names; else from costs_path(), if it is there
/// and whole; else those that ship. Throws Error(kBadData) that names file and key for a broken file that was named,
/// and Error(kUnavailable) if it cannot be read.
CostTable find_costs(std::string_view instruction_set);
const ScreenCosts& shipped_costs(std::string_view instruction_set);

/// The costs in the text of a file, of one instruction set; false if it has none of that. Throws as above.
bool parse_costs(const std::string& text, const std::string& path, std::string_view instruction_set,
                 ScreenCosts& costs);

}  // namespace manymeans
