// The page about a result, of what Python keeps of it.
#include <manymeans/regress.h>
#include <manymeans/report.h>
#include <manymeans/terms.h>

#include "arrays.h"
#include "fit_parts.h"
#include "judging.h"
#include "module.h"
#include "texts.h"
#include "waiting.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

namespace manymeans::python {
namespace nb = nanobind;
namespace {

using LabelArray = nb::ndarray<const uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Model files of other versions may lack some.
template <class T>
void set_if_there(const nb::dict& from, const char* name, T& value) {
  if (from.contains(name)) value = nb::cast<T>(from[name]);
}

Provenance provenance_in(const nb::dict& given) {
  Provenance from;
  set_if_there(given, "version", from.version);
  set_if_there(given, "backend", from.backend);
  set_if_there(given, "instruction_set", from.instruction_set);
  set_if_there(given, "threads", from.threads);
  set_if_there(given, "rows", from.rows);
  set_if_there(given, "columns", from.columns);
  set_if_there(given, "passes", from.passes);
  std::string type = "float32";
  set_if_there(given, "dtype", type);
  from.type = data_type_from_name(type).value_or(DataType::kFloat32);
  size_t used = 0;
  const auto options = nb::cast<nb::dict>(given["options"]);
  for_each_option(from.options, option_setter(options, used));
  nb::list passes;
  set_if_there(given, "pass_log", passes);
  for (nb::handle one : passes) {
    const auto pass = nb::cast<nb::dict>(one);
    PassLog log;
    log.labelled = nb::cast<int64_t>(pass["labelled"]);
    log.changed = nb::cast<int64_t>(pass["changed"]);
    from.pass_log.push_back(log);
  }
  nb::dict seconds;
  set_if_there(given, "seconds", seconds);
  for (auto [phase, time] : seconds) {
    from.seconds.emplace_back(nb::cast<std::string>(phase), nb::cast<double>(time));
  }
  return from;
}

// How a model was searched for; nothing of one that was not.
SearchSummary search_in(const nb::dict& model) {
  SearchSummary search;
  if (model["search"].is_none()) return search;
  search.rounds = nb::cast<int64_t>(model["rounds"]);
  using Steps = std::vector<std::tuple<int64_t, double, double>>;
  for (const auto& [round, seconds, inertia] : nb::cast<Steps>(model["search"])) {
    search.steps.push_back({round, seconds, inertia});
  }
  return search;
}

struct Given {
  FitResult fit;
  std::vector<std::string> digests, columns, rows;
  std::vector<Trait> traits;
  std::vector<SearchSummary> searches;
  std::optional<ChosenK> chosen;
  std::optional<RegressResult> regression;
  std::optional<TreeOptions> tree;
  std::string digest;  // of all
  Scaling scaling;
};

// What describe_column() gave.
Trait trait_in(const nb::dict& given) {
  return {bytes_of(given["name"]),
          {{value_of<double>(given, "overall"), value_of<double>(given, "deviation")},
           vector_of<double>(given["values"]),
           vector_of<double>(given["z"])},
          value_of<bool>(given, "is_text"),
          value_of<size_t>(given, "column")};
}

// Of an older file errors and R2 of clusters are not known.
RegressionSummary planes_in(const nb::dict& model) {
  RegressionSummary planes = regression_in(model);
  const Matrix prototypes = matrix_of(nb::cast<AnyArray>(model["cluster_centers"]));
  if (planes.clusters.empty()) {
    planes.clusters.resize(static_cast<size_t>(prototypes.rows()));
    planes.standard_errors = Matrix(prototypes.rows(), prototypes.columns(), DataType::kFloat64);
    std::ranges::fill(planes.standard_errors.values<double>(), LinearCluster::kNone);
  }
  if (model["residuals"].is_none()) return planes;
  const auto residuals = vector_of<double>(model["residuals"]);
  for (size_t k = 0; k < residuals.size(); ++k) planes.clusters[k].deviation = residuals[k];
  return planes;
}

Given given_in(const nb::dict& result) {
  Given given;
  if (nb::cast<bool>(result["linear"])) given.regression.emplace();
  for (nb::handle one : nb::cast<nb::list>(result["models"])) {
    const auto model = nb::cast<nb::dict>(one);
    given.fit.models.push_back(model_in(model));
    given.digests.push_back(nb::cast<std::string>(model["digest"]));
    given.searches.push_back(search_in(model));
    if (given.regression) given.regression->summaries.push_back(planes_in(model));
  }
  const auto provenance = nb::cast<nb::dict>(result["provenance"]);
  given.fit.provenance = provenance_in(provenance);
  given.fit.provenance.options.metric = value_named<Metric>("metric", nb::cast<std::string>(result["metric"]));
  given.digest = nb::cast<std::string>(result["digest"]);
  const auto options = nb::cast<nb::dict>(provenance["options"]);
  if (options.contains("branching")) {
    for_each_tree_option(given.tree.emplace(), [&](const OptionInfo& info, auto& member) {
      if (options.contains(info.name) && !options[info.name].is_none())
        set_option(info.name, member, options[info.name]);
    });
  }
  size_t used = 0;
  given.fit.warnings = all_bytes_of(result["warnings"]);
  given.fit.interrupted = nb::cast<bool>(result["interrupted"]);
  given.columns = all_bytes_of(result["column_names"]);
  if (given.regression) {
    const auto terms = nb::cast<nb::tuple>(result["terms"]);
    given.regression->terms = {nb::cast<int64_t>(terms[0]), nb::cast<bool>(terms[1])};
    for_each_regress_option(given.regression->options, option_setter(options, used));
  }
  if (given.regression && !given.columns.empty()) {
    std::vector<std::string> names =
        term_names(std::span(given.columns).first(given.columns.size() - 1), given.regression->terms);
    names.push_back(given.columns.back());
    given.columns = std::move(names);
  }
  given.rows = all_bytes_of(result["row_names"]);
  for (nb::handle trait : nb::cast<nb::list>(result["traits"])) {
    given.traits.push_back(trait_in(nb::cast<nb::dict>(trait)));
  }
  if (!result["chosen"].is_none()) given.chosen = chosen_in(nb::cast<nb::dict>(result["chosen"]));
  given.scaling = scaling_in(nb::cast<nb::dict>(result["scaling"]));
  return given;
}

nb::str page_of(const nb::object& points, bool bfloat16, const nb::object& weights, const nb::dict& result,
                const nb::dict& wanted) {
  const Given given = given_in(result);
  ReportInput input;
  input.name = bytes_of(wanted["name"]);
  input.fit = &given.fit;
  input.digests = given.digests;
  input.k = value_of<int64_t>(wanted, "k");
  input.searches = given.searches;
  input.regression = given.regression ? &*given.regression : nullptr;
  input.tree = given.tree ? &*given.tree : nullptr;
  input.tree_digest = given.digest;
  input.chosen = given.chosen ? &*given.chosen : nullptr;
  if (!points.is_none()) input.points = points_of(points, bfloat16);
  input.weights = values_of(weights);
  input.scaling = given.scaling;
  input.column_names = given.columns;
  input.traits = given.traits;
  if (!given.rows.empty()) input.row_name = [&](int64_t row) { return given.rows.at(static_cast<size_t>(row)); };
  input.threads = value_of<int>(wanted, "threads");
  input.times = value_of<bool>(wanted, "times");
  input.whole = value_of<bool>(wanted, "whole");
  const std::string path = bytes_of(wanted["path"]);
  std::string page;
  Waiting().run([&] {
    page = html_report(input);
    if (!path.empty()) write_text(path, page);
  });
  return to_text(page);
}

nb::dict column_described(const nb::object& values, const LabelArray& labels, const nb::object& weights, int64_t k) {
  ColumnOfClusters found;
  const std::span<const double> column = values_of(values), by = values_of(weights);
  Waiting().run([&] { found = describe_column(column, {labels.data(), labels.size()}, by, k); });
  nb::dict described;
  described["overall"] = found.all.mean;
  described["deviation"] = found.all.deviation;
  described["values"] = to_numpy(std::move(found.means));
  described["z"] = to_numpy(std::move(found.surprise));
  return described;
}

// Of each cluster the places of the traits to show, and how far they are from all rows.
nb::list traits_shown(const nb::list& given, size_t clusters) {
  std::vector<Trait> traits;
  for (nb::handle trait : given) traits.push_back(trait_in(nb::cast<nb::dict>(trait)));
  nb::list all;
  for (size_t cluster = 0; cluster < clusters; ++cluster) {
    nb::list shown;
    for (const size_t at : surprising(traits, cluster)) {
      const std::string text = surprise_text(traits[at], cluster);
      shown.append(nb::make_tuple(at, text.substr(0, text.find(", z "))));
    }
    all.append(shown);
  }
  return all;
}

}  // namespace

void add_reporting(nb::module_& module) {
  module.def("describe_column", &column_described, nb::arg("values"), nb::arg("labels"), nb::arg("weights").none(),
             nb::arg("k"));
  module.def("surprising", &traits_shown, nb::arg("traits"), nb::arg("clusters"));
  module.def("report", &page_of, nb::arg("points").none(), nb::arg("bfloat16"), nb::arg("weights").none(),
             nb::arg("result"), nb::arg("wanted"));
}

}  // namespace manymeans::python
