// The summary of a fit; docs/user/json.md lists the fields.
#include <manymeans/io.h>
#include <manymeans/json.h>
#include <manymeans/models_by_k.h>
#include <manymeans/search.h>
#include <manymeans/tree.h>

#include "core/digest.h"
#include "core/fp_environment.h"
#include "io/results/json_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace manymeans {
namespace {

using Json = nlohmann::ordered_json;

// Many readers keep numbers as binary64, which rounds above 2^53; a seed uses all 64 bits.
std::string seed_text(uint64_t seed) {
  return std::to_string(seed);
}

template <class T>
Json option_value(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return std::string(name_of(value));
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return seed_text(value);
  } else {
    return value;
  }
}
Json option_value(const ByteSize& value) {
  return value.bytes;
}
template <class T>
Json option_value(const std::optional<T>& value) {
  return value ? option_value(*value) : Json(nullptr);
}

// `visit` calls for_each_option or its like.
template <class Visit>
Json options_by(const Visit& visit) {
  Json json = Json::object();
  visit([&](const OptionInfo& info, const auto& value) { json[info.name] = option_value(value); });
  return json;
}
Json options_json(const FitOptions& options) {
  return options_by([&](const auto& add) { for_each_option(options, add); });
}
Json options_json(const RegressOptions& options) {
  return options_by([&](const auto& add) { for_each_regress_option(options, add); });
}
Json options_json(const SearchOptions& options) {
  return options_by([&](const auto& add) { for_each_search_option(options, add); });
}
Json options_json(const TreeOptions& options) {
  return options_by([&](const auto& add) { for_each_tree_option(options, add); });
}

Json pass_json(const PassLog& pass) {
  Json json = {{"models", pass.models}, {"labelled", pass.labelled}};
  for (const PassCount& count : kPassCounts) json[count.name] = pass.*count.value;
  return json;
}

Json provenance_json(const Provenance& provenance) {
  const auto share = [looked_at = provenance.total.labelled - provenance.total.repeated](int64_t count) {
    return looked_at > 0 ? static_cast<double>(count) / static_cast<double>(looked_at) : 0.0;
  };
  Json seconds = Json::object();
  for (const auto& [phase, value] : provenance.seconds) seconds[phase] = value;
  Json passes = Json::array();
  for (const PassLog& pass : provenance.pass_log) passes.push_back(pass_json(pass));
  return {{"version", provenance.version},
          {"backend", provenance.backend},
          {"instruction_set", provenance.instruction_set},
          {"plan", provenance.plan},
          {"memory", provenance.memory},
          {"threads", provenance.threads},
          {"rows", provenance.rows},
          {"columns", provenance.columns},
          {"dtype", std::string(name_of(provenance.type))},
          {"passes", provenance.passes},
          {"labelled", provenance.total.labelled},
          {"repeated", provenance.total.repeated},
          {"certified", provenance.total.certified},
          {"resolved", provenance.total.resolved},
          {"candidates", provenance.total.candidates},
          {"skipped", provenance.total.skipped},
          {"tightened", provenance.total.tightened},
          {"certified_share", share(provenance.total.certified)},
          {"resolved_share", share(provenance.total.resolved)},
          {"pass_log", std::move(passes)},
          {"seconds", std::move(seconds)},
          {"warnings", provenance.warnings},
          {"options", options_json(provenance.options)}};
}

Json model_json(const ModelResult& model, const std::string& digest) {
  return {{"k", model.k},
          {"k_requested", model.k_requested},
          {"replica", model.replica},
          {"seed", seed_text(model.seed)},
          {"init", model.init},
          {"inertia", model.inertia},
          {"iterations", model.iterations},
          {"stop_reason", std::string(name_of(model.stop_reason))},
          {"digest", digest},
          {"seconds", model.seconds},
          {"best", false}};
}

// Paths may hold bytes that are no UTF-8; they must not cost the user the summary.
std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

Json summary_json(const FitResult& result) {
  std::vector<std::string> digests;  // each costs a reading of all labels: once
  Json models = Json::array();
  for (const ModelResult& model : result.models) {
    digests.push_back(model.digest());
    models.push_back(model_json(model, digests.back()));
  }
  for (const ModelsOfK& found : models_by_k(result)) {
    if (found.best >= 0) models[static_cast<size_t>(found.best)]["best"] = true;
  }
  return {{"digest", combined_digest(digests)},
          {"n_rows", result.provenance.rows},
          {"n_columns", result.provenance.columns},
          {"interrupted", result.interrupted},
          {"warnings", result.warnings},
          {"models", std::move(models)},
          {"provenance", provenance_json(result.provenance)}};
}

Json clusters_json(const RegressionSummary& summary) {
  const int64_t columns = summary.standard_errors.columns();
  Json clusters = Json::array();
  for (size_t k = 0; k < summary.clusters.size(); ++k) {
    const LinearCluster& cluster = summary.clusters[k];
    const auto errors = summary.standard_errors.values<double>().subspan(k * static_cast<size_t>(columns));
    clusters.push_back({{"r2", cluster.r2},
                        {"deviation", cluster.deviation},
                        {"standard_errors", std::vector(errors.begin(), errors.begin() + columns)}});
  }
  return clusters;
}

