// A call that fits many problems, for the tests of such calls.
#pragma once

#include <manymeans/fit_each.h>

#include "conformance/cases.h"

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <random>
#include <vector>

namespace manymeans::test {

/// A call with everything that its problems need.
struct ProblemBatch {
  Case rows;
  std::vector<int64_t> groups = {0};
  EachOptions options;

  int64_t count() const { return std::ssize(groups) - 1; }
};

template <class T>
T one_of(std::mt19937_64& random, std::initializer_list<T> choices) {
  return choices.begin()[random() % choices.size()];
}

}  // namespace manymeans::test
