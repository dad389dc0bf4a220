// The matrix product, each entry rounded once: docs/user/multiply.md.
#include <manymeans/manymeans.h>

#include <cstdio>
#include <vector>

int main() try {
  const std::vector<float> a = {16777216, 1, -16777216};  // 2^24 + 1 is no float32
  const std::vector<float> ones = {1, 1, 1};
  const manymeans::MatrixView row(a.data(), 1, 3, manymeans::DataType::kFloat32);
  const manymeans::MatrixView column(ones.data(), 3, 1, manymeans::DataType::kFloat32);
  const manymeans::Matrix product = manymeans::multiply(row, column);
  std::printf("%g\n", product.at(0, 0));
  return product.at(0, 0) == 1 ? 0 : 1;
} catch (const manymeans::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
