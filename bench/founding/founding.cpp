#include "founding/founding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>

namespace manymeans::founding {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorCode::kUsage, "arguments", what);
}

}  // namespace

Arguments::Arguments(int argc, char** argv) : program_(argv[0]) {
  program_.erase(0, program_.rfind('/') + 1);
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (name.rfind("--", 0) != 0) refuse(fmt::format("{} is no option; write --name value", name));
    if (i + 1 == argc) refuse(fmt::format("{} has no value; write --name value", name));
    given_[name.substr(2)] = argv[i + 1];
  }
}

std::string Arguments::value(const std::string& name, const std::string& otherwise) {
  asked_[name] = true;
  const auto found = given_.find(name);
  return found == given_.end() ? otherwise : found->second;
}

int64_t Arguments::whole(const std::string& name, int64_t otherwise, int64_t least) {
  const std::string text = value(name, fmt::format("{}", otherwise));
  char* end = nullptr;
  const int64_t number = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || number < least) {
    refuse(fmt::format("--{} is {}; it must be a whole number of at least {}", name, text, least));
  }
  return number;
}

double Arguments::real(const std::string& name, double otherwise) {
  const std::string text = value(name, fmt::format("{}", otherwise));
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(number >= 0)) {
    refuse(fmt::format("--{} is {}; it must be a number that is not negative", name, text));
  }
  return number;
}

std::string Arguments::word(const std::string& name, const std::vector<std::string>& choices) {
  const std::string text = value(name, choices.front());
  if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
    refuse(fmt::format("--{} is {}; it must be one of {}", name, text, fmt::join(choices, ", ")));
  }
  return text;
}

void Arguments::check_all_used() const {
  for (const auto& [name, text] : given_) {
    if (asked_.count(name) == 0) refuse(fmt::format("{} has no option --{}", program_, name));
  }
}

ExperimentShape read_shape(Arguments& arguments) {
  ExperimentShape shape;
  shape.rows = arguments.whole("rows", 10000);
  shape.columns = arguments.whole("columns", 2);
  shape.clusters = arguments.whole("clusters", 10);
  shape.models = arguments.whole("models", 1);
  shape.iterations = arguments.whole("iterations", 10);
  shape.seed = static_cast<uint64_t>(arguments.whole("seed", 1, 0));
  shape.judge = arguments.word("judge", {"reference", "cpu", "none"});
  if (shape.clusters > shape.rows) refuse("there are more clusters than rows; give --rows at least --clusters");
  return shape;
}

template <class T>
std::vector<T> make_points(const ExperimentShape& shape) {
  PointSource random(shape.seed);
  const auto d = static_cast<size_t>(shape.columns);
  std::vector<T> points(static_cast<size_t>(shape.rows) * d);
  if (shape.points == "uniform") {
    for (T& value : points) value = static_cast<T>(random.uniform());
    return points;
  }
  std::vector<double> middles(static_cast<size_t>(shape.clusters) * d);
  for (double& value : middles) value = random.uniform();
  constexpr double kDeviation = 0.05;  // bells touch, as clusters of real data do
  for (size_t i = 0; i < points.size(); i += d) {
    const double* const middle = middles.data() + static_cast<size_t>(random.below(shape.clusters)) * d;
    for (size_t j = 0; j < d; ++j) points[i + j] = static_cast<T>(middle[j] + kDeviation * random.bell());
  }
  return points;
}
template std::vector<float> make_points(const ExperimentShape& shape);
template std::vector<double> make_points(const ExperimentShape& shape);

template <class T>
std::vector<T> first_centroids(const ExperimentShape& shape, const std::vector<T>& points, int64_t model) {
  constexpr uint64_t kApart = 1000003;  // seeds of models differ from each other and from the points' seed
  PointSource random(shape.seed + kApart * static_cast<uint64_t>(model + 1));
  std::set<int64_t> taken;
  std::vector<T> centroids;
  while (static_cast<int64_t>(taken.size()) < shape.clusters) {
    const int64_t row = random.below(shape.rows);
    if (!taken.insert(row).second) continue;
    const auto first = points.begin() + row * shape.columns;
    centroids.insert(centroids.end(), first, first + shape.columns);
  }
  return centroids;
}
template std::vector<float> first_centroids(const ExperimentShape& shape, const std::vector<float>& points,
                                            int64_t model);
template std::vector<double> first_centroids(const ExperimentShape& shape, const std::vector<double>& points,
                                             int64_t model);

ResultLine::ResultLine(const std::string& program, const ExperimentShape& shape) {
  fields_ = fmt::format(R"("program": "{}")", program);
  add("rows", shape.rows);
  add("columns", shape.columns);
  add("clusters", shape.clusters);
  add("models", shape.models);
  add("seed", static_cast<int64_t>(shape.seed));
  add("points", shape.points);
}

void ResultLine::add(const std::string& name, const std::string& text) {
  fields_ += fmt::format(R"(, "{}": "{}")", name, text);
}

void ResultLine::add(const std::string& name, int64_t number) {
  fields_ += fmt::format(R"(, "{}": {})", name, number);
}

void ResultLine::add(const std::string& name, double number) {
  fields_ += fmt::format(R"(, "{}": {:.6g})", name, number);
}

void ResultLine::print() const {
  std::printf("{%s}\n", fields_.c_str());
}

int run_program(int argc, char** argv, const std::function<bool(Arguments&)>& run) {
  try {
    Arguments arguments(argc, argv);
    return run(arguments) ? 0 : 1;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}

}  // namespace manymeans::founding
