// Fits of our opencl backend beside a plain OpenCL k-means on the same device, in one process, in turns.
//
//   opencl_peer DEVICE N D K MODELS ITERATIONS REPEATS
//
// DEVICE is the number that `manymeans info` says. Points are a mixture of K/2 normal components. Both begin each model
// with the same random rows and make as many iterations. Prints JSON: seconds of whole fits (copying the points
// included, building kernels not) and of their passes alone, of REPEATS fits each after one that is not counted; and
// the largest relative difference of the inertia of a model.
#include <manymeans/manymeans.h>

#include "backend/opencl/runtime/opencl_device.h"
#include "peers/plain_opencl.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace manymeans;

struct Job {
  int device = 0;
  int64_t n = 0, d = 0, k = 0, models = 0;
  int iterations = 0, repeats = 0;
  std::vector<float> points = {};
};

struct Times {
  std::string name;
  std::vector<double> whole = {}, passes = {};
  std::vector<double> inertia = {};  // of each model
};

std::vector<float> mixture(const Job& job) {
  std::mt19937_64 random(5);
  std::normal_distribution<float> normal;
  const int64_t groups = std::max<int64_t>(2, job.k / 2);
  std::vector<float> centres(static_cast<size_t>(groups * job.d));
  for (float& value : centres) value = normal(random) * 4 / std::sqrt(2 * static_cast<float>(job.d));
  std::vector<float> points(static_cast<size_t>(job.n * job.d));
  for (int64_t i = 0; i < job.n; ++i) {
    const float* const centre = centres.data() + static_cast<int64_t>(random() % static_cast<uint64_t>(groups)) * job.d;
    for (int64_t j = 0; j < job.d; ++j) points[static_cast<size_t>(i * job.d + j)] = centre[j] + normal(random);
  }
  return points;
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double inertia_of(const Job& job, const plain::Answer& answer) {
  double sum = 0;
  for (int64_t i = 0; i < job.n; ++i) {
    const float* const point = job.points.data() + i * job.d;
    const float* const prototype = answer.prototypes.data() + answer.labels[static_cast<size_t>(i)] * job.d;
    for (int64_t j = 0; j < job.d; ++j) {
      const double difference = static_cast<double>(point[j]) - static_cast<double>(prototype[j]);
      sum += difference * difference;
    }
  }
  return sum;
}

FitResult fit_ours(const Job& job, int iterations) {
  FitOptions options;
  options.k = {job.k};
  options.models = job.models;
  options.init = "random";
  options.tol = 0;
  options.max_iter = iterations;
  options.backend = fmt::format("opencl:{}", job.device);
  return fit({job.points.data(), job.n, job.d}, {}, options);
}

void time_ours(const Job& job, Times& times) {
  FitResult result;
  times.whole.push_back(seconds_of([&] { result = fit_ours(job, job.iterations); }));
  for (const auto& [phase, seconds] : result.provenance.seconds) {
    if (phase == "fit: passes") times.passes.push_back(seconds);
  }
  times.inertia.clear();
  for (const ModelResult& model : result.models) times.inertia.push_back(model.inertia);
}

void time_plain(const Job& job, const FitResult& starts, plain::PlainKMeans& peer, Times& times) {
  std::vector<plain::Answer> answers;
  times.whole.push_back(seconds_of([&] {
    peer.upload({job.points.data(), job.n, job.d, job.k, job.iterations});
    for (const ModelResult& start : starts.models) answers.push_back(peer.fit(start.prototypes.values<float>().data()));
  }));
  times.passes.push_back(0);
  times.inertia.clear();
  for (const plain::Answer& answer : answers) {
    times.passes.back() += answer.passes;
    times.inertia.push_back(inertia_of(job, answer));
  }
}

std::string json_of(const Times& times) {
  const auto counted = [](const std::vector<double>& all) {
    return fmt::format("{:.6f}", fmt::join(all.begin() + 1, all.end(), ", "));
  };
  return fmt::format(R"("{}": {{"whole": [{}], "passes": [{}]}})", times.name, counted(times.whole),
                     counted(times.passes));
}

void run(const Job& job) {
  const opencl::OpenClDevice& device = opencl::open_device(job.device);
  const bool nvidia = device.facts().platform_name.find("NVIDIA") != std::string::npos;
  plain::PlainKMeans attempts(device, false);
  std::unique_ptr<plain::PlainKMeans> native;
  if (nvidia) native = std::make_unique<plain::PlainKMeans>(device, true);
  const FitResult starts = fit_ours(job, 0);
  Times ours{"manymeans"}, by_attempts{"exchange"}, by_instruction{"native"};
  for (int repeat = 0; repeat <= job.repeats; ++repeat) {
    time_ours(job, ours);
    time_plain(job, starts, attempts, by_attempts);
    if (native) time_plain(job, starts, *native, by_instruction);
  }
  double difference = 0;
  for (const Times* const peer : {&by_attempts, &by_instruction}) {
    for (size_t m = 0; m < peer->inertia.size(); ++m) {
      difference = std::max(difference, std::fabs(peer->inertia[m] / ours.inertia[m] - 1));
    }
  }
  std::printf(R"({"device": "%s", %s, %s%s%s, "inertia": %.9g, "largest difference": %.3g})"
              "\n",
              device.facts().name.c_str(), json_of(ours).c_str(), json_of(by_attempts).c_str(), native ? ", " : "",
              native ? json_of(by_instruction).c_str() : "", ours.inertia[0], difference);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 8) {
    std::fprintf(stderr, "usage: opencl_peer DEVICE N D K MODELS ITERATIONS REPEATS\n");
    return 2;
  }
  try {
    Job job{std::atoi(argv[1]),  std::atoll(argv[2]), std::atoll(argv[3]), std::atoll(argv[4]),
            std::atoll(argv[5]), std::atoi(argv[6]),  std::atoi(argv[7])};
    job.points = mixture(job);
    run(job);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
