// Rings and meetings of the screen of long rows (matrix_long_rows.cuh) as numbers: its instances' rings, and when its
// two groups may meet. The screen of short rows has no meetings: its groups wait for buffers alone. Buffers are filled
// in the order of requests, and a fill waits only for earlier copies. Plain C++, so that the rule is checked without a
// device or nvcc (tests/backend/cuda/tensor/matrix_meeting_test.cpp).
#pragma once

#include <algorithm>
#include <array>

namespace manymeans::cuda {

constexpr int kPanel = 64;          // halves in 128 bytes, what one swizzled row holds
constexpr int kWarpGroup = 128;     // threads that issue a product together
constexpr int kMaxShared = 232448;  // of a block on compute capability 9.0

/// Returns the lag in panels with which the second group of the screen of long rows starts every tile. So the groups'
/// epilogues do not coincide; 0: they do not wait for each other. The first group passes the meeting (bar.arrive)
/// before its panel `lag` of a tile. The second waits there (bar.sync) before its panel 0 of that tile. The barrier
/// counts threads, not tiles. A warp of the first group that passes for the next tile before the second group continues
/// is counted twice. A later meeting then waits for ever.
///
/// A warp of the first group passes for tile t + 1 after panel (t + 1) panels + lag - 1 has arrived. Its buffer had
/// panel (t + 1) panels + lag - 1 - stages before. It is written again only when all warps of both groups have released
/// that panel. If that is panel t panels or a later one, all warps of the second group have begun tile t. So the
/// meeting of tile t is over: panels + lag > stages. With equality it is the last panel of tile t - 1. The second group
/// releases it before it waits, and the first may pass twice.
///
/// No group waits for ever. While the second group waits for tile t, it has released all panels below t panels, the
/// terms of tile t - 1 and earlier points. So the first group gets the lag panels before its meeting while lag <=
/// stages.
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
    // Rows of three panels: four buffers of the widest tile make passes two to five percent shorter than five do (2M x
    // 136, 160 and 192: bench/results/h200/nothing_stuck).
    const int most = resident == 4 && tile_columns == 256 ? 4 : 8;
    return std::min(most, (kMaxShared - resident * point_bytes() - kBeside) / stage_bytes());
  }
};

constexpr int kShortPanels = 2;      // max of the screen of short rows
constexpr int kMaxPanels = 1 << 25;  // 2^31 columns
constexpr std::array<int, 3> kLongTiles = {64, 128, 256};
constexpr std::array<int, 3> kLongResident = {4, 8, 0};  // tried in this order

/// Returns true if the meetings of every launch of this size are as meeting_lag() promises. Rows of more panels than
/// buffers all have the lag stages - 1.
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
