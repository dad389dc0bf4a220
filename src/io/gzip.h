// Inflating .gz files.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

namespace manymeans {

/// Bytes that grow without being copied twice: large blocks move by remapping.
class ByteBuffer {
 public:
  void resize(size_t size);  ///< throws std::bad_alloc
  char* data() { return data_.get(); }
  std::string_view text() const { return {data_.get(), size_}; }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(char* p) const { std::free(p); }
  };
  std::unique_ptr<char, Free> data_;
  size_t size_ = 0;
};

/// Whether these bytes begin like a gzip file.
bool is_gzip(std::string_view bytes);

/// All members of a gzip file, inflated and checked. Throws Error(kBadData) for a truncated or damaged one.
ByteBuffer inflate_gzip(std::string_view bytes, const std::string& path);

}  // namespace manymeans
