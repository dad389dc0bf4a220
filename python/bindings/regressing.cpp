// regress, and what its models say of rows.
#include <manymeans/manymeans.h>

#include "arrays.h"
#include "fit_parts.h"
#include "module.h"
#include "texts.h"
#include "waiting.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

namespace manymeans::python {
namespace nb = nanobind;
namespace {

// Rows as the package passes them: their target is an array of its own, N x 1.
struct GivenRows {
  nb::object points;
  bool bfloat16;
  nb::object target;

  PointsView features() const { return points_of(points, bfloat16); }
  RegressionRows joined() const { return RegressionRows::joined(features(), points_of(target, false)); }
};
GivenRows rows_of(const nb::dict& given) {
  return {given["points"], value_of<bool>(given, "bfloat16"), given["target"]};
}

nb::dict regress_rows(const nb::dict& given_rows, const nb::object& weights, const nb::dict& given_options,
                      const nb::dict& given_hooks) {
  const GivenRows given = rows_of(given_rows);
  const PointsView features = given.features();
  const PointsView target = points_of(given.target, false);
  const std::span<const double> values = values_of(weights);
  const auto options =
      options_from<RegressOptions>(given_options, [](auto& all, auto&& set) { for_each_regress_option(all, set); });
  GivenHooks hooks(given_hooks);
  RegressResult result;
  // Most models come to their end after a hundred updates, not after all that they might make.
  constexpr int64_t kUsualUpdates = 100;
  const auto work = [&] { result = regress(RegressionRows::joined(features, target), values, options, hooks.hooks()); };
  hooks.waiting().run(work, is_brief_fit(features, options, kUsualUpdates));
  nb::dict out = as_dict(result.fit);
  const auto models = nb::cast<nb::list>(out["models"]);
  for (size_t i = 0; i < result.summaries.size(); ++i) {
    RegressionSummary& summary = result.summaries[i];
    nb::object model = models[i];
    model["r2"] = summary.r2;
    model["bic"] = summary.bic;
    model["means"] = to_numpy(std::move(summary.gate.means));
    model["feature_scales"] = to_numpy(std::move(summary.gate.scales));
    model["left_out"] = summary.left_out;
    model["cluster_r2"] = to_numpy(summary.cluster_r2());
    std::vector<double> residuals;
    for (const LinearCluster& cluster : summary.clusters) residuals.push_back(cluster.deviation);
    model["residuals"] = to_numpy(std::move(residuals));
    model["standard_errors"] = to_numpy(std::move(summary.standard_errors));
  }
  return out;
}

// R2 by each gating, "nearest" and "prior", of the best model of each k.
nb::list cross_validate_rows(const nb::dict& given_rows, const nb::object& weights, const nb::dict& given_options,
                             int64_t folds) {
  const GivenRows given = rows_of(given_rows);
  const PointsView features = given.features(), target = points_of(given.target, false);
  const std::span<const double> values = values_of(weights);
  const auto options =
      options_from<RegressOptions>(given_options, [](auto& all, auto&& set) { for_each_regress_option(all, set); });
  Waiting waiting;
  FitHooks hooks;
  hooks.abort = &waiting.abort();
  std::vector<HeldOutR2> found;
  waiting.run([&] { found = cross_validate(RegressionRows::joined(features, target), values, options, folds, hooks); });
  nb::list result;
  for (const HeldOutR2& r2 : found) {
    nb::dict one;
    one["nearest"] = r2.nearest;
    one["prior"] = r2.prior;
    result.append(one);
  }
  return result;
}

PredictOptions predict_options(const nb::dict& wanted, const Waiting& waiting) {
  PredictOptions options;
  options.backend = value_of<std::string>(wanted, "backend");
  options.threads = value_of<int>(wanted, "threads");
  options.abort = &waiting.abort();
  return options;
}

nb::object label_rows(const nb::dict& given_rows, const AnyArray& models, const nb::dict& wanted) {
  const GivenRows given = rows_of(given_rows);
  const PointsView features = given.features(), target = points_of(given.target, false), prototypes = points_of(models);
  Waiting waiting;
  const PredictOptions options = predict_options(wanted, waiting);
  Prediction result;
  waiting.run([&] { result = regress_labels(RegressionRows::joined(features, target), prototypes, options); });
  return to_numpy(std::move(result.labels));
}

nb::object predict_targets(const nb::object& points, bool bfloat16, const nb::dict& model, const nb::dict& wanted) {
  const PointsView view = points_of(points, bfloat16);
  const auto models = nb::cast<AnyArray>(model["cluster_centers"]);
  const std::span<const double> scales = values_of(model["feature_scales"]), weights = values_of(model["weights"]);
  const RegressionGate gate{
      matrix_of(nb::cast<AnyArray>(model["means"])), {scales.begin(), scales.end()}, {weights.begin(), weights.end()}};
  const auto gating = value_named<Gating>("gating", value_of<std::string>(wanted, "gating"));
  Waiting waiting;
  const PredictOptions options = predict_options(wanted, waiting);
  Matrix result;
  const bool brief =
      is_brief(static_cast<double>(view.n) * static_cast<double>(view.d) * static_cast<double>(points_of(models).n));
  waiting.run([&] { result = regress_predict(view, points_of(models), gate, gating, options); }, brief);
  return to_numpy(std::move(result));
}

// A tuple of degree and products.
Terms terms_of(const nb::tuple& given) {
  return {nb::cast<int64_t>(given[0]), nb::cast<bool>(given[1])};
}

// Gives the array of terms, and their names where the features have some.
nb::tuple make_terms(const nb::object& points, bool bfloat16, const nb::tuple& given, nb::handle names, int threads) {
  Dataset table;
  table.view = points_of(points, bfloat16);
  table.column_names = all_bytes_of(names);
  const Terms terms = terms_of(given);
  Waiting().run([&] { expand_terms(table, terms, 0, threads); });
  return nb::make_tuple(numpy_view(table.view, table.owner), to_texts(table.column_names));
}

}  // namespace

void add_regressing(nb::module_& module) {
  module.def("regress", &regress_rows, nb::arg("rows"), nb::arg("weights").none(), nb::arg("options"),
             nb::arg("hooks"));
  module.def("regress_cross_validate", &cross_validate_rows, nb::arg("rows"), nb::arg("weights").none(),
             nb::arg("options"), nb::arg("folds"));
  module.def("make_terms", &make_terms, nb::arg("points"), nb::arg("bfloat16"), nb::arg("terms"), nb::arg("names"),
             nb::arg("threads"));
  module.def("features_of_terms",
             [](int64_t count, const nb::tuple& terms) { return features_of_terms(count, terms_of(terms)); });
  module.def("regress_labels", &label_rows, nb::arg("rows"), nb::arg("models").noconvert(), nb::arg("wanted"));
  module.def("regress_predict", &predict_targets, nb::arg("points"), nb::arg("bfloat16"), nb::arg("model"),
             nb::arg("wanted"));
}

}  // namespace manymeans::python
