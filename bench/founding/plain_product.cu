// The matrix product in plain CUDA, improved step by step: the ladder of study 2 ("Bug Fixes in Matrix Multiplication"
// to "Tile Buffering", the tables numbered 4). C = A B, float32. One thread computes one entry, or a few.
//
//   plain_product [--step NAME] [--repeats R] [--rows N] [--depth L] [--columns M] [--seed S]
//
//   plain      Each thread reads its row of A and its column of B from global memory. A block has 32 x 32 threads.
//   shared     A block copies square tiles of A and B to shared memory. Each value there serves 32 threads.
//   scheduled  16 x 16 threads a block. They fill the multiprocessors of the study's GTX 480.
//   tiles2     TILE_SZ = 2: a block takes two tiles of B side by side for each tile of A. A thread has two entries.
//   tiles4     TILE_SZ = 4: four tiles and entries.
//
// Any size: threads and tiles at the edges are partly empty. Seconds measure one kernel.
#include <manymeans/multiply.h>

#include "founding/founding_cuda.h"

#include <cmath>
#include <limits>

namespace manymeans::founding {
namespace {

struct ProductWork {
  const float *a, *b;  // rows x depth, depth x columns
  float* c;
  int rows, depth, columns;
};

template <int size>
__global__ void multiply_plainly(ProductWork work) {
  const int row = blockIdx.y * size + threadIdx.y, column = blockIdx.x * size + threadIdx.x;
  if (row >= work.rows || column >= work.columns) return;
  float sum = 0;
  for (int l = 0; l < work.depth; ++l) {
    sum += work.a[static_cast<int64_t>(row) * work.depth + l] * work.b[static_cast<int64_t>(l) * work.columns + column];
  }
  work.c[static_cast<int64_t>(row) * work.columns + column] = sum;
}

// A value of a matrix, or 0 beyond its edges, which adds nothing to a sum.
struct MatrixSize {
  int rows, columns;
};

__device__ float value_or_zero(const float* values, MatrixSize edge, int row, int column) {
  return row < edge.rows && column < edge.columns ? values[static_cast<int64_t>(row) * edge.columns + column] : 0;
}

// A block computes size x (tiles size) entries. All of its threads take part in all copies, also beyond the edges.
template <int size, int tiles>
__global__ void multiply_tiles(ProductWork work) {
  __shared__ float a[size][size];
  __shared__ float b[size][tiles * size];
  const int y = threadIdx.y, x = threadIdx.x;
  const int row = blockIdx.y * size + y, column = blockIdx.x * tiles * size + x;
  float sums[tiles] = {};
  for (int first = 0; first < work.depth; first += size) {
    a[y][x] = value_or_zero(work.a, {work.rows, work.depth}, row, first + x);
#pragma unroll
    for (int t = 0; t < tiles; ++t) {
      b[y][t * size + x] = value_or_zero(work.b, {work.depth, work.columns}, first + y, column + t * size);
    }
    __syncthreads();  // the tiles are complete
#pragma unroll
    for (int l = 0; l < size; ++l) {
#pragma unroll
      for (int t = 0; t < tiles; ++t) sums[t] += a[y][l] * b[l][t * size + x];
    }
    __syncthreads();  // all threads have read them
  }
#pragma unroll
  for (int t = 0; t < tiles; ++t) {
    const int at = column + t * size;
    if (row < work.rows && at < work.columns) work.c[static_cast<int64_t>(row) * work.columns + at] = sums[t];
  }
}

struct ProductStep {
  std::string name;
  int size, tiles;
  void (*kernel)(ProductWork);
};

const std::vector<ProductStep> kSteps = {{"plain", 32, 1, multiply_plainly<32>},
                                         {"shared", 32, 1, multiply_tiles<32, 1>},
                                         {"scheduled", 16, 1, multiply_tiles<16, 1>},
                                         {"tiles2", 16, 2, multiply_tiles<16, 2>},
                                         {"tiles4", 16, 4, multiply_tiles<16, 4>}};

struct ProductFactors {
  int rows, depth, columns;
  std::vector<float> a, b;
};

struct ProductEntries {
  std::vector<float> values;
  double seconds = 0, seconds_with_transfers = 0;
};

ProductEntries product_of(const ProductFactors& factors, const ProductStep& step) {
  const ElapsedTime watch;
  const DeviceArray<float> a(factors.a), b(factors.b);
  const DeviceArray<float> c(static_cast<size_t>(factors.rows) * factors.columns);
  const ProductWork work{a.data(), b.data(), c.data(), factors.rows, factors.depth, factors.columns};
  const dim3 threads(step.size, step.size);
  const dim3 blocks(blocks_for(factors.columns, step.size * step.tiles), blocks_for(factors.rows, step.size));
  KernelTimer timer;
  timer.time([&] { step.kernel<<<blocks, threads>>>(work); });
  return {c.to_host(), timer.seconds(), watch.seconds()};
}

// Judges the entries of all steps by the exact product and by the product of the magnitudes.
class ProductJudge {
 public:
  explicit ProductJudge(const ProductFactors& factors) : depth_(factors.depth) {
    const auto magnitudes = [](std::vector<float> values) {
      for (float& value : values) value = std::fabs(value);
      return values;
    };
    exact_ = exact_product(factors, factors.a, factors.b);
    magnitudes_ = exact_product(factors, magnitudes(factors.a), magnitudes(factors.b));
  }

