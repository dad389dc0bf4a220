#include "output/model_description.h"

#include <manymeans/terms.h>

#include "output/equations.h"
#include "output/fit_to_try.h"
#include "output/text_table.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>
#include <vector>

namespace manymeans::cli {

using Json = nlohmann::ordered_json;

int64_t asked_for(const StoredModel& model) {
  return model.k_requested > 0 ? model.k_requested : model.k;
}

std::string k_of(const StoredModel& model) {
  return model.k == asked_for(model) ? fmt::format("{}", model.k) : fmt::format("{} of {}", model.k, asked_for(model));
}

Json json_number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json linear_clusters(const StoredModel& model, const Scaling& scaling) {
  Json clusters = Json::array();
  for (int64_t k = 0; k < model.k; ++k) {
    std::vector<double> coefficients = unscaled_model(model.prototypes, k, scaling);
    const double intercept = coefficients.back();
    coefficients.pop_back();
    const auto cluster = static_cast<size_t>(k);
    clusters.push_back({{"count", model.counts[cluster]},
                        {"weight", json_number(model.weights[cluster])},
                        {"intercept", intercept},
                        {"coefficients", coefficients}});
    const RegressionSummary& summary = *model.regression;
    if (summary.clusters.empty()) continue;  // of an older file
    Json errors = Json::array();
    for (int64_t j = 0; j < summary.standard_errors.columns(); ++j) {
      errors.push_back(json_number(summary.standard_errors.at(k, j)));
    }
    clusters.back()["r2"] = json_number(summary.clusters[cluster].r2);
    clusters.back()["standard_errors"] = std::move(errors);
  }
  return clusters;
}

std::vector<BestModel> best_models(const ModelFile& file) {
  std::vector<BestModel> best;
  std::unordered_map<int64_t, size_t> places;
  for (const StoredModel& model : file.models) {
    const auto [place, is_new] = places.try_emplace(asked_for(model), best.size());
    if (is_new) best.push_back({&model, 0});
    BestModel& found = best[place->second];
    ++found.models;
    if (model.inertia < found.model->inertia) found.model = &model;
  }
  return best;
}

namespace {

std::string table_of(const ModelFile& file) {
  std::vector<std::vector<std::string>> rows = {{"k", "models", "best seed", file.linear() ? "error" : "inertia"}};
  if (file.linear()) rows[0].insert(rows[0].end(), {"R2", "BIC"});
  rows[0].insert(rows[0].end(), {"iterations", "stop"});
  for (const BestModel& best : best_models(file)) {
    const StoredModel& model = *best.model;
    rows.push_back({k_of(model), fmt::format("{}", best.models), fmt::format("{}", model.seed),
                    fmt::format("{:.7g}", model.inertia)});
    if (model.regression) {
      rows.back().push_back(fmt::format("{:.6f}", model.regression->r2));
      rows.back().push_back(fmt::format("{:.7g}", model.regression->bic));
    }
    rows.back().insert(rows.back().end(), {fmt::format("{}", model.iterations), model.stop_reason});
  }
  return format_table(file.linear() ? "rrrrrrrl" : "rrrrrl", rows);
}

}  // namespace

std::string name_of_column(const ModelFile& file, int64_t j) {
  const auto at = static_cast<size_t>(j);
  if (at < file.column_names.size()) return file.column_names[at];
  const bool numbered = std::ssize(file.source.numbers) == file.models[0].prototypes.columns();
  return fmt::format("column {}", numbered ? file.source.numbers[at] : j + 1);
}

std::vector<std::string> log_columns(const ModelFile& file) {
  std::vector<std::string> names;
  for (size_t j = 0; j < file.scaling.logs.size(); ++j) {
    if (file.scaling.has_log(j)) names.push_back(name_of_column(file, static_cast<int64_t>(j)));
  }
  return names;
}

namespace {

// The columns of log_columns() as --log takes them: the number of a column whose name does not tell it.
std::string log_flag(const ModelFile& file) {
  const SourceColumns& source = file.source;
  const std::vector<std::string>& names = source.numbers.empty() ? file.column_names : source.names;
  std::vector<int64_t> numbers;
  for (size_t f = 0; f < source.numbers.size(); ++f) {
    const bool texts = !source.rules.empty() && source.rules[f].categorical;
    numbers.insert(numbers.end(), texts ? source.rules[f].categories.size() : 1, source.numbers[f]);
  }
  const size_t d = file.scaling.logs.size();
  if (numbers.size() != d) {  // of lists, or of no file: they count as points
    numbers.resize(d);
    std::iota(numbers.begin(), numbers.end(), 1);
  }
  std::vector<std::string> columns;
  for (size_t j = 0; j < d; ++j) {
    if (!file.scaling.has_log(j)) continue;
    const std::string name = name_of_column(file, static_cast<int64_t>(j));
    const bool tells = std::ranges::count(names, name) == 1 && name.find(',') == name.npos;
    columns.push_back(tells ? name : fmt::format("{}", numbers[j]));
  }
  return columns.empty() ? "" : " --log " + quoted(fmt::format("{}", fmt::join(columns, ",")));
}

}  // namespace

std::string model_heading(const std::string& path, const ModelFile& file) {
  const int64_t columns = file.models[0].prototypes.columns();
  const std::string of = file.linear()
                             ? fmt::format("linear models of {} {}{}", columns - 1,
                                           file.terms.degree == 1 ? "feature" : "term", columns == 2 ? "" : "s")
                             : fmt::format("centroids of {} columns", columns);
  const std::string metric = file.metric == Metric::kEuclidean ? "" : fmt::format(" --metric {}", name_of(file.metric));
  return fmt::format("{}: {}, {}, fitted with --scale {}{}{}", path, of, name_of(file.models[0].prototypes.type()),
                     name_of(file.scaling.kind), log_flag(file), metric);
}

std::string model_equations(const ModelFile& file) {
  if (!file.linear()) return {};
  std::string out;
  const EquationNames names = equation_names(file);
  for (const BestModel& best : best_models(file)) {
    const StoredModel& model = *best.model;
    out += fmt::format("\nk = {}\n", k_of(model)) +
           equation_table({model.prototypes, model.counts, *model.regression, model.inertia, file.scaling}, names);
  }
  return out;
}

std::string model_description(const std::string& path, const ModelFile& file) {
  return model_heading(path, file) + "\n\n" + table_of(file) + model_equations(file);
}

Json model_description_json(const std::string& path, const ModelFile& file) {
  Json json = {{"path", path},
               {"kind", file.linear() ? "linear" : "centroids"},
               {"dtype", std::string(name_of(file.models[0].prototypes.type()))},
               {"scale", std::string(name_of(file.scaling.kind))}};
  if (!file.scaling.logs.empty()) json["log"] = log_columns(file);
  if (!file.linear()) json["metric"] = std::string(name_of(file.metric));
  if (file.linear()) {
    const EquationNames names = equation_names(file);
    json["features"] = names.features;
    json["degree"] = file.terms.degree;
    json["products"] = file.terms.products;
    std::vector<std::string> terms = term_names(names.features, names.terms);
    for (size_t j = 0; j < terms.size(); ++j) terms[j] = file.scaling.name(terms[j], j);
    json["terms"] = std::move(terms);
    json["target"] = names.target;
  }
  json["models"] = Json::array();
  for (const BestModel& best : best_models(file)) {
    const StoredModel& model = *best.model;
    Json one = {{"k", model.k},
                {"k_requested", asked_for(model)},
                {"models", best.models},
                {"seed", std::to_string(model.seed)},
                {"init", model.init},
                {"inertia", json_number(model.inertia)},
                {"iterations", model.iterations},
                {"stop_reason", model.stop_reason}};
    if (model.regression) {
      one["r2"] = json_number(model.regression->r2);
      one["bic"] = json_number(model.regression->bic);
      one["clusters"] = linear_clusters(model, file.scaling);
    }
    json["models"].push_back(std::move(one));
  }
  return json;
}

std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace manymeans::cli
