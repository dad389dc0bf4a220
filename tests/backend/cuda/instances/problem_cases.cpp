#include "problem_cases.h"

#include <manymeans/fit_each.h>

#include <random>
#include <string>

namespace manymeans::test {
namespace {

std::vector<std::string> digests(const PointsView& points, const std::vector<int64_t>& groups,
                                 const PointsView& initial, const char* backend) {
  EachOptions options;
  options.k = {initial.n / (std::ssize(groups) - 1)};
  options.max_iter = 20;
  options.backend = backend;
  FitHooks hooks;
  hooks.initial = initial;
  hooks.labels = LabelsOf::kBest;
  std::vector<std::string> found;
  for (const FitResult& fit : fit_each(points, {}, groups, options, hooks).fits) found.push_back(fit.digest());
  return found;
}

template <class T>
bool agree(int64_t columns, int repeats) {
  constexpr int64_t kProblems = 200;
  const int64_t clusters = 9 + columns % 16;  // even and odd numbers of eights
  std::mt19937_64 random(static_cast<uint64_t>(columns));
  std::normal_distribution<T> normal;
  std::vector<int64_t> groups = {0};
  while (std::ssize(groups) <= kProblems) groups.push_back(groups.back() + 30 + static_cast<int64_t>(random() % 5000));
  std::vector<T> x(static_cast<size_t>(groups.back() * columns));
  for (T& value : x) value = normal(random);
  std::vector<T> initial(static_cast<size_t>(kProblems * clusters * columns));
  for (size_t i = 0; i < initial.size(); ++i) {
    const bool is_far = static_cast<int64_t>(i) / columns % clusters == 4;  // its cluster becomes empty
    initial[i] = is_far ? 1000 : normal(random);
  }
  // Every third row is about as near to one prototype of its problem as to another one.
  for (int64_t b = 0; b < kProblems; ++b) {
    const T* const own = initial.data() + b * clusters * columns;
    for (int64_t row = groups[static_cast<size_t>(b)]; row < groups[static_cast<size_t>(b) + 1]; row += 3) {
      const T* const one = own + static_cast<int64_t>(random() % 4) * columns;
      const T* const other = own + static_cast<int64_t>(5 + random() % 4) * columns;
      for (int64_t j = 0; j < columns; ++j) x[static_cast<size_t>(row * columns + j)] = (one[j] + other[j]) / 2;
    }
  }
  const PointsView points(x.data(), groups.back(), columns);
  const PointsView first(initial.data(), kProblems * clusters, columns);
  const std::vector<std::string> expected = digests(points, groups, first, "cpu");
  for (int repeat = 0; repeat < repeats; ++repeat) {
    if (digests(points, groups, first, "cuda") != expected) return false;
  }
  return true;
}

}  // namespace

std::vector<int64_t> problem_columns() {
  return {3, 16, 29, 64, 100};
}

bool problems_agree(int64_t columns, int repeats) {
  return agree<float>(columns, repeats) && agree<double>(columns, repeats);
}

}  // namespace manymeans::test
