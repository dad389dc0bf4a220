// The representative of a cluster, behind one table of functions. The engine, the initialisations and the backends ask
// this table for everything that differs between a centroid and, say, a linear model:
//
//   The number of parameters, and of terms that a row adds to its statistics.
//   The canonical distance of rows to prototypes, and the terms of rows, a block of rows a call.
//   The solution from a cluster's sums, and the distance of two prototypes.
//
// A kind of prototype is a struct of a dozen lines, like Centroid; table_of (prototype_table.h) makes the table of it.
#pragma once

#include <manymeans/points.h>

#include "core/dyadic.h"
#include "core/fixed_point.h"
#include "data/input.h"
#include "data/statistics.h"
#include "prototype/labelled_rows.h"

#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace manymeans {

/// The sums of one cluster that weighs something, as its prototype is solved from them.
struct ClusterSums {
  const int64_t* limbs;      ///< limb g of term t at limbs[g * terms + t]
  const SumFormat* formats;  ///< per term
  int64_t terms;
  int64_t integer_weight;  ///< W
  double weight;           ///< RN(W)
  int weight_shift;        ///< the cluster weighs W * 2^-weight_shift
  const double* powers;    ///< per term: 2^(weight_shift - shift), or 0 where that is no normal number
  LinearOptions linear;    ///< of the fit

  /// ldexp(RN(S) / RN(W), weight_shift - shift) of a term. A product with a power of two rounds as ldexp does, in a
  /// tenth of its time.
  double mean(int64_t term) const {
    const double quotient = rounded(term) / weight;
    if (powers[term] != 0) return quotient * powers[term];
    return std::ldexp(quotient, weight_shift - shift(term));
  }
  /// RN(S) of a term; its sum is RN(S) * 2^-shift(term).
  double rounded(int64_t term) const { return rounded_sum(limbs + term, formats[term], terms); }
  int shift(int64_t term) const { return formats[term].shift; }
  /// The exact sum of a term.
  Dyadic exact(int64_t term) const { return Dyadic(recombine(limbs + term, formats[term], terms), -shift(term)); }
};

/// The functions that read rows of points of type T, or prototypes of that type.
template <class T>
struct RowFunctions {
  /// The canonical distance of one row to one prototype; the row has d values.
  double (*distance)(const T* x, const T* prototype, int64_t d);
  /// The distances of rows to the prototypes of their labels.
  void (*distances)(const LabelledRows<T>& rows, double* d2);
  /// labels[i] = the prototype of the k that is nearest to row i, the lowest where several are.
  void (*nearest)(const RowBlock<T>& rows, const T* prototypes, int64_t k, uint32_t* labels);
  /// count x terms: what each row adds to the sums of its cluster. `weights`: w' of each row, or null for one.
  void (*terms)(const RowBlock<T>& rows, const double* weights, double* terms);
  /// count x width: the prototype that represents each row alone, for seeding.
  void (*prototypes_of)(const RowBlock<T>& rows, T* prototypes);
  /// d2 between k prototypes and their successors, for the stop rules.
  void (*shifts)(const RowBlock<T>& before, const T* after, double* d2);
};

struct SolveTask {
  const Statistics& statistics;
  const Input& input;
  const Matrix& old;
  const std::vector<double>& powers;  ///< see ClusterSums
};

/// A kind of prototype. Two inputs of the same fit have the same one.
struct Prototype {
  std::string_view name;
  /// Prototypes are points of the same space: width and terms are D, the terms of a row are its values, and the
  /// distance is canonical_distance. Every screen and every fast sum serves these; there is none yet for others, which
  /// get exact distances only.
  bool euclidean;
  /// Prototypes are linear models: the distance is LinearModel's squared residual, and terms are its products. There is
  /// a screen for these, and there are fast sums.
  bool linear = false;
  /// Prototypes are solved by the engine alone: devices have no kernel for it, and make one pass at a time.
  bool engine_solves = false;
  int64_t (*width)(int64_t d);  ///< parameters of a prototype
  int64_t (*terms)(int64_t d);  ///< terms that a row adds
  RowFunctions<float> f32;
  RowFunctions<double> f64;
  /// Solves clusters [first, last). Those that weigh nothing keep their row of `old`.
  void (*solve)(const SolveTask& task, int64_t first, int64_t last, Matrix& out);

  template <class T>
  const RowFunctions<T>& rows() const {
    if constexpr (std::is_same_v<T, double>) {
      return f64;
    } else {
      return f32;
    }
  }
};

/// The one that an input was made for: the centroid, unless use_prototype() said otherwise.
const Prototype& prototype_of(const Input& input);

/// Sets the kind of prototype of the input, and the formats of its sums for the terms of this kind. It reads the points
/// once, except for Euclidean kinds and for linear models without weights. All ranks call it.
void use_prototype(Input& input, const Prototype& prototype, ThreadPool& pool);

/// Prototypes from statistics; clusters with W_k = 0 keep their row of `old`. O(K times what one takes).
Matrix solve_prototypes(const Statistics& statistics, const Input& input, const Matrix& old, ThreadPool& pool);

/// Returns the prototypes that represent each row alone. Rows are numbers among the rows of all ranks.
Matrix prototypes_at(const Input& input, std::span<const int64_t> rows);

/// d2 of every prototype to its successor; on the pool's threads, or on the calling one.
std::vector<double> squared_shifts(const Prototype& prototype, const Matrix& before, const Matrix& after,
                                   ThreadPool* pool = nullptr);

/// Rounded to T, -0 as +0. Throws Error(kBadData) for values that are not finite or too large to square.
Matrix make_prototypes(const PointsView& rows, DataType type);

/// Largest |value|.
double largest_magnitude(const Matrix& prototypes);

/// Prototypes `kept` of `old`, in this order.
Matrix keep_prototypes(const Matrix& old, std::span<const int64_t> kept);

}  // namespace manymeans
