#include <manymeans/error.h>
#include <manymeans/multiply.h>

#include "backend/devices.h"
#include "core/fp_environment.h"
#include "core/mapped_range.h"
#include "core/memory.h"
#include "core/memory_space.h"
#include "core/out_of_memory.h"
#include "product/multiplier.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace manymeans {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorCode::kUsage, "multiply", what);
}

MatrixView transposed_if(const MatrixView& matrix, bool transpose) {
  return transpose ? matrix.transposed() : matrix;
}

std::string shape_of(const MatrixView& matrix) {
  return fmt::format("{} x {}", matrix.rows, matrix.columns);
}

void check_matrix(const char* name, const MatrixView& matrix) {
  if (matrix.rows < 0 || matrix.columns < 0) refuse(fmt::format("{} has the shape {}", name, shape_of(matrix)));
  if (matrix.data == nullptr && matrix.rows > 0 && matrix.columns > 0) refuse(fmt::format("{} has no values", name));
}

void check_shapes(const MatrixView& a, const MatrixView& b) {
  check_matrix("a", a);
  check_matrix("b", b);
  if (a.columns == b.rows) return;
  refuse(fmt::format("a is {}, b is {}, transposes taken; a needs as many columns as b has rows", shape_of(a),
                     shape_of(b)));
}

// The bytes from the first to behind the last value.
std::pair<const std::byte*, const std::byte*> extent(const MatrixView& matrix) {
  const auto size = static_cast<int64_t>(size_of(matrix.type));
  const int64_t down = (matrix.rows - 1) * matrix.row_stride, across = (matrix.columns - 1) * matrix.column_stride;
  const int64_t first = std::min<int64_t>(down, 0) + std::min<int64_t>(across, 0);
  const int64_t last = std::max<int64_t>(down, 0) + std::max<int64_t>(across, 0);
  const auto* data = static_cast<const std::byte*>(matrix.data);
  return {data + first * size, data + (last + 1) * size};
}

void check_apart(const char* name, const MatrixView& factor, const MatrixView& out) {
  if (factor.rows == 0 || factor.columns == 0) return;
  const auto [first, last] = extent(factor);
  const auto [out_first, out_last] = extent(out);
  if (first < out_last && out_first < last) {
    refuse(fmt::format("the output overlaps {}; it needs memory of its own", name));
  }
}

void check_output(const MatrixView& a, const MatrixView& b, const ProductView& out) {
  if (out.type != product_type(a.type, b.type)) {
    refuse(fmt::format("the output is {}; a product of {} and {} is {}", name_of(out.type), name_of(a.type),
                       name_of(b.type), name_of(product_type(a.type, b.type))));
  }
  if (out.rows != a.rows || out.columns != b.columns) {
    refuse(fmt::format("the output is {} x {}; the product is {} x {}", out.rows, out.columns, a.rows, b.columns));
  }
  if (out.rows == 0 || out.columns == 0) return;
  MatrixView written(out.data, out.rows, out.columns, out.type);
  written.row_stride = out.row_stride;
  written.column_stride = out.column_stride;
  check_matrix("the output", written);
  const int64_t down = std::abs(out.row_stride), across = std::abs(out.column_stride);
  const bool rows_apart = out.rows == 1 || down >= (out.columns - 1) * across + 1;
  const bool columns_apart = out.columns == 1 || across >= (out.rows - 1) * down + 1;
  const bool apart = (out.columns == 1 || across > 0) && (out.rows == 1 || down > 0) && (rows_apart || columns_apart);
  if (!apart) refuse("values of the output lie at one place; its strides are too small");
  check_apart("a", a, written);
  check_apart("b", b, written);
}

struct ProductBackend {
  std::string_view name;
  ProductCounts (*multiply)(const ProductTask&, const ProductWork&);
};
constexpr ProductBackend kBackends[] = {
    {"cpu", multiply_on_cpu},
    {"reference",
     [](const ProductTask& task, const ProductWork& work) { return multiply_by_reference(task, work.pool); }},
    {"cuda", multiply_on_cuda},
};

