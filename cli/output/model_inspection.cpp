#include "output/model_inspection.h"

#include "output/model_description.h"
#include "output/text_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <type_traits>
#include <unordered_set>
#include <vector>

namespace manymeans::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxRows = 50;     // of a table; the JSON has all
constexpr int64_t kMaxColumns = 8;  // likewise

// The summary in a file: load_model() has checked that it is an object, and of nothing else.
Json summary_of(const ModelFile& file) {
  Json summary = Json::parse(file.json, nullptr, /*allow_exceptions=*/false);
  return summary.is_object() ? summary : Json::object();
}

// A field of an object, or null.
const Json& field(const Json& object, const std::string& name) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto at = object.find(name);
  return at == object.end() ? none : *at;
}

// A value as people read it: texts without quotes, lists with commas.
std::string plain(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::vector<std::string> parts;
  for (const Json& part : value) parts.push_back(plain(part));
  return fmt::format("{}", fmt::join(parts, ","));
}

// The summary of each model, and the best models.
class ModelSummaries {
 public:
  ModelSummaries(const ModelFile& file, const Json& summary) {
    for (const BestModel& best : best_models(file)) best_.insert(best.model);
    const Json& models = field(summary, "models");
    if (!models.is_array()) return;
    for (const Json& one : models) {
      models_[{plain(field(one, "k_requested")), plain(field(one, "replica")), plain(field(one, "seed"))}] = &one;
    }
  }

  // Null where it says nothing.
  const Json& of(const StoredModel& model, const std::string& name) const {
    static const Json none;
    const auto at =
        models_.find({std::to_string(asked_for(model)), std::to_string(model.replica), std::to_string(model.seed)});
    return at == models_.end() ? none : field(*at->second, name);
  }
  bool best(const StoredModel& model) const { return best_.contains(&model); }

 private:
  std::map<std::array<std::string, 3>, const Json*> models_;  // by k_requested, replica and seed
  std::unordered_set<const StoredModel*> best_;
};

std::string table_of(const ModelFile& file, const ModelSummaries& summaries) {
  std::vector<std::vector<std::string>> rows = {
      {"k", "replica", "seed", file.linear() ? "error" : "inertia", "iterations", "stop", "init", "digest", "best"}};
  for (const StoredModel& model : file.models) {
    if (rows.size() > kMaxRows) break;
    rows.push_back({k_of(model), std::to_string(model.replica), std::to_string(model.seed),
                    fmt::format("{:.7g}", model.inertia), std::to_string(model.iterations), model.stop_reason,
                    model.init, plain(summaries.of(model, "digest")), summaries.best(model) ? "*" : ""});
  }
  std::string out = format_table("rrrrrllll", rows);
  if (file.models.size() > kMaxRows) {
    out += fmt::format("... and {} more; --json has all\n", file.models.size() - kMaxRows);
  }
  return out;
}

template <class Number>
std::string range_of(const std::vector<Number>& values) {
  const auto [least, most] = std::ranges::minmax(values);
  const auto shown = [](Number value) {
    return std::is_integral_v<Number> ? fmt::format("{}", value) : fmt::format("{:.6g}", static_cast<double>(value));
  };
  return least == most ? shown(least) : fmt::format("{} to {}", shown(least), shown(most));
}

// Centroids in the units of the file, whatever the scaling was.
double centroid_at(const ModelFile& file, const StoredModel& model, int64_t k, int64_t j) {
  return file.scaling.undone(model.prototypes.at(k, j), static_cast<size_t>(j));
}

std::vector<double> shares_of(const StoredModel& model) {
  const double all = std::accumulate(model.weights.begin(), model.weights.end(), 0.0);
  std::vector<double> shares;
  for (const double weight : model.weights) shares.push_back(all > 0 ? weight / all : 0);
  return shares;
}

