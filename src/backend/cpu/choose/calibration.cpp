// What the cost model wants to know is measured through the backend itself: passes of sessions that differ in one
// thing.
#include "backend/calibration.h"

#include "backend/backend.h"
#include "backend/cpu/choose/screen_cost_table.h"
#include "backend/cpu/choose/screen_costs.h"
#include "backend/cpu/kernels/instruction_set.h"
#include "core/aligned_buffer.h"
#include "core/environment.h"
#include "core/threads.h"
#include "data/input.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace manymeans {
namespace {

using Json = nlohmann::ordered_json;

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Of this thread alone: others on a busy machine count less.
double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// The least of several, since everything that disturbs a run makes it longer.
template <class Body>
double least_seconds(int times, double (*clock)(), Body&& body) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < times; ++i) {
    const double begin = clock();
    body();
    least = std::min(least, clock() - begin);
  }
  return least;
}

struct Shape {
  int64_t n;
  int64_t d;
  int64_t k;
};

// Where the points of a session lie: on one prototype each, or half-way between two, so that no screen can tell which.
enum class Place : uint8_t { kOnPrototypes, kBetweenTwo };

class MadeUp {
 public:
  MadeUp(const Shape& shape, Place place)
      : prototypes(shape.k, shape.d, DataType::kFloat32), values_(static_cast<size_t>(shape.n * shape.d)) {
    std::mt19937 random(1);
    const std::span<float> centres = prototypes.values<float>();
    for (float& value : centres) value = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 500;
    for (int64_t i = 0; i < shape.n; ++i) {
      const int64_t one = i % shape.k;
      const int64_t other = place == Place::kBetweenTwo ? one ^ 1 : one;
      for (int64_t j = 0; j < shape.d; ++j) {
        const float sum =
            centres[static_cast<size_t>(one * shape.d + j)] + centres[static_cast<size_t>(other * shape.d + j)];
        values_[static_cast<size_t>(i * shape.d + j)] = sum / 2;
      }
    }
    points = {values_.data(), shape.n, shape.d};
  }

  Matrix prototypes;
  PointsView points;

 private:
  std::vector<float> values_;
};

class Calibrator {
 public:
  Calibrator(std::string_view instruction_set, double byte_ns) : set_(instruction_set) { costs_.byte = byte_ns; }

  ScreenCosts run() {
    measure_float32();
    const CpuKernels& kernels = choose_kernels(set_);
    if (kernels.screen_count > 1) measure_matrix();
    measure_resolving();
    return costs_;
  }

 private:
  // A pass that changes no label.
  double pass_seconds(const Shape& shape, const char* format, Place place) const {
    const MadeUp made(shape, place);
    BackendOptions options;
    options.threads = 1;
    options.algorithm = "matrix";
    options.tuning.cpu.screen_format = format;
    options.tuning.cpu.instruction_set = set_;
    const std::unique_ptr<Backend> backend = make_backend("cpu", options);
    ThreadPool pool(1);
    const Input input = prepare_input(made.points, {}, pool);
    const std::unique_ptr<Upload> upload = backend->upload(input);
    const std::unique_ptr<Session> session = upload->session({&shape.k, 1}, 1);
    PassModel model{0, &made.prototypes, {}};
    session->advance({&model, 1}, 1);
    return least_seconds(7, thread_seconds, [&] { session->advance({&model, 1}, 1); });
  }

  // So many rows that twice as many columns take some milliseconds more, by the costs that ship.
  int64_t rows_for(double column_ns) const {
    constexpr double kNanoseconds = 5e6;
    return std::clamp<int64_t>(static_cast<int64_t>(kNanoseconds / (column_ns * kColumns)), 1024, 32768);
  }

  // Of a row and column; what does not depend on the number of columns cancels.
  double column_ns(const char* format, int64_t d, double about) const {
    const int64_t n = rows_for(about);
    const double more = pass_seconds({n, d, 2 * kColumns}, format, Place::kOnPrototypes);
    const double fewer = pass_seconds({n, d, kColumns}, format, Place::kOnPrototypes);
    return std::max(kLeast, (more - fewer) * 1e9 / static_cast<double>(n * kColumns));
  }

  void measure_float32() {
    const ScreenCosts& shipped = shipped_costs(set_);
    const double few = column_ns("float32", 16, shipped.score + 16 * shipped.value);
    const double many = column_ns("float32", 64, shipped.score + 64 * shipped.value);
    costs_.value = std::max(kLeast, (many - few) / 48);
    costs_.score = std::max(kLeast, few - 16 * costs_.value);
  }

  void measure_matrix() {
    const ScreenCosts& shipped = shipped_costs(set_);
    const double one = column_ns("bfloat16", 32, shipped.matrix_score + shipped.step);
    const double five = column_ns("bfloat16", 160, shipped.matrix_score + 5 * shipped.step);
    costs_.step = std::max(kLeast, (five - one) / 4);
    costs_.matrix_score = std::max(kLeast, one - costs_.step);
  }

