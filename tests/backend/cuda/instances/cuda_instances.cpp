// Runs every kernel of the library's CUDA code at production size and compares what comes out with the cpu backend,
// bit for bit: a kernel that goes wrong once in a hundred thousand rows, or waits for ever once in a thousand tiles,
// shows here. A program of its own, to be carried to a machine with a device:
//
//   cuda_instances [--rows 1000000] [--repeats 3] [--seconds 60] [--only TEXT] [list] [hang]
//
// The program itself says which kernels have to run (kernel_uses.h), and so do the tables of the screens
// (matrix_instances()). A kernel that was never launched is a failure. What takes longer than --seconds hangs: the
// program says which case and kernel, and ends with code 3. `list`: which kernels there are and what would run; needs
// no device. `hang`: a kernel that never ends, to see that the watchdog finds it.
// Built a second time as cuda_instances_chaos, with pseudo-random naps at every wait and release
// (chaos_wait_point.cuh).
#include <manymeans/error.h>
#include <manymeans/fit.h>

#include "backend/composite/composite_upload.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/tensor/matrix_kernels.h"
#include "backend/cuda/watchdog.h"
#include "backend/devices.h"
#include "core/threads.h"
#include "instance_cases.h"
#include "instance_trace.h"
#include "kernel_uses.h"
#include "never_ends.h"
#include "problem_cases.h"
#include "product_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace manymeans;
using namespace manymeans::test;

struct Settings {
  int64_t rows = 1'000'000;
  int repeats = 3;
  int seconds = 60;
  std::string only;
  bool list = false;
  bool hang = false;
};

Settings read_settings(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (flag == "list") {
      settings.list = true;
    } else if (flag == "hang") {
      settings.hang = true;
    } else if (++i, flag == "--rows") {
      settings.rows = std::atoll(value);
    } else if (flag == "--repeats") {
      settings.repeats = std::atoi(value);
    } else if (flag == "--seconds") {
      settings.seconds = std::atoi(value);
    } else if (flag == "--only") {
      settings.only = value;
    } else {
      throw Error(ErrorCode::kUsage, "cuda_instances",
                  "there is no '" + flag +
                      "'; use --rows, --repeats, --seconds, "
                      "--only, list or hang");
    }
  }
  return settings;
}

std::string text_of(const std::vector<int64_t>& k) {
  return k.size() == 1 ? fmt::format("k = {}", k[0]) : fmt::format("{} models, k = {}, ...", k.size(), k[0]);
}

// What the watchdog knows of a pass that does not end.
void report() {
  const std::vector<std::string> names = last_launches();
  std::printf("The last launches, oldest first:\n");
  for (const std::string& name : names) std::printf("  %s\n", name.c_str());
  std::fflush(stdout);
  const std::string unfinished = unfinished_kernel();
  if (!unfinished.empty()) std::printf("The first of them that has not ended: %s\n", unfinished.c_str());
}

// The points in the device's memory, if they are to lie there.
class DeviceCopy {
 public:
  explicit DeviceCopy(const PointsView* points) {
    if (points == nullptr) return;
    cuda::check(cudaMalloc(&data_, points->bytes()), "points on the device");
    cuda::check(cudaMemcpy(data_, points->data, points->bytes(), cudaMemcpyHostToDevice), "points on the device");
  }
  DeviceCopy(const DeviceCopy&) = delete;
  DeviceCopy& operator=(const DeviceCopy&) = delete;
  ~DeviceCopy() { cudaFree(data_); }
  const void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

class Runner {
 public:
  explicit Runner(const Settings& settings)
      : settings_(settings), pool_(usable_threads()), watchdog_(settings.seconds, report) {}

  void run(const InstanceCase& one) {
    try {
      run_ways(one);
    } catch (const Error& error) {
      fail(one.name + ": " + error.what());
    }
  }

  void run(const ProductCase& one) {
    begin_rows(one.rows);
    watchdog_.begin(one.name);
    mark_launches(true);
    try {
      if (!product_agrees(one, settings_.repeats)) fail(one.name);
    } catch (const Error& error) {
      fail(one.name + ": " + error.what());
    }
    compared_ += settings_.repeats;
  }

  void run_problems(int64_t columns) {
    const std::string name = name_of_problems(columns);
    watchdog_.begin(name);
    mark_launches(true);
    try {
      if (!problems_agree(columns, settings_.repeats)) fail(name);
    } catch (const Error& error) {
      fail(name + ": " + error.what());
    }
    compared_ += settings_.repeats;
  }
  static std::string name_of_problems(int64_t columns) { return fmt::format("many problems of {} columns", columns); }

  bool failed() const { return failures_ != 0; }
  int64_t compared() const { return compared_; }
  void hang() {
    watchdog_.begin("a kernel that never ends");
    mark_launches(true);
    never_ends();
  }