Json summary_json(const RegressResult& result) {
  Json json = summary_json(result.fit);
  for (size_t i = 0; i < result.summaries.size(); ++i) {
    json["models"][i]["r2"] = result.summaries[i].r2;
    json["models"][i]["bic"] = result.summaries[i].bic;
    json["models"][i]["left_out"] = result.summaries[i].left_out;
    json["models"][i]["clusters"] = clusters_json(result.summaries[i]);
  }
  json["provenance"]["options"] = options_json(result.options);
  return json;
}

Json summary_json(const TreeResult& result) {
  Json json = summary_json(result.fit);
  Json levels = Json::array();
  for (const TreeLevel& level : result.levels) levels.push_back({{"nodes", level.nodes}, {"inertia", level.inertia}});
  const TreeBalance balance = result.balance();
  json["digest"] = result.digest();
  json["tree"] = {{"levels", std::move(levels)}, {"smallest", balance.smallest},   {"largest", balance.largest},
                  {"empty", balance.empty},      {"variation", balance.variation}, {"max_to_mean", balance.max_to_mean},
                  {"moved", result.moved}};
  json["provenance"]["options"] = options_json(result.options);
  return json;
}

// Without what tells of the run and not of the answer: the same bytes for equal answers.
std::string text_of_answer(Json summary) {
  for (Json& model : summary["models"]) {
    model.erase("seconds");
    model.erase("clusters");  // of linear models: a model file has them as arrays
  }
  Json& run = summary["provenance"];
  Json warnings = Json::array();
  for (const Json& text : summary["warnings"]) {
    if (std::ranges::find(run["warnings"], text) == run["warnings"].end()) warnings.push_back(text);
  }
  summary["warnings"] = std::move(warnings);
  Json answer = Json::object();
  for (const char* name : {"version", "rows", "columns", "dtype"}) answer[name] = run[name];
  for (const auto& [name, value] : run["options"].items()) {
    if (decides_the_answer(name)) answer["options"][name] = value;
  }
  run = std::move(answer);
  return text_of(summary);
}

}  // namespace

std::string to_json(const FitResult& result) {
  const FpEnvironmentGuard guard;
  return text_of(summary_json(result));
}

std::string to_json(const RegressResult& result) {
  const FpEnvironmentGuard guard;
  return text_of(summary_json(result));
}

std::string answer_json(const FitResult& result) {
  const FpEnvironmentGuard guard;
  return text_of_answer(summary_json(result));
}

std::string answer_json(const RegressResult& result) {
  const FpEnvironmentGuard guard;
  return text_of_answer(summary_json(result));
}

std::string to_json(const SearchResult& result) {
  const FpEnvironmentGuard guard;
  Json json = summary_json(result.fit);
  for (size_t i = 0; i < result.searches.size(); ++i) {
    Json steps = Json::array();
    for (const SearchStep& step : result.searches[i].steps) {
      steps.push_back({{"round", step.round}, {"seconds", step.seconds}, {"inertia", step.inertia}});
    }
    json["models"][i]["rounds"] = result.searches[i].rounds;
    const bool gains = !steps.empty() && result.fit.models[i].init != "optimal";
    json["models"][i]["gain"] = gains ? Json(result.searches[i].gain()) : Json();
    json["models"][i]["search"] = std::move(steps);
  }
  json["provenance"]["options"] = options_json(result.options);
  return text_of(json);
}

std::string to_json(const TreeResult& result) {
  const FpEnvironmentGuard guard;
  return text_of(summary_json(result));
}

std::string answer_json(const TreeResult& result) {
  const FpEnvironmentGuard guard;
  return text_of_answer(summary_json(result));
}

namespace {

// Follows a text without keeping any of it: what nlohmann::json keeps cannot be freed without memory.
class ObjectCheck : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return inside(); }
  bool boolean(bool) override { return inside(); }
  bool number_integer(number_integer_t) override { return inside(); }
  bool number_unsigned(number_unsigned_t) override { return inside(); }
  bool number_float(number_float_t, const string_t&) override { return inside(); }
  bool string(string_t&) override { return inside(); }
  bool binary(binary_t&) override { return inside(); }
  bool start_object(size_t) override { return ++depth_ <= kDeepest; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return --depth_ >= 0; }
  bool start_array(size_t) override { return inside() && ++depth_ <= kDeepest; }
  bool end_array() override { return --depth_ >= 0; }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception&) override { return false; }

 private:
  static constexpr int kDeepest = 32;  // a summary has five levels
  bool inside() const { return depth_ > 0; }
  int depth_ = 0;
};

}  // namespace

bool is_json_object(const std::string& text) {
  ObjectCheck check;
  return nlohmann::json::sax_parse(text, &check);
}

std::string to_json(const Provenance& provenance) {
  const FpEnvironmentGuard guard;
  return text_of(provenance_json(provenance));
}

}  // namespace manymeans
