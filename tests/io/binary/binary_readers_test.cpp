// .fvecs and its kin, .fbin and its kin, members of .npz, NU-MineBench, standard input.
#include "io/files.h"
#include "io/files/zip_archive.h"
#include "io/numpy/npy_format.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <cstring>

namespace manymeans::test {
namespace {

template <class... T>
std::string packed(T... values) {
  std::string result;
  const auto add = [&](auto value) { result.append(reinterpret_cast<const char*>(&value), sizeof value); };
  (add(values), ...);
  return result;
}

class BinaryReaders : public testing::Test {
 protected:
  Dataset read(const std::string& name, const std::string& content, const ReadOptions& options = {}) {
    return read_points(folder_.file(name, content), options);
  }
  void bad(const std::string& name, const std::string& content, std::initializer_list<std::string> parts) {
    expect_error(ErrorCode::kBadData, parts, [&] { read(name, content); });
    expect_error(ErrorCode::kBadData, {name}, [&] { read(name, content); });
  }
  Folder folder_;
};

const Values kFour{1, 2, 3, 4};
const std::string kFvecs = packed(2, 1.0F, 2.0F) + packed(2, 3.0F, 4.0F);
const std::string kFbin = packed(2, 2, 1.0F, 2.0F, 3.0F, 4.0F);

TEST_F(BinaryReaders, Vecs) {
  const Dataset floats = read("a.fvecs", kFvecs);
  EXPECT_EQ(values_of(floats.view), kFour);
  EXPECT_EQ(floats.view.n, 2);
  EXPECT_EQ(floats.view.type, DataType::kFloat32);
  const auto byte = [](int value) { return static_cast<uint8_t>(value); };
  const Dataset bytes = read("a.BVECS", packed(2, byte(1), byte(255)) + packed(2, byte(3), byte(4)));
  EXPECT_EQ(values_of(bytes.view), (Values{1, 255, 3, 4}));
  EXPECT_EQ(bytes.view.type, DataType::kUInt8);
  EXPECT_EQ(values_of(read("a.ivecs", packed(2, 1, -2) + packed(2, 3, 4)).view), (Values{1, -2, 3, 4}));
  ReadOptions second;
  second.columns = {"2"};
  EXPECT_EQ(values_of(read("a.fvecs", kFvecs, second).view), (Values{2, 4}));
}

TEST_F(BinaryReaders, VecsThatAreNone) {
  bad("a.fvecs", packed(2, 1.0F, 2.0F) + packed(1, 3.0F), {"row 2 (at byte 12)", "1 values", "before have 2"});
  bad("a.fvecs", packed(2, 1.0F, 2.0F, 2, 3.0F), {"cut off in row 2", "12 bytes from byte 12 on", "8 are there"});
  bad("a.fvecs", kFvecs + "x", {"cut off in row 3", "1 are there"});
  bad("a.fvecs", packed(0), {"row 1 says it has 0 values", ".fvecs"});
  bad("a.bvecs", packed(-3, 1), {"row 1 says it has -3 values", ".bvecs"});
  bad("a.fvecs", packed(2147483647, 1), {"cut off in row 1", "8589934592 bytes"});
  bad("a.ivecs", "abc", {"the file has 3 bytes"});
  bad("a.ivecs", "", {"empty"});
}

TEST_F(BinaryReaders, Bin) {
  const Dataset floats = read("a.fbin", kFbin);
  EXPECT_EQ(values_of(floats.view), kFour);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(floats.view.data) % 4096, 8u) << "not a copy: it lies behind the header";
  EXPECT_EQ(values_of(read("points.bin", kFbin).view), kFour);
  const Dataset bytes = read("a.u8bin", packed(2, 1) + "\x01\xff");
  EXPECT_EQ(values_of(bytes.view), (Values{1, 255}));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.view.data) % 4096, 8u);
  EXPECT_EQ(values_of(read("a.i8bin", packed(2, 1) + "\x01\xff").view), (Values{1, -1}));
  const Dataset integers = read("a.ibin", packed(1, 2, 7, (1 << 24) + 1));
  EXPECT_EQ(values_of(integers.view), (Values{7, 1 << 24}));
  ASSERT_EQ(integers.warnings.size(), 1u);
  EXPECT_NE(integers.warnings[0].find("16777217"), std::string::npos);
}

TEST_F(BinaryReaders, BinThatIsNone) {
  bad("a.fbin", kFbin.substr(0, 20), {"promises 2 rows of 2 values of 4 bytes", "16 bytes", "12 were found"});
  bad("a.fbin", kFbin + "x", {"16 bytes", "17 were found"});
  bad("a.fbin", packed(-1, -1, 1.0F), {"4294967295 rows of 4294967295 values", "more than 2^64"});
  bad("a.fbin", packed(2), {"the header is cut off", "4 bytes"});
  bad("a.fbin", packed(0, 2), {"0 rows of 2 columns"});
  bad("a.u8bin", packed(2, 0), {"2 rows of 0 columns"});
  bad("a.ibin", "", {"empty"});
}

std::string npy(const std::string& descr, const std::vector<int64_t>& shape, const std::string& values) {
  return make_npy_header(descr, shape) + values;
}

