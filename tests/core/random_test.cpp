#include "core/random.h"

#include <gtest/gtest.h>

#include <set>

namespace manymeans::test {
namespace {

// Known answers of Random123 (its file kat_vectors, lines "philox4x32 10").
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox(0, 0, 0, Purpose{0}), (Philox4{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(~0ull, ~0ull, ~0u, Purpose{~0u}), (Philox4{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  // Counter 243f6a88 85a308d3 13198a2e 03707344, key a4093822 299f31d0.
  EXPECT_EQ(philox(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x13198a2e, Purpose{0x03707344}),
            (Philox4{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomU64, IsTheFirstTwoWordsLowFirst) {
  EXPECT_EQ(random_u64(0, 0, 0, Purpose{0}), 0xe169c58d6627e8d5);
}

// Pinned: these values are part of every fit with a seed and must never change.
TEST(MemberSeed, IsPinned) {
  EXPECT_EQ(member_seed(0, 8, 0), 0xe31c9eeb7414d13e);
  EXPECT_EQ(member_seed(1, 8, 0), 0x4694dc068f98ad66);
  EXPECT_EQ(member_seed(0, 9, 0), 0xa37133edf16f76d7);
  EXPECT_EQ(member_seed(0, 8, 1), 0x610019ff0e35098e);
  EXPECT_EQ(member_seed(0xffffffffffffffff, 1000000, 12345), 0xbd2c4f3bdaf589c3);
}

TEST(MemberSeed, DiffersAcrossModels) {
  std::set<uint64_t> seen;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    for (int64_t k = 1; k < 30; ++k) {
      for (int64_t replica = 0; replica < 20; ++replica) seen.insert(member_seed(seed, k, replica));
    }
  }
  EXPECT_EQ(seen.size(), 10u * 29u * 20u);
}

// The words of a purpose are part of the contract.
TEST(Purpose, IsPinned) {
  EXPECT_EQ(static_cast<uint32_t>(Purpose::kMemberSeed), 1u);
  EXPECT_EQ(static_cast<uint32_t>(Purpose::kFirstCentre), 2u);
  EXPECT_EQ(static_cast<uint32_t>(Purpose::kCandidate), 3u);
  EXPECT_EQ(static_cast<uint32_t>(Purpose::kRandomRow), 4u);
  EXPECT_EQ(static_cast<uint32_t>(Purpose::kOversample), 5u);
  EXPECT_EQ(static_cast<uint32_t>(Purpose::kLabelSum), 6u);
}

}  // namespace
}  // namespace manymeans::test
