// Linear models as equations, in the units of the file whatever they were fitted in.
#pragma once

#include <manymeans/io.h>
#include <manymeans/model_file.h>
#include <manymeans/regress.h>

#include <cstdint>
#include <string>
#include <vector>

namespace manymeans::cli {

/// The names of linear models' columns: their names in the file, else x1, x2, ... by their numbers, and y.
struct EquationNames {
  std::vector<std::string> features;
  std::string target;
  Terms terms = {};  ///< that the features become
};
/// `columns`: those that were read, the features and the target.
EquationNames equation_names(const std::vector<std::string>& column_names, const SourceColumns& source, int64_t columns,
                             const Terms& terms);
EquationNames equation_names(const ModelFile& file);

/// A fitted model and where it came from, as far as its equations need it.
struct LinearModels {
  const Matrix& coefficients;
  const std::vector<int64_t>& counts;
  const RegressionSummary& summary;
  double error;  ///< the weighted sum of squared residuals
  const Scaling& scaling;
};
/// Two lines for each cluster: its rows, their share, its R2 and "y = 1.5 + 2 x1 - 0.25 x3", and below it the standard
/// errors, where they are known. Terms of coefficient 0 are left out.
/// Coefficients have enough digits to predict with them, and at least six. Over the rows of a cluster, the root mean
/// square of the rounding's effect is at most a thousandth of the root mean square of all residuals.
std::string equation_table(const LinearModels& models, const EquationNames& names);

}  // namespace manymeans::cli
