// Bytes that grow, in memory or in a temporary file.
#pragma once

#include "core/file_memory.h"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace manymeans {

/// Bytes that grow without being copied twice: large blocks move by remapping.
class ByteBuffer {
 public:
  /// Moves to a temporary file where `memory` (as in ReadOptions) asks for that at some size.
  explicit ByteBuffer(int64_t memory = 0) : memory_(memory) {}
  void resize(size_t size);  ///< throws std::bad_alloc
  char* data() { return in_file() ? reinterpret_cast<char*>(file_.data()) : data_.get(); }
  std::string_view text() const {
    return {in_file() ? reinterpret_cast<const char*>(file_.data()) : data_.get(), size_};
  }
  bool in_file() const { return file_.data() != nullptr; }
  /// These bytes are not needed for now.
  void give_back(size_t first, size_t count) const;
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(char* p) const { std::free(p); }
  };
  int64_t memory_;
  std::unique_ptr<char, Free> data_;
  TemporaryBytes file_;
  size_t size_ = 0;
};

}  // namespace manymeans
