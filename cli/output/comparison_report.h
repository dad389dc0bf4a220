// What `compare` says.
#pragma once

#include <manymeans/compare.h>

#include <optional>
#include <string>
#include <vector>

namespace manymeans::cli {

struct Comparison {
  std::string title_a, title_b;  ///< for people: "out.npz (k = 3, seed 5)"
  std::optional<LabelComparison> labels = std::nullopt;
  std::vector<std::string> classes_a = {}, classes_b = {};  ///< texts of labels; empty: they are numbers
  std::string rows_by = {};        ///< "column 'id'": rows were matched by name; empty: by their order
  int64_t only_a = 0, only_b = 0;  ///< rows that have names, and are in one of both alone
  std::optional<std::vector<PrototypeMatch>> centroids = std::nullopt;
  std::string no_centroids = {};  ///< why centroids of two models were not matched; empty: they were, or there are none
  std::vector<std::string> warnings = {};
};

std::string comparison_text(const Comparison& comparison);
std::string comparison_json(const Comparison& comparison);

}  // namespace manymeans::cli
