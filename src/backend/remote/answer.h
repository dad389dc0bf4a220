// Answers of shards to a question: integers that merge in any order.
#pragma once

#include <manymeans/error.h>
#include <manymeans/row_shards.h>

#include "core/label_term.h"
#include "core/merged_integers.h"
#include "core/wide_int.h"
#include "data/statistics.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace manymeans {

/// In all shards together.
constexpr int64_t kMaxShardRows = int64_t{1} << 48;

/// How the integers of one field merge.
enum class Merging : uint8_t {
  kSum,
  kLargest,
  kSmallest,
  kRecords,   ///< records of `width` integers, by the first of them
  kFarthest,  ///< records of (distance, row, label), the first `most` of them by DistantRow::is_farther
};

struct MergedField {
  Merging merging = Merging::kSum;
  int64_t width = 1;
  int64_t most = 0;
  std::vector<int64_t> values;

  template <class Archive>
  void fields(Archive& archive) {
    archive(merging), archive(width), archive(most), archive(values);
  }
};

/// Rows [first, last).
struct RowRange {
  int64_t first = 0, last = 0;

  template <class Archive>
  void fields(Archive& archive) {
    archive(first), archive(last);
  }
};

/// An error in the rows of a shard.
struct Failure {
  int64_t first_row = 0;  ///< of the shard
  int32_t code = 0;
  std::string text;

  template <class Archive>
  void fields(Archive& archive) {
    archive(first_row), archive(code), archive(text);
  }
};

/// One without rows has no fields.
struct Answer {
  uint64_t version = kVersion;
  uint64_t question = 0;           ///< hash of its bytes
  std::vector<RowRange> rows;      ///< who has answered: apart from each other, ascending
  std::optional<Failure> failure;  ///< of the first shard that failed: then the fields say nothing
  std::vector<MergedField> values;

  static constexpr uint64_t kVersion = 0x32736e616d6d6d61;  // "ammmans2"

  template <class Archive>
  void fields(Archive& archive) {
    archive(version), archive(question), archive(rows), archive(failure), archive(values);
  }

  static Answer decode(std::span<const std::byte> bytes);
  Bytes encode();
  /// Throws Error(kUsage) unless both answer one question, for different rows.
  void merge(Answer other);
  void add(Merging merging, std::vector<int64_t> integers, int64_t width = 1, int64_t most = 0) {
    values.push_back({merging, width, most, std::move(integers)});
  }
};

/// Throws Error(kBadData) unless this holds of what an answer says.
void check_answer(bool holds);
/// Throws it unless these may be the counts of `rows` rows.
void check_counts(const Statistics& statistics, int64_t rows);

std::vector<int64_t> in_order(std::span<const double> values);
std::vector<double> from_order(std::span<const int64_t> places);

/// Splits the same integer in the one way in which all limbs but the last are from 0 to 2^bits - 1; backends may split
/// theirs freely. `stride` is the distance between limbs.
void settle_limbs(int64_t* limbs, int bits, int count, int64_t stride = 1);

/// Words of 32 bits, whose sums over shards do not overflow.
constexpr size_t kWideWords = 12;  // sums of T have less than 200 bits
void append_words(LabelSum sum, std::vector<int64_t>& words);
void append_words(const WideInt& value, std::vector<int64_t>& words);
WideInt wide_of(std::span<const int64_t> words);

}  // namespace manymeans
