#include "backend/device/queue.h"

#include <manymeans/error.h>

#include <fmt/format.h>

#include <string>

namespace manymeans::device {

void check_answer(const Waited& waited, const Patience& patience, int passes, const char* doing,
                  std::string_view name) {
  if (waited.answer == Answer::kDone) return;
  if (waited.answer == Answer::kAborted) {
    throw Error(ErrorCode::kInterrupted, std::string(name), "given up by the caller");
  }
  const bool wanted_to_stop = patience.in_a_hurry();
  throw Error(
      wanted_to_stop ? ErrorCode::kInterrupted : ErrorCode::kUnavailable, std::string(name),
      fmt::format("{}: {}the device does not answer, after {:.0f} s of waiting for what takes {:.2g} s at most; "
                  "try a new process, and reset the device or use --backend cpu if it stays so",
                  doing, wanted_to_stop ? "asked to stop, but " : "", waited.time.count(),
                  passes * patience.usual.count()));
}

// If waiting fails the copy continues, into memory that the caller may free.
void Queue::read_back(void* to, Address from, size_t bytes, const char* doing) const {
  synchronize(doing);
  try {
    copy_to_host(to, from, bytes, doing);
    synchronize(doing);
  } catch (...) {
    settle();
    throw;
  }
}

void Queue::synchronize(const char* doing, int passes) const {
  const Waited waited = await_answer([&] { return is_done(doing); }, patience_, passes);
  if (waited.answer == Answer::kTooLate) give_up();
  check_answer(waited, patience_, passes, doing, runtime().name());
}

// An error belongs to earlier work, and the next wait reports it again: then nothing is at work any more.
void Queue::settle(int passes) const noexcept {
  const Unfinished work = unfinished();
  if (work.queue == nullptr || still_given_up()) return;
  const auto ended = [&] { return work.has_ended(work.queue); };
  if (await_answer(ended, patience_, passes, false).answer == Answer::kTooLate) give_up();
}

// One that was given up, has answered since and got other work is waited for like any.
bool Queue::still_given_up() const noexcept {
  given_up_ = given_up_ && !devices_answer_now();
  return given_up_;
}

void Queue::give_up() const noexcept {
  if (still_given_up()) return;
  given_up_ = true;
  device::give_up(unfinished());
}

void Event::synchronize(const Queue& queue, const char* doing) const {
  const Waited waited = await(queue, doing);
  if (waited.answer == Answer::kTooLate) queue.give_up();
  check_answer(waited, queue.patience(), 1, doing, queue.runtime().name());
}

Waited Event::await(const Queue& queue, const char* doing) const {
  return await_answer([&] { return is_reached(doing); }, queue.patience(), 1);
}

}  // namespace manymeans::device