 private:
  void run_ways(const InstanceCase& one) {
    begin_rows(one.rows);
    watchdog_.begin(fmt::format("{}: {} rows, points", one.name, one.rows));
    const CasePoints points(one, pool_);
    const std::unique_ptr<Backend> cpu = make_backend("cpu", {});
    std::vector<Trace> expected;
    {
      const std::unique_ptr<Upload> upload = cpu->upload(points.input(), workload(one, true));
      for (const auto& k : one.sessions) {
        watchdog_.begin(fmt::format("{}: cpu, {}", one.name, text_of(k)));
        expected.push_back(trace_of(*upload, points, one, k, pool_));
      }
    }
    for (const Way& way : one.ways) run_way(one, way, points, expected);
  }

  static Workload workload(const InstanceCase& one, bool several) {
    Workload work;
    for (const auto& k : one.sessions) {
      if (!several && k.size() > 1) continue;
      int64_t all = 0;
      for (const int64_t count : k) {
        work.max_clusters = std::max(work.max_clusters, count);
        all += count;
      }
      work.all_clusters = std::max(work.all_clusters, all);
      work.models = std::max(work.models, static_cast<int64_t>(k.size()));
    }
    work.passes = 12 * work.models;
    return work;
  }

  void fail(const std::string& what) {
    ++failures_;
    std::printf("DIFFERS: %s\n", what.c_str());
    std::fflush(stdout);
  }

  // Margins are for one model at a time.
  static bool goes(const Way& way, const std::vector<int64_t>& k) { return way.algorithm != "bounds" || k.size() == 1; }

  void run_way(const InstanceCase& one, const Way& way, const CasePoints& points, const std::vector<Trace>& expected) {
    watchdog_.begin(fmt::format("{}: {}, upload", one.name, way.name));
    BackendOptions options;
    options.algorithm = way.algorithm;
    options.tuning.cuda.screen_format = way.screen;
    options.tuning.cuda.score_thresholds = way.score_thresholds;
    options.tuning.cuda.queued_passes = way.queued;
    options.tuning.cuda.slice_rows = way.slice_rows;
    std::vector<NamedBackend> cuda;
    cuda.push_back({"cuda", make_backend("cuda", options)});
    if (way.team) cuda.push_back({"cuda again", make_backend("cuda", options)});
    const DeviceCopy copy(way.on_device ? &points.input().points : nullptr);
    std::string wrong;
    const Input input = way.on_device ? points.device_input(copy.data(), pool_, wrong) : points.input();
    if (!wrong.empty()) fail(fmt::format("{}: {}: {}", one.name, way.name, wrong));
    if (way.on_device && !one.linear) label_few(one, *cuda[0].backend, points, input.points);
    const Workload work = workload(one, way.algorithm != "bounds");
    const std::vector<int64_t> ends = {one.rows / 3 / 64 * 64, one.rows};
    const std::unique_ptr<Upload> upload =
        way.team ? make_composite_upload(input, cuda, ends, work) : cuda[0].backend->upload(input, work);
    for (size_t s = 0; s < one.sessions.size(); ++s) {
      if (!goes(way, one.sessions[s])) continue;
      const std::string name = fmt::format("{}: {}, {}", one.name, way.name, text_of(one.sessions[s]));
      watchdog_.begin(fmt::format("{}, {} times [{}]", name, settings_.repeats, upload->plan()));
      for (int repeat = 0; repeat < settings_.repeats; ++repeat) {
        mark_launches(repeat == 0);
        const Trace found = trace_of(*upload, points, one, one.sessions[s], pool_);
        ++compared_;
        const std::string text = difference(expected[s], found);
        if (repeat == 0) std::printf("  digest %016llx\n", static_cast<unsigned long long>(digest_of(found)));
        if (!text.empty()) fail(fmt::format("{}, repeat {}: {}", name, repeat, text));
      }
    }
  }

  // A few rows, without a session: labels for the host, and labels that stay on the device. A session's labels stay
  // there, too.
  void label_few(const InstanceCase& one, const Backend& cuda, const CasePoints& points, const PointsView& there) {
    const Matrix prototypes = points.first_prototypes(one.sessions[0][0], 5);
    mark_launches(true);
    for (const int64_t count : {int64_t{100}, int64_t{1001}, one.rows}) {
      PointsView here = points.input().points, rows = there;
      here.n = rows.n = count;
      const Labels expected = predict(here, prototypes.view(), {.backend = "cpu"}).labels;
      cuda::DeviceBuffer<int32_t> room(static_cast<size_t>(count), "labels");
      PredictOptions options;
      options.backend = cuda.name();
      const Labels found = predict(rows, prototypes.view(), options).labels;
      options.room = {room.data(), rows.place};
      const Labels none = predict(rows, prototypes.view(), options).labels;
      std::vector<int32_t> stored(static_cast<size_t>(count));
      cuda::read_back(stored.data(), room.data(), stored.size(), cuda::Stream(), "labels");
      bool same = none.empty() && std::ranges::equal(found.bytes(), expected.bytes());
      for (int64_t i = 0; i < count; ++i) {
        same = same && stored[static_cast<size_t>(i)] == static_cast<int32_t>(expected[i]);
      }
      if (!same) fail(fmt::format("{}: labels of {} rows", one.name, count));
      ++compared_;
    }
  }

