#include "engine/stop_rules.h"

#include <manymeans/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace manymeans {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

double parse_value(std::string_view text, std::string_view rule, double most) {
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || !(value >= 0 && value <= most)) {
    throw Error(ErrorCode::kUsage, "stop", fmt::format("'{}' in '{}' must be a number from 0 to {}", text, rule, most));
  }
  return value;
}

StopRule parse_rule(std::string_view text, double tol) {
  constexpr double kAny = 1e300;
  const std::vector<std::string_view> parts = split(text, ':');
  const size_t values = parts.size() - 1;
  if (parts[0] == "tol" && values == 0) return {StopReason::kTol, tol, 1};
  if (parts[0] == "labels" && values == 1) return {StopReason::kLabels, parse_value(parts[1], text, 1), 1};
  if (parts[0] == "inertia" && values == 1) return {StopReason::kInertia, parse_value(parts[1], text, 1), 1};
  if (parts[0] == "shift" && (values == 1 || values == 2)) {
    return {StopReason::kShift, parse_value(parts[1], text, kAny), values == 2 ? parse_value(parts[2], text, 1) : 1};
  }
  throw Error(
      ErrorCode::kUsage, "stop",
      fmt::format("'{}' is not a stop rule; write tol, strict, labels:F, shift:E, shift:E:P or inertia:R", text));
}

bool holds(const StopRule& rule, const StopState& state) {
  switch (rule.reason) {
    case StopReason::kTol: {
      double shift = 0;
      for (const double d2 : squared_shifts(*state.prototype, *state.before, *state.after, state.pool)) shift += d2;
      return shift <= rule.value * state.mean_variance;
    }
    case StopReason::kShift: {
      const double limit = rule.value * rule.value;
      int64_t still = 0;
      for (const double d2 : squared_shifts(*state.prototype, *state.before, *state.after, state.pool))
        still += d2 <= limit;
      return static_cast<double>(still) >= rule.share * static_cast<double>(state.before->rows());
    }
    case StopReason::kLabels: return !state.first_pass && state.changed_share <= rule.value;
    case StopReason::kInertia:
      return state.inertia_before && *state.inertia_before - *state.inertia_now <= rule.value * *state.inertia_before;
    default: return false;
  }
}

// The most changed rows with which `labels` holds.
int64_t max_changed(double share, int64_t rows) {
  const auto holds = [&](int64_t changed) { return static_cast<double>(changed) / static_cast<double>(rows) <= share; };
  auto changed = std::min(rows, static_cast<int64_t>(share * static_cast<double>(rows)));
  while (changed < rows && holds(changed + 1)) ++changed;
  while (changed > 0 && !holds(changed)) --changed;
  return changed;
}

// A sum of `terms` squares that is at most `limit` in the canonical order is at most this in every other: each square
// and each of the two sums is off by no more than one part in 2^53 an operation, or by half the smallest number where
// it underflows.
double widened(double limit, double terms) {
  return limit * (1 + (terms + 16) * 0x1p-50) + terms * 0x1p-1070;
}

}  // namespace

std::vector<StopRule> parse_stop_rules(const std::string& text, double tol) {
  std::vector<StopRule> rules;
  for (const std::string_view part : split(text, ',')) {
    if (part == "strict" || (part == "tol" && tol == 0)) continue;
    rules.push_back(parse_rule(part, tol));
  }
  return rules;
}

std::optional<StopReason> first_rule_that_holds(const std::vector<StopRule>& rules, const StopState& state) {
  for (const StopRule& rule : rules) {
    if (holds(rule, state)) return rule.reason;
  }
  return std::nullopt;
}

PassLimits limits_of(const std::vector<StopRule>& rules, const RuleScale& scale) {
  const auto width = static_cast<double>(scale.width);
  PassLimits limits(kPassesBetweenLooks);
  for (const StopRule& rule : rules) {
    switch (rule.reason) {
      case StopReason::kTol: {
        const double all = width * static_cast<double>(scale.max_clusters);
        limits.shifts.sum = std::max(limits.shifts.sum, widened(rule.value * scale.mean_variance, all));
        break;
      }
      case StopReason::kShift:
        limits.shifts.each = std::max(limits.shifts.each, widened(rule.value * rule.value, width));
        limits.shifts.share = std::min(limits.shifts.share, rule.share);
        break;
      case StopReason::kLabels: limits.changed = std::max(limits.changed, max_changed(rule.value, scale.rows)); break;
      default: limits.passes = 1;  // inertia is a question about all rows
    }
  }
  return limits;
}

bool has_rule(const std::vector<StopRule>& rules, StopReason reason) {
  for (const StopRule& rule : rules) {
    if (rule.reason == reason) return true;
  }
  return false;
}

}  // namespace manymeans
