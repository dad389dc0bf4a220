// The rings and meetings of the screen of long rows (matrix_long_rows.cuh), as numbers: what every instance of it has,
// and when its two groups may meet. The screen of short rows has no meetings: its groups wait for buffers alone, which
// are filled in the order in which they are asked for, and what is waited for to fill one was copied before it. Plain
// C++, so that the rule is checked where there is no device, and no nvcc
// (tests/backend/cuda/tensor/matrix_meeting_test.cpp).
#pragma once

#include <algorithm>
#include <array>

namespace manymeans::cuda {

constexpr int kPanel = 64;          // halves in 128 bytes, what one swizzled row holds
constexpr int kWarpGroup = 128;     // threads that issue a product together
constexpr int kMaxShared = 232448;  // of a block on compute capability 9.0

/// How many panels the second group of the screen of long rows starts every tile after the first, so that their
/// epilogues do not coincide; 0: they do not wait for each other. Before its panel `lag` of a tile the first group
/// comes by the meeting (bar.arrive), before its panel 0 of that tile the second waits there (bar.sync). The barrier
/// counts threads, not tiles: should a warp of the first group come by for the next tile before the second group has
/// gone on, it would be counted twice, and a meeting later somebody waits for ever.
///
/// A warp of the first group comes by for tile t + 1 when it has seen panel (t + 1) panels + lag - 1 arrive. Its buffer
/// had panel (t + 1) panels + lag - 1 - stages before, and is written again only when all warps of both groups have
/// given that back. If that is panel t panels or a later one, every warp of the second group has begun tile t, so the
/// meeting of tile t is over: panels + lag > stages. With equality it is the last panel of tile t - 1, which the second
/// group gives back before it waits, and the first may come by twice.
///
/// And nobody waits for ever: while the second group waits for tile t it has given back all panels below t panels, the
/// terms of tile t - 1 and the points of rows before, so that the first group gets the lag panels before its meeting
/// while lag <= stages.
constexpr int meeting_lag(int panels, int stages) {
  const int lag = std::min(panels, stages) - 1;
  return panels + lag > stages ? lag : 0;
}

/// One size of the screen of long rows: what a block keeps in shared memory.
struct LongRing {
  int tile_columns;
  int resident;      // panels of points that stay; 0: they are streamed with the columns
  int first_panels;  // of a row: what it is launched for
  int last_panels;

  constexpr int point_bytes() const { return kWarpGroup * kPanel * 2; }
  constexpr int tile_bytes() const { return tile_columns * kPanel * 2; }
  constexpr int stage_bytes() const { return tile_bytes() + (resident == 0 ? point_bytes() : 0); }
  constexpr int stages() const {
    constexpr int kBeside = 3 * 1024;  // terms and barriers
    // Passes over rows of three panels are two to five percent shorter with four buffers of the widest tile than with
    // five (2M x 136, 160 and 192: bench/results/h200/nothing_stuck).
    const int most = resident == 4 && tile_columns == 256 ? 4 : 8;
    return std::min(most, (kMaxShared - resident * point_bytes() - kBeside) / stage_bytes());
  }
};

constexpr int kShortPanels = 2;      // rows of so many are the screen of short rows'
constexpr int kMaxPanels = 1 << 25;  // 2^31 columns
constexpr std::array<int, 3> kLongTiles = {64, 128, 256};
constexpr std::array<int, 3> kLongResident = {4, 8, 0};  // in the order in which they are asked

/// Whether the meetings of every launch of this size are as meeting_lag() promises. Rows of more panels than buffers
/// all have the lag stages - 1.
constexpr bool meetings_hold(const LongRing& ring) {
  const int stages = ring.stages();
  if (stages < 2 || ring.first_panels > ring.last_panels) return false;
  const int last = std::min(ring.last_panels, std::max(ring.first_panels, stages + 1));
  for (int panels = ring.first_panels; panels <= last; ++panels) {
    const int lag = meeting_lag(panels, stages);
    if (lag < 0 || lag >= panels || lag > stages) return false;
    if (lag > 0 && panels + lag <= stages) return false;
  }
  return true;
}

constexpr LongRing long_ring(int tile_columns, int resident) {
  const int last = resident == 0 ? kMaxPanels : resident;
  const int first = resident == 4 ? kShortPanels + 1 : (resident == 8 ? 5 : 9);
  return {tile_columns, resident, first, last};
}

}  // namespace manymeans::cuda
