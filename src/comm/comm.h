// Ranks that share the rows of one data set. Only exact integers travel, so every number of ranks gives the same bits.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace manymeans {

class Comm {
 public:
  virtual ~Comm() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Replaces every value by its sum over all ranks.
  virtual void all_reduce(std::span<int64_t> values) = 0;
};

/// The one rank of a program that runs alone.
std::unique_ptr<Comm> make_self_comm();

}  // namespace manymeans
