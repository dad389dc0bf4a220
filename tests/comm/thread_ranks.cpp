#include "comm/thread_ranks.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace manymeans::test {

// A rank that leaves a meeting does not look back: what it threw then is its own, whoever gives up meanwhile.
void Board::meet() {
  std::unique_lock lock(mutex_);
  if (aborted_) throw *aborted_;
  const uint64_t mine = meeting_;
  if (++arrived_ == size_) {
    arrived_ = 0;
    ++meeting_;
    changed_.notify_all();
    return;
  }
  changed_.wait(lock, [&] { return meeting_ != mine || aborted_; });
  if (meeting_ == mine) throw *aborted_;
}

std::vector<std::vector<std::byte>> Board::swap(int rank, std::span<const std::byte> mine) {
  meet();  // nobody reads what was posted before
  posted_[static_cast<size_t>(rank)].assign(mine.begin(), mine.end());
  meet();
  return posted_;
}

void Board::abort(const Error& why) {
  const std::lock_guard lock(mutex_);
  if (!aborted_) aborted_ = why;
  changed_.notify_all();
}

std::vector<CollectiveHeader> ThreadComm::exchange(const CollectiveHeader& mine) {
  std::vector<CollectiveHeader> headers;
  for (const std::vector<std::byte>& bytes : board_.swap(rank_, std::as_bytes(std::span(&mine, 1)))) {
    std::memcpy(&headers.emplace_back(), bytes.data(), sizeof(CollectiveHeader));
  }
  return headers;
}

void ThreadComm::reduce(std::span<int64_t> values, bool largest) {
  const auto all = board_.swap(rank_, std::as_bytes(values));
  for (size_t r = 0; r < all.size(); ++r) {
    for (size_t i = 0; i < values.size(); ++i) {
      int64_t value = 0;
      std::memcpy(&value, all[r].data() + i * sizeof value, sizeof value);
      values[i] = r == 0 ? value : (largest ? std::max(values[i], value) : values[i] + value);
    }
  }
}

std::vector<std::byte> ThreadComm::collect(std::span<const std::byte> mine, std::span<const uint64_t> bytes) {
  const auto all = board_.swap(rank_, mine);
  std::vector<std::byte> flat;
  for (size_t r = 0; r < all.size(); ++r) {
    if (r >= bytes.size() || all[r].size() != bytes[r]) throw std::logic_error("collect() was told other lengths");
    flat.insert(flat.end(), all[r].begin(), all[r].end());
  }
  return flat;
}

void ThreadComm::spread(std::span<std::byte> bytes, int root) {
  const auto all = board_.swap(rank_, bytes);
  std::ranges::copy(all[static_cast<size_t>(root)], bytes.begin());
}

std::vector<std::string> run_ranks(int ranks, const std::function<void(Comm&)>& body) {
  Board board(ranks);
  std::vector<std::string> errors(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      ThreadComm comm(board, r);
      try {
        body(comm);
      } catch (const Error& error) {
        errors[static_cast<size_t>(r)] = std::to_string(static_cast<int>(error.code())) + ": " + error.what();
        comm.abort(error);
      } catch (const std::exception& error) {
        errors[static_cast<size_t>(r)] = error.what();
        comm.abort(Error(ErrorCode::kInternal, "test", error.what()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

}  // namespace manymeans::test