// An archive with one member, deflated.
std::string deflated_npz(const std::string& name, const std::string& body) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string small(body.size() + 100, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body.data()));
  stream.avail_in = static_cast<uInt>(body.size());
  stream.next_out = reinterpret_cast<Bytef*>(small.data());
  stream.avail_out = static_cast<uInt>(small.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  small.resize(stream.total_out);
  deflateEnd(&stream);
  const auto short_ = [](size_t value) { return static_cast<uint16_t>(value); };
  const auto word = [](size_t value) { return static_cast<uint32_t>(value); };
  const auto crc = word(crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size())));
  const std::string common = packed(short_(20), short_(0), short_(8), short_(0), short_(33), crc, word(small.size()),
                                    word(body.size()), short_(name.size()), short_(0));
  const std::string local = "PK\x03\x04" + common + name + small;
  const std::string entry =
      "PK\x01\x02" + packed(short_(20)) + common + packed(short_(0), short_(0), short_(0), word(0), word(0)) + name;
  return local + entry + "PK\x05\x06" +
         packed(short_(0), short_(0), short_(1), short_(1), word(entry.size()), word(local.size()), short_(0));
}

TEST_F(BinaryReaders, NpzMembers) {
  const std::string x = npy("<f4", {2, 2}, packed(1.0F, 2.0F, 3.0F, 4.0F));
  const std::string y = npy("<f8", {2}, packed(0.5, 0.25));
  {
    OutputFile file(folder_ / "two.npz");
    ZipWriter zip(file);
    zip.add("x.npy", x, {});
    zip.add("y.npy", y, {});
    zip.finish();
    file.commit();
  }
  const std::string path = folder_ / "two.npz";
  EXPECT_EQ(values_of(read_points(path + ":x").view), kFour);
  EXPECT_EQ(values_of(read_points(path + ":y").view), (Values{0.5, 0.25}));
  EXPECT_EQ(values_of(read_points(path + ":y.npy").view), (Values{0.5, 0.25}));
  expect_error(ErrorCode::kUsage, {"two.npz", "2 arrays in it: x, y", "two.npz:x"}, [&] { read_points(path); });
  expect_error(ErrorCode::kUsage, {"no array 'z'", "x, y"}, [&] { read_points(path + ":z"); });
  EXPECT_EQ(points_file(path + ":z"), path);
  EXPECT_EQ(points_file(folder_ / "a:b.csv"), folder_ / "a:b.csv");
  const std::string other = folder_.file("two.zip", content_of(path));
  ReadOptions as_npz;
  as_npz.format = "npz";
  EXPECT_EQ(values_of(read_points(other + ":x", as_npz).view), kFour);
  EXPECT_EQ(points_file(other + ":x"), other) << "an ending is not all that says so";
  EXPECT_TRUE(is_points_path(path + ":z"));
  EXPECT_FALSE(is_points_path(folder_ / "no.npz:z"));

  EXPECT_EQ(values_of(read("packed.npz", deflated_npz("x.npy", x)).view), kFour);
  ReadOptions weighted;
  weighted.weights = path + ":y";
  EXPECT_EQ(read_points(path + ":x", weighted).weights, (Values{0.5, 0.25}));
  bad("cut.npz", content_of(path).substr(0, 300), {"directory is missing"});
  bad("short.npz", deflated_npz("x.npy", x.substr(0, x.size() - 4)), {"x", "promises shape (2, 2)"});
  std::string damaged = content_of(path);
  damaged[damaged.find("NUMPY") + 130] ^= 1;
  folder_.file("damaged.npz", damaged);
  expect_error(ErrorCode::kBadData, {"checksum"}, [&] { read_points(folder_ / "damaged.npz:x"); });
}

TEST_F(BinaryReaders, AnAlignedNpzMemberIsUsedInPlace) {
  OutputFile file(folder_ / "a.npz");
  ZipWriter zip(file);
  zip.add("points.npy", npy("<f8", {2}, packed(0.5, 0.25)), {});
  zip.finish();
  file.commit();
  const Dataset data = read_points(folder_ / "a.npz");
  EXPECT_EQ(values_of(data.view), (Values{0.5, 0.25}));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(data.view.data) % 4096, 30u + 10u + 128u);
}

TEST_F(BinaryReaders, MineBenchText) {
  ReadOptions options;
  options.format = "minebench-text";
  EXPECT_EQ(values_of(read("color.txt", "1 0.5 2\n2 0.25 4\n3 1 1\n", options).view), (Values{0.5, 2, 0.25, 4, 1, 1}));
  options.columns = {"3"};
  EXPECT_EQ(values_of(read("color.txt", "1 0.5 2\n2 0.25 4\n3 1 1\n", options).view), (Values{2, 4, 1}));
  options.columns = {};
  expect_error(ErrorCode::kUsage, {"column"}, [&] { read("ids.txt", "1\n2\n", options); });
}

// Makes a file standard input for a while.
class Redirected {
 public:
  explicit Redirected(int file) : saved_(::dup(STDIN_FILENO)) { ::dup2(file, STDIN_FILENO); }
  ~Redirected() {
    ::dup2(saved_, STDIN_FILENO);
    ::close(saved_);
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

 private:
  int saved_;
};

TEST_F(BinaryReaders, StandardInput) {
  ReadOptions options;
  options.format = "fbin";
  const int file = ::open(folder_.file("in", kFbin).c_str(), O_RDONLY);
  {
    const Redirected input(file);
    EXPECT_EQ(values_of(read_points("-", options).view), kFour);
    ::lseek(STDIN_FILENO, 8, SEEK_SET);  // somebody has read the beginning
    expect_error(ErrorCode::kBadData, {"[standard input] the header promises"}, [&] { read_points("-", options); });
  }
  ::close(file);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "1,2\n3,4\n", 8), 8);
  ::close(ends[1]);
  {
    const Redirected input(ends[0]);
    EXPECT_EQ(values_of(read_points("-").view), kFour);
    expect_error(ErrorCode::kBadData, {"[standard input]", "empty"}, [&] { read_points("-"); });
  }
  ::close(ends[0]);
}

}  // namespace
}  // namespace manymeans::test
