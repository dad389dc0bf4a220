// hdf5/*.h5 were written by h5py.
#include <manymeans/info.h>

#include "io/files.h"
#include "io/table/reader.h"

#include <cmath>

namespace manymeans::test {
namespace {

bool is_built_in() {
  for (const Choice& choice : reader_choices()) {
    if (choice.name == "hdf5") return choice.available;
  }
  return false;
}

class Hdf5 : public testing::Test {
 protected:
  static std::string path(const std::string& name) { return MANYMEANS_TEST_DATA "/io/hdf5/" + name; }
};

TEST_F(Hdf5, AStandInSaysHowToGetIt) {
  if (is_built_in()) GTEST_SKIP() << "the reader is built in";
  expect_error(ErrorCode::kUnavailable, {"some_datasets.h5:/plain", "install libhdf5-dev", "again"},
               [&] { read_points(path("some_datasets.h5") + ":/plain"); });
  const Folder folder;
  expect_error(ErrorCode::kUnavailable, {"a.h5", "cannot write", "libhdf5-dev"},
               [&] { check_points_path(folder / "a.h5"); });
}

TEST_F(Hdf5, Datasets) {
  if (!is_built_in()) GTEST_SKIP() << "built without HDF5";
  const Values four{1, 2, 3, 4};
  const std::string some = path("some_datasets.h5");
  const Dataset plain = read_points(some + ":/plain");
  EXPECT_EQ(values_of(plain.view), four);
  EXPECT_EQ(plain.view.type, DataType::kFloat32);
  const Dataset packed = read_points(some + ":group/packed");
  EXPECT_EQ(values_of(packed.view), four);
  EXPECT_EQ(packed.view.type, DataType::kFloat64);
  EXPECT_EQ(read_points(some + ":/half").view.type, DataType::kFloat16);
  EXPECT_EQ(values_of(read_points(path("one_dataset.h5")).view), (Values{1, -2, 3, 4}));
}

TEST_F(Hdf5, WhatCannotBeRead) {
  if (!is_built_in()) GTEST_SKIP() << "built without HDF5";
  const std::string some = path("some_datasets.h5");
  const auto bad = [&](const std::string& name, std::initializer_list<std::string> parts) {
    expect_error(ErrorCode::kBadData, parts, [&] { read_points(name); });
  };
  bad(some + ":/cube", {"/cube", "3 dimensions"});
  bad(some + ":/text", {"/text", "no plain numbers"});
  bad(some + ":/promise", {"1099511627776 rows of 2 columns", "more than a file of"});
  expect_error(ErrorCode::kUsage, {"6 datasets in it: ", "/group/packed", "say which"}, [&] { read_points(some); });
  expect_error(ErrorCode::kUsage, {"no dataset '/nothing'"}, [&] { read_points(some + ":/nothing"); });
  const Folder folder;
  bad(folder.file("a.h5", "no such thing"), {"a.h5", "not a HDF5 file"});
  const std::string whole = content_of(path("one_dataset.h5"));
  for (size_t size = 1; size < whole.size(); size += 13) {
    const std::string cut = folder.file("cut.h5", whole.substr(0, size));
    expect_error(ErrorCode::kBadData, {"cut.h5"}, [&] { read_points(cut); });
  }
}

TEST_F(Hdf5, Attributes) {
  if (!is_built_in()) GTEST_SKIP() << "built without HDF5";
  const std::string file = path("attributes.h5");
  const auto gaps = [&](const std::string& name, DataType type) {
    const Dataset found = read_points(file + ":/" + name);
    EXPECT_EQ(found.view.type, type) << name;
    const Values values = values_of(found.view);
    EXPECT_EQ((Values{values[0], values[3]}), (Values{1, 4})) << name;
    EXPECT_TRUE(std::isnan(values[1]) && std::isnan(values[2])) << name;
  };
  gaps("int16", DataType::kFloat32);
  gaps("int64", DataType::kFloat64);
  gaps("float32", DataType::kFloat32);
  gaps("chunks", DataType::kFloat64);
  ReadOptions filled{.rules = {.missing = Missing::kMean}};
  EXPECT_EQ(values_of(read_points(file + ":/int16", filled).view), (Values{1, 4, 1, 4}));
  const Dataset second = read_points(file + ":/int16", {.part = {.index = 1, .count = 2}});
  EXPECT_TRUE(std::isnan(values_of(second.view)[0]));
  EXPECT_EQ(read_points(file + ":/nan").view.type, DataType::kFloat32);
  EXPECT_EQ(values_of(read_points(file + ":/odd").view), (Values{1, 2})) << "texts and flags are no gaps";
  const auto bad = [&](const std::string& name, std::initializer_list<std::string> parts) {
    expect_error(ErrorCode::kBadData, parts, [&] { read_points(file + ":/" + name); });
  };
  bad("scaled", {"/scaled", "scale_factor is 0.1", "packed"});
  bad("moved", {"/moved", "add_offset is 5", "packed"});
  bad("long", {"/long", "beyond 2^53"});
  EXPECT_EQ(values_of(read_points(file + ":/neutral").view), (Values{1, 2}));
  const Dataset matlab = read_points(file + ":/matlab");
  ASSERT_EQ(matlab.warnings.size(), 1U);
  EXPECT_NE(matlab.warnings[0].find("/matlab was written by MATLAB"), std::string::npos) << matlab.warnings[0];
  EXPECT_TRUE(read_points(path("one_dataset.h5")).warnings.empty());
}

}  // namespace
}  // namespace manymeans::test
