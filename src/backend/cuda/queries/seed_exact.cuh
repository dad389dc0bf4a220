// Seeding without a screen: every canonical distance, and how much candidates lower the potential.
#pragma once

#include "backend/cuda/queries/seed_device.cuh"

#include <cstdint>

namespace manymeans::cuda {

// Up to this number of columns a thread keeps a row's values in registers as binary64.
constexpr int kShortColumns = 8;

// A short row and its canonical distances. The lanes of columns that are not there are zero: adding +0 to a number that
// is not negative changes nothing.
template <int kColumns>
struct ShortRow {
  double x[kColumns];

  template <class T>
  __device__ ShortRow(const T* row, int d) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j) x[j] = j < d ? widened(row[j]) : 0.0;
  }
  __device__ double distance(const double* centre) const {
    double p[kColumns];
#pragma unroll
    for (int j = 0; j < kColumns; ++j) p[j] = squared_step(x[j], centre[j], 0.0);
    if constexpr (kColumns == 2) return __dadd_rn(p[0], p[1]);
    if constexpr (kColumns == 4) return __dadd_rn(__dadd_rn(p[0], p[2]), __dadd_rn(p[1], p[3]));
    if constexpr (kColumns == 8) {
      return __dadd_rn(__dadd_rn(__dadd_rn(p[0], p[4]), __dadd_rn(p[2], p[6])),
                       __dadd_rn(__dadd_rn(p[1], p[5]), __dadd_rn(p[3], p[7])));
    }
  }
};

// Max marks of a unit that count as few.
constexpr int kFewMarks = 96;

// State of a block that computes every distance.
struct SeedExact {
  SeedTile tile;
  int first_column = 0;
  double centres[kSeedTileColumns][kShortColumns];  // of short rows, filled up with zeros
  unsigned gains[kSeedGains * 2];
  uint16_t lists[kSeedWarps][kFewMarks];  // of each warp: row of the unit * 8 + candidate
};

// A unit of rows; each lane has one row in 32.
struct ExactUnit {
  int64_t first = 0;
  uint64_t marks = 0;  // byte r is of row 32 r + lane: a bit for each candidate that lowers it

  __device__ int64_t row(int r) const { return first + 32 * r + threadIdx.x % 32; }
};

// Which candidates lower the rows of a unit. A short row and its least distance are there before they are needed.
template <int kColumns, class T>
__device__ void compare_short_rows(const SeedArguments& a, const SeedExact& s, ExactUnit& unit) {
  using Row = ShortRow<kColumns>;
  const auto left = static_cast<int>(min(a.points.n - unit.first, static_cast<int64_t>(kMaxUnitRows)));
  const T* rows = static_cast<const T*>(a.points.data) + unit.first * a.points.d;
  const double* leasts = s.tile.least + unit.first;
  const auto d = static_cast<int>(a.points.d);
  const auto read = [&](int i) { return Row(rows + min(i, left - 1) * d, d); };
  const auto least_of_row = [&](int i) { return i < left ? leasts[i] : 0.0; };  // nothing is less
  const int lane = static_cast<int>(threadIdx.x) % 32;
  Row next = read(lane);
  double next_least = least_of_row(lane);
  for (int i = lane; i < a.unit_rows; i += 32) {
    const Row x = next;
    const double least = next_least;
    if (i + 32 < a.unit_rows) {
      next = read(i + 32);
      next_least = least_of_row(i + 32);
    }
    unsigned mark = 0;
#pragma unroll(kColumns == 2 ? 4 : 1)
    for (int column = 0; column < s.tile.columns; ++column) {
      if (x.distance(s.centres[column]) < least) mark |= 1u << column;
    }
    unit.marks |= static_cast<uint64_t>(mark) << (i / 32 * 8);
  }
}

