#include <manymeans/error.h>
#include <manymeans/tree.h>

#include <fmt/format.h>

#include <array>
#include <string>

namespace manymeans {
namespace {

Error usage(const char* option, const std::string& what) {
  return {ErrorCode::kUsage, option, what};
}

}  // namespace

template <>
std::span<const std::string_view> names_of<LeafQuota>() {
  static constexpr std::array<std::string_view, 2> kNames = {"rows", "inertia"};
  return kNames;
}

void check(const TreeOptions& options) {
  check(static_cast<const FitOptions&>(options));
  if (options.k.size() != 1) {
    throw usage("k", fmt::format("{} numbers were given; a tree has one number of leaves", options.k.size()));
  }
  if (options.models != 1)
    throw usage("models", fmt::format("is {}; a tree is one model, so 1 is right", options.models));
  if (options.model_seed) throw usage("model_seed", "a tree has many fits; use seed");
  if (options.time_limit > 0) throw usage("time_limit", "a tree has none; use fewer iterations or a sample");
  if (options.empty == EmptyPolicy::kDrop || options.empty == EmptyPolicy::kError) {
    throw usage("empty", "a tree has k leaves, of which equal rows leave some empty; use farthest or keep");
  }
  if (options.branching < 0 || options.branching == 1) {
    throw usage("branching",
                fmt::format("{} children make no tree; 2 or more are right, or 0 to choose by k", options.branching));
  }
  if (options.refine < 0) throw usage("refine", fmt::format("{} is negative; 0 or more is right", options.refine));
  if (options.sample < 0 || (options.sample > 0 && options.sample < options.k[0])) {
    throw usage("sample", fmt::format("{} rows cannot make {} leaves; at least {} are right, or 0 for all rows",
                                      options.sample, options.k[0], options.k[0]));
  }
}

}  // namespace manymeans