bool all_on_device(const ProductTask& task) {
  return !task.a.place.on_host() && !task.b.place.on_host() && !task.out_place.on_host();
}

// Of copies on the host. How much there is takes some hundred microseconds to find out, so small products are tried: of
// both factors there are at most four slices of binary64.
int64_t memory_of(const MultiplyOptions& options, const ProductTask& task) {
  if (options.memory < 0) refuse(fmt::format("memory is {}; it must be at least 0", options.memory));
  constexpr int64_t kMax = int64_t{1} << 30;
  constexpr double kLittle = 1 << 26, kBytesOfValue = 32;
  if (options.memory > 0) return options.memory;
  const double lines = static_cast<double>(task.a.count) + static_cast<double>(task.b.count);
  const bool little = lines * static_cast<double>(task.a.depth) * kBytesOfValue <= kLittle;
  return little || all_on_device(task) ? kMax : std::min(available_memory() / 4, kMax);
}

// A backend, and which of its devices.
struct Chosen {
  const ProductBackend* backend;
  int device;
};

Chosen backend_of_name(const std::string& asked) {
  const auto [name, device] = split_name(asked);
  for (const ProductBackend& backend : kBackends) {
    if (name == backend.name || (name == "auto" && backend.name == "cpu")) return {&backend, device.value_or(0)};
  }
  throw Error(ErrorCode::kUsage, "backend",
              "there is no backend '" + asked + "' of products; known: auto, cpu, reference, cuda");
}

[[noreturn]] void refuse_place(const MemoryPlace& place) {
  PointsView points;
  points.place = place;
  const MemorySpace& space = memory_space(points);
  refuse(fmt::format("the values {}; {}", space.whereabouts(), space.advice()));
}

// Where what lies on a device can be read: that device.
Chosen choose_backend(std::span<const MemoryPlace* const> places, const std::string& asked) {
  Chosen chosen = backend_of_name(asked);
  const MemoryPlace* first = nullptr;
  for (const MemoryPlace* place : places) {
    if (place->on_host()) continue;
    if (first == nullptr) first = place;
    if (place->space != first->space || place->device != first->device) {
      refuse("the factors and the output lie on different devices; copy them to one");
    }
  }
  if (first == nullptr) return chosen;
  if (std::ranges::none_of(kBackends, [&](const ProductBackend& backend) { return backend.name == first->space; })) {
    refuse_place(*first);
  }
  if (asked == "auto") chosen = backend_of_name(std::string(first->space));
  const bool other = asked.find(':') != std::string::npos && chosen.device != first->device;
  if (chosen.backend->name == first->space && other) {
    throw Error(ErrorCode::kUsage, "backend",
                fmt::format("is '{}', and the values lie on {}:{}; use auto", asked, first->space, first->device));
  }
  if (chosen.backend->name == first->space) return {chosen.backend, first->device};
  throw Error(
      ErrorCode::kUsage, "backend",
      fmt::format("the values lie in the memory of a device, and the backend '{}' cannot read them; use auto or "
                  "{}, or copy them to the host's memory",
                  asked, first->space));
}

// A queue that several matrices have is waited for once: it takes as long as a small product's launch.
void await_values(std::span<const MatrixView> matrices) {
  std::vector<const MemoryPlace*> awaited;
  for (const MatrixView& matrix : matrices) {
    const MemoryPlace& place = matrix.place;
    if (place.on_host() || matrix.rows == 0 || matrix.columns == 0) continue;
    PointsView points(matrix.data, matrix.rows, matrix.columns, matrix.type);
    points.place = place;
    const bool again = std::ranges::any_of(awaited, [&](const MemoryPlace* other) {
      return other->space == place.space && other->device == place.device && other->queue == place.queue;
    });
    again ? memory_space(points).check(points) : await_points(points);
    awaited.push_back(&place);
  }
}

