// The points and weights of a fit, validated, with everything that the contract derives from them.
// These are integer weights, number formats of sums, and ranges and moments of the columns.
#pragma once

#include <manymeans/comm.h>
#include <manymeans/points.h>

#include "core/column_scan.h"
#include "core/fixed_point.h"
#include "core/moments.h"
#include "core/threads.h"
#include "data/linear_options.h"
#include "data/memory_plan.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

namespace manymeans {

/// Larger magnitudes are refused in float64 points and prototypes: their squares would overflow.
constexpr double kMaxMagnitude = 0x1p500;

/// Most prototypes of a model: padded to whole blocks they are still counted by signed 32-bit lanes.
constexpr int64_t kMaxClusters = (int64_t{1} << 31) - 64;

struct Prototype;
class RemoteRows;

/// A range of neighbouring rows among all rows, or none. "Row i" and N of the contract count all rows.
struct Shard {
  int64_t first = 0;          ///< number of the first among all rows
  int64_t rows = 0;           ///< how many these are
  int64_t all = 0;            ///< N
  std::vector<int64_t> ends;  ///< of the rows of every rank: rank r has those from ends[r - 1] to ends[r]

  bool has(int64_t row) const { return row >= first && row < first + rows; }
  /// The rank that has this row.
  int owner(int64_t row) const {
    return static_cast<int>(std::upper_bound(ends.begin(), ends.end(), row) - ends.begin());
  }
};

/// Copies of points of the host's memory, rows after rows, each on a device of its own.
struct SpreadCopies {
  const void* of = nullptr;  ///< the values that were copied
  std::vector<PointsView> parts = {};
};

/// Points, and where devices have them already.
struct GivenPoints {
  PointsView points;
  SpreadCopies copies = {};
};

/// All that is said of the whole (formats, ranges, weights' scale) holds for the rows of all ranks.
struct Input {
  PointsView points;                     ///< of this rank
  const void* host_values = nullptr;     ///< where the host has the points, if `points` is a copy of them on a device
  SpreadCopies spread;                   ///< where devices have them, each some of the rows
  Shard shard;                           ///< which rows these are
  Comm* comm = &self_comm();             ///< the ranks that have the others
  RemoteRows* remote = nullptr;          ///< has all of them, where `points` say how many there are and no more
  bool weighted = false;                 ///< there are weights, though a rank without rows has none
  const Prototype* prototype = nullptr;  ///< whose terms are summed; null: the centroid's, which are the columns
  LinearOptions linear;                  ///< how linear models are solved from them
  MemoryPlan memory;                     ///< what may be held in memory beside them, and how many of their rows
  std::vector<double> weights;           ///< w' = q * 2^-weight_shift for integers q, one a row; empty without weights
  int weight_shift = 0;     ///< so that the largest w' lies in [1, 2]: products underflow no more than values do
  int weight_exponent = 0;  ///< a weight as it was given is about w' * 2^weight_exponent
  double max_weight = 1;    ///< largest w'
  bool counted = false;     ///< a weight says how often a row occurs: its terms, each of weight one, count that often

  int bits = 0;                    ///< b: bits of a limb
  int limbs = 1;                   ///< of the terms' sums; more than a term needs changes no result
  std::vector<SumFormat> columns;  ///< format of each term's sum: of centroids those of w' * x, column by column
  std::vector<int> lowest;         ///< per term: all of them are multiples of 2^lowest
  std::vector<double> minimum;     ///< per column
  std::vector<double> maximum;

