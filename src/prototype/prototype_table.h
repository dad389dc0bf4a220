// The table of a kind of prototype, from a struct that says what one row and one cluster do. The loops over rows and
// clusters are here, with the struct's functions inlined in them.
#pragma once

#include "core/data_type.h"
#include "prototype/prototype.h"

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace manymeans {

template <class Kind, class T>
RowFunctions<T> row_functions_of() {
  RowFunctions<T> functions;
  functions.distance = [](const T* x, const T* prototype, int64_t d) { return Kind::distance(x, prototype, d); };
  functions.distances = [](const LabelledRows<T>& rows, double* d2) {
    const int64_t width = Kind::width(rows.d);
    for (int64_t i = 0; i < rows.count; ++i) {
      d2[i] = Kind::distance(rows.points + i * rows.d, rows.prototypes + rows.labels[i] * width, rows.d);
    }
  };
  functions.nearest = [](const RowBlock<T>& rows, const T* prototypes, int64_t k, uint32_t* labels) {
    const int64_t width = Kind::width(rows.d);
    for (int64_t i = 0; i < rows.count; ++i) {
      const T* x = rows.points + i * rows.d;
      labels[i] = 0;
      double least = Kind::distance(x, prototypes, rows.d);
      for (int64_t c = 1; c < k; ++c) {
        const double d2 = Kind::distance(x, prototypes + c * width, rows.d);
        if (d2 < least) {
          least = d2;
          labels[i] = static_cast<uint32_t>(c);
        }
      }
    }
  };
  functions.terms = [](const RowBlock<T>& rows, const double* weights, double* terms) {
    const int64_t count = Kind::terms(rows.d);
    for (int64_t i = 0; i < rows.count; ++i) {
      const double weight = weights == nullptr ? 1 : weights[i];
      Kind::row_terms(rows.points + i * rows.d, rows.d, weight, terms + i * count);
    }
  };
  functions.prototypes_of = [](const RowBlock<T>& rows, T* prototypes) {
    const int64_t width = Kind::width(rows.d);
    for (int64_t i = 0; i < rows.count; ++i) {
      Kind::prototype_of_row(rows.points + i * rows.d, rows.d, prototypes + i * width);
    }
    for (int64_t i = 0; i < rows.count * width; ++i) prototypes[i] += T{0};  // no negative zeros
  };
  functions.shifts = [](const RowBlock<T>& before, const T* after, double* d2) {
    for (int64_t k = 0; k < before.count; ++k) {
      d2[k] = Kind::shift(before.points + k * before.d, after + k * before.d, before.d);
    }
  };
  return functions;
}

template <class Kind, class T>
void solve_clusters(const SolveTask& task, int64_t first, int64_t last, Matrix& matrix) {
  const Statistics& statistics = task.statistics;
  const int64_t width = matrix.columns();
  const T* old = task.old.values<T>().data();
  T* out = matrix.values<T>().data();
  std::vector<double> solved(static_cast<size_t>(width));
  for (int64_t k = first; k < last; ++k) {
    const int64_t weight = statistics.weights[static_cast<size_t>(k)];
    if (weight == 0) {
      std::copy_n(old + k * width, width, out + k * width);
      continue;
    }
    const ClusterSums sums{
        statistics.row(k),           task.input.columns.data(), statistics.d,       weight,
        static_cast<double>(weight), task.input.weight_shift,   task.powers.data(), task.input.linear};
    if constexpr (std::is_void_v<decltype(Kind::solve(sums, solved.data()))>) {
      Kind::solve(sums, solved.data());
    } else if (!Kind::solve(sums, solved.data())) {
      std::copy_n(old + k * width, width, out + k * width);
      continue;
    }
    for (int64_t j = 0; j < width; ++j) {
      out[k * width + j] = static_cast<T>(solved[static_cast<size_t>(j)]) + T{0};  // + 0: no negative zeros
    }
  }
}

/// The table of a struct with these static functions (x is a row of d values, float or double):
///   width(d), terms(d)
///   distance(x, prototype, d)            canonical: the same bits for float and double
///   row_terms(x, d, weight, terms)       exact, or rounded to binary64 in one way
///   prototype_of_row(x, d, prototype)
///   solve(const ClusterSums&, solved)    `width` binary64 values, rounded to T afterwards; may return false, where
///                                        there are none: then the old prototype stays
///   shift(before, after, width)
/// and kName, kEuclidean and, where they are true, kLinear and kEngineSolves.
template <class Kind>
Prototype table_of() {
  Prototype table;
  table.name = Kind::kName;
  table.euclidean = Kind::kEuclidean;
  if constexpr (requires { Kind::kLinear; }) table.linear = Kind::kLinear;
  if constexpr (requires { Kind::kEngineSolves; }) table.engine_solves = Kind::kEngineSolves;
  table.width = Kind::width;
  table.terms = Kind::terms;
  table.f32 = row_functions_of<Kind, float>();
  table.f64 = row_functions_of<Kind, double>();
  table.solve = [](const SolveTask& task, int64_t first, int64_t last, Matrix& out) {
    as_float_type(out.type(), [&]<class T>(T) { solve_clusters<Kind, T>(task, first, last, out); });
  };
  return table;
}

}  // namespace manymeans