// The columns in which clusters differ most, compared with the range of the column, in their order.
std::vector<int64_t> columns_apart(const ModelFile& file, const StoredModel& model) {
  const std::vector<double> shares = shares_of(model);
  std::vector<double> apart;
  for (int64_t j = 0; j < model.prototypes.columns(); ++j) {
    const auto at = static_cast<size_t>(j);
    double mean = 0, variance = 0;
    for (int64_t k = 0; k < model.k; ++k) mean += shares[static_cast<size_t>(k)] * model.prototypes.at(k, j);
    for (int64_t k = 0; k < model.k; ++k) {
      variance += shares[static_cast<size_t>(k)] * std::pow(model.prototypes.at(k, j) - mean, 2);
    }
    const bool known = at < file.ranges.minimum.size() && file.ranges.maximum[at] > file.ranges.minimum[at];
    apart.push_back(variance / (known ? std::pow(file.ranges.maximum[at] - file.ranges.minimum[at], 2) : 1));
  }
  std::vector<int64_t> columns(apart.size());
  std::iota(columns.begin(), columns.end(), int64_t{0});
  std::ranges::stable_sort(columns, std::greater<>(), [&](int64_t j) { return apart[static_cast<size_t>(j)]; });
  columns.resize(static_cast<size_t>(std::min(std::ssize(columns), kMaxColumns)));
  std::ranges::sort(columns);
  return columns;
}

std::string centroid_table(const ModelFile& file, const StoredModel& model) {
  const int64_t rows = std::min(model.k, static_cast<int64_t>(kMaxRows));
  const std::vector<int64_t> columns = columns_apart(file, model);
  const std::vector<double> shares = shares_of(model);
  std::vector<std::vector<std::string>> cells = {{"cluster", "rows", "share"}};
  for (const int64_t j : columns) cells[0].push_back(name_of_column(file, j));
  for (int64_t k = 0; k < rows; ++k) {
    const auto cluster = static_cast<size_t>(k);
    auto& row = cells.emplace_back();
    row = {std::to_string(k), std::to_string(model.counts[cluster]), fmt::format("{:.1f} %", 100 * shares[cluster])};
    for (const int64_t j : columns) {
      const double unit = file.scaling.offset.empty() ? 0 : file.scaling.divisor[static_cast<size_t>(j)];
      row.push_back(shown_mean(centroid_at(file, model, k, j), unit));
    }
  }
  std::string out = format_table(std::string(cells[0].size(), 'r'), cells);
  if (const int64_t all = model.prototypes.columns(); rows < model.k || std::ssize(columns) < all) {
    out += fmt::format("{} of {} clusters, {} of {} columns{}; --json has all\n", rows, model.k, columns.size(), all,
                       std::ssize(columns) < all ? ", in which clusters differ most" : "");
  }
  return out;
}

std::string text_of_clusters(const ModelFile& file) {
  std::string out;
  for (const BestModel& best : best_models(file)) {
    const StoredModel& model = *best.model;
    if (model.counts.empty()) continue;
    out += fmt::format("clusters of k = {}: {} rows", k_of(model), range_of(model.counts));
    if (!std::ranges::equal(model.weights, model.counts)) out += ", weights " + range_of(model.weights);
    out += " in a cluster\n";
    if (!file.linear()) out += centroid_table(file, model) + "\n";
  }
  const bool geometric = !file.linear() && file.scaling.kind != Scale::kUnit && !file.scaling.logs.empty();
  if (geometric) out += fmt::format("geometric means: {}\n", fmt::join(log_columns(file), ", "));
  return out;
}

std::string text_of_rule(const ColumnRule& rule) {
  if (rule.categorical) return fmt::format(" (categories {})", fmt::join(rule.categories, ", "));
  return rule.fill ? fmt::format(" (gaps are {:.6g})", *rule.fill) : std::string();
}

std::string text_of_columns(const ModelFile& file) {
  const SourceColumns& source = file.source;
  if (source.numbers.empty()) return {};
  std::vector<std::string> columns;
  for (size_t i = 0; i < source.numbers.size(); ++i) {
    columns.push_back(std::to_string(source.numbers[i]));
    if (!source.names.empty()) columns.back() += fmt::format(" '{}'", source.names[i]);
    if (!source.rules.empty()) columns.back() += text_of_rule(source.rules[i]);
  }
  std::string out =
      fmt::format("columns of the file ({} of {}): {}\n", columns.size(), source.count, fmt::join(columns, ", "));
  if (source.drops_gaps) out += "rows with gaps are left out\n";
  if (source.decimal != '.') out += fmt::format("decimal sign in text: '{}'\n", source.decimal);
  return out;
}

