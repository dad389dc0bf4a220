// The two groups of the screen of long rows and its warp that copies, in every order in which they can go on: no
// meeting is counted for another, and nobody waits for ever. Needs neither a device nor nvcc.
#include "backend/cuda/tensor/matrix_meeting.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

namespace manymeans::cuda {
namespace {

struct Protocol {
  int panels;
  int stages;
  int lag;
  bool resident;       // points stay, and are copied anew for every tile of rows
  int tiles_of_a_row;  // of columns that a tile of rows meets
};
constexpr int kTiles = 3;
constexpr int kTermStages = 2;

enum class Step : uint8_t { kComeBy, kArrive, kWait, kMultiply, kFinish, kCopyTerms, kCopyPoints, kCopy, kEnd };
struct Action {
  Step step;
  int number;       // of the tile, or of the panel among all
  int panels_back;  // that a warp has given back before this action
  int tiles_back;   // likewise, terms
};

// What a warp of a group does, as matrix_long_rows.cuh has it.
std::vector<Action> actions_of_group(const Protocol& one, int group) {
  std::vector<Action> actions;
  int panels_back = 0;
  for (int tile = 0; tile < kTiles; ++tile) {
    for (int panel = 0; panel < one.panels; ++panel) {
      const int number = tile * one.panels + panel;
      if (one.lag > 0 && group == 0 && panel == one.lag) actions.push_back({Step::kComeBy, tile, panels_back, tile});
      if (one.lag > 0 && group == 1 && panel == 0) {
        actions.push_back({Step::kArrive, tile, panels_back, tile});
        actions.push_back({Step::kWait, tile, panels_back, tile});
      }
      actions.push_back({Step::kMultiply, number, panels_back, tile});
      if (panel > 0) panels_back = number;
    }
    actions.push_back({Step::kFinish, tile, panels_back, tile});
    panels_back = (tile + 1) * one.panels;
  }
  actions.push_back({Step::kEnd, 0, panels_back, kTiles});
  return actions;
}

std::vector<Action> actions_of_copier(const Protocol& one) {
  std::vector<Action> actions;
  for (int tile = 0; tile < kTiles; ++tile) {
    actions.push_back({Step::kCopyTerms, tile, 0, 0});
    for (int panel = 0; panel < one.panels; ++panel) {
      const int number = tile * one.panels + panel;
      if (one.resident && tile % one.tiles_of_a_row == 0) actions.push_back({Step::kCopyPoints, number, 0, 0});
      actions.push_back({Step::kCopy, number, 0, 0});
    }
  }
  actions.push_back({Step::kEnd, 0, 0, 0});
  return actions;
}

// All states that can be reached, two warps a group.
class Exploration {
 public:
  explicit Exploration(const Protocol& one)
      : one_(one), groups_{actions_of_group(one, 0), actions_of_group(one, 1)}, copier_(actions_of_copier(one)) {}

  /// What goes wrong; empty: nothing.
  std::string run() {
    std::vector<State> open = {State{}};
    seen_.insert(open[0].key());
    while (!open.empty()) {
      const State state = open.back();
      open.pop_back();
      bool moved = false;
      for (int who = 0; who <= kWarps; ++who) {
        State next = state;
        if (!go_on(next, who)) continue;
        if (!wrong_.empty()) return wrong_;
        moved = true;
        if (seen_.insert(next.key()).second) open.push_back(next);
      }
      if (!moved && !ended(state)) return "everybody waits";
    }
    return "";
  }

 private:
  static constexpr int kWarps = 4;  // two of each group; after them the copier

  struct State {
    std::array<uint8_t, kWarps + 1> at{};  // the next action of each
    uint8_t arrived = 0;                   // warps at the meeting
    uint8_t met = 0;                       // meetings that are over
    uint64_t key() const {
      uint64_t bits = static_cast<uint64_t>(arrived) << 8 | met;
      for (const uint8_t place : at) bits = bits << 8 | place;
      return bits;
    }
  };

  const Action& action(const State& state, int who) const {
    const auto& actions = who == kWarps ? copier_ : groups_[static_cast<size_t>(who / 2)];
    return actions[state.at[static_cast<size_t>(who)]];
  }
  bool ended(const State& state) const {
    for (int who = 0; who <= kWarps; ++who) {
      if (action(state, who).step != Step::kEnd) return false;
    }
    return true;
  }
  bool all_gave_back(const State& state, int panels, int tiles) const {
    for (int who = 0; who < kWarps; ++who) {
      if (action(state, who).panels_back < panels || action(state, who).tiles_back < tiles) return false;
    }
    return true;
  }
  // Panels whose copies have been started; they may arrive at once.
  bool is_copied(const State& state, int panel) const {
    const int next = state.at[kWarps];
    for (int i = 0; i < next; ++i) {
      const Action& done = copier_[static_cast<size_t>(i)];
      if (done.step == Step::kCopy && done.number == panel) return true;
    }
    return false;
  }

