#include <manymeans/error.h>
#include <manymeans/io.h>

#include "comm/or_abort.h"
#include "core/data_type.h"
#include "core/fp_environment.h"
#include "core/logarithm.h"
#include "core/mapped_range.h"
#include "core/out_of_memory.h"
#include "core/sparse_rows.h"
#include "core/threads.h"
#include "data/input.h"
#include "data/quartiles.h"
#include "data/row_copy.h"
#include "data/unit_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace manymeans {
namespace {

constexpr const char* kAdvice = "give it fewer rows or columns";

double log_of(double value, Logarithm kind) {
  if (kind == Logarithm::kNone) return value;
  return kind == Logarithm::kOfValue ? logarithm(value) : logarithm_of_one_plus(value);
}

// Returns the first row that has no finite logarithm, or kNoRow.
template <class T>
int64_t scale_rows(const PointsView& points, const Scaling& scaling, int64_t first, int64_t last, T* out) {
  const auto d = static_cast<size_t>(points.d);
  std::vector<T> scratch(d);
  std::vector<std::byte> fetched;
  const PointsView rows = host_rows(points, first, last - first, fetched);
  for (int64_t row = first; row < last; ++row) {
    const T* x = rows_as<T>(rows, row - first, 1, scratch.data());
    for (size_t j = 0; j < d; ++j) {
      auto value = static_cast<double>(x[j]);
      if (scaling.has_log(j)) {
        const double found = log_of(value, scaling.logs[j]);
        if (!std::isfinite(found) && std::isfinite(value)) return row;
        value = static_cast<double>(static_cast<T>(found));
      }
      value = (value - scaling.offset[j]) / scaling.divisor[j];
      out[static_cast<size_t>(row) * d + j] = static_cast<T>(value) + T{0};  // + 0: no negative zeros
    }
  }
  return kNoRow;
}

[[noreturn]] void refuse_row(const PointsView& points, const Scaling& scaling, int64_t row) {
  std::vector<double> values(static_cast<size_t>(points.d));
  widen_row(points, row, values.data());
  size_t j = 0;
  const auto is_good = [&] { return !std::isfinite(values[j]) || std::isfinite(log_of(values[j], scaling.logs[j])); };
  while (j + 1 < values.size() && is_good()) ++j;
  throw Error(ErrorCode::kBadData, "points",
              fmt::format("row {}, column {} is {}, which has no logarithm: the fit took the logarithm of {}; leave "
                          "such rows out",
                          row + 1, j + 1, values[j],
                          scaling.logs[j] == Logarithm::kOfValue ? "this column, whose values were above 0"
                                                                 : "1 + this column, whose values were 0 or more"));
}

// Zeros would become other values.
void refuse_sparse(const PointsView& points) {
  if (!is_sparse(points)) return;
  throw Error(ErrorCode::kUsage, "scaling",
              "columns of sparse points are not scaled, nor their logarithms taken: zeros would become other values; "
              "scale unit and scikit-learn's MaxAbsScaler keep them sparse, or fill in their zeros first");
}

// Writes them somewhere by way of `run`, which is given what writes rows.
template <class Run>
void scale_all(const PointsView& points, const Scaling& scaling, Run&& run) {
  FirstBadRow bad;
  const WriteRows write = [&](int64_t first, int64_t last, void* values) {
    as_float_type(points.type,
                  [&]<class T>(T) { bad.note(scale_rows(points, scaling, first, last, static_cast<T*>(values))); });
  };
  run(write);
  if (bad.row() != kNoRow) refuse_row(points, scaling, bad.row());
}

RowCopy scaled_columns(const PointsView& points, const Scaling& scaling, int threads, int64_t memory) {
  RowCopy copy;
  scale_all(points, scaling, [&](const WriteRows& write) { copy = copy_rows(points, threads, memory, write); });
  return copy;
}

// Of no change but logarithms.
Scaling unscaled(Scale kind, std::vector<Logarithm> logs) {
  const size_t d = logs.size();
  return {kind, std::vector<double>(d, 0), std::vector<double>(d, 1), std::move(logs)};
}

Scaling find_it(const Input& input, Scale kind, ThreadPool& pool) {
  Scaling scaling;
  scaling.kind = kind;
  if (kind == Scale::kMinMax) {
    for (size_t j = 0; j < input.minimum.size(); ++j) {
      const double range = input.maximum[j] - input.minimum[j];
      scaling.offset.push_back(input.minimum[j]);
      scaling.divisor.push_back(range > 0 ? range : 1);
    }
    return scaling;
  }
  const std::vector<Moments> columns = column_moments(input, pool);
  for (const Moments& column : columns) {
    const double deviation = std::sqrt(column.variance);
    scaling.offset.push_back(column.mean);
    scaling.divisor.push_back(deviation > 0 ? deviation : 1);
  }
  if (kind == Scale::kRobust) {
    const std::vector<Quartiles> quartiles = column_quartiles(input, pool);
    for (size_t j = 0; j < quartiles.size(); ++j) {
      const double range = quartiles[j].upper - quartiles[j].lower;
      scaling.offset[j] = quartiles[j].median;
      if (range > 0) scaling.divisor[j] = range;  // else most values are equal, and the deviation stays
    }
  }
  return scaling;
}

std::vector<Logarithm> find_logs(const Input& input, const std::vector<int64_t>& columns) {
  std::vector<Logarithm> logs(input.minimum.size(), Logarithm::kNone);
  for (const int64_t column : columns) {
    const auto j = static_cast<size_t>(column);
    if (column < 0 || j >= logs.size()) {
      throw Error(ErrorCode::kUsage, "log", fmt::format("there is no column {}, from 0", column));
    }
    const double minimum = input.minimum[j];
    if (minimum < 0) {
      throw Error(ErrorCode::kBadData, "points",
                  fmt::format("column {} has the minimum {}; the logarithm needs values of 0 or more: leave this "
                              "column out of the logarithms, or shift its values first",
                              j + 1, minimum));
    }
    logs[j] = minimum > 0 ? Logarithm::kOfValue : Logarithm::kOfOnePlus;
  }
  return logs;
}

Scaling find_it(const PointsView& points, const ScaleRules& rules, int threads, int64_t memory, Comm& comm) {
  const bool by_column = rules.kind != Scale::kNone && rules.kind != Scale::kUnit;
  if (!by_column && rules.logs.empty()) return {rules.kind, {}, {}};
  refuse_sparse(points);
  ThreadPool pool(thread_count(threads));
  const auto input_of = [&](const PointsView& view) {
    MemoryPlan plan;
    plan.window = reading_window(view, memory);
    return prepare_input(view, {}, pool, plan, comm);
  };
  const Input input = input_of(points);
  Scaling found;
  if (rules.logs.empty()) {
    found = find_it(input, rules.kind, pool);
  } else {
    found = unscaled(rules.kind, find_logs(input, rules.logs));
    if (by_column) {
      const RowCopy copy = scaled_columns(points, found, threads, memory);
      std::vector<Logarithm> logs = std::move(found.logs);
      found = find_it(input_of(copy.view), rules.kind, pool);
      found.logs = std::move(logs);
    }
  }
  check_mapped(points.data);
  return found;
}

void check_columns(const PointsView& points, const Scaling& scaling) {
  const bool by_row = scaling.kind == Scale::kUnit && scaling.logs.empty();
  if (!by_row) refuse_sparse(points);
  if (by_row || static_cast<int64_t>(scaling.offset.size()) == points.d) return;
  throw Error(ErrorCode::kBadData, "scaling",
              "the scaling was made for " + std::to_string(scaling.offset.size()) + " columns, the points have " +
                  std::to_string(points.d));
}

}  // namespace

