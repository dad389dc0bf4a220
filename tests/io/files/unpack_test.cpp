#include "io/files/unpack.h"

#include "io/files.h"
#include "io/packed_texts.h"

namespace manymeans::test {
namespace {

class Unpack : public testing::Test {
 protected:
  void broken(const PackedTexts& packed, const std::string& content, const std::string& part) {
    const std::string path = folder_.file(std::string("broken.csv") + packed.ending, content);
    expect_error(ErrorCode::kBadData, {path, part}, [&] { read_points(path); });
  }
  std::vector<float> values(const std::string& path, int64_t memory = 0) {
    const Dataset points = read_points(path, {.dtype = DataType::kFloat32, .memory = memory});
    const auto* data = static_cast<const float*>(points.view.data);
    return {data, data + points.view.n * points.view.d};
  }
  // Those whose libraries this build and this computer have.
  static std::vector<PackedTexts> those_here() {
    std::vector<PackedTexts> here;
    for (const PackedTexts& packed : kPackedTexts) {
      try {
        unpack(packed.first, "x");
        here.push_back(packed);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kUnavailable) << error.what();
      }
    }
    return here;
  }
  Folder folder_;
};

TEST_F(Unpack, MembersOneAfterTheOther) {
  for (const PackedTexts& packed : those_here()) {
    const std::string all = std::string(packed.first) + std::string(packed.nothing) + std::string(packed.second);
    EXPECT_TRUE(is_packed(all)) << packed.name;
    EXPECT_EQ(unpack(all, "x").text(), "a,b\n1,2\n3,4\n") << packed.name;
    EXPECT_EQ(values(folder_.file(std::string("x.csv") + packed.ending, all + std::string(8, '\0'))),
              (std::vector<float>{1, 2, 3, 4}));
    EXPECT_EQ(values(folder_.file("misnamed.txt", packed.first)), (std::vector<float>{1, 2}));
  }
}

TEST_F(Unpack, CutAndDamaged) {
  for (const PackedTexts& packed : those_here()) {
    const std::string first(packed.first);
    for (size_t size = 6; size < first.size(); ++size) {
      broken(packed, first.substr(0, size), std::string(packed.name) + " data ends in the middle");
    }
    broken(packed, first + first.substr(0, first.size() - 1), "ends in the middle");
    broken(packed, first + "trailing text", std::string("a whole ") + packed.ending + " file is needed");
    broken(packed, std::string(packed.nothing), "empty (0 bytes unpacked)");
    for (size_t at = 6; at < first.size(); ++at) {  // nothing is read of any of them, or what was packed
      std::string flipped = first;
      flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
      const std::string path = folder_.file("flipped", flipped);
      try {
        EXPECT_EQ(values(path), (std::vector<float>{1, 2})) << packed.name << " " << at;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kBadData);
        EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
      }
    }
  }
}

// A few hundred bytes that become six million, in memory and in a side file.
TEST_F(Unpack, SmallFilesThatGrow) {
  for (const PackedTexts& packed : those_here()) {
    const std::string path = folder_.file("many", packed.many);
    for (const int64_t memory : {int64_t{0}, int64_t{1} << 20}) {
      EXPECT_EQ(values(path, memory), std::vector<float>(3000000, 7)) << packed.name;
    }
  }
}

TEST_F(Unpack, ClaimsOfMuchMemory) {
  using namespace std::string_literals;
  if (those_here().empty() || those_here()[0].name != kPackedTexts[0].name) GTEST_SKIP() << "no libzstd";
  // A frame with a window of 2 GiB.
  broken(kPackedTexts[0], "\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00"s, "its window is larger than 128 MiB");
}

TEST_F(Unpack, TextThatLooksLikeIt) {
  EXPECT_FALSE(is_packed("BZh9,x\n1,2\n"));
  EXPECT_FALSE(is_packed("(,x\n"));
  EXPECT_FALSE(is_packed(""));
  EXPECT_EQ(without_packed_ending("a.tsv.zst"), "a.tsv");
  EXPECT_EQ(without_packed_ending("a.tsv"), "a.tsv");
}

}  // namespace
}  // namespace manymeans::test
