#include "fitting/linear_summary.h"

#include <manymeans/summary.h>
#include <manymeans/terms.h>

#include <cmath>
#include <set>

namespace manymeans::cli {
namespace {

// The means of features and target of each cluster, as the points have them: what summarise() takes for centroids.
ModelResult model_of_means(const JobPoints& points, const ModelResult& model, const RegressionSummary& summary) {
  ModelResult result = model;
  result.prototypes = Matrix(model.k, points.view.d, model.prototypes.type());
  const auto set = [&]<class T>(T* out) {
    for (int64_t k = 0; k < model.k; ++k) {
      const double target = summary.clusters[static_cast<size_t>(k)].target_mean;  // NaN where there are no rows
      for (int64_t j = 0; j + 1 < points.view.d; ++j) *out++ = static_cast<T>(summary.gate.means.at(k, j));
      *out++ = static_cast<T>(std::isnan(target) ? 0 : target);
    }
  };
  if (result.prototypes.type() == DataType::kFloat64) {
    set(result.prototypes.values<double>().data());
  } else {
    set(result.prototypes.values<float>().data());
  }
  return result;
}

// R2, then each coefficient and its error; the intercept comes first.
std::vector<ClusterColumn> columns_of_models(const std::vector<std::string>& names, const ModelResult& model,
                                             const RegressionSummary& summary, const Scaling& scaling) {
  std::vector<ClusterColumn> columns = {{"r2", summary.cluster_r2()}};
  const int64_t features = model.prototypes.columns() - 1;
  for (int64_t i = 0; i <= features; ++i) {
    const int64_t j = i == 0 ? features : i - 1;
    const std::string name =
        i == 0 ? "intercept" : scaling.name(names[static_cast<size_t>(j)], static_cast<size_t>(j)) + " coefficient";
    ClusterColumn values{name, {}}, errors{name + " error", {}};
    for (int64_t k = 0; k < model.k; ++k) {
      values.values.push_back(unscaled_model(model.prototypes, k, scaling)[static_cast<size_t>(j)]);
      errors.values.push_back(summary.standard_errors.at(k, j));
    }
    columns.push_back(std::move(values));
    columns.push_back(std::move(errors));
  }
  return columns;
}

}  // namespace

ClusterReport summarise_models(const JobPoints& points, const RegressResult& result, size_t index, Comm& comm) {
  const ModelResult& model = result.fit.models[index];
  const RegressionSummary& summary = result.summaries[index];
  ClusterReport report;
  report.summary = summarise(points.view, points.dataset.weights, model_of_means(points, model, summary),
                             {points.scaling, result.options.threads, result.options.memory.bytes}, comm);
  for (size_t k = 0; k < summary.clusters.size(); ++k) {
    report.summary.clusters[k].spread = summary.clusters[k].deviation;
  }
  report.summary.scaled = false;  // residuals are in units of the target
  report.k = model.k_requested;
  report.ks = std::ssize(std::set<int64_t>(result.options.k.begin(), result.options.k.end()));
  report.seed = model.seed;
  report.columns = names_of_columns(points);
  report.more = columns_of_models(report.columns, model, summary, points.scaling);
  return report;
}

}  // namespace manymeans::cli
