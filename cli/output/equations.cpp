#include "output/equations.h"

#include <manymeans/terms.h>

#include "output/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

namespace manymeans::cli {
namespace {

// Quotes a name that reads like several words or a number.
std::string quoted(const std::string& name) {
  const bool plain =
      !name.empty() && name.find_first_of(" \t+-*=") == std::string::npos && name.find_first_of("0123456789.") != 0;
  return plain ? name : "'" + name + "'";
}

// The shortest text, of six digits or more, that reads back to within `allowed` of the value.
std::string rounded(double value, double allowed) {
  constexpr int kMin = 6, kMax = 17;
  for (int digits = kMin; digits < kMax; ++digits) {
    std::string text = fmt::format("{:.{}g}", value, digits);
    double read = 0;
    std::from_chars(text.data(), text.data() + text.size(), read);
    if (std::abs(read - value) <= allowed) return text;
  }
  return fmt::format("{:.{}g}", value, kMax);
}

// How far each feature lies from zero over the rows of a cluster, in the units of the equations. It is the root of the
// mean square or somewhat more. The last entry is the 1 of the intercept. (A sum, at most 1.42 times the root of the
// squares: std::hypot would tie the program to glibc 2.35, and wheels promise 2.34.)
std::vector<double> sizes_of_features(const LinearModels& models, int64_t row) {
  const RegressionGate& gate = models.summary.gate;
  const double own = gate.weights[static_cast<size_t>(row)];
  const double all = std::reduce(gate.weights.begin(), gate.weights.end());
  // Around their means the rows of a cluster have no greater sum of squares than all rows.
  const double spread = own > 0 ? std::sqrt(all / own) : 1;
  std::vector<double> sizes;
  for (size_t j = 0; j < gate.scales.size(); ++j) {
    const bool scaled = !models.scaling.offset.empty();
    const double divisor = scaled ? models.scaling.divisor[j] : 1;
    const double offset = scaled ? models.scaling.offset[j] : 0;
    const double mean = gate.means.at(row, static_cast<int64_t>(j)) * divisor + offset;
    sizes.push_back(std::abs(mean) + spread * gate.scales[j] * std::abs(divisor));
  }
  sizes.push_back(1);
  return sizes;
}

// The max change of a prediction by the rounding of each coefficient. All changes together are invisible compared with
// the residuals, or with the loss of binary64 in the sum of the terms.
double allowed_change(const LinearModels& models, const std::vector<double>& model, const std::vector<double>& sizes) {
  constexpr double kShare = 1e-3, kLost = 0x1p-51;
  const double all = std::reduce(models.summary.gate.weights.begin(), models.summary.gate.weights.end());
  const double residual = all > 0 ? std::sqrt(models.error / all) : 0;
  double largest = 0;
  for (size_t j = 0; j < model.size(); ++j) largest = std::max(largest, std::abs(model[j]) * sizes[j]);
  return std::max(kShare * residual, kLost * largest) / static_cast<double>(model.size());
}

std::vector<std::string> shown_terms(const EquationNames& names, const Scaling& scaling) {
  std::vector<std::string> features;
  for (const std::string& name : names.features) features.push_back(quoted(name));
  std::vector<std::string> terms = term_names(features, names.terms);
  for (size_t j = 0; j < terms.size(); ++j) terms[j] = scaling.name(terms[j], j);
  return terms;
}

std::string equation(const LinearModels& models, int64_t row, const EquationNames& names) {
  const std::vector<double> model = unscaled_model(models.coefficients, row, models.scaling);
  const std::vector<double> sizes = sizes_of_features(models, row);
  const double allowed = allowed_change(models, model, sizes);
  std::string out = fmt::format("{} = {}", quoted(names.target), rounded(model.back(), allowed));
  const std::vector<std::string> terms = shown_terms(names, models.scaling);
  for (size_t j = 0; j < terms.size(); ++j) {
    if (model[j] == 0) continue;
    out +=
        fmt::format(" {} {} {}", model[j] < 0 ? '-' : '+', rounded(std::abs(model[j]), allowed / sizes[j]), terms[j]);
  }
  return out;
}

// "(errors 0.12, 0.034 x1)": of the intercept and the terms of the equation.
std::string errors_of(const LinearModels& models, int64_t row, const EquationNames& names) {
  const Matrix& errors = models.summary.standard_errors;
  const int64_t features = errors.columns() - 1;
  std::string out = fmt::format("(errors {:.3g}", errors.at(row, features));
  const std::vector<std::string> terms = shown_terms(names, models.scaling);
  for (int64_t j = 0; j < features; ++j) {
    if (models.coefficients.at(row, j) == 0) continue;
    out += fmt::format(", {:.3g} {}", errors.at(row, j), terms[static_cast<size_t>(j)]);
  }
  return out + ")";
}

}  // namespace

EquationNames equation_names(const ModelFile& file) {
  return equation_names(file.column_names, file.source, points_of_fit(file).columns, file.terms);
}

EquationNames equation_names(const std::vector<std::string>& column_names, const SourceColumns& source, int64_t columns,
                             const Terms& terms) {
  EquationNames names;
  names.terms = terms;
  if (!column_names.empty()) {
    names.features.assign(column_names.begin(), column_names.end() - 1);
    names.target = column_names.back();
    return names;
  }
  // A field of lists is one column of its file: then the columns of the points are counted.
  const bool one_each = std::ssize(source.numbers) == columns;
  for (int64_t j = 0; j + 1 < columns; ++j) {
    names.features.push_back(fmt::format("x{}", one_each ? source.numbers[static_cast<size_t>(j)] : j + 1));
  }
  names.target = "y";
  return names;
}

std::string equation_table(const LinearModels& models, const EquationNames& names) {
  const int64_t all = std::accumulate(models.counts.begin(), models.counts.end(), int64_t{0});
  const std::vector<LinearCluster>& clusters = models.summary.clusters;  // empty for an older file
  std::vector<std::vector<std::string>> rows = {{"cluster", "rows", "share"}};
  if (!clusters.empty()) rows[0].emplace_back("R2");
  rows[0].emplace_back("model");
  for (int64_t k = 0; k < models.coefficients.rows(); ++k) {
    const int64_t count = models.counts[static_cast<size_t>(k)];
    const double share = all > 0 ? 100.0 * static_cast<double>(count) / static_cast<double>(all) : 0.0;
    std::vector<std::string>& row = rows.emplace_back();
    row = {fmt::format("{}", k), fmt::format("{}", count), fmt::format("{:.1f} %", share)};
    if (!clusters.empty()) {
      const double r2 = clusters[static_cast<size_t>(k)].r2;
      row.push_back(std::isnan(r2) ? "-" : fmt::format("{:.4f}", r2));
    }
    row.push_back(equation(models, k, names));
    if (clusters.empty() || std::isnan(models.summary.standard_errors.at(k, models.coefficients.columns() - 1)))
      continue;
    rows.push_back({"", "", "", "", errors_of(models, k, names)});
  }
  return format_table(clusters.empty() ? "rrrl" : "rrrrl", rows);
}

}  // namespace manymeans::cli
