#include "output/equations.h"

#include "output/text_table.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

namespace manymeans::cli {
namespace {

// A name that reads like several words or a number stands in quotes.
std::string quoted(const std::string& name) {
  const bool plain =
      !name.empty() && name.find_first_of(" \t+-*=") == std::string::npos && name.find_first_of("0123456789.") != 0;
  return plain ? name : "'" + name + "'";
}

std::string equation(const std::vector<double>& model, const EquationNames& names) {
  std::string out = fmt::format("{} = {:.6g}", quoted(names.target), model.back());
  for (size_t j = 0; j < names.features.size(); ++j) {
    if (model[j] == 0) continue;
    out += fmt::format(" {} {:.6g} {}", model[j] < 0 ? '-' : '+', std::abs(model[j]), quoted(names.features[j]));
  }
  return out;
}

}  // namespace

EquationNames equation_names(const std::vector<std::string>& column_names, const SourceColumns& source,
                             int64_t columns) {
  EquationNames names;
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

std::vector<double> unscaled_model(const Matrix& models, int64_t row, const Scaling& scaling) {
  const int64_t features = models.columns() - 1;
  std::vector<double> model;
  for (int64_t j = 0; j <= features; ++j) model.push_back(models.at(row, j));
  if (scaling.kind == Scale::kNone) return model;
  for (size_t j = 0; j + 1 < model.size(); ++j) {
    model[j] /= scaling.divisor[j];
    model.back() -= model[j] * scaling.offset[j];
  }
  return model;
}

std::string equation_table(const LinearModels& models, const EquationNames& names) {
  const int64_t all = std::accumulate(models.counts.begin(), models.counts.end(), int64_t{0});
  std::vector<std::vector<std::string>> rows = {{"cluster", "rows", "share", "model"}};
  for (int64_t k = 0; k < models.coefficients.rows(); ++k) {
    const int64_t count = models.counts[static_cast<size_t>(k)];
    const double share = all > 0 ? 100.0 * static_cast<double>(count) / static_cast<double>(all) : 0.0;
    rows.push_back({fmt::format("{}", k), fmt::format("{}", count), fmt::format("{:.1f} %", share),
                    equation(unscaled_model(models.coefficients, k, models.scaling), names)});
  }
  return format_table("rrrl", rows);
}

}  // namespace manymeans::cli
