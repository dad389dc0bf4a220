#include "data/input.h"

#include <manymeans/error.h>

#include "core/column_lanes.h"
#include "core/data_type.h"
#include "data/remote_rows.h"
#include "data/row_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <utility>

namespace manymeans {
namespace {

template <class T>
void scan_weighted(const T* x, int64_t rows, int64_t d, const double* weights, ColumnScan& scan) {
  for (int64_t i = 0; i < rows; ++i, x += d) {
    for (int64_t j = 0; j < d; ++j) {
      const double value = x[j];
      const double term = weights[i] * value;
      scan.take(static_cast<size_t>(j), value, value, std::fabs(term), value_of_lowest_bit(term));
    }
  }
}

const void* moved(const void* values, const PointsView& points, int64_t rows) {
  if (values == nullptr) return nullptr;
  return static_cast<const std::byte*>(values) +
         static_cast<size_t>(rows) * static_cast<size_t>(points.d) * size_of(points.type);
}

// The copy of exactly these rows; null: no device has one.
const PointsView* copy_of(const Input& whole, int64_t first, int64_t rows) {
  int64_t begin = 0;
  for (const PointsView& part : whole.copies()) {
    if (begin == first && part.n == rows) return &part;
    begin += part.n;
  }
  return nullptr;
}

// Calls ask(rows, begin, pool) for each device's copy, which begins with that row, on all devices at the same time. The
// rows are an input without weights. If several calls fail, the error of the first rows is thrown.
template <class Answer, class Ask>
std::vector<Answer> ask_copies(const Input& input, const Answer& none, const Ask& ask) {
  const std::span<const PointsView> parts = input.copies();
  std::vector<Answer> answers(parts.size(), none);
  std::vector<std::exception_ptr> errors(parts.size());
  std::vector<int64_t> begins(parts.size(), 0);
  for (size_t p = 1; p < parts.size(); ++p) begins[p] = begins[p - 1] + parts[p - 1].n;
  ThreadPool drivers(static_cast<int>(parts.size()));
  drivers.for_each_range(static_cast<int64_t>(parts.size()), 1, [&](int, int64_t part, int64_t) {
    const auto p = static_cast<size_t>(part);
    try {
      ThreadPool alone(1);
      Input rows;
      rows.points = parts[p];
      rows.shard.first = input.shard.first + begins[p];
      rows.memory = input.memory;
      answers[p] = ask(rows, begins[p], alone);
    } catch (...) {
      errors[p] = std::current_exception();
    }
  });
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  return answers;
}

[[noreturn]] void refuse_value(const Input& input, int64_t at) {
  const PointsView& points = input.points;
  std::vector<double> row(static_cast<size_t>(points.d));
  widen_row(points, at / points.d, row.data());
  check_value(row[static_cast<size_t>(at % points.d)], input.shard.first + at / points.d, at % points.d);
  throw Error(ErrorCode::kInternal, "points", "a finite value was refused");
}

ColumnScan scan_on_device(const Input& input) {
  DeviceScan scan = memory_space(input.points).scan_columns(input.points, input.weights);
  if (scan.bad >= 0) refuse_value(input, scan.bad);
  return std::move(scan.columns);
}

template <class T>
ColumnScan scan_columns(const Input& input, ThreadPool& pool) {
  const PointsView& points = input.points;
  if (points.n > 0 && points.on_device()) return scan_on_device(input);
  if (!input.copies().empty()) {
    const auto scan = [&](Input& rows, int64_t begin, ThreadPool& alone) {
      if (!input.weights.empty()) {
        const auto first = input.weights.begin() + begin;
        rows.weights.assign(first, first + rows.points.n);
      }
      return scan_columns<T>(rows, alone);
    };
    ColumnScan all(points.d);
    for (const ColumnScan& part : ask_copies(input, all, scan)) all.merge(part);
    return all;
  }
  std::vector<ColumnScan> weighted(static_cast<size_t>(pool.size()), ColumnScan(points.d));
  std::vector<ColumnScanner<T>> plain(static_cast<size_t>(pool.size()), ColumnScanner<T>(points.d));
  std::atomic<int64_t> bad{std::numeric_limits<int64_t>::max()};
  for_each_block<T>(points, input.memory.window, pool, [&](int worker, int64_t row, int64_t rows, const T* x) {
    if (!plain[static_cast<size_t>(worker)].add(x, rows)) {
      const int64_t count = rows * points.d;
      const int64_t at = row * points.d + (std::find_if(x, x + count, [](T v) { return !std::isfinite(v); }) - x);
      for (int64_t seen = bad.load(); at < seen && !bad.compare_exchange_weak(seen, at);) {
      }
      return;
    }
    if (input.weights.empty()) return;
    scan_weighted(x, rows, points.d, input.weights.data() + row, weighted[static_cast<size_t>(worker)]);
  });
  if (const int64_t at = bad.load(); at != std::numeric_limits<int64_t>::max()) refuse_value(input, at);
  if (input.weights.empty()) {
    for (const ColumnScanner<T>& scanner : plain) scanner.merge_into(weighted[0]);
  }
  for (size_t i = 1; i < weighted.size(); ++i) weighted[0].merge(weighted[i]);
  return weighted[0];
}

// Values on which the ranks have to agree.
struct ShardShape {
  int64_t rows, columns, type, weights;
};

// Ranks without rows are skipped: they do not show whether they have weights.
void check_same_weights(const std::vector<ShardShape>& shapes) {
  for (size_t r = 1; r < shapes.size(); ++r) {
    for (size_t before = 0; before < r; ++before) {
      if (shapes[r].rows == 0 || shapes[before].rows == 0) continue;
      if ((shapes[r].weights > 0) == (shapes[before].weights > 0)) continue;
      const bool has = shapes[r].weights > 0;
      throw Error(ErrorCode::kUsage, "weights",
                  fmt::format("rank {} has weights, rank {} has none; give them on all ranks or on none",
                              has ? r : before, has ? before : r));
    }
  }
}

void check_same_columns(const std::vector<ShardShape>& shapes) {
  for (size_t r = 1; r < shapes.size(); ++r) {
    if (shapes[r].columns == shapes[0].columns && shapes[r].type == shapes[0].type) continue;
    const auto text = [&](size_t rank) {
      return fmt::format("rank {} has {} columns of {}", rank, shapes[rank].columns,
                         name_of(static_cast<DataType>(shapes[rank].type)));
    };
    throw Error(ErrorCode::kUsage, "points", fmt::format("{}, {}; give all ranks the same", text(0), text(r)));
  }
}

// Row by row: q = RNE(w * 2^(bits - e(max w))). A product with a power of two that is a normal number rounds as ldexp
// does, in a tenth of its time.
void quantise_rows(Input& input, std::span<const double> weights, double largest) {
  const int shift = input.weight_shift + 1 - exponent(largest);
  const double power = std::ldexp(1.0, shift), unit = std::ldexp(1.0, -input.weight_shift);
  const bool normal = std::isnormal(power);
  input.weights.resize(weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    input.weights[i] = std::nearbyint(normal ? weights[i] * power : std::ldexp(weights[i], shift)) * unit;
  }
}

void quantise_weights(Input& input, std::span<const double> weights) {
  Comm& comm = *input.comm;
  input.weighted = comm.max(static_cast<int64_t>(weights.size())) > 0;
  if (!input.weighted) return;
  double largest = 0;
  check_together(comm, [&] { largest = check_weights(weights, input.points.n, input.shard.first); });
  largest = comm.max(largest);
  set_weight_scale(input, largest);
  quantise_rows(input, weights, largest);
  input.max_weight = comm.max(largest_weight(input));
}

void check_magnitude(double magnitude) {
  if (magnitude > kMaxMagnitude) {
    throw Error(ErrorCode::kBadData, "points",
                fmt::format("the largest magnitude is {}; above 2^500 (3.3e150) squared distances overflow: "
                            "divide the columns by a constant first",
                            magnitude));
  }
}

std::vector<MomentSums> merged(std::vector<std::vector<MomentSums>> sums) {
  std::vector<MomentSums> all = std::move(sums[0]);
  for (size_t i = 1; i < sums.size(); ++i) {
    for (size_t j = 0; j < all.size(); ++j) all[j].merge(sums[i][j]);
  }
  return all;
}

template <class T>
std::vector<MomentSums> sum_moments_of(const Input& input, const std::vector<MomentFormats>& formats,
                                       ThreadPool& pool) {
  if (input.points.n > 0 && input.points.on_device())
    return memory_space(input.points).sum_moments(input.points, formats);
  if (!input.copies().empty()) {
    const auto sum = [&](const Input& rows, int64_t, ThreadPool& alone) {
      return sum_moments_of<T>(rows, formats, alone);
    };
    return merged(ask_copies(input, std::vector<MomentSums>(), sum));
  }
  std::vector<MomentSummer<T>> summers(static_cast<size_t>(pool.size()), MomentSummer<T>(formats));
  for_each_block<T>(input.points, input.memory.window, pool, [&](int worker, int64_t, int64_t rows, const T* x) {
    summers[static_cast<size_t>(worker)].add(x, rows);
  });
  std::vector<std::vector<MomentSums>> all;
  for (MomentSummer<T>& summer : summers) all.push_back(summer.sums());
  return merged(std::move(all));
}

}  // namespace

void check_value(double value, int64_t row, int64_t column) {
  if (std::isfinite(value)) return;
  throw Error(ErrorCode::kBadData, "points",
              fmt::format("row {}, column {} is {}; every value must be finite (remove or fill such rows first)",
                          row + 1, column + 1, std::isnan(value) ? "NaN" : fmt::format("{}", value)));
}

double Input::max_magnitude() const {
  double largest = 0;
  for (size_t j = 0; j < minimum.size(); ++j) {
    largest = std::max({largest, std::fabs(minimum[j]), std::fabs(maximum[j])});
  }
  return largest;
}

Shard find_shard(const PointsView& points, std::span<const double> weights, Comm& comm) {
  const ShardShape mine{points.n, points.d, static_cast<int64_t>(points.type), static_cast<int64_t>(weights.size())};
  const std::vector<ShardShape> shapes = comm.gather_flat(std::span(&mine, 1));
  Shard shard;
  for (size_t r = 0; r < shapes.size(); ++r) {
    if (static_cast<int>(r) == comm.rank()) shard.first = shard.all;
    shard.all += std::max<int64_t>(0, shapes[r].rows);
    shard.ends.push_back(shard.all);
  }
  shard.rows = points.n;
  check_same_columns(shapes);
  check_together(comm, [&] { check_shape(points, shard.all); });
  check_same_weights(shapes);
  return shard;
}

void check_shape(const PointsView& points, int64_t all) {
  if (all < 1) throw Error(ErrorCode::kBadData, "points", "there are no rows; at least one is needed");
  if (points.d < 1) throw Error(ErrorCode::kBadData, "points", "there are no columns; at least one is needed");
  if (points.n < 0) {
    throw Error(ErrorCode::kUsage, "points",
                fmt::format("{} rows were given; their number is never negative", points.n));
  }
  if (points.n > 0 && points.data == nullptr) {
    throw Error(ErrorCode::kUsage, "points", "the pointer to the values is null");
  }
}

Input rows_of(const Input& whole, int64_t first, int64_t rows) {
  Input input = whole;
  input.points.data = moved(whole.points.data, whole.points, first);
  input.points.n = rows;
  if (const PointsView* const copy = copy_of(whole, first, rows)) input.points = *copy;
  input.spread = {};
  input.host_values = moved(whole.host_values, whole.points, first);
  input.shard.first += first;
  input.shard.rows = rows;
  input.comm = &self_comm();  // the owner of all parts exchanges with other ranks
  if (!whole.weights.empty()) input.weights = {whole.weights.begin() + first, whole.weights.begin() + first + rows};
  return input;
}

void set_weight_scale(Input& input, double largest) {
  if (largest == 0) throw Error(ErrorCode::kBadData, "weights", "all weights are zero; at least one must be positive");
  input.weight_shift = std::min(input.bits, 52) - 1;
  input.weight_exponent = exponent(largest) - 1;
}

double check_weights(std::span<const double> weights, int64_t rows, int64_t first_row) {
  if (static_cast<int64_t>(weights.size()) != rows) {
    throw Error(ErrorCode::kBadData, "weights",
                fmt::format("there are {} weights for {} rows; one per row is needed", weights.size(), rows));
  }
  double largest = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] >= 0) || std::isinf(weights[i])) {
      throw Error(ErrorCode::kBadData, "weights",
                  fmt::format("row {} has weight {}; weights must be finite and not negative",
                              first_row + static_cast<int64_t>(i) + 1, weights[i]));
    }
    largest = std::max(largest, weights[i]);
  }
  return largest;
}

