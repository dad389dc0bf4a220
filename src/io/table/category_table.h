// The different texts of a column of a table, each with a number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace manymeans {

/// Finds texts by their bytes without making a string of them first.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
using TextCodes = std::unordered_map<std::string, int64_t, TextHash, std::equal_to<>>;

/// Any number of threads add texts. A text's code is its place among the first that were found, in no defined order.
class CategoryTable {
 public:
  /// Remembers that many texts; all others share the code `limit`.
  explicit CategoryTable(size_t limit) : limit_(limit) {}
  CategoryTable(CategoryTable&& other) noexcept : limit_(other.limit_), codes_(std::move(other.codes_)) {}

  /// `known`: what the calling thread was told before.
  int64_t code_of(std::string_view text, TextCodes& known) {
    const auto found = known.find(text);
    if (found != known.end()) return found->second;
    const int64_t code = add(text);
    if (code < limit()) known.emplace(text, code);
    return code;
  }
  int64_t limit() const { return static_cast<int64_t>(limit_); }
  /// The texts in the order of their codes.
  std::vector<std::string> texts() const {
    std::vector<std::string> result(codes_.size());
    for (const auto& [text, code] : codes_) result[static_cast<size_t>(code)] = text;
    return result;
  }

 private:
  int64_t add(std::string_view text) {
    const std::lock_guard lock(mutex_);
    const auto found = codes_.find(text);
    if (found != codes_.end()) return found->second;
    if (codes_.size() == limit_) return limit();
    return codes_.emplace(text, static_cast<int64_t>(codes_.size())).first->second;
  }

  size_t limit_;
  std::mutex mutex_;
  TextCodes codes_;
};

}  // namespace manymeans