  const Settings& settings_;
  ThreadPool pool_;
  Watchdog watchdog_;
  int failures_ = 0;
  int64_t compared_ = 0;
};

// Kernels of the matrix screens that stand in no table, and entries of the tables that are not kernels.
int count_strangers() {
  int strangers = 0;
  std::vector<const KernelUse*> in_tables;
  for (const cuda::MatrixUnit unit : {cuda::MatrixUnit::kHopper, cuda::MatrixUnit::kSync}) {
    for (const cuda::MatrixInstance& one : cuda::matrix_instances(unit)) in_tables.push_back(kernel_use(one.kernel));
  }
  for (const KernelUse* use : in_tables) strangers += use == nullptr ? 1 : 0;
  for (const KernelUse& use : kernel_uses()) {
    const bool of_screen = use.name.find("_screen<") != std::string::npos || use.name.rfind("sync_kernel<", 0) == 0;
    if (!of_screen || std::ranges::find(in_tables, &use) != in_tables.end()) continue;
    std::printf("IN NO TABLE: %s\n", use.name.c_str());
    ++strangers;
  }
  return strangers;
}

// Hopper's kernels do not run elsewhere, and code for clusters is empty where it was compiled for older devices.
bool runs_here(const KernelUse& use) {
  cudaFuncAttributes compiled;
  if (cudaFuncGetAttributes(&compiled, use.function) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  return compiled.ptxVersion >= 90 || use.name.find("pack_whole_kernel") == std::string::npos;
}

// Prints how often each kernel was launched, and for how many rows at most; returns how many were not.
int count_unused() {
  int unused = 0;
  for (const KernelUse& use : kernel_uses()) {
    // That of `hang`, and one that only answers whether the device could run it.
    // Those that never end are other tests' (hang, device_faults.py).
    if (use.name.find("waits_for_ever") != std::string::npos || use.name.find("endless_kernel") != std::string::npos ||
        use.name == "cuda_devices: probe")
      continue;
    std::printf("%10lld launches %10lld rows  %s\n", static_cast<long long>(use.launches),
                static_cast<long long>(use.max_rows), use.name.c_str());
    unused += use.launches == 0 && runs_here(use) ? 1 : 0;
  }
  return unused;
}

std::vector<InstanceCase> wanted_cases(const Settings& settings) {
  std::vector<InstanceCase> cases = matrix_cases(settings.rows);
  for (InstanceCase& one : other_cases(settings.rows)) cases.push_back(std::move(one));
  std::erase_if(cases, [&](const InstanceCase& one) { return one.name.find(settings.only) == std::string::npos; });
  return cases;
}

std::vector<ProductCase> wanted_products(const Settings& settings) {
  std::vector<ProductCase> cases = product_cases();
  std::erase_if(cases, [&](const ProductCase& one) { return one.name.find(settings.only) == std::string::npos; });
  return cases;
}

std::vector<int64_t> wanted_problems(const Settings& settings) {
  std::vector<int64_t> cases = problem_columns();
  std::erase_if(cases, [&](int64_t columns) {
    return Runner::name_of_problems(columns).find(settings.only) == std::string::npos;
  });
  return cases;
}

int run_all(const Settings& settings) {
  const std::vector<InstanceCase> cases = wanted_cases(settings);
  if (settings.list) {
    for (const KernelUse& use : kernel_uses()) std::printf("%s\n", use.name.c_str());
    for (const InstanceCase& one : cases) std::printf("case %s\n", one.name.c_str());
    for (const ProductCase& one : wanted_products(settings)) std::printf("case %s\n", one.name.c_str());
    for (const int64_t d : wanted_problems(settings)) std::printf("case %s\n", Runner::name_of_problems(d).c_str());
    const int strangers = count_strangers();
    std::printf("%zu kernels, %zu cases, %d kernels and tables disagree\n", kernel_uses().size(), cases.size(),
                strangers);
    return strangers == 0 ? 0 : 1;
  }
  for (const std::string& device : cuda_devices()) std::printf("%s\n", device.c_str());
  Runner runner(settings);
  if (settings.hang) runner.hang();
  const auto begin = std::chrono::steady_clock::now();
  for (const InstanceCase& one : cases) runner.run(one);
  for (const ProductCase& one : wanted_products(settings)) runner.run(one);
  for (const int64_t columns : wanted_problems(settings)) runner.run_problems(columns);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const int unused = count_unused() + count_strangers();
  if (settings.only.empty() && unused != 0) std::printf("cuda_instances: %d KERNELS NEVER LAUNCHED\n", unused);
  const bool failed = runner.failed() || (settings.only.empty() && unused != 0);
  std::printf("cuda_instances: %zu kernels, %lld answers compared, %.0f seconds: %s\n", kernel_uses().size(),
              static_cast<long long>(runner.compared()), took.count(), failed ? "FAILED" : "all right");
  return failed ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run_all(read_settings(argc, argv));
  } catch (const Error& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
}