  /// w' of a row.
  double weight(int64_t row) const { return weights.empty() ? 1.0 : weights[static_cast<size_t>(row)]; }
  /// q of a row: what W_k sums.
  int64_t integer_weight(int64_t row) const {
    return weights.empty() ? 1 : static_cast<int64_t>(std::ldexp(weight(row), weight_shift));
  }
  /// The points where the host reads them best.
  PointsView host_points() const {
    return host_values == nullptr ? points : PointsView(host_values, points.n, points.d, points.type);
  }
  /// The devices' copies of the points: all rows, or nothing.
  std::span<const PointsView> copies() const {
    return spread.of == points.data && !points.on_device() ? std::span(spread.parts) : std::span<const PointsView>();
  }
  /// Largest |x| of all points.
  double max_magnitude() const;
};

/// The whole's rows [first, first + rows), on the device that has just these, with all that holds for the whole.
Input rows_of(const Input& whole, int64_t first, int64_t rows);

/// The rows of this rank among all rows. Throws Error on all ranks: no rows at all or no columns, points of different
/// columns or types, weights on some ranks only. Reads no point.
Shard find_shard(const PointsView& points, std::span<const double> weights, Comm& comm = self_comm());

/// Facts about all rows that the shards of a fit need before they can read their own rows.
struct WholeShape {
  int64_t rows = 0;  ///< N
  bool weighted = false;
  double largest_weight = 0;  ///< as it was given
};

/// Throws Error for points that cannot be, of `all` rows in all shards. Reads no value.
void check_shape(const PointsView& points, int64_t all);

/// Returns the largest weight; the rows have numbers from `first_row` on. Throws Error(kBadData) for weights that are
/// negative or not finite, or not as many as there are rows.
double check_weights(std::span<const double> weights, int64_t rows, int64_t first_row);

/// Sets Input::weight_shift and Input::weight_exponent. `largest` is the largest weight of all rows, in the caller's
/// units. Throws Error(kBadData) if it is 0.
void set_weight_scale(Input& input, double largest);

/// The input of a shard, weights quantised; without the formats of its sums, which follow from the columns of all
/// shards. Throws Error(kBadData) where the largest weight is 0.
Input begin_shard(const PointsView& points, std::span<const double> weights, int64_t first_row,
                  const WholeShape& whole);

/// Scans the columns of a shard in one reading. Throws Error(kBadData) for NaN and infinity.
ColumnScan scan_shard(const Input& shard, ThreadPool& pool);

/// Takes the merged results of scan_shard() on all shards, and the largest w' of all rows. Throws Error(kBadData) for
/// values that are too large.
void finish_shard(Input& shard, ColumnScan columns, double max_weight);

/// The largest w' of the shard: 1 without weights, 0 without rows.
double largest_weight(const Input& shard);

/// Reads everything once. Throws Error(kBadData) for no rows or columns, and for NaN or infinity (with row and column,
/// both from 1). It throws also for a weight that is negative or not finite, no weight above zero, and products that
/// overflow. With several ranks all of them call it, and all throw what one with all rows would throw.
Input prepare_input(const PointsView& points, std::span<const double> weights, ThreadPool& pool,
                    const MemoryPlan& memory = {}, Comm& comm = self_comm());
/// As above, but devices may read their copies instead.
Input prepare_input(const GivenPoints& given, std::span<const double> weights, ThreadPool& pool,
                    const MemoryPlan& memory, Comm& comm);

/// Throws Error(kBadData) for a value that is not finite; row and column count from 0, over the rows of all ranks.
void check_value(double value, int64_t row, int64_t column);

/// Adds values, `rows` rows of as many as the scan has columns, to the scan. `weights`: one for each row, or null.
void scan_values(const double* values, int64_t rows, const double* weights, ColumnScan& scan);

/// Sets the formats of the sums of terms from one scan of the rows of all ranks.
void set_sum_formats(Input& input, ColumnScan scan);

/// Throws Error(kBadData) if weighted squared distances overflow with values of this magnitude: given prototypes may
/// be larger than all points.
void check_overflow(const Input& input, double magnitude);

/// Mean and variance of every column, from order-free sums. Reads the points once.
std::vector<Moments> column_moments(const Input& input, ThreadPool& pool);

/// Adds the sums of all ranks, which have the same formats. Every rank gets the total.
void sum_ranks(std::vector<MomentSums>& sums, Comm& comm);
/// Returns the formats of the sums from which column_moments() computes.
std::vector<MomentFormats> moment_formats(const Input& input);
/// Returns these sums over the rows of one shard.
std::vector<MomentSums> sum_moments(const Input& input, const std::vector<MomentFormats>& formats, ThreadPool& pool);

/// The mean of the columns' variances, which `tol` multiplies; summed over columns ascending.
double mean_variance(const std::vector<Moments>& moments);

/// The format of a sum of w' * d2, if no d2 with w' > 0 is above `farthest`: contract, "Inertia".
SumFormat distance_format(const Input& input, double farthest);

}  // namespace manymeans