Input begin_shard(const PointsView& points, std::span<const double> weights, int64_t first_row,
                  const WholeShape& whole) {
  Input input;
  input.shard = {first_row, points.n, whole.rows, {whole.rows}};
  input.points = points;
  input.bits = limb_bits(whole.rows);
  input.weighted = whole.weighted;
  if (!whole.weighted) return input;
  set_weight_scale(input, whole.largest_weight);
  quantise_rows(input, weights, whole.largest_weight);
  return input;
}

ColumnScan scan_shard(const Input& shard, ThreadPool& pool) {
  return as_float_type(shard.points.type, [&]<class T>(T) { return scan_columns<T>(shard, pool); });
}

void finish_shard(Input& shard, ColumnScan columns, double max_weight) {
  shard.max_weight = max_weight;
  shard.minimum = columns.minimum;
  shard.maximum = columns.maximum;
  // Which of two zeros is the least depends on the order of the rows.
  for (std::vector<double>* ends : {&shard.minimum, &shard.maximum}) {
    for (double& value : *ends) value += 0.0;
  }
  check_magnitude(shard.max_magnitude());
  check_overflow(shard, shard.max_magnitude());
  set_sum_formats(shard, std::move(columns));
}

double largest_weight(const Input& shard) {
  if (!shard.weighted) return 1;
  const auto most = std::max_element(shard.weights.begin(), shard.weights.end());
  return most == shard.weights.end() ? 0.0 : *most;
}

