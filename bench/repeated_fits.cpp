// Times whole fits of a file's points, again and again in one process, as a program that embeds the library does them.
//
//   repeated_fits POINTS BACKEND K MODELS INIT ITERATIONS REPEATS SECONDS
//
// Fits of one iteration and of ITERATIONS take turns: REPEATS of each after one of each that is not counted, and more
// until SECONDS are over, those and everything else included. Prints JSON: for 1 and for ITERATIONS the seconds of each
// fit, without checking and uploading the points and without initialisation, and the digests that were found: one each,
// or the program fails.
#include <manymeans/manymeans.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace manymeans;

struct Series {
  int64_t iterations = 1;
  std::vector<double> seconds = {};
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
  const FitResult result = fit(data.view, data.weights, options);
  series.digests.insert(result.digest());
  if (counts) series.seconds.push_back(seconds_of(result));
}

std::string json_of(const Series& series) {
  std::string times, digests;
  for (const double time : series.seconds) times += fmt::format("{}{:.9f}", times.empty() ? "" : ", ", time);
  for (const std::string& digest : series.digests)
    digests += fmt::format("{}\"{}\"", digests.empty() ? "" : ", ", digest);
  return fmt::format(R"("{}": {{"seconds": [{}], "digests": [{}]}})", series.iterations, times, digests);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 9) {
    std::fprintf(stderr, "usage: repeated_fits POINTS BACKEND K MODELS INIT ITERATIONS REPEATS SECONDS\n");
    return 2;
  }
  try {
    const Dataset data = read_points(argv[1]);
    FitOptions options{.k = {std::atoll(argv[3])}, .models = std::atoll(argv[4])};
    options.backend = argv[2];
    options.init = argv[5];
    options.tol = 0;
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
