#include "prototype/linear_model.h"

#include "prototype/prototype_table.h"
#include "prototype/word_solve.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>

namespace manymeans {
namespace {

int64_t features_of(int64_t terms) {
  int64_t features = 0;
  while (LinearModel::terms(features + 1) < terms) ++features;
  return features;
}

// A column, or the 1 behind all columns, as a factor of products.
struct Factor {
  double largest = 1;
  int lowest = 0;
};

Factor factor_of(const ColumnScan& columns, int64_t j) {
  const auto at = static_cast<size_t>(j);
  if (at == columns.low.size()) return {};
  const double largest = std::max(std::fabs(columns.minimum[at]), std::fabs(columns.maximum[at]));
  return {largest, largest > 0 ? lowest_bit(columns.low[at]) : 0};
}

}  // namespace

ColumnScan product_bounds(const Input& input, const ColumnScan& columns) {
  constexpr int kMinBit = -1074;
  const auto d = static_cast<int64_t>(columns.low.size());
  const bool exact = !input.weighted && input.points.type != DataType::kFloat64;
  ColumnScan terms(LinearModel::terms(d));
  size_t term = 0;
  for (int64_t i = 0; i < d; ++i) {
    const Factor a = factor_of(columns, i);
    for (int64_t j = i; j <= d; ++j, term += 2) {
      const Factor b = factor_of(columns, j);
      const double largest = input.max_weight * (a.largest * b.largest);
      const double low = std::ldexp(1.0, std::max(kMinBit, a.lowest + b.lowest - input.weight_shift));
      const double rest = exact ? 0 : std::max(largest * 0x1p-51, std::ldexp(1.0, kMinBit));
      if (largest == 0) {
        terms.take(term, 0, 0, 0, terms.low[term]);
        terms.take(term + 1, 0, 0, 0, terms.low[term + 1]);
        continue;
      }
      terms.take(term, -largest, largest, largest, low);
      terms.take(term + 1, -rest, rest, rest, rest > 0 ? low : terms.low[term + 1]);
    }
  }
  return terms;
}

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

namespace {

// Solves in integers of A and M words; false where they are too short.
template <int A, int M>
bool solve_in_words(const ClusterSums& sums, double* model) {
  using Space = WordSolveSpace<A, M>;
  const auto d = static_cast<int>(features_of(sums.terms)) + 1;
  const auto memory = std::make_unique_for_overwrite<std::byte[]>(Space::bytes(d));
  Space space;
  space.lay_out(memory.get(), d);
  const LoneThread team;
  const WordSolveTask task{d, sums.formats, sums.weight_shift, sums.linear};
  const WordSolveSums cluster{sums.limbs, sums.integer_weight};
  return WordSolve(team, task, cluster, space).solve(model);
}

}  // namespace

void LinearModel::solve(const ClusterSums& sums, double* model) {
  if (solve_in_words<4, 8>(sums, model) || solve_in_words<7, 14>(sums, model)) return;
  const LinearFit fit = solve_linear(product_sums(sums), sums.linear);
  std::ranges::copy(fit.coefficients, model);
  model[fit.coefficients.size()] = fit.intercept;
}

const Prototype& linear_model() {
  static const Prototype table = table_of<LinearModel>();
  return table;
}

}  // namespace manymeans