  void measure_resolving() {
    const auto extra = [&](int64_t d) {
      const Shape shape{8192, d, 128};
      const double proved = pass_seconds(shape, "float32", Place::kOnPrototypes);
      const double between = pass_seconds(shape, "float32", Place::kBetweenTwo);
      return std::max(0.0, between - proved) * 1e9 / static_cast<double>(shape.n);
    };
    const double few = extra(16), many = extra(128);
    costs_.resolve_value = std::max(kLeast, (many - few) / 112);
    costs_.resolve = std::max(kLeast, few - 16 * costs_.resolve_value);
  }

  static constexpr int64_t kColumns = 256;
  static constexpr double kLeast = 1e-4;

  std::string set_;
  ScreenCosts costs_;
};

double read_all(const uint64_t* values, size_t count) {
  uint64_t sums[4] = {};
  for (size_t i = 0; i + 4 <= count; i += 4) {
    for (size_t j = 0; j < 4; ++j) sums[j] += values[i + j];
  }
  return static_cast<double>(sums[0] ^ sums[1] ^ sums[2] ^ sums[3]);
}

// Gigabytes a second from memory: 64 MiB for each of at least four threads, more than caches hold.
double read_rate(int threads) {
  constexpr size_t kShare = size_t{64} << 17;
  ThreadPool pool(threads);
  const size_t share = kShare * (pool.size() < 4 ? 4 : 1);
  AlignedBuffer<uint64_t> values(share * static_cast<size_t>(pool.size()));
  std::vector<double> results(static_cast<size_t>(pool.size()) * 8);
  pool.run(
      [&](int w) { std::fill_n(values.data() + share * static_cast<size_t>(w), share, static_cast<uint64_t>(w)); });
  const double seconds = least_seconds(5, wall_seconds, [&] {
    pool.run([&](int w) {
      results[static_cast<size_t>(w) * 8] = read_all(values.data() + share * static_cast<size_t>(w), share);
    });
  });
  const volatile double kept = results[0];
  static_cast<void>(kept);
  return static_cast<double>(values.size() * sizeof(uint64_t)) / seconds * 1e-9;
}

// Billions of operations a second of all threads together, without memory.
double peak_rate(const ScreenKernels& screen, int threads) {
  ThreadPool pool(threads);
  double operations = screen.peak(1);
  const double once = least_seconds(3, thread_seconds, [&] { screen.peak(10'000); }) / 10'000;
  const auto rounds = static_cast<int64_t>(0.05 / std::max(once, 1e-10));
  operations *= static_cast<double>(rounds) * pool.size();
  return operations / least_seconds(4, wall_seconds, [&] { pool.run([&](int) { screen.peak(rounds); }); }) * 1e-9;
}

Json measure_rates(const CpuKernels& kernels, int threads, double one_core) {
  Json rates;
  for (int i = kernels.screen_count - 1; i >= 0; --i) {
    const ScreenKernels& screen = kernels.screens[i];
    if (screen.peak == nullptr || screen.format == ScreenFormat::kBfloat16Pair) continue;
    rates[fmt::format("{}_matrix_{}_gflops", kernels.name, name_of(screen.format))] = peak_rate(screen, threads);
  }
  rates["read_gb_per_s"] = threads == 1 ? one_core : read_rate(threads);
  rates["read_gb_per_s_one_core"] = one_core;
  rates["cores"] = threads;
  return rates;
}

}  // namespace

std::string measure_cpu_costs(int threads, const std::function<void(std::string_view)>& say) {
  const CpuKernels& in_force = choose_kernels("");
  const int cores = thread_count(threads);
  const bool forced = !environment::cpu_instruction_set().empty();
  say("reading memory");
  const double one_core = read_rate(1);
  Json file = {{"manymeans_costs", 1}, {"instruction_sets", Json::object()}};
  for (const InstructionSet& set : instruction_sets()) {
    const CpuKernels& kernels = set.kernels();
    if (!kernels.supported() || (forced && &kernels != &in_force)) continue;
    say(fmt::format("screens of {}", set.name));
    const ScreenCosts costs = Calibrator(set.name, 1 / one_core).run();
    Json& json = file["instruction_sets"][std::string(set.name)];
    for_each_cost(costs, [&](const char* name, double value, bool of_matrix) {
      if (!of_matrix || kernels.screen_count > 1) json[name] = value;
    });
  }
  say(fmt::format("products and memory on {} thread{}", cores, cores == 1 ? "" : "s"));
  file["rates"] = measure_rates(in_force, cores, one_core);
  return file.dump(2) + "\n";
}

}  // namespace manymeans
