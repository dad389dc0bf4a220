#include "output/model_description.h"

#include "output/equations.h"
#include "output/text_table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <vector>

namespace manymeans::cli {
namespace {
using Json = nlohmann::ordered_json;

// A file of another program may leave out what was asked for.
int64_t asked_for(const StoredModel& model) {
  return model.k_requested > 0 ? model.k_requested : model.k;
}

// The best model of each k that was asked for, in the order of the file, and how many there are.
struct BestModel {
  const StoredModel* model;
  int64_t models;
};
std::vector<BestModel> best_models(const ModelFile& file) {
  std::vector<BestModel> best;
  for (const StoredModel& model : file.models) {
    const auto same_k = [&](const BestModel& other) { return asked_for(*other.model) == asked_for(model); };
    const auto at = std::ranges::find_if(best, same_k);
    if (at == best.end()) {
      best.push_back({&model, 1});
      continue;
    }
    ++at->models;
    if (model.inertia < at->model->inertia) at->model = &model;
  }
  return best;
}

std::string k_of(const StoredModel& model) {
  return model.k == asked_for(model) ? fmt::format("{}", model.k) : fmt::format("{} of {}", model.k, asked_for(model));
}

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

// JSON has no infinity.
Json number(double value) {
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
                        {"weight", number(model.weights[cluster])},
                        {"intercept", intercept},
                        {"coefficients", coefficients}});
  }
  return clusters;
}

}  // namespace

std::string model_description(const std::string& path, const ModelFile& file) {
  const int64_t columns = file.models[0].prototypes.columns();
  const std::string of = file.linear()
                             ? fmt::format("linear models of {} feature{}", columns - 1, columns == 2 ? "" : "s")
                             : fmt::format("centroids of {} columns", columns);
  std::string out = fmt::format("{}: {}, {}, fitted with --scale {}\n\n", path, of,
                                name_of(file.models[0].prototypes.type()), name_of(file.scaling.kind)) +
                    table_of(file);
  if (!file.linear()) return out;
  const EquationNames names = equation_names(file.column_names, file.source, columns);
  for (const BestModel& best : best_models(file)) {
    const StoredModel& model = *best.model;
    out += fmt::format("\nk = {}\n", k_of(model)) +
           equation_table({model.prototypes, model.counts, model.regression->gate, model.inertia, file.scaling}, names);
  }
  return out;
}

std::string model_description_json(const std::string& path, const ModelFile& file) {
  Json json = {{"path", path},
               {"kind", file.linear() ? "linear" : "centroids"},
               {"dtype", std::string(name_of(file.models[0].prototypes.type()))},
               {"scale", std::string(name_of(file.scaling.kind))}};
  if (file.linear()) {
    const EquationNames names = equation_names(file.column_names, file.source, file.models[0].prototypes.columns());
    json["features"] = names.features;
    json["target"] = names.target;
  }
  json["models"] = Json::array();
  for (const BestModel& best : best_models(file)) {
    const StoredModel& model = *best.model;
    Json one = {{"k", model.k},
                {"k_requested", asked_for(model)},
                {"models", best.models},
                {"seed", model.seed},
                {"init", model.init},
                {"inertia", number(model.inertia)},
                {"iterations", model.iterations},
                {"stop_reason", model.stop_reason}};
    if (model.regression) {
      one["r2"] = number(model.regression->r2);
      one["bic"] = number(model.regression->bic);
      one["clusters"] = linear_clusters(model, file.scaling);
    }
    json["models"].push_back(std::move(one));
  }
  // Paths and names need not be UTF-8; JSON must be.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace manymeans::cli