// Computes distances of 32 rows, one a lane, by eight threads a row. At least the lanes in `wanted` get theirs.
template <class T>
__device__ double distance_by_eight(const SeedArguments& a, int64_t first, int column, unsigned wanted) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto* x = static_cast<const T*>(a.points.data);
  double d2 = 0;
  for (int i = 0; i < 8; ++i) {
    if ((wanted & (0x01010101u << i)) == 0) continue;
    const int64_t at = min(first + (lane & 24) + i, a.points.n - 1);
    const double other =
        canonical_distance_by_eight(x + at * a.points.d, centre_of<T>(a, column), a.points.d, lane & 7);
    if (i == (lane & 7)) d2 = other;
  }
  return d2;
}

template <class T>
__device__ void compare_rows(const SeedArguments& a, const SeedExact& s, ExactUnit& unit) {
  for (int r = 0; r * 32 < a.unit_rows && unit.first + r * 32 < a.points.n; ++r) {
    const double least = unit.row(r) < a.points.n ? s.tile.least[unit.row(r)] : 0.0;
    unsigned mark = 0;
    for (int column = 0; column < s.tile.columns; ++column) {
      const double d2 = distance_by_eight<T>(a, unit.first + r * 32, s.first_column + column, kAllLanes);
      if (d2 < least) mark |= 1u << column;
    }
    unit.marks |= static_cast<uint64_t>(mark) << (8 * r);
  }
}

template <class T>
__device__ ShortRow<kShortColumns> short_row(const SeedArguments& a, int64_t row) {
  return {static_cast<const T*>(a.points.data) + row * a.points.d, static_cast<int>(a.points.d)};
}

// Calls use(row, d2) for the rows of a unit that a candidate lowers. Each lane takes its own, one after the other if
// rows are short.
template <class T, bool kEight, class Use>
__device__ void for_each_marked(const SeedArguments& a, const SeedExact& s, const ExactUnit& unit, int column,
                                Use&& use) {
  uint64_t own = unit.marks >> column & 0x0101010101010101u;
  while (__any_sync(kAllLanes, own != 0)) {
    int r = own != 0 ? (__ffsll(static_cast<long long>(own)) - 1) / 8 : 8;
    if constexpr (kEight) {  // together: the same 32 rows for all lanes
      r = __reduce_min_sync(kAllLanes, r);
      const bool marked = (own >> (8 * r) & 1) != 0;
      const double d2 =
          distance_by_eight<T>(a, unit.first + 32 * r, s.first_column + column, __ballot_sync(kAllLanes, marked));
      if (marked) use(unit.row(r), d2);
      own &= ~(uint64_t{1} << (8 * r));
    } else if (own != 0) {
      use(unit.row(r), short_row<T>(a, unit.row(r)).distance(s.centres[column]));
      own &= own - 1;
    }
  }
}

// Adds up gains, or lowers rows, candidate by candidate: each lane takes its rows.
template <class T, bool kEight>
__device__ void use_marks_by_column(const SeedArguments& a, SeedExact& s, const ExactUnit& unit) {
  for (int column = 0; column < s.tile.columns; ++column) {
    if (!__any_sync(kAllLanes, (unit.marks >> column & 0x0101010101010101u) != 0)) continue;
    if (a.lowering) {
      for_each_marked<T, kEight>(a, s, unit, column,
                                 [&](int64_t row, double d2) { lower_least(&s.tile.least[row], d2); });
      continue;
    }
    int64_t gain[kDistanceLimbs] = {};
    for_each_marked<T, kEight>(a, s, unit, column, [&](int64_t row, double d2) { add_gain(a, s.tile, row, d2, gain); });
#pragma unroll
    for (int g = 0; g < kDistanceLimbs; ++g) gain[g] = warp_sum(gain[g]);
    if (threadIdx.x % 32 == 0) add_to_gains(s.gains, column, gain);
  }
}

// Adds up gains if few rows are marked: they are listed, and each lane takes any of them.
template <class T>
__device__ void use_few_marks(const SeedArguments& a, SeedExact& s, const ExactUnit& unit, int before, int all) {
  uint16_t* list = s.lists[threadIdx.x / 32];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (uint64_t marks = unit.marks; marks != 0; marks &= marks - 1) {
    const int bit = __ffsll(static_cast<long long>(marks)) - 1;
    list[before++] = static_cast<uint16_t>((bit / 8 * 32 + lane) * kSeedTileColumns + bit % 8);
  }
  __syncwarp();
  for (int at = lane; at < all; at += 32) {
    const int64_t row = unit.first + list[at] / kSeedTileColumns;
    const int column = list[at] % kSeedTileColumns;
    const double d2 = short_row<T>(a, row).distance(s.centres[column]);
    int64_t gain[kDistanceLimbs] = {};
    add_gain(a, s.tile, row, d2, gain);
    add_to_gains(s.gains, column, gain);
  }
  __syncwarp();
}