  void meet(State& state, int tile) {
    if (state.met != tile) wrong_ = "a warp is counted at the meeting of another tile";
    if (++state.arrived < kWarps) return;
    state.arrived = 0;
    ++state.met;
  }

  // Whether `who` can take its next step, and the state after it.
  bool go_on(State& state, int who) {
    const Action& next = action(state, who);
    bool can = true;
    switch (next.step) {
      case Step::kComeBy:
      case Step::kArrive: meet(state, next.number); break;
      case Step::kWait: can = state.met > next.number; break;
      case Step::kMultiply: can = is_copied(state, next.number); break;
      case Step::kFinish: break;
      case Step::kCopyTerms: can = all_gave_back(state, 0, next.number - kTermStages + 1); break;
      case Step::kCopyPoints: can = all_gave_back(state, next.number - one_.panels + 1, 0); break;
      case Step::kCopy: can = all_gave_back(state, next.number - one_.stages + 1, 0); break;
      case Step::kEnd: can = false; break;
    }
    if (can) ++state.at[static_cast<size_t>(who)];
    return can;
  }

  Protocol one_;
  std::array<std::vector<Action>, 2> groups_;
  std::vector<Action> copier_;
  std::unordered_set<uint64_t> seen_;
  std::string wrong_;
};

std::string explore(int panels, int stages, int lag, bool resident, int tiles_of_a_row) {
  return Exploration({panels, stages, lag, resident, tiles_of_a_row}).run();
}

// Of every size of the kernel every number of panels up to one more than it has buffers; beyond, nothing changes.
TEST(MatrixMeeting, NoOrderOfStepsGoesWrong) {
  for (const int tile_columns : kLongTiles) {
    for (const int resident : kLongResident) {
      const LongRing ring = long_ring(tile_columns, resident);
      EXPECT_TRUE(meetings_hold(ring));
      const int last = std::min(ring.last_panels, std::max(ring.first_panels, ring.stages() + 1));
      for (int panels = ring.first_panels; panels <= last; ++panels) {
        const int lag = meeting_lag(panels, ring.stages());
        for (const int tiles_of_a_row : {1, 2}) {
          EXPECT_EQ(explore(panels, ring.stages(), lag, resident != 0, tiles_of_a_row), "")
              << tile_columns << " columns, " << resident << " resident, " << panels << " panels";
        }
      }
    }
  }
}

// The rule is as wide as it can be, and the exploration sees what it forbids: equality is the hang of 129 to 192
// columns and more than 128 clusters.
TEST(MatrixMeeting, WhatTheRuleForbidsGoesWrong) {
  for (int stages = 2; stages <= 6; ++stages) {
    for (int panels = 2; panels <= 4; ++panels) {
      for (int lag = 1; lag < std::min(panels, stages); ++lag) {
        const bool allowed = panels + lag > stages;
        EXPECT_EQ(explore(panels, stages, lag, false, 1).empty(), allowed)
            << panels << " panels, " << stages << " stages, lag " << lag;
      }
    }
  }
  EXPECT_NE(explore(3, 5, 2, true, 2), "");
}

TEST(MatrixMeeting, RowsOfManyPanelsAllHaveTheSameLag) {
  for (const int tile_columns : kLongTiles) {
    const int stages = long_ring(tile_columns, 0).stages();
    for (int panels = stages; panels < 100000; ++panels) ASSERT_EQ(meeting_lag(panels, stages), stages - 1);
  }
}

// The sizes of a unit leave no number of panels out.
TEST(MatrixMeeting, EveryNumberOfPanelsHasOneSize) {
  for (const int tile_columns : kLongTiles) {
    int next = kShortPanels + 1;
    for (const int resident : kLongResident) {
      const LongRing ring = long_ring(tile_columns, resident);
      EXPECT_EQ(ring.first_panels, next);
      EXPECT_TRUE(resident == 0 || ring.last_panels <= resident) << "more panels than stay";
      next = ring.last_panels + 1;
    }
  }
}

}  // namespace
}  // namespace manymeans::cuda
