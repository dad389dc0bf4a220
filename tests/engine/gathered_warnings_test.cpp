#include "engine/gathered_warnings.h"

#include <gtest/gtest.h>

namespace manymeans::test {
namespace {

Member member(uint64_t seed, std::vector<std::string> warnings) {
  Member made;
  made.result.k_requested = 5;
  made.result.seed = seed;
  made.warnings = std::move(warnings);
  return made;
}

using Texts = std::vector<std::string>;

TEST(GatheredWarnings, OneOfAKindStaysAsItIs) {
  const std::vector<Member> members = {member(7, {"model 7: 2 are empty"}), member(8, {}), member(9, {"dropped"})};
  EXPECT_EQ(gathered_warnings(members), (Texts{"model 7: 2 are empty", "dropped"}));
  EXPECT_EQ(gathered_warnings({}), Texts());
}

TEST(GatheredWarnings, KindsDifferInMoreThanNumbers) {
  std::vector<Member> members;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    members.push_back(member(seed, {"found only " + std::to_string(seed) + " points", "2 of 5 are empty"}));
  }
  EXPECT_EQ(gathered_warnings(members),
            (Texts{"found only 1 points (99 more like this: k = 5, seed 2; k = 5, seed 3; k = 5, seed 4; ...)",
                   "2 of 5 are empty (99 more like this: k = 5, seed 2; k = 5, seed 3; k = 5, seed 4; ...)"}));
}

TEST(GatheredWarnings, AllModelsAreNamedWhereTheyAreFew) {
  const std::vector<Member> members = {member(1, {"a 1"}), member(2, {"a 2"}), member(3, {"a 3", "a 4"})};
  EXPECT_EQ(gathered_warnings(members), (Texts{"a 1 (3 more like this: k = 5, seed 2; k = 5, seed 3)"}));
}

TEST(GatheredWarnings, ListsOfNumbersAreOfOneKind) {
  const std::vector<Member> members = {member(1, {"cluster 1 lacks 0, 1, 22 here", "cluster 2 lacks 3 here"})};
  EXPECT_EQ(gathered_warnings(members), (Texts{"cluster 1 lacks 0, 1, 22 here (1 more like this, of the same model)"}));
}

}  // namespace
}  // namespace manymeans::test
