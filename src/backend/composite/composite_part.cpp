#include "backend/composite/composite_part.h"

#include <manymeans/error.h>

#include <cstddef>

namespace manymeans {
namespace {

const void* moved(const void* values, const PointsView& points, int64_t rows) {
  if (values == nullptr) return nullptr;
  return static_cast<const std::byte*>(values) +
         static_cast<size_t>(rows) * static_cast<size_t>(points.d) * size_of(points.type);
}

struct ErrorOfPart final : Error {
  using Error::Error;
};

}  // namespace

void throw_of_part(const CompositePart& part) {
  try {
    throw;
  } catch (const ErrorOfPart&) {
    throw;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInterrupted) throw;
    throw ErrorOfPart(error.code(), part.name, error.what());
  }
}

Input rows_of(const Input& whole, int64_t first, int64_t rows) {
  Input input = whole;
  input.points.data = moved(whole.points.data, whole.points, first);
  input.points.n = rows;
  input.host_values = moved(whole.host_values, whole.points, first);
  input.shard.first += first;
  input.shard.rows = rows;
  input.comm = &self_comm();  // what other ranks say is asked for by whoever has all parts
  if (!whole.weights.empty()) input.weights = {whole.weights.begin() + first, whole.weights.begin() + first + rows};
  return input;
}

void for_each_part(const CompositeParts& parts, ThreadPool& pool, const std::function<void(size_t)>& body) {
  pool.for_each_range(static_cast<int64_t>(parts.size()), 1, [&](int, int64_t part, int64_t) {
    const auto p = static_cast<size_t>(part);
    try {
      parts[p]->backend->use_here();
      body(p);
    } catch (...) {
      throw_of_part(*parts[p]);
    }
  });
}

}  // namespace manymeans
