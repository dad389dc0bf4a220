// How well labels suit their points, and how many clusters that speaks for.
#include "judging.h"

#include <manymeans/choose.h>
#include <manymeans/criteria.h>

#include "arrays.h"
#include "fit_parts.h"
#include "module.h"
#include "texts.h"
#include "waiting.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace manymeans::python {
namespace nb = nanobind;
namespace {

using LabelArray = nb::ndarray<const uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::dict as_dict(Criteria found) {
  nb::dict result;
  result["n_clusters"] = found.clusters;
  result["calinski_harabasz"] = found.calinski_harabasz;
  result["davies_bouldin"] = found.davies_bouldin;
  result["bic"] = found.bic;
  result["simplified_silhouette"] = found.simplified_silhouette;
  result["squared_silhouette"] = found.squared_silhouette;
  result["cluster_silhouettes"] = to_numpy(std::move(found.cluster_silhouettes));
  result["silhouette"] = found.silhouette;
  result["silhouette_rows"] = found.silhouette_rows;
  result["silhouette_error"] = found.silhouette_error;
  return result;
}

// The names of `wanted` are those of CriteriaOptions.
nb::dict criteria_dict(const nb::object& points, bool bfloat16, const LabelArray& labels, const nb::dict& wanted) {
  const PointsView view = points_of(points, bfloat16);
  Waiting waiting;
  CriteriaOptions options;
  options.sample = value_of<int64_t>(wanted, "sample");
  options.seed = value_of<uint64_t>(wanted, "seed");
  options.threads = value_of<int>(wanted, "threads");
  options.abort = &waiting.abort();
  Criteria found;
  waiting.run([&] { found = criteria(view, {labels.data(), labels.size()}, options); });
  return as_dict(std::move(found));
}

// `wanted`: references, bootstraps and sample of ChooseOptions; `given`: hooks as those of a fit.
nb::dict chosen_dict(const nb::object& points, bool bfloat16, const nb::dict& fit, const nb::dict& wanted,
                     const nb::dict& given) {
  const PointsView view = points_of(points, bfloat16);
  ChooseOptions options;
  options.fit = options_of(fit);
  options.references = value_of<int64_t>(wanted, "references");
  options.bootstraps = value_of<int64_t>(wanted, "bootstraps");
  options.sample = value_of<int64_t>(wanted, "sample");
  GivenHooks hooks(given);
  ChosenK found;
  hooks.waiting().run([&] { found = choose_k(view, options, hooks.hooks()); });
  nb::dict result;
  result["k"] = found.k;
  result["reason"] = found.reason;
  nb::list votes, evidence;
  for (const Vote& vote : found.votes) votes.append(nb::make_tuple(vote.criterion, vote.k, vote.reason));
  for (Evidence& its : found.evidence) {
    nb::dict one;
    one["k"] = its.k;
    one["model_seed"] = its.model_seed;
    one["inertia"] = its.inertia;
    one["criteria"] = as_dict(std::move(its.criteria));
    one["gap"] = its.gap;
    one["gap_error"] = its.gap_error;
    one["agreement"] = its.agreement;
    one["prediction_strength"] = its.prediction_strength;
    one["prediction_strength_error"] = its.prediction_strength_error;
    one["stability"] = its.stability;
    one["stability_error"] = its.stability_error;
    one["pac"] = its.pac;
    evidence.append(one);
  }
  result["votes"] = votes;
  result["evidence"] = evidence;
  result["warnings"] = to_texts(found.warnings);
  result["interrupted"] = found.interrupted;
  result["left_out"] = to_texts(found.left_out);
  result["fit"] = python::as_dict(found.fit);
  return result;
}

Criteria criteria_in(const nb::dict& given) {
  Criteria found;
  found.clusters = nb::cast<int64_t>(given["n_clusters"]);
  found.calinski_harabasz = nb::cast<double>(given["calinski_harabasz"]);
  found.davies_bouldin = nb::cast<double>(given["davies_bouldin"]);
  found.bic = nb::cast<double>(given["bic"]);
  found.simplified_silhouette = nb::cast<double>(given["simplified_silhouette"]);
  found.squared_silhouette = nb::cast<double>(given["squared_silhouette"]);
  found.silhouette = nb::cast<double>(given["silhouette"]);
  found.silhouette_error = nb::cast<double>(given["silhouette_error"]);
  return found;
}

}  // namespace

ChosenK chosen_in(const nb::dict& given) {
  ChosenK found;
  found.k = nb::cast<int64_t>(given["k"]);
  found.reason = nb::cast<std::string>(given["reason"]);
  for (nb::handle vote : nb::cast<nb::list>(given["votes"])) {
    auto [criterion, k, reason] = nb::cast<std::tuple<std::string, int64_t, std::string>>(vote);
    found.votes.push_back({std::move(criterion), k, std::move(reason)});
  }
  for (nb::handle one : nb::cast<nb::list>(given["evidence"])) {
    const auto its = nb::cast<nb::dict>(one);
    Evidence evidence;
    evidence.k = nb::cast<int64_t>(its["k"]);
    evidence.inertia = nb::cast<double>(its["inertia"]);
    evidence.criteria = criteria_in(nb::cast<nb::dict>(its["criteria"]));
    evidence.gap = nb::cast<double>(its["gap"]);
    evidence.gap_error = nb::cast<double>(its["gap_error"]);
    evidence.agreement = nb::cast<double>(its["agreement"]);
    evidence.prediction_strength = nb::cast<double>(its["prediction_strength"]);
    evidence.prediction_strength_error = nb::cast<double>(its["prediction_strength_error"]);
    evidence.stability = nb::cast<double>(its["stability"]);
    evidence.stability_error = nb::cast<double>(its["stability_error"]);
    evidence.pac = nb::cast<double>(its["pac"]);
    found.evidence.push_back(std::move(evidence));
  }
  return found;
}

void add_judging(nb::module_& module) {
  module.def("criteria", &criteria_dict, nb::arg("points"), nb::arg("bfloat16"), nb::arg("labels"), nb::arg("wanted"));
  module.def("choose_k", &chosen_dict, nb::arg("points"), nb::arg("bfloat16"), nb::arg("fit"), nb::arg("wanted"),
             nb::arg("hooks"));
}

}  // namespace manymeans::python
