#include "io/numpy/npz.h"

#include <manymeans/error.h>

#include "io/numpy/unicode.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

namespace manymeans {

void NpzWriter::add(const std::string& key, std::string_view descr, std::span<const int64_t> shape,
                    std::span<const std::byte> values) {
  zip_.add(key + ".npy", make_npy_header(descr, shape), values);
}

void NpzWriter::add_parts(const std::string& key, std::string_view descr, std::span<const int64_t> shape,
                          uint64_t bytes, const std::function<void(const ZipWriter::Sink&)>& produce) {
  zip_.add(key + ".npy", make_npy_header(descr, shape), bytes, produce);
}

void NpzWriter::add_strings(const std::string& key, std::span<const std::string> values,
                            std::span<const int64_t> shape) {
  std::vector<std::u32string> texts;
  size_t width = 1;  // numpy has no strings of width 0
  for (const std::string& value : values) {
    texts.push_back(utf8_to_utf32(value));
    width = std::max(width, texts.back().size());
  }
  std::u32string cells;
  for (std::u32string& text : texts) {
    text.resize(width);
    cells += text;
  }
  add(key, fmt::format("<U{}", width), shape, std::as_bytes(std::span(cells)));
}

void NpzWriter::add(const std::string& key, const std::vector<std::string>& values) {
  const std::vector<int64_t> shape{static_cast<int64_t>(values.size())};
  add_strings(key, values, shape);
}

void NpzWriter::add_text(const std::string& key, const std::string& value) {
  add_strings(key, {&value, 1}, {});
}

void NpzWriter::add_number(const std::string& key, int64_t value) {
  add(key, "<i8", {}, std::as_bytes(std::span(&value, 1)));
}

void NpzArray::fail(const std::string& what) const {
  throw Error(ErrorCode::kBadData, where_, what);
}

void NpzArray::check_vector(int64_t count) const {
  const bool right = header_.shape.size() == 1 && (count < 0 || header_.shape[0] == count);
  if (right) return;
  fail(fmt::format("{} dimensions and {} values were found; a vector{} is needed", header_.shape.size(), header_.count,
                   count < 0 ? "" : fmt::format(" of {} values", count)));
}

template <class T>
std::vector<T> NpzArray::vector(int64_t count) const {
  check_vector(count);
  constexpr std::string_view kDescr = std::is_floating_point_v<T> ? "<f8" : (std::is_signed_v<T> ? "<i8" : "<u8");
  if (!header_.is(kDescr)) fail(fmt::format("values of type '{}' were found; '{}' is needed", header_.descr(), kDescr));
  std::vector<T> result(header_.count);
  if (!result.empty()) std::memcpy(result.data(), values(), result.size() * sizeof(T));
  return result;
}

int64_t NpzArray::number() const {
  if (!header_.shape.empty() || !header_.is("<i8")) fail("a single '<i8' is needed");
  int64_t value = 0;
  std::memcpy(&value, values(), sizeof value);
  return value;
}

std::string NpzArray::string(size_t index) const {
  std::u32string text(header_.item_size / 4, U'\0');
  if (!text.empty()) std::memcpy(text.data(), values() + index * header_.item_size, header_.item_size);
  text.erase(std::find_if(text.rbegin(), text.rend(), [](char32_t c) { return c != 0; }).base(), text.end());
  return utf32_to_utf8(text);
}

template <>
std::vector<std::string> NpzArray::vector(int64_t count) const {
  check_vector(count);
  if (header_.kind != 'U' || header_.byte_order == '>')
    fail("values of type '" + header_.descr() + "' were found; '<U' is needed");
  std::vector<std::string> result;
  for (size_t i = 0; i < header_.count; ++i) result.push_back(string(i));
  return result;
}

std::string NpzArray::text() const {
  if (!header_.shape.empty() || header_.kind != 'U' || header_.byte_order == '>') fail("a single string is needed");
  return string(0);
}

template std::vector<int64_t> NpzArray::vector(int64_t) const;
template std::vector<uint64_t> NpzArray::vector(int64_t) const;
template std::vector<double> NpzArray::vector(int64_t) const;

NpzArray NpzFile::array(const std::string& key) const {
  if (!has(key)) {
    throw Error(ErrorCode::kBadData, path_,
                fmt::format("there is no '{}' in it; {} of manymeans is needed", key, kind_));
  }
  return {path_ + ", " + key, zip_.read(key + ".npy")};
}

}  // namespace manymeans
