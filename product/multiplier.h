// Products of matrices: what the engine asks of the backends (contract, "Products").
#pragma once

#include <manymeans/multiply.h>

#include "core/data_type.h"
#include "core/threads.h"

#include <cstdint>
#include <string_view>

namespace manymeans {

/// The lines of a factor that are multiplied: rows of a, columns of b. Value l of line i is number i * stride + l *
/// step.
struct ProductLines {
  const void* data;
  DataType type;
  int64_t count;
  int64_t depth;  // values of a line
  int64_t stride;
  int64_t step;
  MemoryPlace place = {};
};

/// Entry (i, j), of line i of a and line j of b, goes to out[i * row_stride + j * column_stride].
struct ProductTask {
  ProductLines a, b;
  DataType type;  // float32 or float64
  void* out;
  int64_t row_stride, column_stride;
  MemoryPlace out_place = {};
};

struct ProductWork {
  ThreadPool& pool;
  std::string_view instruction_set;  // as choose_kernels() takes it
  int64_t memory;                    // of copies, in bytes
  int device = 0;                    // of a backend that has several
  int64_t device_memory = 0;         // of its memory; 0: what is free
};

ProductCounts multiply_by_reference(const ProductTask& task, ThreadPool& pool);
ProductCounts multiply_on_cpu(const ProductTask& task, const ProductWork& work);
ProductCounts multiply_on_cuda(const ProductTask& task, const ProductWork& work);

/// use(const Value*) for the values of a factor, as they are stored.
template <class Use>
auto with_values(const ProductLines& lines, Use&& use) {
  switch (lines.type) {
    case DataType::kFloat64: return use(static_cast<const double*>(lines.data));
    case DataType::kUInt8: return use(static_cast<const uint8_t*>(lines.data));
    case DataType::kInt8: return use(static_cast<const int8_t*>(lines.data));
    case DataType::kFloat16: return use(static_cast<const Half*>(lines.data));
    case DataType::kBFloat16: return use(static_cast<const BFloat*>(lines.data));
    case DataType::kFloat32: break;
  }
  return use(static_cast<const float*>(lines.data));
}

/// Line i as binary64.
inline void read_line(const ProductLines& lines, int64_t i, double* values) {
  with_values(lines, [&](const auto* from) {
    from += i * lines.stride;
    for (int64_t l = 0; l < lines.depth; ++l) values[l] = static_cast<double>(from[l * lines.step]);
  });
}

}  // namespace manymeans
