#include "core/environment.h"

#include <manymeans/error.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <system_error>

extern char** environ;  // POSIX: the program declares it

namespace manymeans::environment {
namespace {

std::string text(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// The XDG specification requires a relative path to be ignored: it would mean another folder in every folder.
std::string absolute(const char* name) {
  const std::string path = text(name);
  return path.starts_with('/') ? path : "";
}

Error without_meaning(const char* name, const std::string& value, const char* wanted) {
  return Error(ErrorCode::kUsage, name, "'" + value + "' is not " + wanted);
}

std::optional<bool> off_or_on(const char* name) {
  const std::string value = text(name);
  if (value.empty()) return std::nullopt;
  if (value != "off" && value != "on") throw without_meaning(name, value, "off or on");
  return value == "on";
}

std::optional<int> positive(const char* name) {
  const std::string value = text(name);
  if (value.empty()) return std::nullopt;
  int number = 0;
  const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool whole = end == value.data() + value.size();
  if (whole && problem == std::errc::result_out_of_range && value[0] != '-') return std::numeric_limits<int>::max();
  if (!whole || problem != std::errc() || number < 1) throw without_meaning(name, value, "a number above zero");
  return number;
}

}  // namespace

std::string cpu_instruction_set() {
  return text("MANYMEANS_CPU_ISA");
}

std::string cpu_screen_format() {
  return text("MANYMEANS_CPU_SCREEN");
}

std::optional<bool> duplicates() {
  return off_or_on("MANYMEANS_DUPLICATES");
}

std::optional<int> threads() {
  return positive("MANYMEANS_NUM_THREADS");
}

std::string opencl_cache() {
  const std::string folder = text("MANYMEANS_OPENCL_CACHE");
  if (folder == "off") return "";
  if (!folder.empty()) return folder;
  const std::string cache = absolute("XDG_CACHE_HOME");
  if (!cache.empty()) return cache + "/manymeans/opencl";
  const std::string home = absolute("HOME");
  return home.empty() ? "" : home + "/.cache/manymeans/opencl";
}

std::string opencl_kind() {
  const std::string kind = text("MANYMEANS_OPENCL_KIND");
  if (kind.empty() || kind == "processor" || kind == "accelerator") return kind;
  throw without_meaning("MANYMEANS_OPENCL_KIND", kind, "processor or accelerator");
}

bool opencl_high_contention() {
  const std::string contention = text("MANYMEANS_OPENCL_CONTENTION");
  if (contention.empty() || contention == "reduced") return false;
  if (contention == "high") return true;
  throw without_meaning("MANYMEANS_OPENCL_CONTENTION", contention, "high or reduced");
}

std::string cuda_product() {
  const std::string screen = text("MANYMEANS_CUDA_PRODUCT");
  if (screen.empty() || screen == "sums" || screen == "residues") return screen;
  throw without_meaning("MANYMEANS_CUDA_PRODUCT", screen, "sums or residues");
}

std::string python() {
  return text("MANYMEANS_PYTHON");
}

std::optional<int> python_patience() {
  return positive("MANYMEANS_PYTHON_PATIENCE");
}

std::string program_path() {
  return text("PATH");
}

std::vector<std::string> compiler_settings() {
  std::vector<std::string> settings;
  for (char** setting = ::environ; setting != nullptr && *setting != nullptr; ++setting) {
    const std::string_view line = *setting;
    for (const std::string_view prefix : {"POCL_", "CUDA_", "NV_", "AMD_", "GPU_", "IGC_", "CL_CONFIG_"}) {
      if (line.starts_with(prefix)) settings.emplace_back(line);
    }
  }
  std::sort(settings.begin(), settings.end());
  return settings;
}

}  // namespace manymeans::environment
