// Sparse copies of dense points, for tests that compare the two.
#pragma once

#include <manymeans/sparse.h>

#include "conformance/cases.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

namespace manymeans::test {

/// Owns what a SparseView shows: of dense points all values but +0.
struct SparseCopy {
  SparseView view;
  std::vector<std::byte> values;
  std::vector<int32_t> narrow;
  std::vector<int64_t> wide, starts;

  SparseCopy(const PointsView& dense, bool wide_indices) {
    view.n = dense.n;
    view.d = dense.d;
    view.type = dense.type;
    view.wide_indices = wide_indices;
    const size_t size = size_of(dense.type);
    const auto* from = static_cast<const std::byte*>(dense.data);
    const std::byte zero[8] = {};
    starts.push_back(0);
    for (int64_t i = 0; i < dense.n; ++i) {
      for (int64_t j = 0; j < dense.d; ++j, from += size) {
        if (std::memcmp(from, zero, size) == 0) continue;
        values.insert(values.end(), from, from + size);
        narrow.push_back(static_cast<int32_t>(j));
        wide.push_back(j);
      }
      starts.push_back(static_cast<int64_t>(wide.size()));
    }
    view.values = values.data();
    view.indices = wide_indices ? static_cast<const void*>(wide.data()) : narrow.data();
    view.starts = starts.data();
    view.entries = static_cast<int64_t>(wide.size());
  }
  SparseCopy(const SparseCopy&) = delete;
  SparseCopy& operator=(const SparseCopy&) = delete;

  PointsView points() const { return view.points(); }
};

/// Makes about this share of the values of float32 or float64 points zero, some of them -0, and some rows and columns
/// altogether.
inline void thin_out(Case& made, double share, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<bool> empty_column(static_cast<size_t>(made.shape.d));
  for (size_t j = 0; j < empty_column.size(); ++j) empty_column[j] = made.shape.d > 2 && uniform(random) < 0.1;
  const size_t size = size_of(made.type);
  std::byte* value = made.bytes.data();
  for (int64_t i = 0; i < made.shape.n; ++i) {
    const bool empty_row = uniform(random) < 0.05;
    for (int64_t j = 0; j < made.shape.d; ++j, value += size) {
      if (!empty_row && !empty_column[static_cast<size_t>(j)] && uniform(random) > share) continue;
      std::memset(value, 0, size);
      if (uniform(random) < 0.02) value[size - 1] = std::byte{0x80};  // -0
    }
  }
}

/// Gives rows of zeros a value, because the metric cosine takes none.
inline void fill_empty_rows(Case& made) {
  const auto fill = [&](auto* values) {
    for (int64_t i = 0; i < made.shape.n; ++i) {
      auto* row = values + i * made.shape.d;
      if (std::all_of(row, row + made.shape.d, [](auto value) { return value == 0; })) row[i % made.shape.d] = 3;
    }
  };
  if (made.type == DataType::kFloat64) {
    fill(reinterpret_cast<double*>(made.bytes.data()));
  } else {
    fill(reinterpret_cast<float*>(made.bytes.data()));
  }
}

}  // namespace manymeans::test
