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

// Calls body(name, number) for the numbers of all criteria of labels, or of the other criteria.
template <class Body>
void for_each_number(Evidence& its, bool of_labels, Body&& body) {
  for (const Criterion& criterion : all_criteria()) {
    if ((criterion.value.of_labels != nullptr) != of_labels) continue;
    body(std::string(criterion.name), criterion.value.in(its));
    if (criterion.error.exists()) body(std::string(criterion.name) + "_error", criterion.error.in(its));
  }
}

void put_numbers(Evidence& its, bool of_labels, nb::dict& into) {
  for_each_number(its, of_labels, [&](const std::string& name, double number) { into[name.c_str()] = number; });
}

void take_numbers(const nb::dict& given, bool of_labels, Evidence& its) {
  for_each_number(its, of_labels,
                  [&](const std::string& name, double& number) { number = nb::cast<double>(given[name.c_str()]); });
}

nb::dict dict_of_criteria(Evidence& its) {
  nb::dict result;
  result["n_clusters"] = its.criteria.clusters;
  put_numbers(its, true, result);
  result["cluster_silhouettes"] = to_numpy(std::move(its.criteria.cluster_silhouettes));
  result["silhouette_rows"] = its.criteria.silhouette_rows;
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
  Evidence found;
  waiting.run([&] { found.criteria = criteria(view, {labels.data(), labels.size()}, options); });
  return dict_of_criteria(found);
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
  options.column_names = all_bytes_of(wanted["column_names"]);
  GivenHooks hooks(given);
  ChosenK found;
  hooks.waiting().run([&] { found = choose_k(view, options, hooks.hooks()); });
  nb::dict result;
  result["status"] = std::string(name_of(found.status));
  result["k"] = found.k;
  result["answer"] = found.answer;
  result["reason"] = found.reason;
  nb::list defensible, votes, evidence;
  for (const DefensibleK& its : found.defensible) defensible.append(nb::make_tuple(its.k, its.meaning));
  for (const Vote& vote : found.votes) votes.append(nb::make_tuple(vote.criterion, vote.k, vote.reason));
  for (Evidence& its : found.evidence) {
    nb::dict one;
    one["k"] = its.k;
    one["model_seed"] = its.model_seed;
    one["inertia"] = its.inertia;
    one["criteria"] = dict_of_criteria(its);
    put_numbers(its, false, one);
    evidence.append(one);
  }
  result["defensible"] = defensible;
  result["votes"] = votes;
  result["evidence"] = evidence;
  result["warnings"] = to_texts(found.warnings);
  result["interrupted"] = found.interrupted;
  result["left_out"] = to_texts(found.left_out);
  result["fit"] = python::as_dict(found.fit);
  return result;
}

}  // namespace

ChosenK chosen_in(const nb::dict& given) {
  ChosenK found;
  found.status = value_named<ChoiceStatus>("status", nb::cast<std::string>(given["status"]));
  found.k = nb::cast<int64_t>(given["k"]);
  found.answer = nb::cast<std::string>(given["answer"]);
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
    const auto criteria = nb::cast<nb::dict>(its["criteria"]);
    evidence.criteria.clusters = nb::cast<int64_t>(criteria["n_clusters"]);
    take_numbers(criteria, true, evidence);
    take_numbers(its, false, evidence);
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
