#include "io/numpy/npy_format.h"

#include <manymeans/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>

namespace manymeans {
namespace {

static_assert(std::endian::native == std::endian::little, "files are mapped as little-endian numbers");

constexpr std::string_view kMagic = "\x93NUMPY";

// The part of Python's literals that a header uses: {'key': value, ...}, strings, True, False, tuples of integers.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  void parse(NpyHeader& header) {
    bool has_descr = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr") {
        parse_descr(header);
        has_descr = true;
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
        has_order = true;
      } else if (key == "shape") {
        header.shape = tuple();
        has_shape = true;
      } else {
        fail("has the unknown key '" + key.substr(0, 40) + "'");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!has_descr || !has_order || !has_shape) fail("lacks one of the keys descr, fortran_order and shape");
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::kBadData, where_, "the .npy header " + what + "; a file written by numpy.save is needed");
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool accept(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("cannot be understood: '{}' expected at character {}", c, at_));
  }
  std::string string() {
    skip_blanks();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"')
      fail(fmt::format("cannot be understood: a string expected at character {}", at_));
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("holds a string without an end");
    const std::string result(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return result;
  }
  bool boolean() {
    skip_blanks();
    for (const std::string_view word : {std::string_view("True"), std::string_view("False")}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return word == "True";
      }
    }
    fail("gives a fortran_order that is neither True nor False");
  }
  std::vector<int64_t> tuple() {
    std::vector<int64_t> result;
    expect('(');
    while (!accept(')')) {
      skip_blanks();
      int64_t value = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (error != std::errc()) fail("gives a shape that is not a list of 64-bit integers");
      if (value < 0) fail(fmt::format("gives the negative length {} in its shape", value));
      result.push_back(value);
      at_ = static_cast<size_t>(end - text_.data());
      accept('L');  // Python 2 wrote 3L
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return result;
  }
  void parse_descr(NpyHeader& header) {
    skip_blanks();
    if (at_ < text_.size() && text_[at_] == '[') fail("describes a table of named fields, not a matrix of numbers");
    const std::string descr = string();
    std::string_view rest = descr;
    if (!rest.empty() && std::strchr("<>|=", rest[0]) != nullptr) {
      header.byte_order = rest[0] == '=' ? '<' : rest[0];
      rest.remove_prefix(1);
    }
    if (!rest.empty()) header.kind = rest[0];
    const char* last = rest.data() + rest.size();
    const auto [end, error] = std::from_chars(rest.data() + std::min<size_t>(1, rest.size()), last, header.item_size);
    if (error != std::errc() || end != last || header.item_size > (size_t{1} << 31)) {
      fail("gives the type '" + descr.substr(0, 40) + "', which is not a plain number type");
    }
    if (header.kind == 'U') header.item_size *= 4;
    if (header.item_size == 1) header.byte_order = '|';
  }

  std::string_view text_;
  const std::string& where_;
  size_t at_ = 0;
};

// The length of the header text and where it starts: 2 bytes long in version 1, 4 in versions 2 and 3.
std::string_view header_text(std::string_view file, const std::string& where) {
  const auto fail = [&](const std::string& what) { throw Error(ErrorCode::kBadData, where, what); };
  if (!is_npy(file))
    fail("this is not a .npy file: it does not begin with \\x93NUMPY; a file written by numpy.save is needed");
  if (file.size() < 10)
    fail(fmt::format("the .npy header is cut off: {} bytes found, at least 10 needed", file.size()));
  const int version = static_cast<unsigned char>(file[6]);
  if (version < 1 || version > 3) fail(fmt::format("this is .npy version {}; versions 1, 2 and 3 are known", version));
  const size_t start = version == 1 ? 10 : 12;
  uint32_t length = 0;
  if (file.size() >= start) std::memcpy(&length, file.data() + 8, start - 8);
  if (file.size() < start || file.size() - start < length) {
    fail(fmt::format("the .npy header is cut off: {} bytes needed, {} found", start + length, file.size()));
  }
  return file.substr(start, length);
}

