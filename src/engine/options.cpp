#include <manymeans/error.h>
#include <manymeans/options.h>

#include "core/fp_environment.h"
#include "data/input.h"
#include "engine/stop_rules.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

namespace manymeans {
namespace {

constexpr int64_t kMaxModels = 1'000'000;

struct Unit {
  std::string_view name;
  int64_t bytes;
};
constexpr int64_t kKibi = 1024;
constexpr int64_t kKilo = 1000;
constexpr std::array<Unit, 14> kUnits = {{{"tib", kKibi* kKibi* kKibi* kKibi},
                                          {"gib", kKibi* kKibi* kKibi},
                                          {"mib", kKibi* kKibi},
                                          {"kib", kKibi},
                                          {"tb", kKilo* kKilo* kKilo* kKilo},
                                          {"gb", kKilo* kKilo* kKilo},
                                          {"mb", kKilo* kKilo},
                                          {"kb", kKilo},
                                          {"t", kKibi* kKibi* kKibi* kKibi},
                                          {"g", kKibi* kKibi* kKibi},
                                          {"m", kKibi* kKibi},
                                          {"k", kKibi},
                                          {"b", 1},
                                          {"", 1}}};

Error usage(const std::string& where, const std::string& what) {
  return Error(ErrorCode::kUsage, where, what);
}

int64_t parse_number(std::string_view text, const std::string& whole) {
  int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) {
    throw usage("k",
                fmt::format("'{}' in '{}' is not a whole number; write 8, 8,16,32, 2..20 or 2..20:2", text, whole));
  }
  return value;
}

[[noreturn]] void too_many(std::string_view item) {
  throw usage("k", fmt::format("with '{}' the list has more than {} numbers; there can be no more models than that",
                               item, kMaxModels));
}

// One item of the list: a number, a range, or a range with a step.
void append_item(std::string_view item, const std::string& whole, std::vector<int64_t>& out) {
  const size_t dots = item.find("..");
  if (out.size() >= kMaxModels) too_many(item);
  if (dots == std::string_view::npos) {
    out.push_back(parse_number(item, whole));
    return;
  }
  std::string_view last = item.substr(dots + 2);
  int64_t step = 1;
  if (const size_t colon = last.find(':'); colon != std::string_view::npos) {
    step = parse_number(last.substr(colon + 1), whole);
    last = last.substr(0, colon);
  }
  const int64_t from = parse_number(item.substr(0, dots), whole);
  const int64_t to = parse_number(last, whole);
  if (step < 1 || to < from) {
    throw usage("k", fmt::format("'{}' is not a range from low to high with a step of at least 1", item));
  }
  // The difference of two int64 always fits into 64 bits without a sign, and what is added wraps to what is meant.
  const uint64_t steps = (static_cast<uint64_t>(to) - static_cast<uint64_t>(from)) / static_cast<uint64_t>(step);
  if (steps >= static_cast<uint64_t>(kMaxModels) - out.size()) too_many(item);
  for (uint64_t i = 0; i <= steps; ++i) {
    out.push_back(static_cast<int64_t>(static_cast<uint64_t>(from) + i * static_cast<uint64_t>(step)));
  }
}

void check_sizes(const FitOptions& options) {
  if (options.min_size < 0) throw usage("min_size", fmt::format("{} is negative; 0 means any", options.min_size));
  if (options.max_size < 0) throw usage("max_size", fmt::format("{} is negative; 0 means any", options.max_size));
  if (!options.balanced()) return;
  if (options.max_size > 0 && options.min_size > options.max_size) {
    throw usage("min_size",
                fmt::format("{} is above max_size, {}; it must be at most that", options.min_size, options.max_size));
  }
  if (options.empty == EmptyPolicy::kDrop) {
    throw usage("empty", "drop takes clusters away, for which sizes were asked; use farthest, keep or error");
  }
}

}  // namespace

void throw_unknown_name(const std::string& option, std::string_view name, std::span<const std::string_view> names) {
  const auto head = names.first(names.size() - 1);
  throw usage(option, fmt::format("is '{}'; must be {} or {}", name, fmt::join(head, ", "), names.back()));
}

template <>
std::span<const std::string_view> names_of<Strategy>() {
  static constexpr std::array<std::string_view, 3> kNames = {"concatenated", "data", "task"};
  return kNames;
}
template <>
std::span<const std::string_view> names_of<EmptyPolicy>() {
  static constexpr std::array<std::string_view, 4> kNames = {"farthest", "keep", "drop", "error"};
  return kNames;
}
template <>
std::span<const std::string_view> names_of<Metric>() {
  static constexpr std::array<std::string_view, 2> kNames = {"euclidean", "cosine"};
  return kNames;
}

std::string name_of(ByteSize size) {
  constexpr std::array<std::string_view, 4> kNames = {"TiB", "GiB", "MiB", "KiB"};
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (size.bytes > 0 && size.bytes % kUnits[i].bytes == 0) {
      return fmt::format("{}{}", size.bytes / kUnits[i].bytes, kNames[i]);
    }
  }
  return fmt::format("{}", size.bytes);
}

ByteSize parse_byte_size(const std::string& text) {
  const FpEnvironmentGuard guard;
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  std::string unit(end, text.data() + text.size());
  std::transform(unit.begin(), unit.end(), unit.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto found = std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& known) { return known.name == unit; });
  const double bytes = found == kUnits.end() ? -1 : number * static_cast<double>(found->bytes);
  if (code != std::errc() || !(bytes >= 0 && bytes <= 0x1p60)) {
    throw usage("memory", fmt::format("'{}' is no size; write bytes, 256MiB or 1.5GB", text));
  }
  return {static_cast<int64_t>(bytes)};
}

std::vector<int64_t> parse_k_list(const std::string& text) {
  std::vector<int64_t> result;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    append_item(std::string_view(text).substr(begin, comma - begin), text, result);
    begin = comma + 1;
  }
  return result;
}

void check(const FitOptions& options) {
  if (options.k.empty()) throw usage("k", "the list of k is empty; give at least one number of clusters");
  std::vector<int64_t> sorted = options.k;
  std::sort(sorted.begin(), sorted.end());
  for (const int64_t k : sorted) {
    if (k < 1 || k > kMaxClusters) {
      throw usage("k", fmt::format("{} is out of range; k must be from 1 to {}", k, kMaxClusters));
    }
  }
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end()) {
    throw usage("k", fmt::format("{} is given twice; use models for several models of one k", *twice));
  }
  if (options.models < 1 || options.models > kMaxModels / static_cast<int64_t>(sorted.size())) {
    throw usage("models",
                fmt::format("{} is out of range; there must be 1 to {} models in all", options.models, kMaxModels));
  }
  if (options.model_seed && (options.models != 1 || options.k.size() != 1)) {
    throw usage("model_seed", "it is the seed of one model; give one k and models = 1 (or use seed)");
  }
  if (options.max_iter < 0) throw usage("max_iter", fmt::format("{} is negative", options.max_iter));
  if (!(options.tol >= 0) || std::isinf(options.tol)) {
    throw usage("tol", fmt::format("{} must be a finite number, 0 or larger", options.tol));
  }
  if (!(options.time_limit >= 0)) throw usage("time_limit", fmt::format("{} must be 0 or larger", options.time_limit));
  if (options.threads < 0) throw usage("threads", fmt::format("{} is negative; 0 means all", options.threads));
  if (options.memory.bytes < 0) {
    throw usage("memory", fmt::format("{} is negative; use 0 for all available memory", options.memory.bytes));
  }
  check_sizes(options);
  parse_stop_rules(options.stop, options.tol);
}

}  // namespace manymeans
