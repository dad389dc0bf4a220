#include "engine/removal_costs.h"

#include "core/data_type.h"
#include "data/row_blocks.h"
#include "engine/exact_sum.h"
#include "prototype/prototype.h"

#include <limits>

namespace manymeans {
namespace {

// The best of a row's prototypes, and what the second best would cost.
struct BestOfRow {
  int64_t best = 0;
  double d2 = std::numeric_limits<double>::infinity();
  double second = std::numeric_limits<double>::infinity();
};

template <class T>
BestOfRow best_of_row(const RowFunctions<T>& functions, const T* x, int64_t d, const Matrix& model) {
  BestOfRow row;
  const T* prototype = model.values<T>().data();
  for (int64_t k = 0; k < model.rows(); ++k, prototype += model.columns()) {
    const double d2 = functions.distance(x, prototype, d);
    if (d2 < row.d2) {
      row.second = row.d2;
      row.d2 = d2;
      row.best = k;
    } else if (d2 < row.second) {
      row.second = d2;
    }
  }
  return row;
}

using Sums = std::vector<std::vector<ExactSum>>;  // of each model's prototypes

Sums empty_sums(std::span<const Matrix* const> models) {
  Sums sums;
  for (const Matrix* model : models) sums.emplace_back(static_cast<size_t>(model->rows()));
  return sums;
}

void merge(const Sums& from, Sums& into) {
  for (size_t m = 0; m < into.size(); ++m) {
    for (size_t k = 0; k < into[m].size(); ++k) into[m][k].add(from[m][k]);
  }
}

}  // namespace

std::vector<std::vector<double>> removal_costs(const Input& input, std::span<const Matrix* const> models,
                                               ThreadPool& pool) {
  std::vector<Sums> sums(static_cast<size_t>(pool.size()), empty_sums(models));
  const int64_t d = input.points.d;
  as_float_type(input.points.type, [&]<class T>(T) {
    const RowFunctions<T>& functions = prototype_of(input).rows<T>();
    for_each_block<T>(input.host_points(), input.memory.window, pool,
                      [&](int worker, int64_t first, int64_t rows, const T* x) {
                        for (size_t m = 0; m < models.size(); ++m) {
                          std::vector<ExactSum>& mine = sums[static_cast<size_t>(worker)][m];
                          for (int64_t i = 0; i < rows; ++i) {
                            const BestOfRow row = best_of_row(functions, x + i * d, d, *models[m]);
                            mine[static_cast<size_t>(row.best)].add(input.weight(first + i) * (row.second - row.d2));
                          }
                        }
                      });
  });
  for (size_t worker = 1; worker < sums.size(); ++worker) merge(sums[worker], sums[0]);
  std::vector<std::vector<double>> costs;
  for (std::vector<ExactSum>& model : sums[0]) {
    std::vector<double>& of_model = costs.emplace_back();
    for (ExactSum& sum : model) {
      input.comm->sum(sum.digits());
      of_model.push_back(sum.rounded());
    }
  }
  return costs;
}

}  // namespace manymeans