Input prepare_input(const PointsView& points, std::span<const double> weights, ThreadPool& pool,
                    const MemoryPlan& memory, Comm& comm) {
  return prepare_input(GivenPoints{points}, weights, pool, memory, comm);
}

Input prepare_input(const GivenPoints& given, std::span<const double> weights, ThreadPool& pool,
                    const MemoryPlan& memory, Comm& comm) {
  const PointsView& points = given.points;
  Input input;
  input.spread = given.copies;
  input.shard = find_shard(points, weights, comm);
  await_points(points);
  input.comm = &comm;
  input.points = points;
  input.memory = memory;
  input.bits = limb_bits(input.shard.all);
  quantise_weights(input, weights);
  ColumnScan scan(points.d);
  check_together(comm, [&] { scan = scan_shard(input, pool); });
  scan.merge_ranks(comm);
  finish_shard(input, std::move(scan), input.max_weight);
  return input;
}

void scan_values(const double* values, int64_t rows, const double* weights, ColumnScan& scan) {
  const auto d = static_cast<int64_t>(scan.low.size());
  if (weights != nullptr) return scan_weighted(values, rows, d, weights, scan);
  ColumnScanner<double> scanner(d);
  scanner.add(values, rows);
  scanner.merge_into(scan);
}

void set_sum_formats(Input& input, ColumnScan scan) {
  const int most = max_limbs(input.points.type == DataType::kFloat64);
  input.limbs = 1;
  input.lowest.clear();
  input.columns.clear();
  for (size_t j = 0; j < scan.low.size(); ++j) {
    if (!input.weighted) scan.largest[j] = std::max(std::fabs(scan.minimum[j]), std::fabs(scan.maximum[j]));
    input.lowest.push_back(std::isinf(scan.low[j]) ? 0 : lowest_bit(scan.low[j]));
    input.limbs = std::max(input.limbs, limbs_needed(input.bits, scan.largest[j], input.lowest[j], most));
  }
  for (const double largest : scan.largest) {
    input.columns.push_back(SumFormat::make(input.bits, input.limbs, largest));
  }
}

