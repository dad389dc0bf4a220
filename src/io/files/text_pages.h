// Pages of a text in a file, which need not stay in memory once they were read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace manymeans {

/// Frees the pages of a text while it is read, if `memory` (as in ReadOptions) asks for that and nothing is lost.
/// Threads may release() different bytes of one text.
class TextPages {
 public:
  TextPages(std::string_view text, int64_t memory);

  /// The bytes [first, last) were read. So were bytes around them, to find where a line begins or ends.
  void release(size_t first, size_t last) const;
  /// For one thread that reads in order: all bytes before `end` were read.
  void release_to(size_t end);

 private:
  std::string_view text_;
  bool in_file_;
  size_t released_ = 0;
};

/// The number of '\n' in the text.
int64_t count_line_ends(std::string_view text, int64_t memory);

}  // namespace manymeans
