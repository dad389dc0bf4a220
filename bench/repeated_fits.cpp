// Times whole fits of a file's points, again and again in one process, as a program that embeds the library does them.
//
//   repeated_fits POINTS BACKEND K MODELS INIT ITERATIONS REPEATS SECONDS [TOL]
//
// Fits of one iteration and of ITERATIONS take turns: REPEATS of each after one of each that is not counted, and more
// until SECONDS are over, those and everything else included. TOL is the stop rule of that name, none if it is left
// out. Prints JSON: for 1 and for ITERATIONS the seconds of each fit, without checking and uploading the points and
// without initialisation, those of each whole call, the medians of all phases, and the digests that were found: one
// each, or the program fails.
#include <manymeans/manymeans.h>

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
  std::vector<double> whole = {};
  std::map<std::string, std::vector<double>> phases = {};
  std::set<std::string> digests = {};
};

double seconds_of(const FitResult& result) {
  double seconds = 0;
  for (const auto& [phase, time] : result.provenance.seconds) {
    if (phase == "fit") seconds += time;
    if (phase == "fit: initialise") seconds -= time;
  }
  return seconds;
}

void fit_once(const Dataset& data, FitOptions options, Series& series, bool counts) {
  options.max_iter = series.iterations;
  const auto begin = std::chrono::steady_clock::now();
  const FitResult result = fit(data.view, data.weights, options);
  const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - begin;
  series.digests.insert(result.digest());
  if (!counts) return;
  series.seconds.push_back(seconds_of(result));
  series.whole.push_back(whole.count());
  for (const auto& [phase, time] : result.provenance.seconds) series.phases[phase].push_back(time);
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

std::string list_of(const std::vector<double>& times) {
  std::string list;
  for (const double time : times) list += fmt::format("{}{:.9f}", list.empty() ? "" : ", ", time);
  return list;
}

std::string json_of(const Series& series) {
  std::string phases, digests;
  for (const auto& [phase, times] : series.phases)
    phases += fmt::format(R"({}"{}": {:.9f})", phases.empty() ? "" : ", ", phase, median_of(times));
  for (const std::string& digest : series.digests)
    digests += fmt::format("{}\"{}\"", digests.empty() ? "" : ", ", digest);
  return fmt::format(R"("{}": {{"seconds": [{}], "whole": [{}], "phases": {{{}}}, "digests": [{}]}})",
                     series.iterations, list_of(series.seconds), list_of(series.whole), phases, digests);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 9 && argc != 10) {
    std::fprintf(stderr, "usage: repeated_fits POINTS BACKEND K MODELS INIT ITERATIONS REPEATS SECONDS [TOL]\n");
    return 2;
  }
  try {
    const Dataset data = read_points(argv[1]);
    FitOptions options{.k = {std::atoll(argv[3])}, .models = std::atoll(argv[4])};
    options.backend = argv[2];
    options.init = argv[5];
    options.tol = argc == 10 ? std::atof(argv[9]) : 0;
    Series one{1};
    Series many{std::max<int64_t>(2, std::atoll(argv[6]))};
    const int repeats = std::atoi(argv[7]);
    const double most = std::atof(argv[8]);
    const auto begin = std::chrono::steady_clock::now();
    const auto elapsed = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    for (int repeat = 0; repeat <= repeats || elapsed() < most; ++repeat) {
      fit_once(data, options, one, repeat > 0);
      fit_once(data, options, many, repeat > 0);
    }
    std::printf("{%s, %s}\n", json_of(one).c_str(), json_of(many).c_str());
    return one.digests.size() == 1 && many.digests.size() == 1 ? 0 : 1;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
