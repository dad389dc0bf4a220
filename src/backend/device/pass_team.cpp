#include "backend/device/pass_team.h"

#include <algorithm>

namespace manymeans::device {

std::unique_ptr<PassTeam> PassTeam::of(std::span<TeamMember* const> members) {
  if (members.size() < 2 || std::ranges::find(members, nullptr) != members.end()) return nullptr;
  for (const TeamMember* from : members) {
    for (const TeamMember* to : members) {
      if (from != to && !from->team_queue().reaches(to->team_queue())) return nullptr;
    }
  }
  return std::unique_ptr<PassTeam>(new PassTeam(members.size()));
}

int64_t PassTeam::agree(int64_t value) {
  std::unique_lock lock(mutex_);
  if (error_) std::rethrow_exception(error_);
  least_ = here_ == 0 ? value : std::min(least_, value);
  if (++here_ == size()) {
    here_ = 0;
    agreed_ = least_;
    ++meetings_;
    all_here_.notify_all();
    return agreed_;
  }
  all_here_.wait(lock, [this, meeting = meetings_] { return meetings_ != meeting || error_; });
  if (error_) std::rethrow_exception(error_);
  return agreed_;  // the next meeting needs this member
}

void PassTeam::fail(const std::exception_ptr& error) noexcept {
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = error;
  all_here_.notify_all();
}

}  // namespace manymeans::device
