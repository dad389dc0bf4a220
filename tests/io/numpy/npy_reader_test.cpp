#include "io/files.h"
#include "io/numpy/npy_format.h"

#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstring>

namespace manymeans::test {
namespace {

template <class T>
std::string npy(const std::string& descr, const std::vector<int64_t>& shape, const std::vector<T>& values,
                bool swap = false) {
  std::string result = make_npy_header(descr, shape);
  for (const T value : values) {
    std::string bytes(sizeof(T), '\0');
    std::memcpy(bytes.data(), &value, sizeof(T));
    if (swap) std::reverse(bytes.begin(), bytes.end());
    result += bytes;
  }
  return result;
}

// Replaces text in the header, keeping its length.
std::string changed(std::string file, const std::string& from, const std::string& to) {
  const size_t at = file.find(from);
  EXPECT_NE(at, std::string::npos);
  const size_t end = file.find('\n');
  file.replace(at, from.size(), to);
  const size_t new_end = file.find('\n');
  if (new_end > end) file.erase(new_end - (new_end - end), new_end - end);
  if (new_end < end) file.insert(new_end, end - new_end, ' ');
  return file;
}

class NpyReader : public testing::Test {
 protected:
  Dataset read(const std::string& content, const ReadOptions& options = {}) {
    return read_points(folder_.file("data.npy", content), options);
  }
  void bad(const std::string& content, std::initializer_list<std::string> parts, const ReadOptions& options = {}) {
    expect_error(ErrorCode::kBadData, parts, [&] { read(content, options); });
    expect_error(ErrorCode::kBadData, {"data.npy"}, [&] { read(content, options); });
  }
  Folder folder_;
};

ReadOptions with_type(DataType type) {
  ReadOptions options;
  options.dtype = type;
  return options;
}

const Values kSix{1, 2, 3, 4, 5, 6};

template <class T>
std::vector<T> six() {
  return {1, 2, 3, 4, 5, 6};
}

TEST_F(NpyReader, InPlace) {
  const Dataset data = read(npy("<f4", {2, 3}, six<float>()));
  EXPECT_EQ(values_of(data.view), kSix);
  EXPECT_EQ(data.view.type, DataType::kFloat32);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(data.view.data) % 4096, 128u) << "not a copy: it lies behind the header";
  EXPECT_EQ(read(npy("<f8", {2, 3}, six<double>())).view.type, DataType::kFloat64);
  EXPECT_EQ(read(npy("|u1", {2, 3}, six<uint8_t>())).view.type, DataType::kUInt8);
  EXPECT_EQ(read(npy("|i1", {2, 3}, six<int8_t>())).view.type, DataType::kInt8);
  EXPECT_EQ(read(npy("<f2", {2, 3}, six<uint16_t>())).view.type, DataType::kFloat16);
  const Dataset vector = read(npy("<f4", {6}, six<float>()));
  EXPECT_EQ(vector.view.n, 6);
  EXPECT_EQ(vector.view.d, 1);
}

TEST_F(NpyReader, Converted) {
  EXPECT_EQ(values_of(read(npy(">f4", {2, 3}, six<float>(), true)).view), kSix);
  EXPECT_EQ(values_of(read(npy(">f8", {2, 3}, six<double>(), true)).view), kSix);
  EXPECT_EQ(values_of(read(npy(">i8", {2, 3}, six<int64_t>(), true)).view), kSix);
  EXPECT_EQ(values_of(read(npy("<i2", {2, 3}, six<int16_t>())).view), kSix);
  EXPECT_EQ(values_of(read(npy("<u4", {2, 3}, six<uint32_t>())).view), kSix);
  EXPECT_EQ(read(npy("<u4", {2, 3}, six<uint32_t>())).view.type, DataType::kFloat32);
  EXPECT_EQ(values_of(read(npy<uint8_t>("|b1", {2, 1}, {0, 1})).view), (Values{0, 1}));
  const std::string fortran = changed(npy("<f4", {2, 3}, six<float>()), "False", "True");
  EXPECT_EQ(values_of(read(fortran).view), (Values{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(values_of(read(fortran, with_type(DataType::kFloat64)).view), (Values{1, 3, 5, 2, 4, 6}));
}

TEST_F(NpyReader, UnalignedValuesAreCopied) {
  std::string file = npy("<f4", {2, 3}, six<float>());
  file.insert(file.find('\n'), 1, ' ');
  file[8] = static_cast<char>(file[8] + 1);
  EXPECT_EQ(values_of(read(file).view), kSix);
}

TEST_F(NpyReader, BFloat16) {
  const std::string file = npy<uint16_t>("<V2", {2, 1}, {0x3fc0, 0xc000});
  bad(file, {"<V2", "bfloat16"});
  EXPECT_EQ(values_of(read(file, with_type(DataType::kBFloat16)).view), (Values{0x3fc0, 0xc000}));
}

TEST_F(NpyReader, Types) {
  EXPECT_EQ(values_of(read(npy<double>("<f8", {2}, {0.1, 2}), with_type(DataType::kFloat32)).view), (Values{0.1f, 2}));
  bad(npy<double>("<f8", {1, 2}, {0.1, 1e39}), {"row 1", "column 2", "1e+39", "float64"},
      with_type(DataType::kFloat32));
  EXPECT_EQ(values_of(read(npy<double>("<f8", {2}, {0, 255}), with_type(DataType::kUInt8)).view), (Values{0, 255}));
  bad(npy<double>("<f8", {2}, {0, 0.5}), {"row 2", "column 1", "0.5", "uint8"}, with_type(DataType::kUInt8));
  bad(npy<float>("<c8", {1}, {1, 1}), {"<c8"});
  bad(npy<uint64_t>("|S8", {1}, {1}), {"|S8"});
  const Dataset lost = read(npy<int64_t>("<i8", {2, 2}, {1, 2, 16777217, 9007199254740993}));
  ASSERT_EQ(lost.warnings.size(), 1u);
  EXPECT_NE(lost.warnings[0].find("column 1 (first: 16777217 in row 2)"), std::string::npos) << lost.warnings[0];
  EXPECT_EQ(read(npy<int64_t>("<i8", {1}, {16777217}), with_type(DataType::kFloat64)).warnings.size(), 0u);
  EXPECT_EQ(read(npy<uint64_t>("<u8", {1}, {~uint64_t{0}}), with_type(DataType::kFloat64)).warnings.size(), 1u);
}

TEST_F(NpyReader, IntegersThatFloat32WouldMerge) {
  const Dataset close = read(npy<int64_t>("<i8", {3, 2}, {1, 16777216, 2, 16777217, 3, 5}));
  EXPECT_EQ(close.view.type, DataType::kFloat64);
  EXPECT_EQ(values_of(close.view)[3], 16777217);
  EXPECT_TRUE(close.warnings.empty());
  EXPECT_EQ(read(npy<uint32_t>(">u4", {2, 1}, {0x01000001, 0x01000000}, true)).view.type, DataType::kFloat64);
  const std::string minutes = npy<int32_t>("<i4", {3, 1}, {1700000000, 1700000060, 1700000120});
  EXPECT_EQ(read(minutes).view.type, DataType::kFloat64);
  EXPECT_EQ(read(minutes, with_type(DataType::kFloat32)).view.type, DataType::kFloat32);
}

TEST_F(NpyReader, LikeTheFit) {
  ReadOptions options;
  options.like = PointsOfFit{{3, {3, 1}, {}}, {}, 2, DataType::kFloat32};
  const std::string doubles = npy("<f8", {2, 3}, six<double>());
  EXPECT_EQ(values_of(read(doubles, options).view), (Values{3, 1, 6, 4}));
  EXPECT_EQ(read(doubles, options).view.type, DataType::kFloat32);
  EXPECT_EQ(read(npy("|u1", {2, 3}, six<uint8_t>()), options).view.type, DataType::kUInt8) << "widens when it is used";
  options.like->type = DataType::kFloat64;
  EXPECT_EQ(read(npy("|u1", {2, 3}, six<uint8_t>()), options).view.type, DataType::kFloat64);
}

TEST_F(NpyReader, ColumnsAndWeights) {
  ReadOptions options;
  options.columns = {"3,1"};
  EXPECT_EQ(values_of(read(npy("<f4", {2, 3}, six<float>()), options).view), (Values{3, 1, 6, 4}));
  options.weights = "2";
  EXPECT_EQ(read(npy("<f4", {2, 3}, six<float>()), options).weights, (Values{2, 5}));
  options = {};
  options.weights = folder_.file("w.npy", npy<float>("<f4", {2}, {0.5, 1}));
  EXPECT_EQ(read(npy("<f4", {2, 3}, six<float>()), options).weights, (Values{0.5, 1}));
}

TEST_F(NpyReader, HeadersThatLie) {
  const std::string good = npy("<f4", {2, 3}, six<float>());
  bad(changed(good, "(2, 3)", "(3, 3)"), {"(3, 3)", "36 bytes", "24 were found"});
  bad(changed(good, "(2, 3)", "(1, 3)"), {"12 bytes", "24 were found"});
  bad(changed(good, "(2, 3)", "(-2, 3)"), {"negative"});
  bad(changed(good, "(2, 3)", "(9223372036854775807, 9223372036854775807)"), {"more than 2^64"});
  bad(changed(good, "(2, 3)", "(4611686018427387904, 4)"), {"more than 2^64"});
  bad(changed(good, "(2, 3)", "(99999999999999999999, 1)"), {"64-bit"});
  bad(changed(good, "(2, 3)", "(0, 3)"), {"0 bytes", "24 were found"});
  bad(changed(good, "(2, 3)", "()"), {"4 bytes"});
  bad(good.substr(0, good.size() - 1), {"24 bytes", "23 were found"});
  bad(good + "x", {"24 bytes", "25 were found"});
  bad(good.substr(0, 60), {"cut off"});
  bad(good.substr(0, 9), {"cut off"});
  bad(changed(good, "descr", "describe"), {"unknown key"});
  bad(changed(good, "'descr': '<f4', ", ""), {"lacks"});
  bad(changed(good, "'<f4'", "[('a', '<f4')]"), {"named fields"});
  bad(changed(good, "<f4", "<fx"), {"<fx"});
  bad(changed(good, "False", "Maybe"), {"fortran_order"});
  bad(changed(good, "{", "("), {"expected"});
  bad(npy("<f4", {1, 2, 3}, six<float>()), {"3 dimensions"});
  bad(npy<float>("<f4", {}, {1}), {"0 dimensions"});
  bad(npy<float>("<f4", {0, 3}, {}), {"0 rows of 3 columns"});
  bad(npy<float>("<f4", {3, 0}, {}), {"3 rows of 0 columns"});
  bad("not numpy at all", {"not a .npy file"});
  std::string version = good;
  version[6] = 9;
  bad(version, {"version 9"});
}

// Any byte of the header changed: an error or points, never a crash.
TEST_F(NpyReader, DamagedHeadersAreNoCrash) {
  const std::string good = npy("<f4", {2, 3}, six<float>());
  for (size_t at = 0; at < 128; ++at) {
    for (const char c : {'\0', '9', '(', '\'', '\xff'}) {
      std::string file = good;
      file[at] = c;
      try {
        const Dataset data = read(file);
        EXPECT_EQ(data.view.n * data.view.d * static_cast<int64_t>(size_of(data.view.type)), 24);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kBadData);
      }
    }
  }
}

TEST_F(NpyReader, RoundTrip) {
  const bool ok = rc::check("what is written as .npy is read as the same bits", [&] {
    const auto numbers = *rc::gen::nonEmpty(rc::gen::container<std::vector<double>>(rc::gen::arbitrary<double>()));
    write_values(folder_ / "values.npy", numbers, "value");
    const Dataset data = read_points(folder_ / "values.npy");
    RC_ASSERT(data.view.bytes() == numbers.size() * sizeof(double));
    RC_ASSERT(std::memcmp(data.view.data, numbers.data(), data.view.bytes()) == 0);
    write_values(folder_ / "values.csv", numbers, "value");
    ReadOptions options = with_type(DataType::kFloat64);
    const Dataset text = read_points(folder_ / "values.csv", options);
    RC_ASSERT(std::memcmp(text.view.data, numbers.data(), data.view.bytes()) == 0);
  });
  EXPECT_TRUE(ok);
}

}  // namespace
}  // namespace manymeans::test
