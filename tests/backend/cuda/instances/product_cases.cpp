#include "product_cases.h"

#include <manymeans/multiply.h>

#include "backend/cuda/runtime/device_memory.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <random>

namespace manymeans::test {
namespace {

std::vector<std::byte> normal_values(DataType type, int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<std::byte> bytes(static_cast<size_t>(count) * size_of(type));
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    const double value = normal(random);
    const auto narrow = static_cast<float>(value);
    if (type == DataType::kFloat64) {
      std::memcpy(bytes.data() + i * 8, &value, 8);
    } else {
      std::memcpy(bytes.data() + i * 4, &narrow, 4);
    }
  }
  return bytes;
}

void move_to_device(MatrixView& matrix, cuda::DeviceBuffer<std::byte>& there, cudaStream_t stream) {
  const size_t bytes = static_cast<size_t>(matrix.rows * matrix.columns) * size_of(matrix.type);
  there = cuda::DeviceBuffer<std::byte>(bytes, "a factor");
  cuda::copy_to_device(there.data(), static_cast<const std::byte*>(matrix.data), bytes, stream, "a factor");
  matrix.data = there.data();
  matrix.place = {"cuda", 0, stream};
}

}  // namespace

// Tiles are chosen by how many a device of 132 multiprocessors is given; sums wait in shared memory where lines are
// long, and in the device's memory where the depth is split.
std::vector<ProductCase> product_cases() {
  std::vector<ProductCase> cases;
  const auto add = [&](DataType type, int64_t rows, int64_t depth, int64_t columns) {
    cases.push_back(
        {fmt::format("product {}, {} x {} x {}", name_of(type), rows, depth, columns), type, rows, depth, columns});
  };
  for (const int64_t depth : {300, 1100}) {
    add(DataType::kFloat32, 4099, depth, 2203);
    add(DataType::kFloat32, 1099, depth, 1103);
    add(DataType::kFloat32, 401, depth, 399);
  }
  for (const int64_t depth : {1, 16, 17, 64, 129, 511, 513, 1024, 1025, 2047}) {  // of whole lines; of teams
    add(DataType::kFloat32, 513, depth, 511);
    add(DataType::kFloat32, 1023, depth, 1024);
  }
  add(DataType::kFloat32, 33, 2300, 9001);  // lines that are long for four teams
  add(DataType::kFloat32, 700, 2100, 700);  // large tiles whose depth is split
  add(DataType::kFloat32, 101, 100'003, 99);
  add(DataType::kFloat32, 101, 3'001, 99);
  for (const int64_t depth : {100, 301}) {
    add(DataType::kFloat64, 1501, depth, 1499);
    add(DataType::kFloat64, 641, depth, 639);
    add(DataType::kFloat64, 201, depth, 199);
  }
  add(DataType::kFloat64, 101, 20'003, 99);
  // What the shape would not choose.
  const auto add_screened = [&](const std::string& screen, DataType type, int64_t rows, int64_t depth,
                                int64_t columns) {
    add(type, rows, depth, columns);
    cases.back().screen = screen;
    cases.back().name += ", " + screen;
  };
  add_screened("sums", DataType::kFloat32, 4099, 1100, 2203);
  add_screened("sums", DataType::kFloat64, 1501, 301, 1499);
  add_screened("sums", DataType::kFloat64, 641, 301, 639);
  add_screened("residues", DataType::kFloat32, 401, 100'003, 399);  // moduli of four limbs
  for (const int64_t depth : {100, 512, 1024}) {
    add(DataType::kFloat32, 513, depth, 511);
    cases.back().on_device = true;
    cases.back().name += ", on the device";
  }
  return cases;
}

bool product_agrees(const ProductCase& one, int repeats) {
  const std::vector<std::byte> a = normal_values(one.type, one.rows * one.depth, 1);
  const std::vector<std::byte> b = normal_values(one.type, one.depth * one.columns, 2);
  MatrixView x(a.data(), one.rows, one.depth, one.type), y(b.data(), one.depth, one.columns, one.type);
  const Matrix expected = multiply(x, y, {.backend = "cpu"});
  const cuda::Stream stream;
  cuda::DeviceBuffer<std::byte> a_there, b_there;
  if (one.on_device) {
    move_to_device(x, a_there, stream);
    move_to_device(y, b_there, stream);
  }
  if (!one.screen.empty()) ::setenv("MANYMEANS_CUDA_PRODUCT", one.screen.c_str(), 1);
  bool agrees = true;
  for (int repeat = 0; repeat < repeats && agrees; ++repeat) {
    const Matrix found = multiply(x, y, {.backend = "cuda"});
    agrees = std::memcmp(found.bytes().data(), expected.bytes().data(), expected.bytes().size()) == 0;
  }
  ::unsetenv("MANYMEANS_CUDA_PRODUCT");
  return agrees;
}

}  // namespace manymeans::test
