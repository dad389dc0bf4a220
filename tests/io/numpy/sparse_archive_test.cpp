// Files of scipy.sparse.save_npz: what is read, and what is refused by name.
#include <manymeans/fit.h>
#include <manymeans/sparse.h>
#include <manymeans/sparse_file.h>

#include "io/files.h"
#include "io/files/output_file.h"
#include "io/numpy/npz.h"

#include <limits>
#include <map>
#include <span>

namespace manymeans::test {
namespace {

// A member of an archive, as NumPy has it.
struct Member {
  std::string descr;
  std::vector<int64_t> shape;
  std::string bytes;
};

template <class T>
Member vector_of(const std::string& descr, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {descr, {std::ssize(values)}, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}};
}

using Archive = std::map<std::string, Member>;

// Of three rows of four columns: (0, 5, 0, 7), zeros, (1, 0, 0, 2).
Archive small() {
  return {{"format", {"|S3", {}, "csr"}},
          {"shape", vector_of<int64_t>("<i8", {3, 4})},
          {"data", vector_of<float>("<f4", {5, 7, 1, 2})},
          {"indices", vector_of<int32_t>("<i4", {1, 3, 0, 3})},
          {"indptr", vector_of<int32_t>("<i4", {0, 2, 2, 4})}};
}

class SparseArchive : public testing::Test {
 protected:
  std::string write(const Archive& archive, const std::string& name = "counts.npz") const {
    const std::string path = folder_ / name;
    OutputFile file(path);
    NpzWriter npz(file);
    for (const auto& [key, member] : archive) {
      npz.add(key, member.descr, member.shape, std::as_bytes(std::span(member.bytes)));
    }
    npz.finish();
    file.commit();
    return path;
  }
  Dataset read(const Archive& archive, const ReadOptions& options = {}) const {
    const std::string path = write(archive);
    EXPECT_TRUE(is_sparse_file(path));
    return read_sparse_points(path, options);
  }
  void refuses(const std::string& key, const Member& member, std::initializer_list<std::string> parts,
               ErrorCode code = ErrorCode::kBadData) const {
    Archive archive = small();
    archive[key] = member;
    expect_error(code, parts, [&] { read(archive); });
    expect_error(code, {"counts.npz"}, [&] { read(archive); });
  }
  Folder folder_;
};

const SparseView& view_of(const Dataset& points) {
  return *static_cast<const SparseView*>(points.view.data);
}

TEST_F(SparseArchive, IsReadAsItIs) {
  const Dataset points = read(small());
  EXPECT_EQ(points.view.n, 3);
  EXPECT_EQ(points.view.d, 4);
  EXPECT_EQ(points.file_rows, 3);
  EXPECT_EQ(points.view.type, DataType::kFloat32);
  const std::vector<float> dense = {0, 5, 0, 7, 0, 0, 0, 0, 1, 0, 0, 2};
  EXPECT_EQ(fit(points.view, {}, {.k = {2}}).digest(), fit({dense.data(), 3, 4}, {}, {.k = {2}}).digest());
}

TEST_F(SparseArchive, TypesOfValuesAndIndices) {
  Archive archive = small();
  archive["indices"] = vector_of<int64_t>("<i8", {1, 3, 0, 3});
  archive["indptr"] = vector_of<int64_t>("<i8", {0, 2, 2, 4});
  archive["format"] = {"<U3", {}, std::string("c\0\0\0s\0\0\0r\0\0\0", 12)};
  archive["data"] = vector_of<int64_t>("<i8", {5, 7, 1, 2});
  EXPECT_EQ(read(archive).view.type, DataType::kFloat32);
  EXPECT_TRUE(view_of(read(archive)).wide_indices);
  archive["data"] = vector_of<int64_t>("<i8", {5, (1 << 24) + 1, 1, 2});
  EXPECT_EQ(read(archive).view.type, DataType::kFloat64);
  archive["data"] = vector_of<uint8_t>("|u1", {5, 7, 1, 255});
  EXPECT_EQ(static_cast<const float*>(view_of(read(archive)).values)[3], 255);
  archive["data"] = vector_of<double>("<f8", {5, 7, 1, 2});
  EXPECT_EQ(read(archive).view.type, DataType::kFloat64);
  ReadOptions narrow;
  narrow.dtype = DataType::kFloat32;
  EXPECT_EQ(static_cast<const float*>(view_of(read(archive, narrow)).values)[1], 7);
}

TEST_F(SparseArchive, PartsAreRows) {
  ReadOptions options;
  options.part = {.index = 1, .count = 2};
  const Dataset part = read(small(), options);
  EXPECT_EQ(part.view.n, 1);
  EXPECT_EQ(part.file_rows, 3);
  EXPECT_EQ(view_of(part).starts[0], 2);
}

TEST_F(SparseArchive, WhatIsDamagedIsNamed) {
  refuses("indptr", vector_of<int32_t>("<i4", {0, 2, 4}), {"indptr", "3 numbers for 3 rows"});
  refuses("indptr", vector_of<int32_t>("<i4", {0, 3, 2, 4}), {"row 2", "indptr"});
  refuses("indptr", vector_of<int32_t>("<i4", {0, 2, 2, 9}), {"row 3", "from 2 to before 9 of 4"});
  refuses("indptr", vector_of<int32_t>("<i4", {-1, 2, 2, 4}), {"row 1"});
  refuses("indices", vector_of<int32_t>("<i4", {1, 4, 0, 3}), {"row 1 has a value in column 4", "there are 4"});
  refuses("indices", vector_of<int32_t>("<i4", {1, -3, 0, 3}), {"row 1 has a value in column -3"});
  refuses("indices", vector_of<int32_t>("<i4", {3, 1, 0, 3}), {"row 1 has column 1 after column 3", "sum_duplicates"});
  refuses("indices", vector_of<int32_t>("<i4", {1, 1, 0, 3}), {"column 1 after column 1"});
  refuses("indices", vector_of<int32_t>("<i4", {1, 3, 0}), {"indices", "3 columns for 4 values"});
  refuses("indices", vector_of<float>("<f4", {1, 3, 0, 3}), {"indices", "<f4", "<i4 and <i8 are right"});
  refuses("data", {"<f4", {2, 2}, std::string(16, '\0')}, {"data", "one dimension"});
  refuses("data", {"<c8", {4}, std::string(32, '\0')}, {"data", "<c8"});
  refuses("data", vector_of<int64_t>("<i8", {5, std::numeric_limits<int64_t>::max(), 1, 2}), {"data", "2^53"});
  refuses("shape", vector_of<int64_t>("<i8", {3}), {"shape", "(3)"});
  refuses("shape", vector_of<int64_t>("<i8", {0, 4}), {"shape", "(0, 4)"});
  refuses("shape", vector_of<int64_t>("<i8", {-3, 4}), {"shape"});
  refuses("shape", vector_of<int64_t>("<i8", {std::numeric_limits<int64_t>::max(), 4}), {"indptr", "4 numbers"});
  refuses("shape", vector_of<int64_t>("<i8", {3, int64_t{1} << 60}), {"shape", "columns"}, ErrorCode::kUnavailable);
  refuses("format", {"<i8", {}, std::string(8, '\0')}, {"format", "no text"});
  for (const char* key : {"indices", "indptr"}) {
    Archive archive = small();
    archive.erase(key);
    expect_error(ErrorCode::kBadData, {"counts.npz", key}, [&] { read(archive); });
  }
}

TEST_F(SparseArchive, OtherFormatsAndOptionsSayWhatToDo) {
  refuses("format", {"|S3", {}, "csc"}, {"format 'csc'", "tocsr()"}, ErrorCode::kUsage);
  refuses("format", {"|S3", {}, "coo"}, {"format 'coo'", "tocsr()"}, ErrorCode::kUsage);
  ReadOptions options;
  options.columns = {"1"};
  expect_error(ErrorCode::kUsage, {"leave out --columns"}, [&] { read(small(), options); });
  options = {};
  options.dtype = DataType::kInt8;
  expect_error(ErrorCode::kUsage, {"not as int8"}, [&] { read(small(), options); });
  expect_error(ErrorCode::kUsage, {"counts.npz", "a sparse matrix of SciPy"}, [&] { read_points(write(small())); });
}

TEST_F(SparseArchive, OthersAreNone) {
  Archive archive = small();
  archive.erase("format");
  EXPECT_FALSE(is_sparse_file(write(archive, "arrays.npz")));
  EXPECT_FALSE(is_sparse_file(folder_.file("garbage.npz", "garbage")));
  EXPECT_FALSE(is_sparse_file(folder_ / "missing.npz"));
  const std::string path = write(small());
  EXPECT_FALSE(is_sparse_file(path + ":data"));
  EXPECT_EQ(read_points(path + ":data").view.n, 4);
  EXPECT_FALSE(is_sparse_file("-"));
}

TEST_F(SparseArchive, WeightsAreAFile) {
  ReadOptions options;
  options.weights = folder_.file("weights.txt", "1\n2\n3\n");
  EXPECT_EQ(read(small(), options).weights, (std::vector<double>{1, 2, 3}));
  options.weights = folder_.file("few.txt", "1\n2\n");
  expect_error(ErrorCode::kBadData, {"few.txt", "one weight for each of the 3 rows"}, [&] { read(small(), options); });
}

}  // namespace
}  // namespace manymeans::test
