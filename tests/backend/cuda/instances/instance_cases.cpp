#include "instance_cases.h"

#include "backend/cuda/tensor/matrix_kernels.h"
#include "core/data_type.h"

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
  if (instance.last_columns == cuda::kMaxColumns) {
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
  // Gathering candidates takes this many values of prototypes.
  if (columns <= 16) sessions.push_back({2000});
  return sessions;
}

}  // namespace

namespace {

const std::vector<Way>& ways_of(MatrixUnit unit) {
  const auto ways = [](const std::string& screen) {
    return std::vector<Way>{
        {.name = "without thresholds", .screen = screen, .score_thresholds = false},
        {.name = "with thresholds", .screen = screen, .score_thresholds = true},
        {.name = "with margins", .algorithm = "bounds", .screen = screen, .score_thresholds = false}};
  };
  static const std::vector<Way> hopper = ways("float16");
  static const std::vector<Way> sync = ways("float16-sync");
  return unit == MatrixUnit::kHopper ? hopper : sync;
}

InstanceCase matrix_case(MatrixUnit unit, int64_t rows, int64_t columns) {
  InstanceCase one;
  one.name = fmt::format("matrix{}, {} columns", unit == MatrixUnit::kSync ? " by mma.sync" : "", columns);
  one.rows = rows;
  one.columns = columns;
  one.sessions = sessions_of(unit, columns);
  one.ways = ways_of(unit);
  return one;
}

// Instances that so many rows go by, because another is for many.
void add_few_rows(int64_t rows, std::vector<InstanceCase>& to) {
  const auto all = cuda::matrix_instances(MatrixUnit::kHopper);
  for (const MatrixInstance& instance : all) {
    if (instance.min_rows == 0) continue;
    InstanceCase one = matrix_case(MatrixUnit::kHopper, std::min(rows, instance.min_rows - 1), instance.last_columns);
    one.name += ", fewer rows";
    one.sessions.resize(2);
    one.ways.resize(1);
    to.push_back(one);
  }
}

}  // namespace

std::vector<InstanceCase> matrix_cases(int64_t rows) {
  std::set<int64_t> columns;
  for (const MatrixInstance& instance : cuda::matrix_instances(MatrixUnit::kHopper)) add_columns(instance, columns);
  std::vector<InstanceCase> cases;
  for (const int64_t d : columns) cases.push_back(matrix_case(MatrixUnit::kHopper, rows, d));
  add_few_rows(rows, cases);
  // Its kernels serve any number of columns.
  for (const int64_t d : {40, 300}) cases.push_back(matrix_case(MatrixUnit::kSync, rows, d));
  return cases;
}