std::string text_of_options(const Json& options) {
  std::vector<std::string> parts;
  if (options.is_object()) {
    for (const auto& [name, value] : options.items()) {
      if (!value.is_null()) parts.push_back(fmt::format("{} = {}", name, plain(value)));
    }
  }
  return fmt::format("options: {}\n", fmt::join(parts, "; "));
}

std::string text_of_fit(const Json& summary) {
  const Json& from = field(summary, "provenance");
  std::string out =
      fmt::format("digest of the {}: {}\n", field(from, "options").contains("branching") ? "tree" : "ensemble",
                  plain(field(summary, "digest")));
  out += fmt::format("fitted by manymeans {} to {} rows of {} columns\n", plain(field(from, "version")),
                     plain(field(from, "rows")), plain(field(from, "columns")));
  if (field(summary, "interrupted") == true) out += "the fit was interrupted\n";
  out += text_of_options(field(from, "options"));
  const Json& warnings = field(summary, "warnings");
  if (!warnings.is_array()) return out;
  for (const Json& warning : warnings) out += fmt::format("warning: {}\n", plain(warning));
  return out;
}

Json columns_json(const ModelFile& file) {
  Json columns = Json::array();
  const SourceColumns& source = file.source;
  for (size_t i = 0; i < source.numbers.size(); ++i) {
    Json column = {{"column", source.numbers[i]}};
    column["name"] = source.names.empty() ? Json(nullptr) : Json(source.names[i]);
    if (!source.rules.empty()) {
      const ColumnRule& rule = source.rules[i];
      column["fill"] = rule.fill ? json_number(*rule.fill) : Json(nullptr);
      column["categories"] = rule.categorical ? Json(rule.categories) : Json(nullptr);
    }
    columns.push_back(std::move(column));
  }
  return {{"count", source.count},
          {"used", std::move(columns)},
          {"points", file.column_names},
          {"drops_gaps", source.drops_gaps},
          {"decimal", std::string(1, source.decimal)}};
}

Json centroids_json(const ModelFile& file, const StoredModel& model) {
  Json rows = Json::array();
  for (int64_t k = 0; k < model.k; ++k) {
    Json& row = rows.emplace_back(Json::array());
    for (int64_t j = 0; j < model.prototypes.columns(); ++j) row.push_back(centroid_at(file, model, k, j));
  }
  return rows;
}

Json model_json(const ModelFile& file, const StoredModel& model, const ModelSummaries& summaries) {
  Json json = {{"k", model.k},
               {"k_requested", asked_for(model)},
               {"replica", model.replica},
               {"seed", std::to_string(model.seed)},
               {"init", model.init},
               {"inertia", json_number(model.inertia)},
               {"iterations", model.iterations},
               {"stop_reason", model.stop_reason},
               {"digest", summaries.of(model, "digest")},
               {"best", summaries.best(model)},
               {"counts", model.counts},
               {"weights", model.weights}};
  if (!model.regression) json["centroids"] = centroids_json(file, model);
  if (model.regression) {
    json["r2"] = json_number(model.regression->r2);
    json["bic"] = json_number(model.regression->bic);
    json["clusters"] = linear_clusters(model, file.scaling);
  }
  return json;
}

}  // namespace

std::string model_inspection(const std::string& path, const ModelFile& file) {
  const Json summary = summary_of(file);
  std::string out =
      model_heading(path, file) + "\n\n" + table_of(file, ModelSummaries(file, summary)) + model_equations(file) + "\n";
  return out + text_of_clusters(file) + text_of_columns(file) + text_of_fit(summary);
}

Json model_inspection_json(const std::string& path, const ModelFile& file) {
  const Json summary = summary_of(file);
  Json json = model_description_json(path, file);
  json["models"] = Json::array();
  const ModelSummaries summaries(file, summary);
  for (const StoredModel& model : file.models) json["models"].push_back(model_json(file, model, summaries));
  json["columns"] = columns_json(file);
  json["scaling"] = {{"kind", std::string(name_of(file.scaling.kind))},
                     {"offset", file.scaling.offset},
                     {"divisor", file.scaling.divisor}};
  for (const Logarithm log : file.scaling.logs) json["scaling"]["log"].push_back(std::string(name_of(log)));
  for (const char* name : {"digest", "interrupted", "warnings", "provenance"}) json[name] = field(summary, name);
  return json;
}

}  // namespace manymeans::cli
