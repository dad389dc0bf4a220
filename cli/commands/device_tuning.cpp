#include "commands/device_tuning.h"

#include <manymeans/error.h>
#include <manymeans/fit.h>

#include "commands/noise.h"
#include "output/text_table.h"
#include "streams/standard_streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace manymeans::cli {
namespace {

constexpr const char* kVariable = "MANYMEANS_OPENCL_TUNED";
constexpr int64_t kColumns[] = {8, 64};  // points that stay in registers, and others

// A parameter, and what it may be: TunedParameters of the backend, by its settings.
struct Parameter {
  const char* name;
  std::vector<std::string> settings;
};

const std::vector<Parameter>& parameters() {
  static const std::vector<Parameter> kAll = {
      {"width", {"width=4", "width=8", "width=16"}},
      {"columns", {"columns=2", "columns=4", "columns=8", "columns=16"}},
      {"long_columns", {"long_columns=2", "long_columns=4", "long_columns=8", "long_columns=16"}},
      {"group",
       {"group=1,contiguous=1", "group=32,contiguous=0", "group=64,contiguous=0", "group=128,contiguous=0",
        "group=256,contiguous=0"}},
      {"items_a_unit",
       {"items_a_unit=2", "items_a_unit=8", "items_a_unit=32", "items_a_unit=512", "items_a_unit=2048",
        "items_a_unit=8192"}},
      {"fused", {"fused=0", "fused=1"}},
      {"low_contention", {"low_contention=0", "low_contention=1"}},
  };
  return kAll;
}

std::vector<Parameter> parameters_of(const TuningTask& task) {
  if (!task.backend.starts_with("opencl")) {
    throw Error(ErrorCode::kUsage, "--tune", "opencl has parameters to tune, and '" + task.backend + "' has not");
  }
  std::vector<Parameter> found = parameters();
  if (!task.only.empty()) std::erase_if(found, [&](const Parameter& one) { return one.name != task.only; });
  if (found.empty()) throw Error(ErrorCode::kUsage, "--only", "there is no parameter '" + task.only + "'");
  return found;
}

// Points and the fits of them that are timed.
class Trial {
 public:
  Trial(const TuningTask& task, int64_t columns)
      : rows_(task.rows), columns_(columns), values_(noise(rows_ * columns)) {
    options_.k = {task.clusters};
    options_.init = "random";
    options_.tol = 0;
    options_.max_iter = 10;
    options_.threads = task.threads;
    options_.backend = task.backend;
  }

  /// Seconds of a pass, the least of three fits, of which the first builds the kernels.
  double seconds() {
    double least = std::numeric_limits<double>::infinity();
    for (int repeat = 0; repeat < 3; ++repeat) {
      const FitResult result = fit({values_.data(), rows_, columns_}, {}, options_);
      digests_.insert(result.digest());
      for (const auto& [phase, taken] : result.provenance.seconds) {
        if (phase == "fit: passes") least = std::min(least, taken / static_cast<double>(result.provenance.passes));
      }
    }
    return least;
  }

  /// Of all fits so far.
  bool same_answers() const { return digests_.size() <= 1; }

 private:
  int64_t rows_, columns_;
  std::vector<float> values_;
  FitOptions options_;
  std::set<std::string> digests_;
};

// With some settings.
struct Measured {
  std::vector<double> seconds;  // of points of each kind; empty where the device cannot do it, or its compiler cannot
  std::string problem;          // why; below the first line, a compiler's log
};

Measured measure(std::vector<Trial>& trials, const std::string& settings) {
  ::setenv(kVariable, settings.c_str(), 1);
  Measured found;
  try {
    for (Trial& trial : trials) found.seconds.push_back(trial.seconds());
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInterrupted || settings.empty()) throw;
    found = {{}, error.what()};
  }
  if (!std::ranges::all_of(trials, &Trial::same_answers)) {
    throw Error(ErrorCode::kInternal, kVariable, settings + " changes the answer");
  }
  return found;
}

// The members of the backend's table: ".width = 8, .columns = 2".
std::string as_members(const std::string& settings) {
  std::string text = ".";
  for (const char c : settings) text += c == '=' ? " = " : c == ',' ? ", ." : std::string(1, c);
  return text;
}

}  // namespace

void tune(const TuningTask& task) {
  const std::vector<Parameter> asked_for = parameters_of(task);
  std::vector<Trial> trials;
  for (const int64_t columns : kColumns) trials.emplace_back(task, columns);
  const std::vector<double> usual = measure(trials, "").seconds;
  std::vector<std::vector<std::string>> table = {{"parameter", "8 columns", "64 columns", "beside the table's", ""}};
  const auto show = [&](const std::string& what, const std::vector<double>& seconds, double share) {
    table.push_back(
        {what, fmt::format("{:.6f}", seconds[0]), fmt::format("{:.6f}", seconds[1]), fmt::format("{:.3f}", share), ""});
  };
  show("as the table has it", usual, 1);
  std::string best;
  double least = 1;
  for (const Parameter& parameter : asked_for) {
    const std::string before = best.empty() ? "" : best + ",";
    for (const std::string& setting : parameter.settings) {
      const auto [seconds, problem] = measure(trials, before + setting);
      if (seconds.empty()) {
        table.push_back({setting, "", "", "", "cannot run: " + problem.substr(0, problem.find('\n'))});
        continue;
      }
      const double share = (seconds[0] / usual[0] + seconds[1] / usual[1]) / 2;
      show(setting, seconds, share);
      if (share >= least) continue;
      least = share;
      best = before + setting;
    }
  }
  print(format_table("lrrrl", table));
  if (best.empty()) return print("\nSeconds of a pass. Nothing is faster than the library's table.\n");
  print(
      fmt::format("\nSeconds of a pass. The best, for this process and others:\nexport {}={}\nor a line of "
                  "src/backend/opencl/runtime/tuned_parameters.cpp: {{{}}}\n",
                  kVariable, best, as_members(best)));
}

}  // namespace manymeans::cli