  /// A float32 sum of L products is off by at most L u times the sum of their magnitudes, u = 2^-24. The library rounds
  /// both products to float32; two more u cover that, and one u terms of higher order.
  int64_t count_wrong(const std::vector<float>& values) const {
    const double share = (depth_ + 3.0) * std::numeric_limits<float>::epsilon() / 2;
    int64_t wrong = 0;
    for (size_t at = 0; at < values.size(); ++at) {
      const double difference = std::fabs(double{values[at]} - exact_.values<float>()[at]);
      if (!(difference <= share * magnitudes_.values<float>()[at])) ++wrong;
    }
    return wrong;
  }

 private:
  static Matrix exact_product(const ProductFactors& factors, const std::vector<float>& a, const std::vector<float>& b) {
    MultiplyOptions options;
    options.backend = "cpu";
    return multiply({a.data(), factors.rows, factors.depth, DataType::kFloat32},
                    {b.data(), factors.depth, factors.columns, DataType::kFloat32}, options);
  }

  int depth_;
  Matrix exact_, magnitudes_;
};

std::vector<float> random_values(size_t count, PointSource& random) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.bell());
  return values;
}

bool run(Arguments& arguments) {
  constexpr int64_t kMaxSize = 1000000;  // a grid has at most 65535 rows of blocks
  ExperimentShape shape;
  shape.points = "normal";
  shape.rows = arguments.whole("rows", 1000);
  shape.columns = arguments.whole("columns", shape.rows);
  const int64_t depth = arguments.whole("depth", shape.rows), repeats = arguments.whole("repeats", 3);
  shape.seed = arguments.whole("seed", 1, 0);
  const std::vector<ProductStep> steps = read_steps(arguments, kSteps);
  arguments.check_all_used();
  if (std::max({shape.rows, shape.columns, depth}) > kMaxSize) {
    throw Error(ErrorCode::kUsage, "plain_product", "a size is more than 1000000");
  }
  PointSource random(shape.seed);
  ProductFactors factors{
      static_cast<int>(shape.rows), static_cast<int>(depth), static_cast<int>(shape.columns), {}, {}};
  factors.a = random_values(shape.rows * depth, random);
  factors.b = random_values(depth * shape.columns, random);
  const ProductJudge judge(factors);
  int64_t all_wrong = 0;
  for (const ProductStep& step : steps) {
    const ProductEntries found = median_run(repeats, [&] { return product_of(factors, step); });
    const int64_t wrong = judge.count_wrong(found.values);
    ResultLine line(arguments.program(), shape);
    line.add("step", step.name);
    line.add("depth", depth);
    line.add("seconds", found.seconds);
    line.add("seconds_with_transfers", found.seconds_with_transfers);
    line.add("gflops", 2e-9 * shape.rows * depth * shape.columns / found.seconds);
    line.add("entries_wrong", wrong);
    line.print();
    all_wrong += wrong;
  }
  return all_wrong == 0;
}

}  // namespace
}  // namespace manymeans::founding

int main(int argc, char** argv) {
  return manymeans::founding::run_on_device(argc, argv, manymeans::founding::run);
}
