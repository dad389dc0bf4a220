#include "engine/removal_costs.h"

#include "core/data_type.h"
#include "data/row_blocks.h"
#include "engine/exact_sum.h"
#include "prototype/prototype.h"

#include <limits>

namespace manymeans {
namespace {

template <class T>
TwoNearest two_nearest(const RowFunctions<T>& functions, const T* x, int64_t d, const Matrix& model) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  TwoNearest row{kNone, kNone, 0};
  const T* prototype = model.values<T>().data();
  for (int64_t k = 0; k < model.rows(); ++k, prototype += model.columns()) {
    const double d2 = functions.distance(x, prototype, d);
    if (d2 < row.d2) {
      row = {d2, row.d2, static_cast<uint32_t>(k)};
    } else if (d2 < row.second) {
      row.second = d2;
    }
  }
  return row;
}

// Sums of each model's prototypes, on every thread of a pool.
class CostSums {
 public:
  CostSums(const Input& input, std::span<const Matrix* const> models, ThreadPool& pool)
      : input_(input), pool_(pool), sums_(static_cast<size_t>(pool.size())) {
    for (OfModels& mine : sums_) {
      for (const Matrix* model : models) mine.emplace_back(static_cast<size_t>(model->rows()));
    }
  }

  /// Of one model, where `rows` knows the distances.
  bool add_known(size_t m, const Matrix& model, RowQueries& rows) {
    constexpr int64_t kGrain = 16384;
    return rows.two_nearest(model, [&](int64_t first, std::span<const TwoNearest> part) {
      pool_.for_each_range(static_cast<int64_t>(part.size()), kGrain, [&](int worker, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) add(worker, m, first + i, part[static_cast<size_t>(i)]);
      });
    });
  }

  /// Adds the costs of some models, by a reading of the points.
  void add_read(std::span<const size_t> which, std::span<const Matrix* const> models) {
    const int64_t d = input_.points.d;
    as_float_type(input_.points.type, [&]<class T>(T) {
      const RowFunctions<T>& functions = prototype_of(input_).rows<T>();
      for_each_block<T>(input_.host_points(), input_.memory.window, pool_,
                        [&](int worker, int64_t first, int64_t rows, const T* x) {
                          for (const size_t m : which) {
                            for (int64_t i = 0; i < rows; ++i) {
                              add(worker, m, first + i, two_nearest(functions, x + i * d, d, *models[m]));
                            }
                          }
                        });
    });
  }

  /// Over the rows of all ranks.
  std::vector<std::vector<double>> costs() {
    std::vector<std::vector<double>> costs;
    for (size_t m = 0; m < sums_[0].size(); ++m) {
      std::vector<double>& of_model = costs.emplace_back();
      for (size_t k = 0; k < sums_[0][m].size(); ++k) {
        ExactSum& sum = sums_[0][m][k];
        for (size_t worker = 1; worker < sums_.size(); ++worker) sum.add(sums_[worker][m][k]);
        input_.comm->sum(sum.digits());
        of_model.push_back(sum.rounded());
      }
    }
    return costs;
  }

 private:
  using OfModels = std::vector<std::vector<ExactSum>>;

  void add(int worker, size_t m, int64_t row, const TwoNearest& nearest) {
    sums_[static_cast<size_t>(worker)][m][nearest.nearest].add(input_.weight(row) * (nearest.second - nearest.d2));
  }

  const Input& input_;
  ThreadPool& pool_;
  std::vector<OfModels> sums_;  // of each thread
};

}  // namespace

std::vector<std::vector<double>> removal_costs(const Input& input, std::span<const Matrix* const> models,
                                               RowQueries& rows, ThreadPool& pool) {
  CostSums sums(input, models, pool);
  std::vector<size_t> unknown;
  for (size_t m = 0; m < models.size(); ++m) {
    if (!sums.add_known(m, *models[m], rows)) unknown.push_back(m);
  }
  if (!unknown.empty()) sums.add_read(unknown, models);
  return sums.costs();
}

}  // namespace manymeans
