#include "backend/cpu/choose/screen_cost_table.h"

#include <manymeans/error.h>

#include "backend/calibration.h"
#include "core/environment.h"
#include "core/open_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iterator>

namespace manymeans {
namespace {

using Json = nlohmann::json;

struct Shipped {
  std::string_view instruction_set;
  ScreenCosts costs;
};

// From bench/results (bench/results/EXPERIMENTS.md says how they are measured).
constexpr Shipped kShipped[] = {
    {"amx", {0.035, 0.0124, 0.09, 0.035, 40, 1.1, 0.08}},  // a busy machine: six threads at once
    {"avx512_bf16", {0.045, 0.0125, 0.065, 0.8, 80, 0.8, 0.055}},
    {"avx512", {0.045, 0.0125, 0, 0, 80, 0.8, 0.055}},
    {"avx2", {0.12, 0.02, 0, 0, 80, 0.8, 0.055}},
    {"portable", {3.6, 0.27, 9.6, 30, 80, 0.8, 0.055}},
};

[[noreturn]] void complain(const std::string& path, const std::string& what) {
  throw Error(ErrorCode::kBadData, path, what + "; write the file again with 'manymeans bench --calibrate'");
}

double read_cost(const Json& of_set, const char* key, const std::string& path, const std::string& where) {
  const auto found = of_set.find(key);
  if (found == of_set.end()) complain(path, fmt::format("key {}.{} is missing", where, key));
  if (!found->is_number()) complain(path, fmt::format("key {}.{} must be a number", where, key));
  const auto value = found->get<double>();
  if (!(value >= 0 && value < 1e6)) {  // NaN too
    complain(path, fmt::format("key {}.{} must be nanoseconds from 0 to 1000000, found {}", where, key, value));
  }
  return value;
}

// A costs file has less than 2 KiB for each instruction set; whatever is larger is none.
constexpr size_t kMostBytes = size_t{1} << 20;

std::string read_named(const std::string& path) {
  try {
    return read_small_file(path, kMostBytes);
  } catch (const Error& error) {
    const std::string what = error.what();
    throw Error(ErrorCode::kUnavailable, path,
                "the file of costs that MANYMEANS_CPU_COSTS names cannot be read: " + what.substr(what.find("] ") + 2));
  }
}

}  // namespace

const ScreenCosts& shipped_costs(std::string_view instruction_set) {
  for (const Shipped& shipped : kShipped) {
    if (shipped.instruction_set == instruction_set) return shipped.costs;
  }
  return kShipped[std::size(kShipped) - 1].costs;
}

bool parse_costs(const std::string& text, const std::string& path, std::string_view instruction_set,
                 ScreenCosts& costs) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) complain(path, "this is not a JSON object");
  const auto version = json.find("manymeans_costs");
  if (version == json.end() || *version != 1) complain(path, "key manymeans_costs must be 1");
  const auto sets = json.find("instruction_sets");
  if (sets == json.end() || !sets->is_object()) complain(path, "key instruction_sets must be an object");
  const auto found = sets->find(std::string(instruction_set));
  if (found == sets->end()) return false;
  const std::string where = "instruction_sets." + std::string(instruction_set);
  if (!found->is_object()) complain(path, fmt::format("key {} must be an object", where));
  const bool has_matrix = shipped_costs(instruction_set).step > 0;
  ScreenCosts read;
  for_each_cost(read, [&](const char* key, double& value, bool of_matrix) {
    if (has_matrix || !of_matrix) value = read_cost(*found, key, path, where);
  });
  costs = read;
  return true;
}

CostTable find_costs(std::string_view instruction_set) {
  CostTable table{shipped_costs(instruction_set), false, {}};
  if (const std::string named = environment::cpu_costs(); !named.empty()) {
    table.measured = parse_costs(read_named(named), named, instruction_set, table.costs);
    return table;
  }
  const std::string path = costs_path();
  std::error_code ignored;
  if (path.empty() || !std::filesystem::exists(path, ignored)) return table;
  try {
    table.measured = parse_costs(read_small_file(path, kMostBytes), path, instruction_set, table.costs);
  } catch (const Error& error) {
    table.warning = fmt::format("{}; the costs that ship are used", error.what());
  }
  return table;
}

std::string costs_path() {
  const auto folder = [](const char* name) {
    const char* value = std::getenv(name);
    return std::filesystem::path(value != nullptr ? value : "");
  };
  // As the XDG base directory specification says, a relative path counts as none.
  std::filesystem::path base = folder("XDG_CONFIG_HOME");
  if (!base.is_absolute()) base = folder("HOME").empty() ? "" : folder("HOME") / ".config";
  return base.is_absolute() ? (base / "manymeans" / "cpu_costs.json").string() : "";
}

}  // namespace manymeans
