#include "backend/composite/composite_part.h"

#include <manymeans/error.h>

namespace manymeans {
namespace {

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

void for_each_part(const CompositeParts& parts, ThreadPool& pool, const std::function<void(size_t)>& body) {
  pool.for_each_range(static_cast<int64_t>(parts.size()), 1, [&](int, int64_t part, int64_t) {
    const auto p = static_cast<size_t>(part);
    try {
      parts[p]->backend->bind_thread();
      body(p);
    } catch (...) {
      throw_of_part(*parts[p]);
    }
  });
}

}  // namespace manymeans
