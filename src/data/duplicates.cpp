#include "data/duplicates.h"

#include "core/data_type.h"
#include "core/memory.h"
#include "core/random.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace manymeans {
namespace {

constexpr int64_t kPiece = 1 << 14;  // rows
constexpr uint32_t kNone = ~uint32_t{0};
constexpr int64_t kBytesPerRow = 52;  // at most, without the copied points: numbers of rows, multiplicities and places

// Bytes of one row.
class Rows {
 public:
  explicit Rows(const PointsView& points)
      : data_(static_cast<const std::byte*>(points.data)),
        bytes_(static_cast<size_t>(points.d) * size_of(points.type)) {}
  size_t bytes() const { return bytes_; }
  const std::byte* at(int64_t row) const { return data_ + static_cast<size_t>(row) * bytes_; }
  uint64_t hash(int64_t row) const { return XXH3_64bits(at(row), bytes_); }
  bool equal(int64_t a, int64_t b) const { return std::memcmp(at(a), at(b), bytes_) == 0; }

 private:
  const std::byte* data_;
  size_t bytes_;
};

// Which multiplicities have exact terms.
struct Limits {
  int64_t most = 0;            // multiplicity; 0: terms are rounded, whatever it is
  bool powers_of_two = false;  // m x is exact for these m only

  // Limbs stay below 2^51 where kernels add them (up to 50 bits; the plain code takes all that an int64 holds).
  explicit Limits(const Input& input) : most(int64_t{1} << (input.bits > 50 ? 20 : std::min(52 - input.bits, 20))) {
    const int max_bits = std::bit_width(static_cast<uint64_t>(most));
    for (size_t j = 0; j < input.columns.size(); ++j) {
      const SumFormat& format = input.columns[j];
      if (format.shift + input.lowest[j] < 0) most = 0;
      // float32 values have 24 bits each, whatever their column.
      const int widest = format.limbs * format.bits - 2 - format.shift - input.lowest[j];
      powers_of_two |= input.points.type == DataType::kFloat64 && widest + max_bits > 53;
    }
  }

  // How many of `rest` equal rows make one distinct row.
  int64_t multiplicity(int64_t rest) const {
    return std::min(most, powers_of_two ? static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(rest))) : rest);
  }
};

// Returns true if some rows repeat about as often as with every row twice, anywhere or next to each other. Quick, and
// never the last word.
bool some_repeat(const Input& input) {
  const int64_t n = input.points.n;
  const int64_t count = std::min<int64_t>(n / 4, 1 << 14);
  const Rows rows(input.points);
  std::vector<std::pair<uint64_t, int64_t>> found;  // hash and row
  int64_t like_the_next = 0;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t u = XXH3_64bits_withSeed(&i, sizeof i, 0);
    const auto row = static_cast<int64_t>(random_below(u, static_cast<uint64_t>(n - 1)));
    found.emplace_back(rows.hash(row), row);
    like_the_next += rows.equal(row, row + 1) ? 1 : 0;
  }
  if (like_the_next >= count / 4) return true;
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());  // no row is its own repeat
  const auto same_hash = [](const auto& a, const auto& b) { return a.first == b.first; };
  const int64_t repeats = found.end() - std::unique(found.begin(), found.end(), same_hash);
  return repeats >= std::max<int64_t>(4, count * count / (4 * n));
}

// Rows sorted into buckets by their hashes, ascending in each.
struct Buckets {
  std::vector<uint64_t> hashes;  // by row
  std::vector<uint32_t> rows;
  std::vector<uint32_t> first;  // of each bucket, and the end

  Buckets(const Input& input, ThreadPool& pool) {
    const int64_t n = input.points.n;
    const Rows all(input.points);
    hashes.resize(static_cast<size_t>(n));
    pool.for_each_range(n, kPiece, [&](int, int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) hashes[static_cast<size_t>(row)] = all.hash(row);
    });
    const int bits = std::clamp(static_cast<int>(std::bit_width(static_cast<uint64_t>(n))) - 12, 1, 16);
    first.assign((size_t{1} << bits) + 1, 0);
    for (const uint64_t hash : hashes) ++first[(hash >> (64 - bits)) + 1];
    for (size_t b = 1; b < first.size(); ++b) first[b] += first[b - 1];
    rows.resize(static_cast<size_t>(n));
    std::vector<uint32_t> next(first.begin(), first.end() - 1);
    for (size_t row = 0; row < hashes.size(); ++row)
      rows[next[hashes[row] >> (64 - bits)]++] = static_cast<uint32_t>(row);
  }
};

