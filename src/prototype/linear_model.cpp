#include "prototype/linear_model.h"

#include "prototype/prototype_table.h"

#include <algorithm>

namespace manymeans {
namespace {

int64_t features_of(int64_t terms) {
  int64_t features = 0;
  while (LinearModel::terms(features + 1) < terms) ++features;
  return features;
}

}  // namespace

ProductSums product_sums(const ClusterSums& sums) {
  const int64_t features = features_of(sums.terms);
  ProductSums products(features);
  int64_t term = 0;
  for (int64_t i = 0; i <= features; ++i) {
    for (int64_t j = i; j <= features + 1; ++j, term += 2) products(i, j) = sums.exact(term) + sums.exact(term + 1);
  }
  products(features + 1, features + 1) = Dyadic(WideInt(sums.integer_weight), -sums.weight_shift);
  return products;
}

void LinearModel::solve(const ClusterSums& sums, double* model) {
  const LinearFit fit = solve_linear(product_sums(sums), sums.linear);
  std::ranges::copy(fit.coefficients, model);
  model[fit.coefficients.size()] = fit.intercept;
}

const Prototype& linear_model() {
  static const Prototype table = table_of<LinearModel>();
  return table;
}

}  // namespace manymeans
