// One of several devices that share the rows of a fit.
#pragma once

#include "backend/backend.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace manymeans {

/// Some of the rows, on one backend.
struct CompositePart {
  Backend* backend;
  std::string name;
  int64_t first;  ///< row of the whole that is its first
  Input input;    ///< of these rows
  std::unique_ptr<Upload> upload = nullptr;

  CompositePart(Backend* where, std::string called, int64_t first_row, Input rows)
      : backend(where), name(std::move(called)), first(first_row), input(std::move(rows)) {}
  ~CompositePart() { backend->bind_to_destroy(); }  // the upload ends on a thread like that on which it was made
  CompositePart(const CompositePart&) = delete;
  CompositePart& operator=(const CompositePart&) = delete;

  int64_t rows() const { return input.points.n; }
};

using CompositeParts = std::vector<std::unique_ptr<CompositePart>>;

/// Within a catch: throws the error again, which says the name of the part if it does not say one yet.
[[noreturn]] void throw_of_part(const CompositePart& part);

/// Calls body(p) for every part, each on a thread of its own that its backend may be called from. Where several throw,
/// one of them is heard, with the name of its part.
void for_each_part(const CompositeParts& parts, ThreadPool& pool, const std::function<void(size_t)>& body);

}  // namespace manymeans
