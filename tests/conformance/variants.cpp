#include "conformance/variants.h"

#include <manymeans/error.h>
#include <manymeans/info.h>

#include "backend/cpu/choose/screen_costs.h"
#include "backend/cpu/kernels/instruction_set.h"
#include "backend/device/async_backend.h"
#include "core/threads.h"
#include "data/input.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

namespace manymeans::test {

std::unique_ptr<Backend> Target::make(const std::string& algorithm, int threads, double bound_scale) const {
  BackendOptions options;
  options.threads = threads;
  options.algorithm = algorithm;
  options.tuning.cpu.instruction_set = instruction_set;
  options.tuning.cpu.screen_format = options.tuning.cuda.screen_format = screen_format;
  options.tuning.cpu.bound_scale = options.tuning.cuda.bound_scale = options.tuning.opencl.bound_scale = bound_scale;
  // Seeding is the same whether passes carry bounds or not, so that these try its other way.
  options.tuning.cpu.seeding_in_bytes = algorithm == "bounds";
  options.tuning.cpu.passes_in_bytes = algorithm == "auto";
  options.tuning.cuda.slice_rows = options.tuning.opencl.slice_rows = slice_rows;
  options.tuning.cuda.queued_passes = queued_passes;
  options.tuning.cuda.score_thresholds = score_thresholds;
  if (backend == "async") options.tuning.test_backend = make_async_backend;
  return make_backend(backend, options);
}

bool takes(std::string_view backend, std::string_view algorithm, int64_t columns) {
  if (backend == "async") return algorithm == "brute" || algorithm == "auto";
  if (backend == "opencl" && algorithm == "bounds") return false;
  if (backend == "cuda" && algorithm == "kdtree") return columns <= 4;
  return algorithm != "kdtree" || columns <= 32;
}

bool takes(const Target& target, std::string_view algorithm, int64_t columns) {
  const bool slices = target.slice_rows != 0;
  if (target.backend == "cuda" && algorithm == "bounds") return !slices && target.screen_format != "float32";
  if (target.backend == "opencl" && algorithm == "kdtree") return columns <= 32;
  return takes(target.backend, algorithm, columns) && (!slices || algorithm != "kdtree");
}

bool asks_for_some() {
  const auto names = {"MANYMEANS_TEST_BACKEND", "MANYMEANS_TEST_ISA", "MANYMEANS_TEST_TARGET"};
  return std::ranges::any_of(names, [](const char* name) { return std::getenv(name) != nullptr; });
}

bool tells_formats_apart(const Target& target, std::string_view algorithm) {
  return target.backend != "cpu" || target.screen_format == "float32" ||
         (algorithm != "brute" && algorithm != "kdtree");
}

bool looks_in_bytes(const Target& target, int64_t columns) {
  if (target.backend != "cpu") return false;
  const CpuKernels& kernels = choose_kernels(target.instruction_set);
  for (int i = 0; i < kernels.screen_count; ++i) {
    const ScreenKernels& screen = kernels.screens[i];
    if (name_of(screen.format) == target.screen_format) return coded_kernels(kernels, screen, columns) != nullptr;
  }
  return false;
}

// Whether this machine's device has a screen in this format; points say so, the backend alone does not.
bool screens_in(std::string_view backend, const char* format) {
  const std::vector<float> values = {1, 2, 3};
  ThreadPool pool(1);
  const Input input = prepare_input({values.data(), 3, 1}, {}, pool);
  BackendOptions options;
  options.tuning.cpu.screen_format = options.tuning.cuda.screen_format = format;
  try {
    make_backend(backend, options)->upload(input);
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnavailable) throw;
    fmt::print("[ NOT HERE ] {}\n", error.what());
    return false;
  }
}

namespace {

// Everything that this build has here.
std::vector<Target> targets_here() {
  std::vector<Target> found;
  for (const BackendEntry& entry : backends()) {
    if (entry.name == "reference") continue;  // the oracle itself
    const char* only = std::getenv("MANYMEANS_TEST_BACKEND");
    if (only != nullptr && entry.name != only) continue;
    try {
      entry.make({});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnavailable) throw;
      fmt::print("[ NOT HERE ] {}\n", error.what());
      continue;
    }
    if (entry.name == "cuda") {
      for (const char* format : {"float32", "float16", "float16-sync"}) {
        if (!screens_in("cuda", format)) continue;
        // The cases are small, so that in fp16 a batch is one kernel; the ways of large problems are tried too.
        const bool in_fp16 = std::string_view(format) != "float32";
        if (in_fp16) found.push_back({"cuda", "", format, 0, true});
        if (in_fp16) found.push_back({"cuda", "", format, 0, true, true});
        if (format == std::string_view("float16-sync")) continue;
        found.push_back({"cuda", "", format});
        found.push_back({"cuda", "", format, 128});
      }
      continue;
    }
    if (entry.name == "opencl") {
      found.push_back({.backend = "opencl"});
      found.push_back({.backend = "opencl", .slice_rows = 128});
      continue;
    }
    if (entry.name != "cpu") {
      found.push_back({std::string(entry.name), "", ""});
      continue;
    }
    const char* only_set = std::getenv("MANYMEANS_TEST_ISA");
    for (const Choice& set : cpu_instruction_sets()) {
      if (only_set != nullptr && set.name != only_set) continue;
      if (set.available) {
        for (const std::string& format : cpu_screen_formats(set.name)) found.push_back({"cpu", set.name, format});
      } else {
        fmt::print("[ NOT HERE ] instruction set {}: this machine does not have it\n", set.name);
      }
    }
  }
  return found;
}

}  // namespace

std::vector<Target> targets() {
  std::vector<Target> found = targets_here();
  const char* only = std::getenv("MANYMEANS_TEST_TARGET");
  if (only != nullptr) std::erase_if(found, [only](const Target& target) { return target.name() != only; });
  return found;
}

std::vector<Target> async_targets() {
  const char* only = std::getenv("MANYMEANS_TEST_BACKEND");
  if (only != nullptr && only != std::string_view("async")) return {};
  return {{"async", "", ""}, {"async", "", "", 100}};
}

}  // namespace manymeans::test
