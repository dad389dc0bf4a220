// Linear models: their coefficients with standard errors.
#include <manymeans/regress.h>
#include <manymeans/terms.h>

#include "report/chart.h"
#include "report/markup.h"
#include "report/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace manymeans::report {
namespace {

constexpr double kErrors = 2;  // standard errors on either side: about 95 %

// Coefficients and the intercept of each drawn cluster, in the units of the file.
struct DrawnModels {
  std::vector<std::vector<double>> values, errors;
};

DrawnModels drawn_models(const ShownModel& shown, const RegressionSummary& summary) {
  DrawnModels drawn;
  for (const size_t k : shown.clusters) {
    const auto row = static_cast<int64_t>(k);
    drawn.values.push_back(unscaled_model(shown.model.prototypes, row, shown.input.scaling));
    std::vector<double>& errors = drawn.errors.emplace_back();
    for (int64_t j = 0; j < summary.standard_errors.columns(); ++j)
      errors.push_back(summary.standard_errors.at(row, j));
  }
  return drawn;
}

// One coefficient of all drawn clusters: dots, and bars of two standard errors.
std::string coefficient_chart(const ShownModel& shown, const DrawnModels& drawn, size_t column) {
  constexpr double kWidth = 300, kLeft = 34, kTop = 24, kRow = 16;
  double low = 0, high = 0;
  for (size_t i = 0; i < drawn.values.size(); ++i) {
    const double value = drawn.values[i][column], error = drawn.errors[i][column];
    const double far = std::isnan(error) ? 0 : kErrors * error;
    low = std::min(low, value - far);
    high = std::max(high, value + far);
  }
  const double bottom = kTop + kRow * static_cast<double>(drawn.values.size());
  Axis x = axis_of(low, high, "");
  x.from = kLeft;
  x.to = kWidth - 14;
  Chart chart(kWidth, bottom + 30, "Coefficients of " + shown.columns[column] + " with two standard errors");
  chart.title(shown.short_name(column));
  for (const double tick : ticks_of(x)) {
    chart.add(fmt::format("<line class=\"g\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>\n", px(x.at(tick)),
                          px(x.at(tick)), px(kTop), px(bottom)));
    chart.text(x.at(tick), bottom + 17, value_text(tick, high - low, 3), Anchor::kMiddle);
  }
  for (size_t i = 0; i < drawn.values.size(); ++i) {
    const double y = kTop + kRow * (static_cast<double>(i) + 0.5), value = drawn.values[i][column];
    const double far = std::isnan(drawn.errors[i][column]) ? 0 : kErrors * drawn.errors[i][column];
    const std::string colour = shown.colour(shown.clusters[i]);
    chart.text(kLeft - 6, y + 4, fmt::format("{}", shown.clusters[i]), Anchor::kEnd);
    chart.add(fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"2\"/>\n", colour,
                          px(x.at(value - far)), px(y - 1), px(std::max(1.0, x.at(value + far) - x.at(value - far)))));
    chart.add(fmt::format("<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"4\"><title>cluster {}: {}</title></circle>\n",
                          colour, px(x.at(value)), px(y), shown.clusters[i], report::shown(value, 6)));
  }
  return chart.svg();
}

std::string with_error(double value, double error) {
  return std::isnan(error) ? report::shown(value, 6)
                           : fmt::format("{} ± {}", report::shown(value, 6), report::shown(error, 3));
}

std::string table_of(const ShownModel& shown, const RegressionSummary& summary, const DrawnModels& drawn,
                     size_t features) {
  std::vector<std::string> heads = {"cluster", "rows", "R2", "residual", "intercept"};
  for (size_t j = 0; j < features; ++j) heads.push_back(shown.short_name(j));
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < shown.clusters.size(); ++i) {
    const size_t k = shown.clusters[i];
    const LinearCluster& cluster = summary.clusters[k];
    rows.push_back({fmt::format("{}", k), fmt::format("{}", shown.model.counts[k]), report::shown(cluster.r2),
                    report::shown(cluster.deviation), with_error(drawn.values[i].back(), drawn.errors[i].back())});
    for (size_t j = 0; j < features; ++j) {
      rows.back().push_back(with_error(drawn.values[i][j], drawn.errors[i][j]));
    }
  }
  return table(heads, rows);
}

}  // namespace

const LinearCluster& plane_of(const ShownModel& shown, size_t cluster) {
  return shown.input.regression->summaries[shown.index].clusters[cluster];
}

std::string equation_of(const ShownModel& shown, size_t cluster) {
  constexpr size_t kMaxSaid = 12;
  const std::vector<double> model =
      unscaled_model(shown.model.prototypes, static_cast<int64_t>(cluster), shown.input.scaling);
  const size_t features = model.size() - 1;
  std::string text = fmt::format("{} = {}", shown.short_name(features), report::shown(model.back()));
  for (size_t j = 0; j < std::min(features, kMaxSaid); ++j) {
    if (model[j] == 0) continue;
    text += fmt::format(" {} {} {}", model[j] < 0 ? "-" : "+", report::shown(std::fabs(model[j])), shown.short_name(j));
  }
  return features > kMaxSaid ? fmt::format("{} + {} more terms", text, features - kMaxSaid) : text;
}

std::string models_part(const ShownModel& shown) {
  const RegressionSummary& summary = shown.input.regression->summaries[shown.index];
  const DrawnModels drawn = drawn_models(shown, summary);
  const size_t features = std::min(shown.columns.size() - 1, kMaxColumns);
  std::string charts;
  for (size_t j = 0; j < features; ++j) charts += coefficient_chart(shown, drawn, j);
  const std::string all = features + 1 == shown.columns.size()
                              ? ""
                              : fmt::format(" Shown: the first {} of {} features.", features, shown.columns.size() - 1);
  return section("Linear models",
                 fmt::format("Models of {}, in original units, each ± its standard error; bars are two standard errors "
                             "wide on either side. R2 of all rows is {:.6f}, of the rows of a cluster it is in the "
                             "table; both know the target, and so does the choice of a row's cluster. The residual is "
                             "a root mean square. Shown: {}.{}",
                             shown.short_name(shown.columns.size() - 1), summary.r2, shown.which_clusters(), all),
                 side_by_side(charts) + table_of(shown, summary, drawn, features));
}

}  // namespace manymeans::report
