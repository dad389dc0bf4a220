#include "backend/device/given_up.h"

#include <manymeans/fit.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

namespace manymeans {
namespace device {
namespace {

struct GivenUp {
  GivenUp() { works.reserve(1024); }  // more would be more sessions than a device takes

  std::mutex mutex;
  std::vector<Unfinished> works;
  std::vector<const HandingOver*> handing_over;
  std::atomic<bool> any{false};
};

// Never destroyed: memory is freed until the process ends.
GivenUp& given_up() {
  static auto* const kept = new GivenUp;
  return *kept;
}

}  // namespace

void give_up(const Unfinished& work) noexcept {
  GivenUp& all = given_up();
  const std::lock_guard lock(all.mutex);
  all.works.push_back(work);
  all.any = true;
}

HandingOver::HandingOver(const Patience& patience, int passes) : patience_(patience), passes_(passes) {
  const std::lock_guard lock(given_up().mutex);
  given_up().handing_over.push_back(this);
}

HandingOver::~HandingOver() {
  const std::lock_guard lock(given_up().mutex);
  std::erase(given_up().handing_over, this);
}

bool HandingOver::takes_too_long() const {
  const Patience::Seconds time = std::chrono::steady_clock::now() - begin_;
  return time > (patience_.in_a_hurry() ? patience_.hurried(passes_) : patience_.most(passes_));
}

bool devices_answer() noexcept {
  return !given_up().any;
}

bool devices_answer_now() noexcept {
  GivenUp& all = given_up();
  if (!all.any) return true;
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.works, [](const Unfinished& work) { return work.has_ended(work.queue); });
  all.any = !all.works.empty();
  return all.works.empty();
}

}  // namespace device

bool devices_answer() {
  device::GivenUp& all = device::given_up();
  const std::lock_guard lock(all.mutex);
  return !all.any && std::ranges::none_of(all.handing_over, &device::HandingOver::takes_too_long);
}

}  // namespace manymeans
