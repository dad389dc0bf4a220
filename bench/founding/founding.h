// The founding experiments' programs share this: options, points, first centroids, a clock and a result line. These
// programs show the code of the five studies in its plain form. Experiments compare them with the library.
#pragma once

#include <manymeans/error.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace manymeans::founding {

/// Options of a program: pairs of --name and value. All functions throw Error(kUsage).
class Arguments {
 public:
  Arguments(int argc, char** argv);
  const std::string& program() const { return program_; }
  /// Returns a whole number that is at least `least`.
  int64_t whole(const std::string& name, int64_t otherwise, int64_t least = 1);
  double real(const std::string& name, double otherwise);
  /// Returns one of the choices. The first is the default.
  std::string word(const std::string& name, const std::vector<std::string>& choices);
  /// Throws if an option was given that no call above asked for.
  void check_all_used() const;

 private:
  std::string value(const std::string& name, const std::string& otherwise);

  std::string program_;
  std::map<std::string, std::string> given_;
  std::map<std::string, bool> asked_;
};

inline const std::vector<std::string> kPointKinds = {"uniform", "mixture"};

/// The shape of an experiment, and where its points come from.
struct ExperimentShape {
  int64_t rows = 0, columns = 0, clusters = 0, models = 0, iterations = 0;
  uint64_t seed = 0;
  std::string points;  ///< "uniform" in the unit cube, or a "mixture" of as many bells as clusters: kPointKinds
  std::string judge;   ///< the library's backend that checks the answer, or "none"
};
/// Reads --rows --columns --clusters --models --iterations --seed --judge. The points stay to be chosen.
ExperimentShape read_shape(Arguments& arguments);

/// Pseudo-random numbers with the same bits on every machine. The distributions of the C++ library differ between
/// compilers, so these are written out.
class PointSource {
 public:
  explicit PointSource(uint64_t seed) : bits_(seed) {}
  double uniform() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }  // 53 bits, in [0, 1)
  /// Mean 0, deviation 1. The sum of four uniform numbers is close to normal, and needs no logarithm.
  double bell() { return (uniform() + uniform() + uniform() + uniform() - 2) * 1.7320508075688772; }
  int64_t below(int64_t count) { return static_cast<int64_t>(uniform() * static_cast<double>(count)); }

 private:
  std::mt19937_64 bits_;
};

/// Rows x columns values, row-major. T is float or double.
template <class T>
std::vector<T> make_points(const ExperimentShape& shape);
/// First centroids of a model: `clusters` different random rows.
template <class T>
std::vector<T> first_centroids(const ExperimentShape& shape, const std::vector<T>& points, int64_t model);

class ElapsedTime {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// The result of a program: one line of JSON.
class ResultLine {
 public:
  ResultLine(const std::string& program, const ExperimentShape& shape);
  void add(const std::string& name, const std::string& text);
  void add(const std::string& name, int64_t number);
  void add(const std::string& name, double number);
  void print() const;

 private:
  std::string fields_;
};

/// The main function of all programs. `run` returns true if the answer was right. The exit code is 0 if
/// right, 1 if wrong, or an ErrorCode.
int run_program(int argc, char** argv, const std::function<bool(Arguments&)>& run);

}  // namespace manymeans::founding
