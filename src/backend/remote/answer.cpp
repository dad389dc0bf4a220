#define XXH_INLINE_ALL
#include "backend/remote/answer.h"

#include "backend/remote/byte_stream.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <utility>

namespace manymeans {
namespace {

[[noreturn]] void refuse_parts(const std::string& why) {
  throw Error(ErrorCode::kUsage, "parts", why);
}

void merge_rows(std::vector<RowRange>& rows, std::span<const RowRange> others) {
  std::vector<RowRange> all(rows.begin(), rows.end());
  all.insert(all.end(), others.begin(), others.end());
  std::ranges::sort(all, {}, &RowRange::first);
  rows.clear();
  for (const RowRange& range : all) {
    if (rows.empty() || rows.back().last < range.first) {
      rows.push_back(range);
    } else if (rows.back().last == range.first) {
      rows.back().last = range.last;
    } else {
      refuse_parts(fmt::format("rows {} to {}, counted from 0, are in two of them; merge every row's part once",
                               range.first, std::min(range.last, rows.back().last) - 1));
    }
  }
}

struct Record {
  const int64_t* values;
  int64_t operator[](size_t i) const { return values[i]; }
};

bool comes_first(Merging merging, const Record& a, const Record& b) {
  if (merging == Merging::kRecords) return a[0] < b[0];
  return a[0] != b[0] ? a[0] > b[0] : a[1] < b[1];
}

// Both are in order.
void merge_records(MergedField& field, const MergedField& other) {
  const auto width = static_cast<size_t>(field.width);
  const size_t all = (field.values.size() + other.values.size()) / width;
  const size_t count = field.most > 0 ? std::min(all, static_cast<size_t>(field.most)) : all;
  std::vector<int64_t> merged;
  merged.reserve(count * width);
  size_t a = 0, b = 0;
  for (size_t i = 0; i < count; ++i) {
    const bool first =
        b == other.values.size() ||
        (a < field.values.size() && !comes_first(field.merging, {other.values.data() + b}, {field.values.data() + a}));
    size_t& at = first ? a : b;
    const int64_t* from = (first ? field : other).values.data() + at;
    merged.insert(merged.end(), from, from + width);
    at += width;
  }
  field.values = std::move(merged);
}

int64_t merged(Merging merging, int64_t a, int64_t b) {
  if (merging == Merging::kLargest) return std::max(a, b);
  if (merging == Merging::kSmallest) return std::min(a, b);
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

void merge_field(MergedField& field, const MergedField& other) {
  if (field.merging != other.merging || field.width != other.width || field.most != other.most) {
    refuse_parts("they answer different questions; merge what answers one");
  }
  if (field.merging >= Merging::kRecords) return merge_records(field, other);
  if (field.values.size() != other.values.size()) refuse_parts("their shards have different columns");
  for (size_t i = 0; i < field.values.size(); ++i) {
    field.values[i] = merged(field.merging, field.values[i], other.values[i]);
  }
}

// Records are in order, each once.
void check_field(const MergedField& field) {
  check_answer(field.merging <= Merging::kFarthest && field.width >= 1 && field.most >= 0);
  const auto width = static_cast<uint64_t>(field.width);
  check_answer(field.values.size() % width == 0 && (field.merging != Merging::kFarthest || width == 3));
  if (field.merging < Merging::kRecords) return;
  const int64_t* at = field.values.data();
  for (size_t i = width; i < field.values.size(); i += width) {
    check_answer(comes_first(field.merging, {at + i - width}, {at + i}));
  }
}

void check_rows(const std::vector<RowRange>& rows) {
  int64_t end = 0;
  for (const RowRange& range : rows) {
    check_answer(range.first >= end && range.last > range.first && range.last <= kMaxShardRows);
    end = range.last;
  }
}

// A shard says this of its rows, or of what it was asked.
void check_failure(const Failure& failure) {
  const auto code = static_cast<ErrorCode>(failure.code);
  check_answer(code == ErrorCode::kBadData || code == ErrorCode::kUsage);
  check_answer(failure.text.starts_with('[') && failure.text.find("] ") != std::string::npos);
}

void append(const uint64_t* words, size_t count, std::vector<int64_t>& to) {
  for (size_t w = 0; w < count; ++w) {
    to.push_back(static_cast<int64_t>(words[w] & 0xffffffff));
    to.push_back(static_cast<int64_t>(words[w] >> 32));
  }
}

}  // namespace

Answer Answer::decode(std::span<const std::byte> bytes) {
  ByteReader reader(bytes, "answer");
  Answer answer;
  reader(answer.version);
  if (answer.version != kVersion) {
    throw Error(ErrorCode::kBadData, "answer", "these bytes are no answer of a shard of this version of manymeans");
  }
  reader(answer.question), reader(answer.rows), reader(answer.failure), reader(answer.values);
  reader.end();
  check_rows(answer.rows);
  if (answer.failure) check_failure(*answer.failure);
  for (const MergedField& field : answer.values) check_field(field);
  return answer;
}

Bytes Answer::encode() {
  ByteWriter writer;
  writer(*this);
  return writer.take();
}

void Answer::merge(Answer other) {
  if (question != other.question)
    refuse_parts("they answer different questions, of one fit or two; merge what answers one");
  const bool nothing = rows.empty(), adds = !other.rows.empty();
  merge_rows(rows, other.rows);
  if (other.failure && (!failure || other.failure->first_row < failure->first_row)) failure = std::move(other.failure);
  if (failure) {
    values.clear();
  } else if (nothing) {
    values = std::move(other.values);
  } else if (adds) {
    if (values.size() != other.values.size()) refuse_parts("their shards have different columns");
    for (size_t i = 0; i < values.size(); ++i) merge_field(values[i], other.values[i]);
  }
}

uint64_t hash_of_bytes(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

void check_answer(bool holds) {
  if (!holds) throw Error(ErrorCode::kBadData, "answer", "these bytes are damaged; pass them as they were made");
}

void check_counts(const Statistics& statistics, int64_t rows) {
  for (const int64_t count : statistics.counts) {
    check_answer(count >= 0 && count <= rows);
    rows -= count;
  }
  check_answer(rows == 0);
  for (const int64_t weight : statistics.weights) check_answer(weight >= 0);
}

std::vector<int64_t> in_order(std::span<const double> values) {
  std::vector<int64_t> places;
  for (const double value : values) places.push_back(in_order(value));
  return places;
}

std::vector<double> from_order(std::span<const int64_t> places) {
  std::vector<double> values;
  for (const int64_t place : places) values.push_back(from_order(place));
  return values;
}

void settle_limbs(int64_t* limbs, int bits, int count, int64_t stride) {
  for (int g = 0; g + 1 < count; ++g) {
    const int64_t carry = limbs[g * stride] >> bits;
    limbs[g * stride] -= static_cast<int64_t>(static_cast<uint64_t>(carry) << bits);
    limbs[(g + 1) * stride] += carry;
  }
}

void append_words(LabelSum sum, std::vector<int64_t>& words) {
  for (const int64_t word : words_of(sum)) words.push_back(word);
}

void append_words(const WideInt& value, std::vector<int64_t>& words) {
  uint64_t parts[kWideWords / 2];
  for (size_t w = 0; w < kWideWords / 2; ++w) parts[w] = value.word(static_cast<int>(w));
  append(parts, kWideWords / 2, words);
}

WideInt wide_of(std::span<const int64_t> words) {
  WideInt value;
  for (size_t w = 0; w < kWideWords; ++w) value.add_shifted(words[w], static_cast<int>(32 * w));
  return value;
}

Bytes merge_answers(std::span<const std::byte> a, std::span<const std::byte> b) {
  Answer answer = Answer::decode(a);
  answer.merge(Answer::decode(b));
  return answer.encode();
}

}  // namespace manymeans
