// One case of the fuzzer: points, the options of a fit, and the ways in which it is computed. All of it follows from
// (seed, number) and what this machine has.
#pragma once

#include <manymeans/options.h>

#include "backend/tuning.h"
#include "fuzz/answers/fuzz_points.h"

#include <cstdint>
#include <string>
#include <vector>

namespace manymeans::fuzz {

/// What is drawn from.
struct Limits {
  bool cuda = false;                 ///< the cuda backend against the cpu backend, else the cpu backend with itself
  double seconds = 20;               ///< that a case may take by the rough rates below
  int64_t max_values = 400'000'000;  ///< N x D
  int64_t max_clusters = 5000;
};

/// An instruction set of the cpu backend that is here, with one of its screens.
struct CpuScreen {
  std::string instruction_set;
  std::string format;
};
std::vector<CpuScreen> cpu_screens();

/// One way to compute the same answer.
struct Way {
  std::string backend = "cpu";
  std::string algorithm = "auto";
  Strategy strategy = Strategy::kConcatenated;
  int threads = 0;
  double memory_share = -1;  ///< of what a limit of memory may be, from the least that can be done to plenty; -1: none
  bool in_file = false;      ///< the points lie in a file
  bool on_device = false;    ///< they lie in the memory of the device
  Tuning tuning;

  std::string text() const;
};

struct FuzzCase {
  uint64_t seed = 0;
  int64_t number = 0;
  PointRecipe recipe;
  FitOptions options;          ///< what decides the answer
  bool cuda = false;           ///< the cuda backend is tested
  bool given = false;          ///< initial prototypes are given
  std::vector<Way> ways;       ///< the others are compared with the first
  int64_t predicted_rows = 0;  ///< new points whose labels are asked for

  int64_t all_clusters() const;
  std::string text() const;
};

FuzzCase draw_case(uint64_t seed, int64_t number, const Limits& limits);

/// Cases that one process does one after the other; what is read from the environment once differs between blocks.
constexpr int64_t kCasesOfABlock = 32;

/// About what a fit takes on two threads, sixteen where the cuda backend is tested, the reference always on one: from a
/// Xeon of 2.x GHz, within a factor of three or so.
double rough_seconds(const FuzzCase& drawn, const Way& way);

}  // namespace manymeans::fuzz
