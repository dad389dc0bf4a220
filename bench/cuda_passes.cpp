// Times the passes of a backend as the engine asks for them, and checks labels against the contract's definition.
//
//   cuda_passes [--backend cuda] [--algorithm auto[,NAME...]] [--screen FORMAT] [--memory MIB] [--queued 0]
//               [--score-thresholds 0|1] [--passes 12] [--repeats 3] [--seconds 0] N D K MODELS TYPE DATA ...
//
// TYPE: float32 or float64; DATA: noise (N(0,1)) or mixture (K overlapping groups). Initial prototypes are rows of the
// data. One iteration takes (T(12) - T(2)) / 10, T(p) the time of p passes (--passes for 12) from the initial
// prototypes with the solves between them: a fit of one iteration and its final labels are two passes. Passes end with
// the one that changes no label. Medians of 3 (of
// --repeats), and of as many more as --seconds have room for. A random 10000 labels of the last pass are compared with
// canonical distances on the host, and all label sums with those of the first repeat: where they differ, the program
// fails. --queued 1: no batch of passes in one kernel. --score-thresholds: whether columns below them are passed over.
#include <manymeans/error.h>

#include "backend/backend.h"
#include "core/data_type.h"
#include "core/distance.h"
#include "core/threads.h"
#include "prototype/prototype.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <string>
#include <vector>

namespace {

using namespace manymeans;

struct Shape {
  int64_t n, d, k, models;
  DataType type;
  bool mixture;
};

constexpr int kFirst = 2;  // passes of a fit of one iteration

struct Effort {
  int repeats = 3;
  double seconds = 0;  // of repeats, at least
  int passes = 12;
};

double since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

uint64_t mixed(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

double uniform(uint64_t seed) {
  return (static_cast<double>(mixed(seed) >> 11) + 0.5) * 0x1p-53;
}

double normal(uint64_t seed) {
  return std::sqrt(-2 * std::log(uniform(2 * seed))) * std::cos(2 * std::numbers::pi * uniform(2 * seed + 1));
}

template <class T>
std::vector<T> make_values(const Shape& shape, ThreadPool& pool) {
  std::vector<T> values(static_cast<size_t>(shape.n * shape.d));
  pool.for_each_range(shape.n, 4096, [&](int, int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const auto group =
          static_cast<int64_t>(mixed(static_cast<uint64_t>(i) ^ 0x5555) % static_cast<uint64_t>(shape.k));
      for (int64_t j = 0; j < shape.d; ++j) {
        double v = normal(static_cast<uint64_t>(i * shape.d + j));
        if (shape.mixture) v += 1.5 * normal(0xabcdef0000000000 + static_cast<uint64_t>(group * shape.d + j));
        values[static_cast<size_t>(i * shape.d + j)] = static_cast<T>(v);
      }
    }
  });
  return values;
}

Matrix rows_of(const PointsView& points, int64_t k, uint64_t seed) {
  Matrix result(k, points.d, prototype_type(points.type));
  for (int64_t c = 0; c < k; ++c) {
    const int64_t row = (points.n / k) * c + static_cast<int64_t>(mixed(seed * 7919 + static_cast<uint64_t>(c)) %
                                                                  static_cast<uint64_t>(points.n / k));
    for (int64_t j = 0; j < points.d; ++j) {
      const auto at = static_cast<size_t>(c * points.d + j);
      if (points.type == DataType::kFloat64) {
        widen(points.data, points.type, row * points.d + j, 1, &result.values<double>()[at]);
      } else {
        widen(points.data, points.type, row * points.d + j, 1, &result.values<float>()[at]);
      }
    }
  }
  return result;
}

class Bench {
 public:
  Bench(Backend& backend, const Shape& shape, const PointsView& points, ThreadPool& pool)
      : shape_(shape), pool_(pool), input_(prepare_input(points, {}, pool)) {
    const Workload workload{shape.k, shape.k * shape.models, 12 * shape.models, shape.models, 1};
    upload_ = backend.upload(input_, workload);
    for (int64_t m = 0; m < shape.models; ++m) start_.push_back(rows_of(points, shape.k, static_cast<uint64_t>(m)));
  }

