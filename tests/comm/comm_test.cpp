#include "comm/comm.h"

#include <gtest/gtest.h>

#include <vector>

namespace manymeans {
namespace {

TEST(SelfComm, IsOneRankWhoseSumIsItsOwn) {
  const auto comm = make_self_comm();
  EXPECT_EQ(comm->rank(), 0);
  EXPECT_EQ(comm->size(), 1);
  std::vector<int64_t> values = {1, -2, 3};
  comm->all_reduce(values);
  EXPECT_EQ(values, (std::vector<int64_t>{1, -2, 3}));
}

}  // namespace
}  // namespace manymeans
