#include <manymeans/error.h>
#include <manymeans/io.h>

#include "comm/or_abort.h"
#include "core/data_type.h"
#include "core/fp_environment.h"
#include "core/mapped_range.h"
#include "core/out_of_memory.h"
#include "core/sparse_rows.h"
#include "core/threads.h"
#include "data/input.h"
#include "data/quartiles.h"
#include "data/row_copy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace manymeans {
namespace {

template <class T>
void scale_rows(const PointsView& points, const Scaling& scaling, int64_t first, int64_t last, T* out) {
  const auto d = static_cast<size_t>(points.d);
  std::vector<T> scratch(d);
  std::vector<std::byte> fetched;
  const PointsView rows = host_rows(points, first, last - first, fetched);
  for (int64_t row = first; row < last; ++row) {
    const T* x = rows_as<T>(rows, row - first, 1, scratch.data());
    for (size_t j = 0; j < d; ++j) {
      const double value = (static_cast<double>(x[j]) - scaling.offset[j]) / scaling.divisor[j];
      out[static_cast<size_t>(row) * d + j] = static_cast<T>(value) + T{0};  // + 0: no negative zeros
    }
  }
}

}  // namespace

template <>
std::span<const std::string_view> names_of<Scale>() {
  static constexpr std::array<std::string_view, 4> kNames = {"none", "standard", "minmax", "robust"};
  return kNames;
}

namespace {

constexpr const char* kAdvice = "give it fewer rows or columns";

// Zeros would become other values.
void refuse_sparse(const PointsView& points) {
  if (!is_sparse(points)) return;
  throw Error(ErrorCode::kUsage, "scaling",
              "scaled sparse points would be dense; scale them without shifting them (scikit-learn: MaxAbsScaler), or "
              "fill in their zeros first");
}

Scaling find_it(const PointsView& points, Scale kind, int threads, int64_t memory, Comm& comm) {
  Scaling scaling;
  scaling.kind = kind;
  if (kind == Scale::kNone) return scaling;
  refuse_sparse(points);
  ThreadPool pool(thread_count(threads));
  MemoryPlan plan;
  plan.window = reading_window(points, memory);
  const Input input = prepare_input(points, {}, pool, plan, comm);
  if (kind == Scale::kMinMax) {
    check_mapped(points.data);
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
  check_mapped(points.data);
  return scaling;
}

void check_columns(const PointsView& points, const Scaling& scaling) {
  refuse_sparse(points);
  if (static_cast<int64_t>(scaling.offset.size()) != points.d) {
    throw Error(ErrorCode::kBadData, "scaling",
                "the scaling was made for " + std::to_string(scaling.offset.size()) + " columns, the points have " +
                    std::to_string(points.d));
  }
}

WriteRows scaled_rows(const PointsView& points, const Scaling& scaling) {
  return [&](int64_t first, int64_t last, void* values) {
    as_float_type(points.type, [&]<class T>(T) { scale_rows(points, scaling, first, last, static_cast<T*>(values)); });
  };
}

}  // namespace

Scaling find_scaling(const PointsView& points, Scale kind, int threads, int64_t memory, Comm& comm) {
  const FpEnvironmentGuard guard;
  return all_or_abort(comm, [&] {
    return or_out_of_memory("scaling", kAdvice, [&] { return find_it(points, kind, threads, memory, comm); });
  });
}

Scaling find_scaling(const PointsView& points, Scale kind, int threads, int64_t memory) {
  return find_scaling(points, kind, threads, memory, self_comm());
}

Matrix apply_scaling(const PointsView& points, const Scaling& scaling, int threads) {
  const FpEnvironmentGuard guard;
  check_columns(points, scaling);
  return or_out_of_memory("scaling", kAdvice, [&] {
    Matrix result(points.n, points.d, prototype_type(points.type));
    write_rows(points, threads, {{}, const_cast<void*>(result.view().data), {}}, scaled_rows(points, scaling));
    return result;
  });
}

Dataset scale_points(const PointsView& points, const Scaling& scaling, int threads, int64_t memory) {
  const FpEnvironmentGuard guard;
  check_columns(points, scaling);
  return or_out_of_memory("scaling", kAdvice, [&] {
    RowCopy copy = copy_rows(points, threads, memory, scaled_rows(points, scaling));
    Dataset result;
    result.view = copy.view;
    result.owner = std::move(copy.owner);
    return result;
  });
}

}  // namespace manymeans
