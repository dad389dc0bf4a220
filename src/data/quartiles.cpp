#include "data/quartiles.h"

#include "core/data_type.h"
#include "data/row_blocks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace manymeans {
namespace {

constexpr int64_t kMaxColumns = 512;  // at a time: their histograms take six megabytes a thread
constexpr int kBits = 8;
constexpr size_t kBins = size_t{1} << kBits;
constexpr uint64_t kSign = uint64_t{1} << 63;

// Integers in the order of the numbers, and back.
uint64_t key_of(double value) {
  const auto bits = std::bit_cast<uint64_t>(value + 0.0);  // no negative zeros
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}
double value_of(uint64_t key) {
  return std::bit_cast<double>((key & kSign) != 0 ? key ^ kSign : ~key);
}

// A quartile lies at place (n - 1) i / 4 of the sorted values: between two of them, or on one.
constexpr size_t kPlaces = 6;
std::array<int64_t, kPlaces> places_of(int64_t n) {
  std::array<int64_t, kPlaces> places{};
  for (int64_t i = 1; i <= 3; ++i) {
    const int64_t below = (n - 1) / 4 * i + (n - 1) % 4 * i / 4;
    places[static_cast<size_t>(2 * i - 2)] = below;
    places[static_cast<size_t>(2 * i - 1)] = std::min(below + 1, n - 1);
  }
  return places;
}

double between(double a, double b, double share) {
  return a == b ? a : (1 - share) * a + share * b;
}

// Finds the values at some places of a sorted column, eight bits at a time. It counts, and neither copies nor sorts
// values. Ranks add up their counts.
struct Search {
  uint64_t prefix = 0;
  int64_t place = 0;  // among the values with this prefix
};

class Selection {
 public:
  Selection(const Input& input, ThreadPool& pool, int64_t first, int64_t columns)
      : input_(input), pool_(pool), first_(first), columns_(columns) {
    const auto places = places_of(input.shard.all);
    for (int64_t j = 0; j < columns; ++j) {
      for (const int64_t place : places) searches_.push_back({0, place});
    }
  }

  void run() {
    for (int shift = 64 - kBits; shift >= 0; shift -= kBits) {
      std::vector<int64_t> counts =
          as_float_type(input_.points.type, [&]<class T>(T) { return this->template count<T>(shift); });
      input_.comm->sum(std::span(counts));
      for (size_t i = 0; i < searches_.size(); ++i) narrow(searches_[i], counts.data() + i * kBins, shift);
    }
  }

  Quartiles of(int64_t column) const {
    const auto at = [&](size_t i) { return value_of(searches_[static_cast<size_t>(column) * kPlaces + i].prefix); };
    const auto share = [&](int64_t i) { return static_cast<double>((input_.shard.all - 1) % 4 * i % 4) / 4; };
    return {between(at(0), at(1), share(1)), between(at(2), at(3), share(2)), between(at(4), at(5), share(3))};
  }

 private:
  template <class T>
  std::vector<int64_t> count(int shift) const {
    const uint64_t known = shift + kBits == 64 ? 0 : ~uint64_t{0} << (shift + kBits);
    const size_t size = searches_.size() * kBins;
    std::vector<std::vector<int64_t>> counts(static_cast<size_t>(pool_.size()), std::vector<int64_t>(size));
    for_each_block<T>(input_.points, input_.memory.window, pool_, [&](int worker, int64_t, int64_t rows, const T* x) {
      int64_t* const mine = counts[static_cast<size_t>(worker)].data();
      for (int64_t i = 0; i < rows; ++i, x += input_.points.d) {
        size_t search = 0;
        for (int64_t j = 0; j < columns_; ++j) {
          const uint64_t key = key_of(static_cast<double>(x[first_ + j]));
          for (size_t p = 0; p < kPlaces; ++p, ++search) {
            if ((key & known) == searches_[search].prefix) ++mine[search * kBins + (key >> shift) % kBins];
          }
        }
      }
    });
    for (size_t worker = 1; worker < counts.size(); ++worker) {
      for (size_t i = 0; i < size; ++i) counts[0][i] += counts[worker][i];
    }
    return std::move(counts[0]);
  }

  static void narrow(Search& search, const int64_t* counts, int shift) {
    uint64_t bin = 0;
    while (search.place >= counts[bin]) search.place -= counts[bin++];
    search.prefix |= bin << shift;
  }

  const Input& input_;
  ThreadPool& pool_;
  int64_t first_, columns_;
  std::vector<Search> searches_;  // kPlaces of each column
};

}  // namespace

std::vector<Quartiles> column_quartiles(const Input& input, ThreadPool& pool) {
  std::vector<Quartiles> result;
  for (int64_t first = 0; first < input.points.d; first += kMaxColumns) {
    const int64_t columns = std::min(kMaxColumns, input.points.d - first);
    Selection selection(input, pool, first, columns);
    selection.run();
    for (int64_t j = 0; j < columns; ++j) result.push_back(selection.of(j));
  }
  return result;
}

}  // namespace manymeans
