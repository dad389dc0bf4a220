#include "instance_cases.h"

#include "backend/cuda/matrix_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace manymeans::test {
namespace {

using cuda::MatrixInstance;
using cuda::MatrixUnit;

constexpr int64_t kPanel = cuda::kPanel;

// Numbers of columns that between them launch an instance with every number of panels that can matter: all of those of
// an instance that has an upper end, and for one that has none two, an even and an odd one.
void add_columns(const MatrixInstance& instance, std::set<int64_t>& to) {
  const int64_t first = (instance.first_columns + kPanel - 1) / kPanel;
  if (instance.last_columns == cuda::kMostColumns) {
    to.insert({first * kPanel - 17, (first + 7) * kPanel - 3});
    return;
  }
  to.insert(instance.last_columns);
  for (int64_t panels = first; panels < instance.last_columns / kPanel; ++panels) to.insert(panels * kPanel - 27);
}

// One model and some, of one tile of columns and of many.
std::vector<std::vector<int64_t>> sessions_of(MatrixUnit unit, int64_t columns) {
  const auto padded = static_cast<int32_t>((columns + cuda::kDepthBlock - 1) / cuda::kDepthBlock * cuda::kDepthBlock);
  std::vector<std::vector<int64_t>> sessions = {{60}, {60, 57, 64, 60, 33}, {1000}};
  if (cuda::matrix_tile_columns(unit, padded, 1000) != cuda::matrix_tile_columns(unit, padded, 120)) {
    sessions.push_back({120});
    sessions.push_back({120, 128, 90});
  }
  // Collecting takes this many values of prototypes.
  if (columns <= 16) sessions.push_back({2000});
  return sessions;
}

}  // namespace

std::vector<InstanceCase> matrix_cases(int64_t rows) {
  std::set<int64_t> columns;
  for (const MatrixInstance& instance : cuda::matrix_instances(MatrixUnit::kHopper)) add_columns(instance, columns);
  std::vector<InstanceCase> cases;
  for (const int64_t d : columns) {
    InstanceCase one;
    one.name = fmt::format("matrix, {} columns", d);
    one.rows = rows;
    one.columns = d;
    one.sessions = sessions_of(MatrixUnit::kHopper, d);
    one.ways = {{.name = "without floors", .screen = "float16", .floors = false},
                {.name = "with floors", .screen = "float16", .floors = true},
                {.name = "with margins", .algorithm = "bounds", .screen = "float16", .floors = false}};
    cases.push_back(one);
  }
  for (const int64_t d : {40, 300}) {  // its kernels serve any number of columns
    InstanceCase one;
    one.name = fmt::format("matrix by mma.sync, {} columns", d);
    one.rows = rows;
    one.columns = d;
    one.sessions = sessions_of(MatrixUnit::kSync, d);
    one.ways = {{.name = "without floors", .screen = "float16-sync", .floors = false},
                {.name = "with floors", .screen = "float16-sync", .floors = true},
                {.name = "with margins", .algorithm = "bounds", .screen = "float16-sync", .floors = false}};
    cases.push_back(one);
  }
  return cases;
}

std::vector<InstanceCase> other_cases(int64_t rows) {
  static_cast<void>(rows);
  return {};
}

}  // namespace manymeans::test
