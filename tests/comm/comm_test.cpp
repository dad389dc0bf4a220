#include <manymeans/comm.h>

#include "comm/ranks_of_machine.h"
#include "comm/thread_ranks.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <vector>

namespace manymeans::test {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

// Runs body on 1, 2, 3 and 8 ranks; no rank may throw.
void on_some_ranks(const std::function<void(Comm&)>& body) {
  for (const int ranks : {1, 2, 3, 8}) {
    for (const std::string& error : run_ranks(ranks, body)) EXPECT_EQ(error, "") << ranks << " ranks";
  }
}

TEST(SelfComm, IsOneRankThatHasAllResults) {
  Comm& comm = self_comm();
  EXPECT_EQ(comm.rank(), 0);
  EXPECT_TRUE(comm.alone());
  std::vector<int64_t> values = {1, -2, 3};
  comm.sum(values);
  comm.max(values);
  comm.broadcast(std::span(values), 0);
  EXPECT_EQ(values, (std::vector<int64_t>{1, -2, 3}));
  EXPECT_EQ(comm.gather_flat(std::span<const int64_t>(values)), values);
  comm.scan(values);
  EXPECT_EQ(values, (std::vector<int64_t>{0, 0, 0}));
}

TEST(Comm, SumsIntegersAndIntegersOf128Bits) {
  on_some_ranks([](Comm& comm) {
    const int64_t n = comm.size();
    std::vector<int64_t> values = {comm.rank(), 1, -comm.rank()};
    comm.sum(values);
    EXPECT_EQ(values, (std::vector<int64_t>{n * (n - 1) / 2, n, -n * (n - 1) / 2}));
    const auto large = ~static_cast<unsigned __int128>(0) - static_cast<unsigned>(comm.rank());
    EXPECT_TRUE(comm.sum(large) == static_cast<unsigned __int128>(-n - n * (n - 1) / 2));
  });
}

TEST(RanksOfMachine, AreCountedInTheirOrder) {
  on_some_ranks([](Comm& comm) { EXPECT_EQ(rank_on_machine(comm), comm.rank()); });
}

TEST(Comm, FindsTheLargestAndTheSmallest) {
  on_some_ranks([](Comm& comm) {
    std::vector<int64_t> values = {comm.rank(), -comm.rank(), comm.rank() == 0 ? kMin : 5};
    comm.max(values);
    EXPECT_EQ(values, (std::vector<int64_t>{comm.size() - 1, 0, comm.size() == 1 ? kMin : 5}));
    values = {comm.rank(), -comm.rank(), comm.rank() == 0 ? kMin : 5};
    comm.min(values);
    EXPECT_EQ(values, (std::vector<int64_t>{0, 1 - comm.size(), kMin}));
  });
}

TEST(Comm, OrdersNumbersWithTheirSigns) {
  on_some_ranks([](Comm& comm) {
    const double rank = comm.rank();
    const double last = comm.size() - 1;
    std::vector<double> values = {rank, -1 - rank, 5e-324 * rank, rank == 0 ? kInfinity : 1,
                                  rank == 0 ? -kInfinity : 1};
    comm.min(values);
    EXPECT_EQ(values, (std::vector<double>{0, -1 - last, 0, last > 0 ? 1 : kInfinity, -kInfinity}));
    values = {rank, -1 - rank, 5e-324 * rank, rank == 0 ? kInfinity : 1, rank == 0 ? -kInfinity : 1};
    comm.max(values);
    EXPECT_EQ(values, (std::vector<double>{last, -1, 5e-324 * last, kInfinity, last > 0 ? 1 : -kInfinity}));
    EXPECT_FALSE(std::signbit(comm.max(comm.rank() == 0 ? 0.0 : -0.0)));
  });
}

TEST(Comm, ScansWhatTheRanksBeforeHave) {
  on_some_ranks([](Comm& comm) {
    std::vector<int64_t> values = {1, 10 * comm.rank()};
    comm.scan(values);
    EXPECT_EQ(values, (std::vector<int64_t>{comm.rank(), 5 * comm.rank() * (comm.rank() - 1)}));
  });
}

TEST(Comm, GathersDifferentLengthsInTheOrderOfTheRanks) {
  on_some_ranks([](Comm& comm) {
    const std::vector<int32_t> mine(static_cast<size_t>(comm.rank() % 3), comm.rank());
    const auto all = comm.gather(std::span<const int32_t>(mine));
    ASSERT_EQ(all.size(), static_cast<size_t>(comm.size()));
    std::vector<int32_t> flat;
    for (int r = 0; r < comm.size(); ++r) {
      EXPECT_EQ(all[static_cast<size_t>(r)], std::vector<int32_t>(static_cast<size_t>(r % 3), r));
      flat.insert(flat.end(), static_cast<size_t>(r % 3), r);
    }
    EXPECT_EQ(comm.gather_flat(std::span<const int32_t>(mine)), flat);
  });
}

TEST(Comm, BroadcastsFromAnyRank) {
  on_some_ranks([](Comm& comm) {
    for (int root = 0; root < comm.size(); ++root) {
      std::vector<double> values = {1.0 * comm.rank(), 2.0 * comm.rank()};
      comm.broadcast(std::span(values), root);
      EXPECT_EQ(values, (std::vector<double>{1.0 * root, 2.0 * root}));
    }
  });
}

// What all ranks throw where body() goes wrong; within a second.
std::string same_error(int ranks, const std::function<void(Comm&)>& body) {
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<std::string> errors = run_ranks(ranks, body);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
  for (const std::string& error : errors) EXPECT_EQ(error, errors[0]);
  return errors[0];
}

TEST(Comm, DifferentLengthsAreAnErrorThatNamesBoth) {
  const std::string error = same_error(4, [](Comm& comm) {
    std::vector<int64_t> values(comm.rank() == 2 ? 3 : 4);
    comm.sum(values);
  });
  EXPECT_EQ(
      error,
      "1: [ranks] rank 0 wants a sum of 4 values as collective 1 after 0 passes, but rank 2 wants a sum of 3 values "
      "as collective 1 after 0 passes");
}

TEST(Comm, DifferentCollectivesAreAnErrorThatNamesBoth) {
  const std::string error = same_error(3, [](Comm& comm) {
    std::vector<int64_t> values(4);
    comm.sum(values);
    comm.begin_pass();
    if (comm.rank() == 1) {
      comm.max(values);
    } else {
      comm.scan(values);
    }
  });
  EXPECT_EQ(
      error,
      "1: [ranks] rank 0 wants a scan of 4 values as collective 2 after 1 passes, but rank 1 wants a maximum of 4 "
      "values as collective 2 after 1 passes");
}

TEST(Comm, DifferentRootsAndPassesAreErrors) {
  EXPECT_PRED2(contains,
               same_error(2,
                          [](Comm& comm) {
                            int64_t value = 0;
                            comm.broadcast(std::span(&value, 1), comm.rank());
                          }),
               ("from rank 0 as collective 1 after 0 passes, but rank 1 wants a broadcast of 8 bytes "
                "from rank 1"));
  EXPECT_PRED2(contains,
               same_error(2,
                          [](Comm& comm) {
                            if (comm.rank() == 1) comm.begin_pass();
                            comm.max(int64_t{1});
                          }),
               ("after 0 passes, but rank 1 wants a maximum of 1 values as collective 1 after 1 passes"));
}

TEST(Comm, DifferentOptionsAreAnErrorOfTheUser) {
  const std::string error = same_error(3, [](Comm& comm) {
    comm.set_options(comm.rank() == 2 ? 7 : 6);
    comm.max(int64_t{1});
  });
  EXPECT_PRED2(contains, error, ("2: [ranks] rank 0 was given other options"));
  EXPECT_PRED2(contains, error, ("than rank 2"));
}

TEST(Comm, ARankThatGivesUpEndsAllOthers) {
  const std::string error = same_error(4, [](Comm& comm) {
    std::vector<int64_t> values(4);
    comm.sum(values);
    if (comm.rank() == 3) throw Error(ErrorCode::kUnavailable, "memory", "there is none left");
    comm.sum(values);
  });
  EXPECT_EQ(error, "4: [memory] there is none left");
}

TEST(Comm, AnErrorOfSomeRanksIsThatOfTheFirstOnAll) {
  EXPECT_EQ(same_error(5,
                       [](Comm& comm) {
                         check_together(comm, [] {});
                         check_together(comm, [&] {
                           if (comm.rank() < 2) return;
                           throw Error(ErrorCode::kBadData, "points", "rank " + std::to_string(comm.rank()));
                         });
                       }),
            "3: [points] rank 2");
}

}  // namespace
}  // namespace manymeans::test
