// Columns of text as fields of integers, numbers or text. Includes nothing of Arrow.
#pragma once

#include "io/files/text_pages.h"
#include "io/table/text_fields.h"
#include "io/text/text_layout.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace manymeans {

/// The type of a text column: int64, uint64, float64, UTF-8 or bytes. Every text can be restored from its value. Texts
/// that a number would change stay text: integers of 20 digits, and codes such as 1e5.
enum class TextKind : uint8_t { kInteger, kUnsigned, kNumber, kText, kBytes };

/// One a column; a column of gaps is text. Reads all rows. `memory` as in ReadOptions.
std::vector<TextKind> find_kinds(const TextLayout& layout, int64_t memory);

/// The name of this column's field.
std::string name_of(const TextLayout& layout, size_t column);

/// An integer as it would be written again. A text that begins with a zero (007) is a name, and no number.
bool parse_integer(std::string_view text, int64_t& value);
bool parse_integer(std::string_view text, uint64_t& value);

/// Returns true if such a cell becomes a null.
bool is_null_cell(const Field& field, TextKind kind);

/// The number of a cell of a column of kind kNumber.
double number_of(const Field& field, char decimal);

/// The rows of a text, one after the other.
class TextRows {
 public:
  TextRows(const TextLayout& layout, int64_t memory) : layout_(layout), pages_(layout.body, memory) {}

  /// Calls use(row's fields) for the next rows, at most `most`. Returns their number.
  template <class Use>
  int64_t next(int64_t most, Use&& use) {
    int64_t count = 0;
    for (; count < most && at_ < layout_.body.size(); ++count) {
      const size_t end = std::min(layout_.body.find('\n', at_), layout_.body.size());
      use(split_line(trim_line(layout_.body.substr(at_, end - at_), layout_.delimiter), layout_.delimiter));
      at_ = end + 1;
      pages_.release_to(end);
    }
    return count;
  }

 private:
  const TextLayout& layout_;
  TextPages pages_;
  size_t at_ = 0;
};

}  // namespace manymeans
