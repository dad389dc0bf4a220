#include <manymeans/points.h>

#include <gtest/gtest.h>

#include <vector>

namespace manymeans::test {
namespace {

TEST(Labels, UseTheSmallestTypeThatHoldsK) {
  EXPECT_EQ(Labels(3, 1).width(), 1);
  EXPECT_EQ(Labels(3, 256).width(), 1);
  EXPECT_EQ(Labels(3, 257).width(), 2);
  EXPECT_EQ(Labels(3, 65536).width(), 2);
  EXPECT_EQ(Labels(3, 65537).width(), 4);
}

TEST(Labels, KeepEveryValueOfTheirRange) {
  for (const int64_t k : {1, 2, 255, 256, 257, 65535, 65536, 65537, 1000000}) {
    Labels labels(5, k);
    EXPECT_EQ(labels.bytes().size(), 5u * static_cast<size_t>(labels.width()));
    const auto top = static_cast<uint32_t>(k - 1);
    const std::vector<uint32_t> written = {top, 0, top / 2, top, 0};
    labels.write(0, 2, written.data());
    labels.write(2, 3, written.data() + 2);
    std::vector<uint32_t> all(5);
    labels.read(0, 5, all.data());
    EXPECT_EQ(all, written) << k;
    for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(labels[i], written[static_cast<size_t>(i)]) << k;
  }
}

TEST(Labels, AreEmptyByDefault) {
  EXPECT_TRUE(Labels().empty());
  EXPECT_FALSE(Labels(1, 1).empty());
}

}  // namespace
}  // namespace manymeans::test