void check_overflow(const Input& input, double magnitude) {
  const double largest = std::ldexp(input.max_weight, input.weight_exponent);
  if (!std::isfinite(largest * (static_cast<double>(input.points.d) * 4 * magnitude * magnitude))) {
    throw Error(
        ErrorCode::kBadData, "weights",
        fmt::format("the largest weight, {}, times squared distances overflows: divide the weights by it", largest));
  }
}

void sum_ranks(std::vector<MomentSums>& sums, Comm& comm) {
  if (comm.alone()) return;
  constexpr int64_t kLimbs = kDistanceLimbs;
  std::vector<int64_t> limbs;
  for (const MomentSums& sum : sums) {
    limbs.insert(limbs.end(), sum.y, sum.y + kLimbs);
    limbs.insert(limbs.end(), sum.yy, sum.yy + kLimbs);
  }
  comm.sum(std::span(limbs));
  const int64_t* at = limbs.data();
  for (MomentSums& sum : sums) {
    std::copy_n(at, kLimbs, sum.y);
    std::copy_n(at + kLimbs, kLimbs, sum.yy);
    at += 2 * kLimbs;
  }
}

std::vector<Moments> column_moments(const Input& input, ThreadPool& pool) {
  const std::vector<MomentFormats> formats = moment_formats(input);
  std::vector<MomentSums> sums =
      input.remote != nullptr ? input.remote->sum_moments(formats) : sum_moments(input, formats, pool);
  sum_ranks(sums, *input.comm);
  std::vector<Moments> result;
  for (size_t j = 0; j < sums.size(); ++j) {
    result.push_back(moments(sums[j], formats[j], input.shard.all));
  }
  return result;
}

std::vector<MomentSums> sum_moments(const Input& input, const std::vector<MomentFormats>& formats, ThreadPool& pool) {
  return as_float_type(input.points.type, [&]<class T>(T) { return sum_moments_of<T>(input, formats, pool); });
}

std::vector<MomentFormats> moment_formats(const Input& input) {
  std::vector<MomentFormats> formats;
  for (size_t j = 0; j < input.minimum.size(); ++j) {
    formats.push_back(MomentFormats::make(input.bits, input.minimum[j], input.maximum[j]));
  }
  return formats;
}

double mean_variance(const std::vector<Moments>& columns) {
  double sum = 0;
  for (const Moments& column : columns) sum += column.variance;
  return columns.empty() ? 0 : sum / static_cast<double>(columns.size());
}

SumFormat distance_format(const Input& input, double farthest) {
  return SumFormat::make(input.bits, kDistanceLimbs, input.max_weight * farthest);
}

}  // namespace manymeans