  /// Whether every repeat found the same.
  bool run(const Effort& effort) {
    std::vector<double> one, more;
    std::vector<PassResult> expected;
    bool same = true;
    const auto begin = std::chrono::steady_clock::now();
    for (int repeat = 0; repeat <= effort.repeats || since(begin) < effort.seconds; ++repeat) {
      const double first = seconds(kFirst);
      const double all = seconds(effort.passes);
      if (expected.empty()) expected = log_;
      same = same_as(expected, repeat) && same;
      if (repeat == 0) continue;  // warm-up
      one.push_back(first);
      more.push_back(all);
    }
    std::sort(one.begin(), one.end());
    std::sort(more.begin(), more.end());
    const double iterations = std::max(1.0, static_cast<double>(expected.size()) - kFirst);
    std::printf("N=%lld D=%lld K=%lld M=%lld %s %s | %.4f ms an iteration | first two passes %.3f ms | %s\n",
                static_cast<long long>(shape_.n), static_cast<long long>(shape_.d), static_cast<long long>(shape_.k),
                static_cast<long long>(shape_.models), std::string(name_of(shape_.type)).c_str(),
                shape_.mixture ? "mixture" : "noise", (more[more.size() / 2] - one[one.size() / 2]) * 1e3 / iterations,
                one[one.size() / 2] * 1e3, upload_->plan().c_str());
    std::printf("   changed %%:");
    for (const PassResult& pass : log_) std::printf(" %.2f", percent(pass.changed));
    std::printf("\n   kept %%:");
    for (const PassResult& pass : log_) std::printf(" %.2f", percent(pass.skipped));
    std::printf("\n   resolved %%:");
    for (const PassResult& pass : log_) std::printf(" %.4f", percent(pass.resolved));
    std::printf(
        "\n   candidates a resolved row: %.2f; wrong labels among 10000: %lld\n",
        static_cast<double>(log_.back().candidates) / std::max<double>(1, static_cast<double>(log_.back().resolved)),
        static_cast<long long>(wrong_labels()));
    std::fflush(stdout);
    return same;
  }

 private:
  // Whether the passes were those of the first repeat; tells the first that was not.
  bool same_as(const std::vector<PassResult>& expected, int repeat) const {
    if (log_.size() != expected.size()) {
      std::printf("REPEAT %d DIFFERS: %zu passes, %zu\n", repeat, log_.size(), expected.size());
      return false;
    }
    for (size_t p = 0; p < log_.size(); ++p) {
      const PassResult &a = log_[p], &b = expected[p];
      if (a.hash_delta == b.hash_delta && a.resolved == b.resolved && a.candidates == b.candidates) continue;
      std::printf("REPEAT %d DIFFERS in pass %zu: labels %s; resolved %lld, %lld; candidates %lld, %lld\n", repeat, p,
                  a.hash_delta == b.hash_delta ? "equal" : "different", static_cast<long long>(a.resolved),
                  static_cast<long long>(b.resolved), static_cast<long long>(a.candidates),
                  static_cast<long long>(b.candidates));
      return false;
    }
    return true;
  }

  double percent(int64_t count) const {
    return 100 * static_cast<double>(count) / static_cast<double>(shape_.n * shape_.models);
  }

  // The time of so many passes, or of those up to the first that changes no label, where a fit ends: whatever would
  // come after it is no pass of a fit. Leaves the session and prototypes of the last.
  double seconds(int passes) {
    session_.reset();
    const std::vector<int64_t> k(static_cast<size_t>(shape_.models), shape_.k);
    session_ = upload_->session(k, 0);
    prototypes_ = start_;
    log_.assign(static_cast<size_t>(passes), {});
    const auto begin = std::chrono::steady_clock::now();
    for (int done = 0; done < passes;) {
      std::vector<PassModel> models;
      for (size_t m = 0; m < prototypes_.size(); ++m) models.push_back({static_cast<int>(m), &prototypes_[m], {}});
      const int some = session_->advance(models, passes - done);
      for (size_t m = 0; m < models.size(); ++m) {
        for (int p = 0; p < some; ++p) {
          const PassResult& result = p + 1 < some ? models[m].earlier[static_cast<size_t>(p)] : models[m].result;
          log_[static_cast<size_t>(done + p)] += result;
        }
        if (some > 1) prototypes_[m] = std::move(models[m].last_prototypes);
      }
      done += some;
      if (log_[static_cast<size_t>(done - 1)].changed == 0) passes = done;
      for (size_t m = 0; done < passes && m < models.size(); ++m) {
        prototypes_[m] = solve_prototypes(session_->statistics(static_cast<int>(m)), input_, prototypes_[m], pool_);
      }
    }
    const double time = since(begin);
    log_.resize(static_cast<size_t>(passes));
    return time;
  }

