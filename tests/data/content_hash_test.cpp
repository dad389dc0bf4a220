#include "data/content_hash.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace manymeans {
namespace {

ContentHash hash_of(const std::vector<float>& x, int64_t d, int threads = 1) {
  ThreadPool pool(threads);
  return content_hash({x.data(), static_cast<int64_t>(x.size()) / d, d}, pool);
}

TEST(ContentHash, TheSameForAnyNumberOfThreads) {
  std::vector<float> x(30'003);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * i % 1013);
  for (const int threads : {2, 3, 8}) EXPECT_TRUE(hash_of(x, 3) == hash_of(x, 3, threads));
}

TEST(ContentHash, EveryValueAndItsPlaceCount) {
  const std::vector<float> x(600, 1.0f);
  std::set<ContentHash> seen = {hash_of(x, 2), hash_of(x, 3)};
  for (size_t i = 0; i < x.size(); ++i) {
    std::vector<float> changed = x;
    changed[i] = 2;
    EXPECT_TRUE(seen.insert(hash_of(changed, 2)).second) << i;
  }
}

TEST(ContentHash, NothingHasNone) {
  EXPECT_TRUE(hash_of({}, 1) == 0);
}

}  // namespace
}  // namespace manymeans