// Adds the candidates' gains in a unit, or lowers its rows.
template <class T, bool kEight>
__device__ void use_marks(const SeedArguments& a, SeedExact& s, const ExactUnit& unit) {
  const int own = __popcll(static_cast<long long>(unit.marks));
  int before = own;
  for (int offset = 1; offset < 32; offset *= 2) {
    const int other = __shfl_up_sync(kAllLanes, before, offset);
    if (static_cast<int>(threadIdx.x) % 32 >= offset) before += other;
  }
  const int all = __shfl_sync(kAllLanes, before, 31);
  if (all == 0) return;
  if constexpr (!kEight) {
    if (all <= kFewMarks && !a.lowering) return use_few_marks<T>(a, s, unit, before - own, all);
  }
  use_marks_by_column<T, kEight>(a, s, unit);
}

template <class T>
__device__ void begin_exact(const SeedArguments& a, SeedExact& s, int tile) {
  const auto thread = static_cast<int>(threadIdx.x);
  if (thread == 0) {
    s.tile = a.candidates.tiles[tile];
    s.first_column = tile * kSeedTileColumns;
  }
  if (thread < kSeedGains * 2) s.gains[thread] = 0;
  __syncthreads();
  if (thread < s.tile.columns * kShortColumns && a.points.d <= kShortColumns) {
    const int column = thread / kShortColumns;
    const int j = thread % kShortColumns;
    s.centres[column][j] = j < a.points.d ? widened(centre_of<T>(a, s.first_column + column)[j]) : 0.0;
  }
  __syncthreads();
}

/// Computes every canonical distance, without a screen. With kEight false a thread takes a row, for short rows. First
/// it finds the rows that a candidate lowers, then their gains.
template <class T, bool kEight>
__global__ void __launch_bounds__(kSeedThreads, 4) seed_exact_kernel(const __grid_constant__ SeedArguments a) {
  await_kernel_before();
  __shared__ SeedExact s;
  const auto blocks = static_cast<unsigned>(static_cast<int>(gridDim.x) / a.candidates.count);
  const int tile = static_cast<int>(blockIdx.x / blocks);
  if (idle(a, tile)) return;
  begin_exact<T>(a, s, tile);
  unsigned long long exact = 0;
  const int64_t stride = static_cast<int64_t>(blocks) * kSeedWarps * a.unit_rows;
  for (int64_t first = (static_cast<int64_t>(blockIdx.x % blocks) * kSeedWarps + threadIdx.x / 32) * a.unit_rows;
       first < a.points.n; first += stride) {
    ExactUnit unit{first};
    if constexpr (kEight) {
      compare_rows<T>(a, s, unit);
    } else if (a.points.d <= 2) {
      compare_short_rows<2, T>(a, s, unit);
    } else if (a.points.d <= 4) {
      compare_short_rows<4, T>(a, s, unit);
    } else {
      compare_short_rows<8, T>(a, s, unit);
    }
    for (int r = 0; s.tile.hits != nullptr && r * 32 < a.unit_rows; ++r) {
      auto* hits = reinterpret_cast<unsigned char*>(s.tile.hits);
      if (unit.row(r) < a.points.n) hits[unit.row(r)] = static_cast<unsigned char>(unit.marks >> (8 * r));
    }
    exact +=
        static_cast<unsigned long long>(min(static_cast<int64_t>(a.unit_rows), a.points.n - first) * s.tile.columns);
    use_marks<T, kEight>(a, s, unit);
  }
  if (threadIdx.x % 32 == 0 && exact > 0) atomicAdd(a.exact, exact);
  give_gains(a, tile, 1, s.gains);
}

}  // namespace manymeans::cuda
