// The output of `describe` and `inspect` about a model file.
#pragma once

#include <manymeans/io.h>
#include <manymeans/model_file.h>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace manymeans::cli {

/// A table of the best model of every k; of linear models their equations, too, in the units of the fitted file.
std::string model_description(const std::string& path, const ModelFile& file);
/// Returns the description as one JSON object.
nlohmann::ordered_json model_description_json(const std::string& path, const ModelFile& file);

/// The name of a column of centroids, or "column 3".
std::string name_of_column(const ModelFile& file, int64_t j);
/// Names of the columns whose logarithm was taken.
std::vector<std::string> log_columns(const ModelFile& file);

/// Its first line, without the end of the line, and the equations of linear models, each after an empty line.
std::string model_heading(const std::string& path, const ModelFile& file);
std::string model_equations(const ModelFile& file);

/// The best model of one k that was asked for.
struct BestModel {
  const StoredModel* model;
  int64_t models;  ///< of this k
};
/// One for each k, in the order of the file. O(models).
std::vector<BestModel> best_models(const ModelFile& file);

/// "3", or "2 of 3" where clusters were dropped.
std::string k_of(const StoredModel& model);
/// The k that was asked for. A file of another program may leave it out.
int64_t asked_for(const StoredModel& model);
/// The coefficients of the linear models of a fit, in the units of the file, with the rows of their clusters.
nlohmann::ordered_json linear_clusters(const StoredModel& model, const Scaling& scaling);
/// JSON has no infinity: null.
nlohmann::ordered_json json_number(double value);
/// As text. Paths and names need not be UTF-8; JSON must be.
std::string text_of(const nlohmann::ordered_json& json);

}  // namespace manymeans::cli
