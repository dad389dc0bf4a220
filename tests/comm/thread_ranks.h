// Ranks that are threads of one process: the transport of the tests is a barrier and memory that all threads see.
#pragma once

#include <manymeans/comm.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace manymeans::test {

/// What the ranks share: what each of them has posted, and where they wait for each other.
class Board {
 public:
  explicit Board(int size) : size_(size), posted_(static_cast<size_t>(size)) {}
  int size() const { return size_; }
  /// What all ranks have posted, once they all have.
  std::vector<std::vector<std::byte>> swap(int rank, std::span<const std::byte> mine);
  void abort(const Error& why);

 private:
  void meet();

  int size_;
  std::vector<std::vector<std::byte>> posted_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  uint64_t meeting_ = 0;
  std::optional<Error> aborted_;
};

class ThreadComm final : public Comm {
 public:
  ThreadComm(Board& board, int rank) : board_(board), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return board_.size(); }
  void abort(const Error& why) noexcept override { board_.abort(why); }

 private:
  std::vector<CollectiveHeader> exchange(const CollectiveHeader& mine) override;
  void reduce(std::span<int64_t> values, bool largest) override;
  std::vector<std::byte> collect(std::span<const std::byte> mine, std::span<const uint64_t> bytes) override;
  void spread(std::span<std::byte> bytes, int root) override;

  Board& board_;
  int rank_;
};

/// Calls body(comm) on a thread for each rank. Where it throws, that rank aborts. Returns what each rank threw, with
/// the number of its code before it ("3: [points] ..."); empty texts where all went well.
std::vector<std::string> run_ranks(int ranks, const std::function<void(Comm&)>& body);

}  // namespace manymeans::test