template <>
std::span<const std::string_view> names_of<Scale>() {
  static constexpr std::array<std::string_view, 5> kNames = {"none", "standard", "minmax", "robust", "unit"};
  return kNames;
}

// As NumPy calls the functions.
template <>
std::span<const std::string_view> names_of<Logarithm>() {
  static constexpr std::array<std::string_view, 3> kNames = {"none", "log", "log1p"};
  return kNames;
}

double Scaling::undone(double value, size_t column) const {
  if (kind == Scale::kUnit || offset.empty()) return value;
  value = offset[column] + divisor[column] * value;
  if (!has_log(column)) return value;
  return logs[column] == Logarithm::kOfValue ? std::exp(value) : std::expm1(value);
}

std::string Scaling::name(const std::string& column_name, size_t column) const {
  if (!has_log(column)) return column_name;
  return (logs[column] == Logarithm::kOfValue ? "log(" : "log(1 + ") + column_name + ")";
}

Scaling Scaling::first(int64_t columns) const {
  Scaling result = *this;
  const auto cut = [&](auto& values) { values.resize(std::min(values.size(), static_cast<size_t>(columns))); };
  cut(result.offset);
  cut(result.divisor);
  cut(result.logs);
  return result;
}

Scaling find_scaling(const PointsView& points, const ScaleRules& rules, int threads, int64_t memory, Comm& comm) {
  const FpEnvironmentGuard guard;
  return all_or_abort(comm, [&] {
    return or_out_of_memory("scaling", kAdvice, [&] { return find_it(points, rules, threads, memory, comm); });
  });
}

Scaling find_scaling(const PointsView& points, const ScaleRules& rules, int threads, int64_t memory) {
  return find_scaling(points, rules, threads, memory, self_comm());
}

std::vector<std::string> filled_log_warnings(const Dataset& points, const Scaling& scaling) {
  std::vector<std::string> warnings;
  for (size_t j = 0; j < scaling.logs.size() && j < points.zero_gaps.size(); ++j) {
    if (!points.zero_gaps[j] || scaling.logs[j] != Logarithm::kOfOnePlus) continue;
    warnings.push_back(
        fmt::format("the gaps of {} are 0, so its logarithm is of 1 + x; --missing median keeps log(x) where all other "
                    "values are above 0",
                    column_label(points, static_cast<int64_t>(j) + 1)));
  }
  return warnings;
}

Matrix apply_scaling(const PointsView& points, const Scaling& scaling, int threads) {
  const FpEnvironmentGuard guard;
  check_columns(points, scaling);
  const bool unit = scaling.kind == Scale::kUnit;
  if (unit && scaling.logs.empty()) return rows_of_length_one(points, threads);
  return or_out_of_memory("scaling", kAdvice, [&] {
    Matrix result(points.n, points.d, prototype_type(points.type));
    scale_all(points, scaling, [&](const WriteRows& write) {
      write_rows(points, threads, {{}, const_cast<void*>(result.view().data), {}}, write);
    });
    return unit ? rows_of_length_one(result.view(), threads) : std::move(result);
  });
}

Dataset scale_points(const PointsView& points, const Scaling& scaling, int threads, int64_t memory) {
  const FpEnvironmentGuard guard;
  check_columns(points, scaling);
  return or_out_of_memory("scaling", kAdvice, [&] {
    const bool unit = scaling.kind == Scale::kUnit;
    const bool columns = !unit || !scaling.logs.empty();
    RowCopy copy = columns ? scaled_columns(points, scaling, threads, memory) : RowCopy{points, nullptr};
    if (unit) copy = unit_rows(copy.view, {.threads = threads, .memory = memory});
    Dataset result;
    result.view = copy.view;
    result.owner = std::move(copy.owner);
    return result;
  });
}

}  // namespace manymeans