// For every row the first one that equals it.
std::vector<uint32_t> first_equal_rows(const Input& input, ThreadPool& pool) {
  const Buckets buckets(input, pool);
  const Rows rows(input.points);
  std::vector<uint32_t> result(buckets.rows.size());
  pool.for_each_range(static_cast<int64_t>(buckets.first.size()) - 1, 1, [&](int, int64_t b, int64_t) {
    const auto bucket = static_cast<size_t>(b);
    const std::span<const uint32_t> mine(buckets.rows.data() + buckets.first[bucket],
                                         buckets.rows.data() + buckets.first[bucket + 1]);
    const size_t mask = std::bit_ceil(2 * mine.size() + 1) - 1;
    std::vector<uint32_t> table(mask + 1, kNone);  // rows that have no equal before them, found by their hash
    for (const uint32_t row : mine) {
      const uint64_t hash = buckets.hashes[row];
      size_t at = hash & mask;
      while (table[at] != kNone && (buckets.hashes[table[at]] != hash || !rows.equal(table[at], row))) {
        at = (at + 1) & mask;
      }
      if (table[at] == kNone) table[at] = row;
      result[row] = table[at];
    }
  });
  return result;
}

// Numbers the distinct rows in the order of their first rows; multiplicities go into the weights. False if there are
// more than `max_distinct`.
bool number_distinct_rows(const std::vector<uint32_t>& leader, const Limits& limits, double max_distinct,
                          Duplicates& out) {
  const size_t n = leader.size();
  std::vector<uint32_t> rest(n);     // of a leader: its rows without a distinct row yet
  std::vector<uint32_t> current(n);  // of a leader: its distinct row that has room
  std::vector<uint32_t> room(n);     // for this many more rows
  for (const uint32_t row : leader) ++rest[row];
  out.distinct.resize(n);
  out.first.assign(1, 0);
  for (size_t row = 0; row < n; ++row) {
    const uint32_t l = leader[row];
    if (room[l] == 0) {
      if (static_cast<double>(out.input.weights.size()) >= max_distinct) return false;
      const int64_t size = limits.multiplicity(rest[l]);
      room[l] = static_cast<uint32_t>(size);
      rest[l] -= room[l];
      current[l] = static_cast<uint32_t>(out.input.weights.size());
      out.input.weights.push_back(static_cast<double>(size));
      out.first.push_back(out.first.back() + room[l]);
    }
    --room[l];
    out.distinct[row] = current[l];
  }
  return true;
}

void list_rows(Duplicates& out) {
  std::vector<uint32_t> next(out.first.begin(), out.first.end() - 1);
  out.rows.resize(out.distinct.size());
  for (size_t row = 0; row < out.distinct.size(); ++row) {
    out.rows[next[out.distinct[row]]++] = static_cast<uint32_t>(row);
  }
}

void copy_points(const Input& input, Duplicates& out, ThreadPool& pool) {
  const Rows rows(input.points);
  const auto distinct = static_cast<int64_t>(out.input.weights.size());
  out.values = AlignedBuffer<std::byte>(static_cast<size_t>(distinct) * rows.bytes());
  pool.for_each_range(distinct, kPiece, [&](int, int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) {
      std::memcpy(out.values.data() + static_cast<size_t>(g) * rows.bytes(), rows.at(out.rows_of(g)[0]), rows.bytes());
    }
  });
  out.input.points.data = out.values.data();
  out.input.points.n = distinct;
}

}  // namespace

std::optional<Duplicates> find_duplicates(const Input& input, ThreadPool& pool, const DuplicatesRule& rule) {
  const int64_t n = input.points.n;
  if (input.points.on_device()) return std::nullopt;
  if (!input.weights.empty() || input.memory.limited || n < rule.min_rows || n >= int64_t{kNone}) return std::nullopt;
  const Limits limits(input);
  if (limits.most == 0) return std::nullopt;
  if (rule.sample_first && !some_repeat(input)) return std::nullopt;
  if (!fits_in_half(n * kBytesPerRow + static_cast<int64_t>(input.points.bytes()))) return std::nullopt;
  Duplicates result;
  result.input = input;
  const std::vector<uint32_t> leader = first_equal_rows(input, pool);
  if (!number_distinct_rows(leader, limits, rule.max_distinct * static_cast<double>(n), result)) return std::nullopt;
  list_rows(result);
  copy_points(input, result, pool);
  result.input.max_weight = *std::max_element(result.input.weights.begin(), result.input.weights.end());
  result.input.counted = true;
  return result;
}

}  // namespace manymeans
