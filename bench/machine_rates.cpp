// What this machine can do at best: products of the cpu backend's units that touch no memory, and reading of memory.
//
//   machine_rates THREADS
//
// Prints JSON: billions of operations a second of every format of the instruction set in use, and gigabytes a second,
// on so many threads (0: all usable). bench/machine_rates.py reads it.
#include <manymeans/error.h>

#include "backend/cpu/choose/screen_costs.h"
#include "backend/cpu/kernels/instruction_set.h"
#include "core/aligned_buffer.h"
#include "core/fp_environment.h"
#include "core/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <string>
#include <vector>

namespace {

using namespace manymeans;

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

void print_rate(const std::string& name, double rate) {
  fmt::print("  \"{}\": {:.6g},\n", name, rate);
}

void print_rates(const CpuKernels& kernels, int threads) {
  fmt::print("{{\n");
  for (int i = kernels.screen_count - 1; i >= 0; --i) {
    const ScreenKernels& screen = kernels.screens[i];
    if (screen.peak == nullptr || screen.format == ScreenFormat::kBfloat16Pair) continue;
    print_rate(fmt::format("{}_matrix_{}_gflops", kernels.name, name_of(screen.format)), peak_rate(screen, threads));
  }
  print_rate("read_gb_per_s", read_rate(threads));
  print_rate("read_gb_per_s_one_core", read_rate(1));
  fmt::print("  \"cores\": {}\n}}\n", threads);
}

}  // namespace

int main(int count, char** arguments) try {
  const FpEnvironmentGuard guard;
  const int threads = thread_count(count > 1 ? std::atoi(arguments[1]) : 0);
  print_rates(choose_kernels(""), threads);
  return 0;
} catch (const Error& error) {
  fmt::print(stderr, "machine_rates: {}\n", error.what());
  return 1;
}
