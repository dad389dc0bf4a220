// The product of matrices, written to be read: a sum of numbers of any length for every entry.
#include "core/dyadic.h"
#include "product/multiplier.h"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace manymeans {
namespace {

// The sum where products are no numbers: NaN, or infinities of one sign.
double special_sum(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t l = 0; l < a.size(); ++l) {
    const bool special = !std::isfinite(a[l]) || !std::isfinite(b[l]);
    if (special) sum += a[l] * b[l];
  }
  return std::isnan(sum) ? std::numeric_limits<double>::quiet_NaN() : sum;
}

bool all_finite(const std::vector<double>& values) {
  for (const double value : values) {
    if (!std::isfinite(value)) return false;
  }
  return true;
}

Dyadic exact_sum(const std::vector<double>& a, const std::vector<double>& b) {
  Dyadic sum;
  for (size_t l = 0; l < a.size(); ++l) sum = sum + Dyadic(a[l]) * Dyadic(b[l]);
  return sum;
}

// fl_float32 of a sum of products of float32 values. Rounding to binary64 first and then to float32 would round twice;
// but not where the binary64 number between is inexact only if it is odd.
float rounded_to_float(const Dyadic& sum) {
  double near = sum.rounded();
  const Dyadic rest = sum - Dyadic(near);
  const bool odd = (std::bit_cast<uint64_t>(near) & 1) != 0;
  if (!rest.is_zero() && !odd) near = std::nextafter(near, rest.negative() ? -HUGE_VAL : HUGE_VAL);
  return static_cast<float>(near);
}

double entry_f64(const std::vector<double>& a, const std::vector<double>& b) {
  if (!all_finite(a) || !all_finite(b)) {
    const double special = special_sum(a, b);
    if (!std::isfinite(special)) return special;
  }
  const Dyadic sum = exact_sum(a, b);
  return sum.is_zero() ? 0.0 : sum.rounded();
}

float entry_f32(const std::vector<double>& a, const std::vector<double>& b) {
  if (!all_finite(a) || !all_finite(b)) {
    const double special = special_sum(a, b);
    if (std::isnan(special)) return std::numeric_limits<float>::quiet_NaN();
    if (std::isinf(special)) return static_cast<float>(special);
  }
  const Dyadic sum = exact_sum(a, b);
  return sum.is_zero() ? 0.0F : rounded_to_float(sum);
}

}  // namespace

ProductCounts multiply_by_reference(const ProductTask& task, ThreadPool& pool) {
  pool.for_each_range(task.a.count, 1, [&](int, int64_t first, int64_t last) {
    std::vector<double> a(static_cast<size_t>(task.a.depth)), b(a.size());
    for (int64_t i = first; i < last; ++i) {
      read_line(task.a, i, a.data());
      for (int64_t j = 0; j < task.b.count; ++j) {
        read_line(task.b, j, b.data());
        const int64_t at = i * task.row_stride + j * task.column_stride;
        if (task.type == DataType::kFloat64) {
          static_cast<double*>(task.out)[at] = entry_f64(a, b);
        } else {
          static_cast<float*>(task.out)[at] = entry_f32(a, b);
        }
      }
    }
  });
  const int64_t entries = task.a.count * task.b.count;
  return {entries, 0, entries};
}

}  // namespace manymeans
