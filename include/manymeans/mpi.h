// Ranks that are the processes of an MPI program. This header is the whole of it. It is compiled with the MPI of the
// program that includes it, and the library itself does not depend on MPI.
//
//   MPI_Init_thread(...);
//   fit(points_of_this_rank, {}, options, {.comm = mpi_comm(MPI_COMM_WORLD)});
#pragma once

#include <manymeans/comm.h>

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace manymeans {

/// Settings of a transport over MPI, in addition to the communicator.
struct MpiSettings {
  /// Is told why before all processes are ended by MPI_Abort.
  std::function<void(const Error&)> last_words = {};
  /// Most values or bytes of one call: MPI counts with int.
  int most = 1 << 30;
};

/// A communicator's ranks, which hold the rows in their order.
class MpiComm final : public PlainComm {
 public:
  explicit MpiComm(MPI_Comm ranks, MpiSettings settings = {}) : settings_(std::move(settings)) {
    int ready = 0;
    MPI_Initialized(&ready);
    if (ready == 0) throw Error(ErrorCode::kUsage, "MPI", "MPI_Init() was not called; call it first");
    // The library's messages do not meet the caller's, and errors of this communicator alone come back as numbers.
    check(MPI_Comm_dup(ranks, &comm_), "MPI_Comm_dup");
    check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
  }
  ~MpiComm() override {
    int ended = 0;
    MPI_Finalized(&ended);
    if (ended == 0) MPI_Comm_free(&comm_);
  }
  MpiComm(const MpiComm&) = delete;
  MpiComm& operator=(const MpiComm&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }

 private:
  static void check(int code, const char* call) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    MPI_Error_string(code, text, &length);
    throw Error(ErrorCode::kUnavailable, "MPI",
                std::string(call) + ": " + std::string(text, static_cast<size_t>(length)));
  }

  // call(first, count) for pieces that MPI can count.
  template <class Call>
  void in_pieces(size_t all, Call&& call) const {
    const auto most = static_cast<size_t>(settings_.most);
    for (size_t first = 0; first < all; first += most) call(first, static_cast<int>(std::min(most, all - first)));
  }

  // Not blocking on any rank, since a rank that gives up waits only for a while, and MPI matches like with like. Ranks
  // wait here for the slowest one. Unlike in MPI_Wait, a waiting rank yields its processor.
  bool share(std::span<const std::byte> mine, std::span<std::byte> all, double seconds) override {
    const auto bytes = static_cast<int>(mine.size());
    MPI_Request request{};
    check(MPI_Iallgather(mine.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, comm_, &request), "MPI_Iallgather");
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds kAwake{1};
    constexpr std::chrono::microseconds kNap{50};
    const auto begin = Clock::now();
    for (;;) {
      int done = 0;
      check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      if (done != 0) return true;
      const auto waited = Clock::now() - begin;
      if (seconds > 0 && waited > std::chrono::duration<double>(seconds)) return false;
      if (waited < kAwake) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(kNap);
      }
    }
  }

  void reduce(std::span<int64_t> values, bool largest) override {
    in_pieces(values.size(), [&](size_t first, int count) {
      check(MPI_Allreduce(MPI_IN_PLACE, values.data() + first, count, MPI_INT64_T, largest ? MPI_MAX : MPI_SUM, comm_),
            "MPI_Allreduce");
    });
  }

  std::vector<std::byte> collect(std::span<const std::byte> mine, std::span<const uint64_t> bytes) override {
    std::vector<std::byte> all(std::accumulate(bytes.begin(), bytes.end(), size_t{0}));
    if (all.size() > static_cast<size_t>(settings_.most)) {
      collect_one_by_one(mine, bytes, all);
      return all;
    }
    std::vector<int> counts(bytes.begin(), bytes.end()), places(bytes.size());
    std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
    check(MPI_Allgatherv(mine.data(), counts[static_cast<size_t>(rank_)], MPI_BYTE, all.data(), counts.data(),
                         places.data(), MPI_BYTE, comm_),
          "MPI_Allgatherv");
    return all;
  }

  // Places of MPI_Allgatherv are ints, too.
  void collect_one_by_one(std::span<const std::byte> mine, std::span<const uint64_t> bytes, std::span<std::byte> all) {
    for (int r = 0; r < size_; ++r) {
      const std::span<std::byte> part = all.first(bytes[static_cast<size_t>(r)]);
      if (r == rank_) std::copy_n(mine.begin(), part.size(), part.begin());
      spread(part, r);
      all = all.subspan(part.size());
    }
  }

  void spread(std::span<std::byte> bytes, int root) override {
    in_pieces(bytes.size(), [&](size_t first, int count) {
      check(MPI_Bcast(bytes.data() + first, count, MPI_BYTE, root, comm_), "MPI_Bcast");
    });
  }

  void end_all(const Error& why) noexcept override {
    if (settings_.last_words) settings_.last_words(why);
    MPI_Abort(comm_, static_cast<int>(why.code()));
  }

  MpiSettings settings_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
};

/// The ranks of this communicator, for FitHooks::comm. All of them call this between MPI_Init_thread and MPI_Finalize.
/// MPI_Init_thread must give MPI_THREAD_FUNNELED at least. The thread that calls fit() is the only one that calls MPI.
inline std::shared_ptr<Comm> mpi_comm(MPI_Comm ranks, MpiSettings settings = {}) {
  return std::make_shared<MpiComm>(ranks, std::move(settings));
}

}  // namespace manymeans
