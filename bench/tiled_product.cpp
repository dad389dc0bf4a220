// A plain tiled product of float32 matrices, as textbooks and reports have it: the baseline of bench/product.py.
// Any size; tiles at the edges are smaller, nothing is padded. Sums are float32, in the order of the depth.
//
// usage: tiled_product ROWS DEPTH COLUMNS REPEATS      prints the least seconds of the processor of one product
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <vector>

namespace {

constexpr int64_t kTile = 64;  // three tiles of 16 KiB: a and b stay in the caches while c is summed

struct Sizes {
  int64_t rows, depth, columns;
};

struct Tile {
  int64_t row, l, column;
};

// c += a b for one tile of each.
void add_tile(const float* a, const float* b, float* c, const Sizes& sizes, const Tile& at) {
  const int64_t last_row = std::min(at.row + kTile, sizes.rows);
  const int64_t last_l = std::min(at.l + kTile, sizes.depth);
  const int64_t last_column = std::min(at.column + kTile, sizes.columns);
  for (int64_t i = at.row; i < last_row; ++i) {
    for (int64_t l = at.l; l < last_l; ++l) {
      const float x = a[i * sizes.depth + l];
      const float* from = b + l * sizes.columns;
      float* to = c + i * sizes.columns;
      for (int64_t j = at.column; j < last_column; ++j) to[j] += x * from[j];
    }
  }
}

void multiply(const float* a, const float* b, float* c, const Sizes& sizes) {
  std::fill_n(c, sizes.rows * sizes.columns, 0.0F);
  for (int64_t i = 0; i < sizes.rows; i += kTile) {
    for (int64_t j = 0; j < sizes.columns; j += kTile) {
      for (int64_t l = 0; l < sizes.depth; l += kTile) add_tile(a, b, c, sizes, {i, l, j});
    }
  }
}

std::vector<float> random_values(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

double seconds_of(const Sizes& sizes, int repeats) {
  const std::vector<float> a = random_values(sizes.rows * sizes.depth, 1);
  const std::vector<float> b = random_values(sizes.depth * sizes.columns, 2);
  std::vector<float> c(static_cast<size_t>(sizes.rows * sizes.columns));
  std::clock_t least = 0;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const std::clock_t before = std::clock();
    multiply(a.data(), b.data(), c.data(), sizes);
    const std::clock_t taken = std::clock() - before;
    if (repeat == 0 || taken < least) least = taken;
  }
  return static_cast<double>(least) / CLOCKS_PER_SEC;
}

}  // namespace

int main(int argc, char** argv) {
  const Sizes sizes = argc == 5 ? Sizes{std::atoll(argv[1]), std::atoll(argv[2]), std::atoll(argv[3])} : Sizes{0, 0, 0};
  if (sizes.rows < 1 || sizes.depth < 1 || sizes.columns < 1) {
    std::fputs("usage: tiled_product ROWS DEPTH COLUMNS REPEATS\n", stderr);
    return 2;
  }
  std::printf("%.6f\n", seconds_of(sizes, std::max(1, std::atoi(argv[4]))));
  return 0;
}
