// Points through every pair of formats: the same bits come back, or an error says which value cannot be held.
#include <manymeans/info.h>

#include "io/files.h"
#include "io/table/reader.h"
#include "io/table/writer.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <csignal>
#include <cstring>
#include <limits>
#include <random>

namespace manymeans::test {
namespace {

// The reader of what a writer writes.
std::string reader_of(const std::string& writer) {
  return writer == "csv" ? "text" : writer;
}

template <class T>
Dataset make_points(const std::vector<T>& values, int64_t d, DataType type) {
  const auto owned = std::make_shared<std::vector<T>>(values);
  Dataset result;
  result.view = {owned->data(), static_cast<int64_t>(values.size()) / d, d, type};
  result.owner = owned;
  return result;
}

Dataset through(const Folder& folder, const Dataset& points, const std::string& writer, DataType type) {
  const std::string path = folder / ("points-" + writer);
  write_points(path, points, writer);
  ReadOptions options;
  options.format = reader_of(writer);
  options.dtype = type;
  Dataset result = read_points(path, options);
  const Dataset kept = result;  // a mapping lives on when its file is replaced
  EXPECT_EQ(result.view.n, points.view.n) << writer;
  EXPECT_EQ(result.view.d, points.view.d) << writer;
  return kept;
}

// Equal bits; all NaN count as one.
template <class T>
void expect_same(const PointsView& a, const PointsView& b, const std::string& what) {
  ASSERT_EQ(a.bytes(), b.bytes()) << what;
  const T* x = static_cast<const T*>(a.data);
  const T* y = static_cast<const T*>(b.data);
  for (int64_t i = 0; i < a.n * a.d; ++i) {
    if (std::isnan(x[i]) && std::isnan(y[i])) continue;
    ASSERT_EQ(std::memcmp(x + i, y + i, sizeof(T)), 0) << what << ", value " << i << ": " << x[i] << ", " << y[i];
  }
}

template <class T>
void expect_round_trips(const std::vector<std::string>& writers, const Dataset& points) {
  const Folder folder;
  for (const std::string& first : writers) {
    const Dataset once = through(folder, points, first, points.view.type);
    expect_same<T>(points.view, once.view, first);
    for (const std::string& second : writers) {
      const Dataset twice = through(folder, once, second, points.view.type);
      expect_same<T>(points.view, twice.view, fmt::format("{} -> {}", first, second));
    }
  }
}

std::vector<std::string> all_writers() {
  std::vector<std::string> names;
  for (const Choice& choice : writer_choices()) {
    if (choice.available) names.push_back(choice.name);
  }
  return names;
}

// These, and those of libraries that are built in, which hold all types of points.
std::vector<std::string> with_libraries(std::vector<std::string> names) {
  for (const std::string name : {"parquet", "arrow", "hdf5"}) {
    const std::vector<std::string> all = all_writers();
    if (std::find(all.begin(), all.end(), name) != all.end()) names.push_back(name);
  }
  return names;
}

std::vector<std::string> float32_writers() {
  return with_libraries({"npy", "csv", "npz", "fvecs", "fbin", "minebench", "minebench-text"});
}

TEST(RoundTrip, SmallIntegersThroughAllPairs) {
  const std::vector<std::string> writers = all_writers();
  ASSERT_GE(writers.size(), 12u);
  std::vector<float> values;
  std::mt19937 random(1);
  for (int i = 0; i < 210; ++i) values.push_back(static_cast<float>(random() % 128));
  for (const int64_t d : {1, 3, 210}) expect_round_trips<float>(writers, make_points(values, d, DataType::kFloat32));
}

TEST(RoundTrip, AnyFloat32) {
  std::vector<float> values = {7.038531e-26F, -0.0F,         0.0F,        0.1F,
                               1e-45F,        3.4028235e38F, 16777216.0F, std::numeric_limits<float>::infinity()};
  std::mt19937 random(2);
  while (values.size() < 30000) values.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  expect_round_trips<float>(float32_writers(), make_points(values, 3, DataType::kFloat32));
}

TEST(RoundTrip, AnyFloat64) {
  std::vector<double> values = {0.1, -0.0, 5e-324, 1.7976931348623157e308, std::numeric_limits<double>::quiet_NaN()};
  std::mt19937_64 random(3);
  while (values.size() < 3000) values.push_back(std::bit_cast<double>(random()));
  expect_round_trips<double>(with_libraries({"npy", "csv", "npz", "minebench-text"}),
                             make_points(values, 5, DataType::kFloat64));
}

TEST(RoundTrip, NarrowTypes) {
  const Folder folder;
  std::vector<uint16_t> bits;
  for (uint32_t i = 0; i < 65536; ++i) {
    if ((i & 0x7c00) != 0x7c00) bits.push_back(static_cast<uint16_t>(i));
  }
  bits.resize(bits.size() / 4 * 4);
  for (const std::string& writer : float32_writers()) {
    const Dataset halves = through(folder, make_points(bits, 4, DataType::kFloat16), writer, DataType::kFloat16);
    EXPECT_EQ(std::memcmp(halves.view.data, bits.data(), halves.view.bytes()), 0) << writer;
  }
  std::vector<uint16_t> brain;
  for (uint32_t i = 0; i < 65536; i += 7) {
    if ((i & 0x7f80) != 0x7f80) brain.push_back(static_cast<uint16_t>(i));
  }
  for (const std::string& writer : float32_writers()) {
    const Dataset back = through(folder, make_points(brain, 1, DataType::kBFloat16), writer, DataType::kBFloat16);
    EXPECT_EQ(std::memcmp(back.view.data, brain.data(), back.view.bytes()), 0) << writer;
  }
  const std::vector<int8_t> signs = {-128, -1, 0, 127};
  for (const std::string& writer : all_writers()) {
    if (writer == "bvecs" || writer == "u8bin") continue;  // no negative numbers
    EXPECT_EQ(values_of(through(folder, make_points(signs, 2, DataType::kInt8), writer, DataType::kInt8).view),
              (Values{-128, -1, 0, 127}))
        << writer;
  }
}

TEST(RoundTrip, NamesSurviveText) {
  const Folder folder;
  Dataset points = make_points<float>({1, 2, 3, 4}, 2, DataType::kFloat32);
  points.column_names = {"first, \"x\"", "second"};
  write_points(folder / "a.csv", points);
  EXPECT_EQ(read_points(folder / "a.csv").column_names, points.column_names);
}

TEST(RoundTrip, NamesSurviveParquetAndArrow) {
  const Folder folder;
  Dataset points = make_points<float>({1, 2, 3, 4}, 2, DataType::kFloat32);
  const std::vector<std::string> writers = with_libraries({});
  for (const std::string name : {"parquet", "arrow"}) {
    if (std::find(writers.begin(), writers.end(), name) == writers.end()) GTEST_SKIP() << "built without Arrow C++";
    points.column_names = {"first, \"x\"", "second"};
    write_points(folder / ("a." + name), points);
    EXPECT_EQ(read_points(folder / ("a." + name)).column_names, points.column_names);
    points.column_names = {};
    write_points(folder / ("a." + name), points);
    EXPECT_EQ(read_points(folder / ("a." + name)).column_names, (std::vector<std::string>{"c1", "c2"}));
  }
}

// More than a block or a batch of a writer.
TEST(RoundTrip, ManyRows) {
  std::vector<float> values(11000003);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 251) / 4;
  expect_round_trips<float>(with_libraries({"npy"}), make_points(values, 1, DataType::kFloat32));
}

// A limit on the size of files stands for a full disk.
TEST(RoundTrip, AFileThatCannotBeWrittenWhole) {
  const Folder folder;
  std::vector<float> values(1 << 20, 0.5F);
  const Dataset points = make_points(values, 2, DataType::kFloat32);
  const std::string old = content_of(folder.file("a.old", "what was there"));
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{65536, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  for (const std::string& writer : float32_writers()) {
    expect_error(ErrorCode::kUnavailable, {"a.old", "cannot be written", "File too large"},
                 [&] { write_points(folder / "a.old", points, writer); });
    EXPECT_EQ(content_of(folder / "a.old"), old) << writer;
    EXPECT_EQ(folder.names().size(), 1u) << writer;
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  const std::vector<std::string> libraries = with_libraries({});
  if (std::find(libraries.begin(), libraries.end(), "hdf5") == libraries.end()) return;
  expect_error(ErrorCode::kUsage, {"/dev/null", "give the name of a file"},
               [&] { check_points_path("/dev/null", "hdf5"); });
}

TEST(RoundTrip, ValuesThatAFormatCannotHold) {
  const Folder folder;
  const auto refused = [&](double value, const std::string& name, const std::string& shown) {
    const Dataset points = make_points<double>({1, 2, 3, value}, 2, DataType::kFloat64);
    expect_error(ErrorCode::kBadData, {name, "row 2, column 2: " + shown + " is not exact"},
                 [&] { write_points(folder / name, points); });
  };
  refused(0.1, "a.fvecs", "0.1");
  refused(1e300, "a.fbin", "1e+300");
  refused(0.5, "a.u8bin", "0.5");
  refused(256, "a.bvecs", "256");
  refused(-129, "a.i8bin", "-129");
  refused(2147483648.0, "a.ivecs", "2147483648");
  refused(-0.0, "a.ibin", "-0");
  refused(std::numeric_limits<double>::quiet_NaN(), "a.ibin", "nan");
  EXPECT_TRUE(folder.names().empty()) << "whole or not at all";
  const Dataset points = make_points<float>({1}, 1, DataType::kFloat32);
  expect_error(ErrorCode::kUsage, {"a.xyz", ".npy, .csv, .npz"}, [&] { write_points(folder / "a.xyz", points); });
  expect_error(ErrorCode::kUsage, {"no writer 'x'", "auto, npy"}, [&] { write_points(folder / "a.npy", points, "x"); });
}

}  // namespace
}  // namespace manymeans::test