namespace {

constexpr DataType kTypes[] = {DataType::kFloat32,  DataType::kFloat64, DataType::kFloat16,
                               DataType::kBFloat16, DataType::kUInt8,   DataType::kInt8};

InstanceCase shape(std::string name, int64_t rows, int64_t columns, std::vector<std::vector<int64_t>> sessions) {
  InstanceCase one;
  one.name = std::move(name);
  one.rows = rows;
  one.columns = columns;
  one.sessions = std::move(sessions);
  one.passes = 3;
  one.ways = {{.name = "auto"}};
  return one;
}

// What is compiled for each type: sums by label and in shared memory, of one to three limbs, with weights and without;
// distances and seeding, of short rows and of long ones, with a screen and without.
void add_types(int64_t rows, std::vector<InstanceCase>& to) {
  for (const DataType type : kTypes) {
    const std::string name(name_of(type));
    for (const int limbs : {1, 2, 3}) {
      for (const bool weighted : {false, true}) {
        InstanceCase one = shape(fmt::format("sums, {}, {} limbs{}", name, limbs, weighted ? ", weights" : ""), rows,
                                 40, {{1000}, {20}});
        one.type = type;
        one.limbs = limbs;
        one.weighted = weighted;
        one.services = limbs == 1 && !weighted;
        to.push_back(one);
      }
    }
    to.push_back(shape(fmt::format("on the device, {}", name), rows, 12, {{20}}));
    to.back().type = type;
    to.back().ways = {{.name = "on the device", .on_device = true}};
    for (const int64_t columns : {8, 16}) {
      InstanceCase one = shape(fmt::format("services, {}, {} columns", name, columns), rows, columns, {{20}});
      one.type = type;
      one.services = true;
      one.ways.push_back({.name = "brute", .algorithm = "brute"});
      to.push_back(one);
    }
  }
}

// Sums by label of float32 are compiled for each number of columns of a lane.
void add_label_sums(int64_t rows, std::vector<InstanceCase>& to) {
  for (const int64_t columns : {20, 90, 120, 140}) {
    for (const int limbs : {1, 2, 3}) {
      to.push_back(shape(fmt::format("sums, {} columns, {} limbs", columns, limbs), rows, columns, {{1000}}));
      to.back().limbs = limbs;
    }
  }
}

// The screens in float32: every number of columns that has its own kernel, with few rows and with many, and tiles.
void add_float_screens(int64_t rows, std::vector<InstanceCase>& to) {
  constexpr int64_t kFewRows = 200'000;  // fewer than 2048 a multiprocessor and model get a row a thread
  const std::vector<Way> ways = {{.name = "float32", .algorithm = "matrix", .screen = "float32"}};
  for (int64_t columns = 1; columns <= 16; ++columns) {
    for (const int64_t n : {rows, std::min(rows, kFewRows)}) {
      to.push_back(shape(
          fmt::format("float32 screen, {} columns, {} rows", columns, n), n, columns,
          n == rows ? std::vector<std::vector<int64_t>>{{200}, {50, 20}} : std::vector<std::vector<int64_t>>{{200}}));
      to.back().ways = ways;
    }
  }
  for (const int64_t columns : {17, 100, 500}) {
    to.push_back(shape(fmt::format("float32 screen, {} columns", columns), rows, columns, {{20}, {600}}));
    to.back().ways = ways;
  }
}

void add_boxes(int64_t rows, std::vector<InstanceCase>& to) {
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64}) {
    for (int64_t columns = 1; columns <= 4; ++columns) {
      to.push_back(shape(fmt::format("boxes, {} columns, {}", columns, name_of(type)), rows, columns,
                         {{10}, {300}, {20, 30, 40}}));
      to.back().type = type;
      to.back().ways = {{.name = "kdtree", .algorithm = "kdtree"}};
      to.back().services = columns == 2;
    }
  }
  to.push_back(shape("boxes, labels of four bytes", rows, 2, {{70'000}}));
  to.back().ways = {{.name = "kdtree", .algorithm = "kdtree"}};
  to.back().passes = 2;
}

// Batches in one kernel, nearly as many rows as fit the blocks' shared memory; the same queued.
void add_resident(int64_t rows, std::vector<InstanceCase>& to) {
  constexpr int64_t kMaxRows = 200'000;
  for (const int limbs : {1, 2, 3}) {
    for (const bool weighted : {false, true}) {
      InstanceCase one = shape(fmt::format("small problems, {} limbs{}", limbs, weighted ? ", weights" : ""),
                               std::min(rows, kMaxRows), 32, {{32}, {100}, {33, 20, 64, 32}});
      one.limbs = limbs;
      one.weighted = weighted;
      one.passes = 12;
      one.ways = {{.name = "one kernel"}, {.name = "queued", .queued = true}};
      to.push_back(one);
    }
  }
}

// Linear models: every number of features that has a kernel of its own, and many; sums in registers for two, three,
// four and six limbs, of float32 without weights and others. Sums of many terms in a first pass: few rows.
void add_linear_models(int64_t rows, std::vector<InstanceCase>& to) {
  const auto add = [&](std::string name, int64_t columns, DataType type, int limbs) -> InstanceCase& {
    InstanceCase& one = to.emplace_back(shape("linear models, " + std::move(name), rows, columns, {{300}, {20, 7}}));
    one.type = type;
    one.limbs = limbs;
    one.linear = one.services = true;
    return one;
  };
  for (int64_t features = 1; features <= 9; ++features) {
    const DataType type = kTypes[static_cast<size_t>(features) % std::size(kTypes)];
    add(fmt::format("{} features, {}", features, name_of(type)), features + 1, type, 0);
  }
  add("two limbs", 5, DataType::kFloat32, 2);
  add("three limbs", 5, DataType::kFloat32, 3);
  add("four limbs", 5, DataType::kFloat32, 4);
  add("six limbs", 5, DataType::kFloat64, 6);
  add("four limbs, weights", 5, DataType::kFloat32, 4).weighted = true;
  InstanceCase& many = add("many features", 101, DataType::kFloat32, 0);
  many.rows = std::min<int64_t>(rows, 20'000);
  many.sessions = {{40}};
  InstanceCase& slices = add("slices and points on the device", 5, DataType::kFloat32, 0);
  slices.ways = {{.name = "slices", .slice_rows = rows / 5}, {.name = "on the device", .on_device = true}};
}

}  // namespace

std::vector<InstanceCase> other_cases(int64_t rows) {
  std::vector<InstanceCase> cases;
  add_types(rows, cases);
  add_label_sums(rows, cases);
  add_float_screens(rows, cases);
  add_boxes(rows, cases);
  add_resident(rows, cases);
  add_linear_models(rows, cases);
  cases.push_back(shape("slices and points on the device", rows, 40, {{300}, {60, 20}}));
  cases.back().ways = {{.name = "slices", .slice_rows = rows / 5}, {.name = "on the device", .on_device = true}};
  cases.push_back(shape("weights and points on the device", rows, 40, {{300}}));
  cases.back().weighted = true;
  cases.back().ways = {{.name = "on the device", .on_device = true}};
  cases.push_back(shape("tiny values, whose frame leaves float32", rows, 40, {{300}}));
  cases.back().scale = 0x1p-100F;
  cases.push_back(shape("many clusters", rows, 40, {{20'000}}));
  cases.back().passes = 2;
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64}) {
    cases.push_back(shape(fmt::format("a team, {}", name_of(type)), rows, 40, {{3000}, {60, 20}}));
    cases.back().type = type;
    cases.back().services = true;
    cases.back().ways = {{.name = "team", .team = true}};
  }
  cases.push_back(shape("sums of four limbs", rows, 300, {{40}, {500}}));  // too many for shared memory and registers
  cases.back().limbs = 4;
  cases.back().passes = 2;
  cases.push_back(shape("every distance", rows, 40, {{20}, {600}}));
  cases.back().ways = {{.name = "brute", .algorithm = "brute"}};
  return cases;
}

}  // namespace manymeans::test
