// Sessions on several devices of a kind that make their passes together. Each has its share of the rows, their
// statistics meet on the devices, and each makes every update alone. So a batch of passes stays one.
#pragma once

#include "backend/device/queue.h"

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace manymeans::device {

class PassTeam;

/// A session that may be in a team.
class TeamMember {
 public:
  virtual ~TeamMember() = default;
  virtual const Queue& team_queue() const = 0;
  /// From now on all passes are the team's. To be called by every member's thread.
  virtual void join_team(PassTeam& team, size_t number) = 0;
};

/// What the others read of a member, and events of its queue in each pass.
struct TeamEntry {
  std::array<Address, 4> own;      ///< its statistics
  Address sums;                    ///< where the statistics of all rows go
  std::unique_ptr<Event> counted;  ///< its statistics are there
  std::unique_ptr<Event> joined;   ///< its share of the sums is everywhere
};

/// Members call agree() and meet() on threads of their own, all of them the same calls in the same order.
class PassTeam {
 public:
  /// Returns null if one member cannot be in a team (is null), or cannot write into another's memory.
  static std::unique_ptr<PassTeam> of(std::span<TeamMember* const> members);

  size_t size() const { return entries_.size(); }
  TeamEntry& entry(size_t number) { return entries_[number]; }

  /// The least of what the members say, once all have said it.
  int64_t agree(int64_t value);
  void meet() { agree(0); }
  /// A member will not come any more: the others' calls throw what it threw.
  void fail(const std::exception_ptr& error) noexcept;

 private:
  explicit PassTeam(size_t members) : entries_(members) {}

  std::vector<TeamEntry> entries_;
  std::mutex mutex_;
  std::condition_variable all_here_;
  size_t here_ = 0;
  uint64_t meetings_ = 0;
  int64_t least_ = 0;   // of the members that are here
  int64_t agreed_ = 0;  // at the last meeting
  std::exception_ptr error_;
};

}  // namespace manymeans::device
