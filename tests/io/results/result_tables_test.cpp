#include "io/files.h"
#include "io/results/results.h"

namespace manymeans::test {
namespace {

FitResult only(int64_t k) {
  FitResult result = make_result();
  std::erase_if(result.models, [&](const ModelResult& model) { return model.k_requested != k; });
  return result;
}

TEST(ResultTables, LabelsOfOneK) {
  const Folder folder;
  EXPECT_EQ(write_labels(folder / "labels.npy", only(3)), "uint8");
  const Dataset labels = read_points(folder / "labels.npy");
  EXPECT_EQ(labels.view.type, DataType::kUInt8);
  EXPECT_EQ(labels.view.d, 1);
  EXPECT_EQ(values_of(labels.view), (Values{2, 0, 1, 2, 0}));
  EXPECT_EQ(write_labels(folder / "labels.csv", only(3)), "uint8");
  EXPECT_EQ(content_of(folder / "labels.csv"), "label\n2\n0\n1\n2\n0\n");
}

TEST(ResultTables, LabelsOfSeveralK) {
  const Folder folder;
  EXPECT_EQ(write_labels(folder / "labels.NPY", make_result()), "uint16");
  EXPECT_NE(content_of(folder / "labels.NPY").find("'<u2', 'fortran_order': False, 'shape': (5, 2)"),
            std::string::npos);
  const Dataset labels = read_points(folder / "labels.NPY");
  EXPECT_EQ(values_of(labels.view), (Values{2, 299, 0, 0, 1, 1, 2, 2, 0, 3}));
  write_labels(folder / "labels.csv", make_result());
  EXPECT_EQ(content_of(folder / "labels.csv"), "k3,k300\n2,299\n0,0\n1,1\n2,2\n0,3\n");
}

TEST(ResultTables, WideLabelsInBlocks) {
  const Folder folder;
  constexpr int64_t kRows = 700000;
  const ModelResult model = make_model(100000, 0, 1, DataType::kFloat32, kRows);
  EXPECT_EQ(write_labels(folder / "labels.npy", model.labels), "uint32");
  ReadOptions options;
  options.dtype = DataType::kFloat64;
  const Values read = values_of(read_points(folder / "labels.npy", options).view);
  ASSERT_EQ(read.size(), static_cast<size_t>(kRows));
  for (int64_t i = 0; i < kRows; ++i)
    ASSERT_EQ(read[static_cast<size_t>(i)], static_cast<double>((i + 99999) % 100000));
}

TEST(ResultTables, Values) {
  const Folder folder;
  const Values values{0.1, -0.0, 1e300, 1.0 / 3};
  write_values(folder / "d.csv", values, "distance, \"d\"");
  EXPECT_EQ(content_of(folder / "d.csv"), "\"distance, \"\"d\"\"\"\n0.1\n-0\n1e+300\n0.3333333333333333\n");
}

TEST(ResultTables, NothingToWrite) {
  const Folder folder;
  FitResult result = make_result();
  result.models[2].stop_reason = StopReason::kNotBegun;
  expect_error(ErrorCode::kInterrupted, {"k = 300", "begun"}, [&] { write_labels(folder / "labels.npy", result); });
  EXPECT_TRUE(folder.names().empty());
}

TEST(ResultTables, Endings) {
  const Folder folder;
  for (const char* name : {"labels.txt", "labels", "npy"}) {
    expect_error(ErrorCode::kUsage, {name, ".npy, .csv or .parquet"},
                 [&] { write_labels(folder / name, make_result()); });
    expect_error(ErrorCode::kUsage, {name, ".npy, .csv or .parquet"}, [&] { check_table_path(folder / name); });
  }
  expect_error(ErrorCode::kUnavailable, {"no/labels.npy"}, [&] { check_table_path(folder / "no/labels.npy"); });
  check_table_path(folder / "labels.csv");
  check_table_path("/dev/null");
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace manymeans::test