ProductTask task_of(const MatrixView& a, const MatrixView& b, const ProductView& out) {
  return {.a = {a.data, a.type, a.rows, a.columns, a.row_stride, a.column_stride, a.place},
          .b = {b.data, b.type, b.columns, b.rows, b.column_stride, b.row_stride, b.place},
          .type = out.type,
          .out = out.data,
          .row_stride = out.row_stride,
          .column_stride = out.column_stride,
          .out_place = out.place};
}

// At most as many as there is work for: waking a thread takes as long as some thousand products. A product on a device
// needs none.
int threads_for(const ProductTask& task, int asked) {
  if (all_on_device(task)) return 1;
  constexpr double kEnough = 1 << 18;
  const double products =
      static_cast<double>(task.a.count) * static_cast<double>(task.b.count) * static_cast<double>(task.a.depth);
  return products < kEnough ? 1 : thread_count(asked);
}

ProductCounts multiply_checked(const ProductTask& task, const MultiplyOptions& options, const Chosen& chosen) {
  const FpEnvironmentGuard environment;
  ThreadPool pool(threads_for(task, options.threads), options.abort);
  const ProductWork work{.pool = pool,
                         .instruction_set = options.instruction_set,
                         .memory = memory_of(options, task),
                         .device = chosen.device,
                         .device_memory = options.memory};
  const ProductCounts counts = chosen.backend->multiply(task, work);
  check_mapped(task.a.data);
  check_mapped(task.b.data);
  return counts;
}

template <class F>
auto checking_memory(F&& work) {
  return or_out_of_memory("multiply", "less memory for copies, or fewer rows at a time, need less",
                          std::forward<F>(work));
}

}  // namespace

ProductCounts multiply_into(const MatrixView& given_a, const MatrixView& given_b, const ProductView& out,
                            const MultiplyOptions& options) {
  const MatrixView a = transposed_if(given_a, options.transpose_a), b = transposed_if(given_b, options.transpose_b);
  check_shapes(a, b);
  check_output(a, b, out);
  const Chosen chosen = choose_backend(std::array{&a.place, &b.place, &out.place}, options.backend);
  if (options.threads < 0) refuse(fmt::format("threads is {}; it must be at least 0", options.threads));
  if (out.rows == 0 || out.columns == 0) return {};
  MatrixView written(out.data, out.rows, out.columns, out.type);
  written.place = out.place;
  await_values(std::array{a, b, written});
  return checking_memory([&] { return multiply_checked(task_of(a, b, out), options, chosen); });
}

namespace {

void check_size(int64_t rows, int64_t columns, DataType type) {
  int64_t bytes = 0;
  if (!__builtin_mul_overflow(rows, columns, &bytes) &&
      !__builtin_mul_overflow(bytes, static_cast<int64_t>(size_of(type)), &bytes)) {
    return;
  }
  throw Error(ErrorCode::kUnavailable, "multiply",
              fmt::format("a product of {} x {} values is larger than any memory", rows, columns));
}

}  // namespace

Matrix multiply(const MatrixView& a, const MatrixView& b, const MultiplyOptions& options, ProductCounts* counts) {
  const int64_t rows = transposed_if(a, options.transpose_a).rows;
  const int64_t columns = transposed_if(b, options.transpose_b).columns;
  check_shapes(transposed_if(a, options.transpose_a), transposed_if(b, options.transpose_b));
  const DataType type = product_type(a.type, b.type);
  check_size(rows, columns, type);
  Matrix result = checking_memory([&] { return Matrix::unwritten(rows, columns, type); });
  ProductView out{.rows = rows, .columns = columns, .type = type, .row_stride = columns};
  if (type == DataType::kFloat64) {
    out.data = result.values<double>().data();
  } else {
    out.data = result.values<float>().data();
  }
  const ProductCounts found = multiply_into(a, b, out, options);
  if (counts != nullptr) *counts = found;
  return result;
}

}  // namespace manymeans