std::string shape_text(std::span<const int64_t> shape) {
  std::string result = "(";
  for (size_t i = 0; i < shape.size(); ++i) result += fmt::format("{}{}", i == 0 ? "" : ", ", shape[i]);
  return result + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace

std::string NpyHeader::descr() const {
  return fmt::format("{}{}{}", byte_order, kind, kind == 'U' ? item_size / 4 : item_size);
}

bool is_npy(std::string_view bytes) {
  return bytes.starts_with(kMagic);
}

NpyHeader parse_npy_header(std::span<const std::byte> file, const std::string& where) {
  const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.size());
  const std::string_view text = header_text(bytes, where);
  NpyHeader header;
  HeaderParser(text, where).parse(header);
  header.offset = static_cast<size_t>(text.data() - bytes.data()) + text.size();
  const auto fail = [&](const std::string& needed) {
    throw Error(ErrorCode::kBadData, where,
                fmt::format("the header promises shape {} of type {}, that is {} bytes after the header, but {} were "
                            "found; the file is cut off or damaged",
                            shape_text(header.shape), header.descr(), needed, bytes.size() - header.offset));
  };
  // An empty length makes the product zero, whatever the others say.
  const bool empty = std::find(header.shape.begin(), header.shape.end(), 0) != header.shape.end();
  if (header.item_size == 0 && !empty) {  // any number of them would fit into any file
    throw Error(ErrorCode::kBadData, where,
                fmt::format("the header promises shape {} of type {}, values of no bytes; numbers or texts are needed",
                            shape_text(header.shape), header.descr()));
  }
  size_t size = empty ? 0 : header.item_size;
  header.count = empty ? 0 : 1;
  for (const int64_t length : header.shape) {
    if (empty) break;
    if (__builtin_mul_overflow(size, static_cast<size_t>(length), &size)) fail("more than 2^64");
    header.count *= static_cast<size_t>(length);
  }
  if (size != bytes.size() - header.offset) fail(std::to_string(size));
  return header;
}

namespace {

// How an array of images or of windows becomes rows.
std::string advice_for_shape(std::span<const int64_t> shape) {
  if (shape.size() < 3) return {};
  return fmt::format(": shape {} can be reshaped to ({}, {})", shape_text(shape), shape[0],
                     fmt::join(shape.subspan(1), "*"));
}

}  // namespace

StoredMatrix npy_matrix(std::span<const std::byte> file, const std::string& where) {
  const NpyHeader header = parse_npy_header(file, where);
  if (header.shape.empty() || header.shape.size() > 2) {
    throw Error(ErrorCode::kBadData, where,
                fmt::format("an array of {} dimensions was found; 2 are needed (rows, columns), or 1 for one column{}",
                            header.shape.size(), advice_for_shape(header.shape)));
  }
  const auto item = static_cast<int64_t>(header.item_size);
  StoredMatrix matrix;
  matrix.data = file.data() + header.offset;
  matrix.n = header.shape[0];
  matrix.d = header.shape.size() == 2 ? header.shape[1] : 1;
  matrix.type = header.descr();
  if (header.count == 0) return matrix;  // the other length may be anything: no product of it is safe
  matrix.row_step = header.fortran_order ? item : matrix.d * item;
  matrix.column_step = header.fortran_order ? matrix.n * item : item;
  return matrix;
}

std::string make_npy_header(std::string_view descr, std::span<const int64_t> shape) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr, shape_text(shape));
  constexpr size_t kAlign = 64;
  const size_t unpadded = 10 + text.size() + 1;
  text.append((kAlign - unpadded % kAlign) % kAlign, ' ');
  text += '\n';
  std::string result(kMagic);
  result += '\x01';
  result += '\0';
  result += static_cast<char>(text.size() & 0xff);
  result += static_cast<char>(text.size() >> 8);
  return result + text;
}

}  // namespace manymeans
