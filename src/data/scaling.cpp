#include <manymeans/error.h>
#include <manymeans/io.h>

#include "core/data_type.h"
#include "core/fp_environment.h"
#include "core/mapped_range.h"
#include "core/out_of_memory.h"
#include "core/threads.h"
#include "data/input.h"

#include <array>
#include <cmath>

namespace manymeans {
namespace {
constexpr std::array<std::string_view, 3> kNames = {"none", "standard", "minmax"};

template <class T>
void scale_rows(const PointsView& points, const Scaling& scaling, int64_t first, int64_t last, T* out) {
  const auto d = static_cast<size_t>(points.d);
  std::vector<T> scratch(d);
  for (int64_t row = first; row < last; ++row) {
    const T* x = rows_as<T>(points, row, 1, scratch.data());
    for (size_t j = 0; j < d; ++j) {
      const double value = (static_cast<double>(x[j]) - scaling.offset[j]) / scaling.divisor[j];
      out[static_cast<size_t>(row) * d + j] = static_cast<T>(value) + T{0};  // + 0: no negative zeros
    }
  }
}

}  // namespace

std::string_view name_of(Scale scale) {
  return kNames[static_cast<size_t>(scale)];
}

std::optional<Scale> scale_from_name(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Scale>(i);
  }
  return std::nullopt;
}

namespace {

constexpr const char* kAdvice = "give it fewer rows or columns";

Scaling find_it(const PointsView& points, Scale kind, int threads) {
  Scaling scaling;
  scaling.kind = kind;
  if (kind == Scale::kNone) return scaling;
  ThreadPool pool(thread_count(threads));
  const Input input = prepare_input(points, {}, pool);
  if (kind == Scale::kMinMax) {
    check_mapped(points.data);
    for (size_t j = 0; j < input.minimum.size(); ++j) {
      const double range = input.maximum[j] - input.minimum[j];
      scaling.offset.push_back(input.minimum[j]);
      scaling.divisor.push_back(range > 0 ? range : 1);
    }
    return scaling;
  }
  for (const Moments& column : column_moments(input, pool)) {
    const double deviation = std::sqrt(column.variance);
    scaling.offset.push_back(column.mean);
    scaling.divisor.push_back(deviation > 0 ? deviation : 1);
  }
  check_mapped(points.data);
  return scaling;
}

Matrix apply_it(const PointsView& points, const Scaling& scaling, int threads) {
  if (static_cast<int64_t>(scaling.offset.size()) != points.d) {
    throw Error(ErrorCode::kBadData, "scaling",
                "the scaling was made for " + std::to_string(scaling.offset.size()) + " columns, the points have " +
                    std::to_string(points.d));
  }
  Matrix result(points.n, points.d, prototype_type(points.type));
  ThreadPool pool(thread_count(threads));
  pool.for_each_range(points.n, 4096, [&](int, int64_t first, int64_t last) {
    if (result.type() == DataType::kFloat64) {
      scale_rows(points, scaling, first, last, result.values<double>().data());
    } else {
      scale_rows(points, scaling, first, last, result.values<float>().data());
    }
  });
  check_mapped(points.data);
  return result;
}

}  // namespace

Scaling find_scaling(const PointsView& points, Scale kind, int threads) {
  const FpEnvironmentGuard guard;
  return or_out_of_memory("scaling", kAdvice, [&] { return find_it(points, kind, threads); });
}

Matrix apply_scaling(const PointsView& points, const Scaling& scaling, int threads) {
  const FpEnvironmentGuard guard;
  return or_out_of_memory("scaling", kAdvice, [&] { return apply_it(points, scaling, threads); });
}

}  // namespace manymeans