  int64_t wrong_labels() {
    std::vector<int64_t> wrong(static_cast<size_t>(pool_.size()));
    const Labels& labels = session_->labels(0);
    std::vector<double> c(static_cast<size_t>(shape_.k * shape_.d));
    widen(prototypes_[0].view().data, prototypes_[0].type(), 0, shape_.k * shape_.d, c.data());
    const auto work = static_cast<int64_t>(4e9) / (shape_.k * shape_.d);
    pool_.for_each_range(std::min<int64_t>(10000, work), 16, [&](int worker, int64_t first, int64_t last) {
      std::vector<double> x(static_cast<size_t>(shape_.d));
      for (int64_t i = first; i < last; ++i) {
        const auto row = static_cast<int64_t>(mixed(static_cast<uint64_t>(i) + 99) % static_cast<uint64_t>(shape_.n));
        widen(input_.points.data, shape_.type, row * shape_.d, shape_.d, x.data());
        double least = INFINITY;
        uint32_t label = 0;
        for (int64_t k = 0; k < shape_.k; ++k) {
          const double d2 = canonical_distance(x.data(), c.data() + k * shape_.d, shape_.d);
          if (d2 < least) label = static_cast<uint32_t>(k);
          least = std::min(least, d2);
        }
        wrong[static_cast<size_t>(worker)] += label != labels[row];
      }
    });
    int64_t sum = 0;
    for (const int64_t count : wrong) sum += count;
    return sum;
  }

  Shape shape_;
  ThreadPool& pool_;
  Input input_;
  std::unique_ptr<Upload> upload_;
  std::unique_ptr<Session> session_;
  std::vector<Matrix> start_, prototypes_;
  std::vector<PassResult> log_;
};

using Backends = std::vector<std::unique_ptr<Backend>>;

// Once with each of the backends, over the same points.
template <class T>
bool run_shape(const Backends& backends, const Shape& shape, const Effort& effort, ThreadPool& pool) {
  const std::vector<T> values = make_values<T>(shape, pool);
  bool same = true;
  for (const auto& backend : backends) {
    same = Bench(*backend, shape, {values.data(), shape.n, shape.d}, pool).run(effort) && same;
  }
  return same;
}

Backends make_backends(const std::string& name, BackendOptions options, const std::string& algorithms) {
  Backends backends;
  for (size_t first = 0; first <= algorithms.size();) {
    const size_t end = std::min(algorithms.find(',', first), algorithms.size());
    options.algorithm = algorithms.substr(first, end - first);
    backends.push_back(make_backend(name, options));
    first = end + 1;
  }
  return backends;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::string name = "cuda";
    std::string algorithms = "auto";
    std::string screen;
    BackendOptions options;
    int at = 1;
    Effort effort;
    for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
      if (std::string(argv[at]) == "--repeats") {
        effort.repeats = std::max(1, std::atoi(argv[at + 1]));
      } else if (std::string(argv[at]) == "--seconds") {
        effort.seconds = std::atof(argv[at + 1]);
      } else if (std::string(argv[at]) == "--passes") {
        effort.passes = std::max(kFirst + 1, std::atoi(argv[at + 1]));
      } else if (std::string(argv[at]) == "--memory") {
        options.device_memory = std::atoll(argv[at + 1]) << 20;
      } else if (std::string(argv[at]) == "--algorithm") {
        algorithms = argv[at + 1];
      } else if (std::string(argv[at]) == "--queued") {
        options.tuning.cuda.queued_passes = std::atoi(argv[at + 1]) != 0;
      } else if (std::string(argv[at]) == "--score-thresholds") {
        options.tuning.cuda.score_thresholds = std::atoi(argv[at + 1]) != 0;
      } else {
        (std::string(argv[at]) == "--backend" ? name : screen) = argv[at + 1];
      }
    }
    options.tuning.cpu.screen_format = options.tuning.cuda.screen_format = screen;
    bool same = true;
    ThreadPool pool(usable_threads());
    const Backends backends = make_backends(name, options, algorithms);
    for (; at + 5 < argc; at += 6) {
      const auto type = data_type_from_name(argv[at + 4]);
      const Shape shape{
          std::atoll(argv[at]),     std::atoll(argv[at + 1]),          std::atoll(argv[at + 2]),
          std::atoll(argv[at + 3]), type.value_or(DataType::kFloat32), std::string(argv[at + 5]) == "mixture"};
      const auto run = shape.type == DataType::kFloat64 ? run_shape<double> : run_shape<float>;
      same = run(backends, shape, effort, pool) && same;
    }
    return same ? 0 : 1;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
