// Times whole fits of linear models to a file's points, whose last column is the target.
//
//   regression_fits POINTS START K MODELS ITERATIONS REPEATS THREADS [BACKEND]
//
// START is a file of K starting models (D coefficients and the intercept a row), or the name of an initialisation.
// Fits of one iteration and of ITERATIONS take turns. Prints JSON: for both the seconds of each fit, without reading
// the file, the medians of its phases, and the digests that were found: one each, or the program fails.
#include <manymeans/manymeans.h>

#include "core/threads.h"
#include "engine/tuned.h"
#include "prototype/linear_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace manymeans;

struct Series {
  int64_t iterations = 1;
  std::vector<double> seconds = {};
  std::map<std::string, std::vector<double>> phases = {};
  std::set<std::string> digests = {};
  std::string models = {};  // what the first few ended with
};

void fit_once(const Dataset& data, FitOptions options, const FitHooks& hooks, Series& series) {
  options.max_iter = series.iterations;
  const auto begin = std::chrono::steady_clock::now();
  const FitResult result = fit_kind(linear_model(), data.view, data.weights, options, hooks);
  const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - begin;
  series.seconds.push_back(whole.count());
  series.digests.insert(result.digest());
  for (const auto& [phase, time] : result.provenance.seconds) series.phases[phase].push_back(time);
  series.models.clear();
  for (const ModelResult& model : result.models) {
    series.models += fmt::format("{}[{}, {:.17g}]", series.models.empty() ? "" : ", ", model.iterations, model.inertia);
  }
}

double median_of(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

std::string json_of(const Series& series) {
  std::string times, phases, digests;
  for (const double time : series.seconds) times += fmt::format("{}{:.6f}", times.empty() ? "" : ", ", time);
  for (const auto& [phase, seconds] : series.phases) {
    phases += fmt::format(R"({}"{}": {:.6f})", phases.empty() ? "" : ", ", phase, median_of(seconds));
  }
  for (const std::string& digest : series.digests) {
    digests += fmt::format(R"({}"{}")", digests.empty() ? "" : ", ", digest);
  }
  return fmt::format(R"("{}": {{"seconds": [{}], "phases": {{{}}}, "digests": [{}], "iterations and errors": [{}]}})",
                     series.iterations, times, phases, digests, series.models);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 8 && argc != 9) {
    std::fprintf(stderr, "usage: regression_fits POINTS START K MODELS ITERATIONS REPEATS THREADS [BACKEND]\n");
    return 2;
  }
  try {
    const Dataset data = read_points(argv[1]);
    FitOptions options{.k = {std::atoll(argv[3])}, .models = std::atoll(argv[4])};
    options.backend = argc == 9 ? argv[8] : "cpu";
    options.stop = "strict";
    options.threads = std::atoi(argv[7]);
    FitHooks hooks;
    const std::string start = argv[2];
    Dataset initial;
    if (start.ends_with(".npy")) {
      initial = read_points(start);
      hooks.initial = initial.view;
    } else {
      options.init = start;
    }
    Series one{1}, many{std::max<int64_t>(2, std::atoll(argv[5]))};
    for (int repeat = 0; repeat < std::atoi(argv[6]); ++repeat) {
      fit_once(data, options, hooks, one);
      fit_once(data, options, hooks, many);
    }
    std::printf("{%s, %s}\n", json_of(one).c_str(), json_of(many).c_str());
    return one.digests.size() == 1 && many.digests.size() == 1 ? 0 : 1;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
