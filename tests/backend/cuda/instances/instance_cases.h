// What cuda_instances runs: shapes that between them launch every kernel.
#pragma once

#include <manymeans/points.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace manymeans::test {

/// How a session is asked to go about it.
struct Way {
  std::string name;
  std::string algorithm = "auto";
  std::string screen = {};
  std::optional<bool> score_thresholds = {};
  bool queued = false;
  int64_t slice_rows = 0;
  bool on_device = false;  ///< the points lie there already
  bool team = false;       ///< two sessions on one device, each of its rows, that add up as those of two devices do
};

/// One set of points, and the sessions over it: each a number of clusters a model.
struct InstanceCase {
  std::string name;
  int64_t rows = 0;
  int64_t columns = 0;
  DataType type = DataType::kFloat32;
  bool weighted = false;
  float scale = 1;  ///< times all values
  int limbs = 0;    ///< of sums; 0: as many as they take
  std::vector<std::vector<int64_t>> sessions;
  std::vector<Way> ways;
  int passes = 4;
  bool services = false;  ///< inertia, distances, farthest and moved rows, seeding too
  bool linear = false;    ///< the last column is a target, and prototypes are linear models
};

/// Cases for every entry of the tables that the screens in the matrix units are chosen from; `rows`: of each.
std::vector<InstanceCase> matrix_cases(int64_t rows);
/// And for all other kernels, which shapes, types and options choose.
std::vector<InstanceCase> other_cases(int64_t rows);

}  // namespace manymeans::test
