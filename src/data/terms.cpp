#include <manymeans/error.h>
#include <manymeans/terms.h>

#include "core/data_type.h"
#include "core/fp_environment.h"
#include "core/out_of_memory.h"
#include "data/input.h"
#include "data/row_copy.h"

#include <fmt/format.h>

#include <algorithm>

namespace manymeans {
namespace {

// Calls product(i, j) for each product of two features, i <= j, in the order of the terms.
template <class Product>
void for_each_product(int64_t features, const Terms& terms, Product&& product) {
  if (terms.degree < 2) return;
  for (int64_t i = 0; i < features; ++i) {
    for (int64_t j = i; j < (terms.products ? features : i + 1); ++j) product(i, j);
  }
}

struct TermRows {
  const PointsView& points;
  const Terms& terms;
  int64_t targets;

  int64_t features() const { return points.d - targets; }
  int64_t columns() const { return term_count(features(), terms) + targets; }
};

template <class T>
void write_terms(const TermRows& task, int64_t first, int64_t last, T* out) {
  std::vector<T> scratch(static_cast<size_t>(task.points.d));
  std::vector<std::byte> fetched;
  const PointsView rows = host_rows(task.points, first, last - first, fetched);
  T* to = out + first * task.columns();
  for (int64_t row = first; row < last; ++row) {
    const T* x = rows_as<T>(rows, row - first, 1, scratch.data());
    to = std::copy_n(x, task.features(), to);
    // The product of two values of float32 is exact in binary64; + 0: no negative zeros.
    for_each_product(task.features(), task.terms, [&](int64_t i, int64_t j) {
      *to++ = static_cast<T>(static_cast<double>(x[i]) * static_cast<double>(x[j])) + T{0};
    });
    to = std::copy_n(x + task.features(), task.targets, to);
  }
}

}  // namespace

int64_t term_count(int64_t features, const Terms& terms) {
  if (terms.degree < 2) return features;
  return features + (terms.products ? features * (features + 1) / 2 : features);
}

int64_t features_of_terms(int64_t count, const Terms& terms) {
  int64_t features = 1;
  while (term_count(features, terms) < count) ++features;
  return term_count(features, terms) == count ? features : 0;
}

std::vector<std::string> term_names(std::span<const std::string> features, const Terms& terms) {
  std::vector<std::string> names(features.begin(), features.end());
  for_each_product(std::ssize(features), terms, [&](int64_t i, int64_t j) {
    const std::string& first = features[static_cast<size_t>(i)];
    names.push_back(i == j ? first + "^2" : first + "*" + features[static_cast<size_t>(j)]);
  });
  return names;
}

void check_terms(int64_t features, const Terms& terms) {
  if (terms.degree < 1 || terms.degree > 2) {
    throw Error(ErrorCode::kUsage, "degree", fmt::format("is {}; it must be 1 or 2", terms.degree));
  }
  constexpr int64_t kMaxExact = int64_t{1} << 30;  // whose terms can be counted
  const int64_t counted = std::min(features, kMaxExact);
  const int64_t count = term_count(counted, terms);
  if (terms.degree == 1 || count <= kMaxFeatures) return;
  throw Error(ErrorCode::kUsage, "degree",
              fmt::format("{} features have {} terms of degree 2, {} without products; linear models take at most {}",
                          features, term_count(counted, {2, true}), term_count(counted, {2, false}), kMaxFeatures));
}

void expand_terms(Dataset& points, const Terms& terms, int64_t targets, int threads, int64_t memory) {
  const FpEnvironmentGuard guard;
  const TermRows task{points.view, terms, targets};
  check_terms(task.features(), terms);
  if (terms.degree == 1) return;
  RowCopy copy = or_out_of_memory("terms", "give it fewer rows or columns", [&] {
    const WriteRows write = [&](int64_t first, int64_t last, void* values) {
      as_float_type(points.view.type, [&]<class T>(T) { write_terms(task, first, last, static_cast<T*>(values)); });
    };
    return copy_rows(points.view, threads, memory, write, task.columns());
  });
  if (!points.column_names.empty()) {
    const auto features = static_cast<size_t>(task.features());
    std::vector<std::string> names = term_names(std::span(points.column_names).first(features), terms);
    names.insert(names.end(), points.column_names.begin() + task.features(), points.column_names.end());
    points.column_names = std::move(names);
  }
  points.view = copy.view;
  points.owner = std::move(copy.owner);
}

std::vector<double> unscaled_model(const Matrix& models, int64_t row, const Scaling& scaling) {
  const int64_t features = models.columns() - 1;
  std::vector<double> model;
  for (int64_t j = 0; j <= features; ++j) model.push_back(models.at(row, j));
  if (scaling.offset.empty()) return model;
  for (size_t j = 0; j + 1 < model.size(); ++j) {
    model[j] /= scaling.divisor[j];
    model.back() -= model[j] * scaling.offset[j];
  }
  return model;
}

}  // namespace manymeans
