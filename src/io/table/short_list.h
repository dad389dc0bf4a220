// Lists of columns in messages.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace manymeans {

/// "a, b, c": some entries, then how many more there are. A table may have thousands of columns.
class ShortList {
 public:
  explicit ShortList(int64_t max = 10) : max_(max) {}
  void add(std::string_view entry) {
    if (++count_ > max_) return;
    if (count_ > 1) text_ += ", ";
    text_ += entry;
    shown_ = count_;
  }
  int64_t count() const { return count_; }
  bool empty() const { return count_ == 0; }
  std::string text() const { return count_ == shown_ ? text_ : fmt::format("{} and {} more", text_, count_ - shown_); }

 private:
  std::string text_;
  int64_t max_, count_ = 0, shown_ = 0;
};

}  // namespace manymeans
