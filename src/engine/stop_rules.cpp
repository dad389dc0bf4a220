#include "engine/stop_rules.h"

#include <manymeans/error.h>
#include <manymeans/options.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

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

std::vector<double> shifts_of(const StopState& state) {
  return squared_shifts(*state.prototype, *state.before, *state.after, state.pool);
}

// The most changed rows with which `labels` holds.
int64_t max_changed(double share, int64_t rows) {
  const auto holds = [&](int64_t changed) { return static_cast<double>(changed) / static_cast<double>(rows) <= share; };
  auto changed = std::min(rows, static_cast<int64_t>(share * static_cast<double>(rows)));
  while (changed < rows && holds(changed + 1)) ++changed;
  while (changed > 0 && !holds(changed)) --changed;
  return changed;
}

// A sum of `terms` squares that is at most `limit` in the canonical order is at most this in every other. Each square
// and each of the two sums is off by at most one part in 2^53 an operation. Where it underflows, it is off by at most
// half the smallest number.
double widened(double limit, double terms) {
  return limit * (1 + (terms + 16) * 0x1p-50) + terms * 0x1p-1070;
}

// All that is known of a rule: an entry of kRules.
struct RuleKind {
  StopReason reason;       // its number in digests and checkpoints, which never changes
  std::string_view form;   // its name and numbers, as a user writes them; numbers in brackets may be left out
  std::string_view means;  // for --help
  double largest = 0;      // of the first number; a second one is a share
  RuleNeed need = RuleNeed::kNothing;
  bool (*holds)(const StopRule&, const StopState&) = nullptr;
  // Widens the limits to all passes after which the rule may hold; null: a session makes one pass at a time.
  void (*widen)(const StopRule&, const RuleScale&, PassLimits&) = nullptr;

  constexpr std::string_view name() const { return form.substr(0, form.find(':')); }
};

// The numbers continue StopReason without a gap.
constexpr RuleKind kRules[] = {
    {.reason = StopReason{2},
     .form = "tol",
     .means = "see --tol",
     .need = RuleNeed::kVariance,
     .holds =
         [](const StopRule& rule, const StopState& state) {
           double sum = 0;
           for (const double d2 : shifts_of(state)) sum += d2;
           return sum <= rule.value * state.mean_variance;
         },
     .widen =
         [](const StopRule& rule, const RuleScale& scale, PassLimits& limits) {
           const double terms = static_cast<double>(scale.width) * static_cast<double>(scale.max_clusters);
           limits.shifts.sum = std::max(limits.shifts.sum, widened(rule.value * scale.mean_variance, terms));
         }},
    {.reason = StopReason{3},
     .form = "labels:F",
     .means = "share of changed labels <= F",
     .largest = 1,
     .holds = [](const StopRule& rule,
                 const StopState& state) { return !state.first_pass && state.changed_share <= rule.value; },
     .widen =
         [](const StopRule& rule, const RuleScale& scale, PassLimits& limits) {
           limits.changed = std::max(limits.changed, max_changed(rule.value, scale.rows));
         }},
    {.reason = StopReason{4},
     .form = "shift:E[:P]",
     .means = "share P of the prototypes, or all, moved by at most E",
     .largest = 1e300,
     .holds =
         [](const StopRule& rule, const StopState& state) {
           const double limit = rule.value * rule.value;
           const auto still = std::ranges::count_if(shifts_of(state), [&](double d2) { return d2 <= limit; });
           return static_cast<double>(still) >= rule.share * static_cast<double>(state.before->rows());
         },
     .widen =
         [](const StopRule& rule, const RuleScale& scale, PassLimits& limits) {
           const double limit = widened(rule.value * rule.value, static_cast<double>(scale.width));
           limits.shifts.each = std::max(limits.shifts.each, limit);
           limits.shifts.share = std::min(limits.shifts.share, rule.share);
         }},
    {.reason = StopReason{5},
     .form = "inertia:R",
     .means = "relative gain of the inertia <= R",
     .largest = 1,
     .need = RuleNeed::kInertia,
     .holds =
         [](const StopRule& rule, const StopState& state) {
           const std::optional<double> before = state.inertia_before;
           return before && *before - *state.inertia_now <= rule.value * *before;
         }},
    {.reason = StopReason{11},
     .form = "error:E",
     .means = "inertia <= E",
     .largest = std::numeric_limits<double>::max(),
     .need = RuleNeed::kInertia,
     .holds = [](const StopRule& rule, const StopState& state) { return state.reported_inertia <= rule.value; }},
};

// Other reasons to stop.
constexpr std::array<std::string_view, 11> kReasons = {
    "not_begun", "strict", "", "", "", "", "cycle", "max_iter", "time_limit", "callback", "interrupted"};

const RuleKind* find_rule(StopReason reason) {
  const auto* found = std::ranges::find(kRules, reason, &RuleKind::reason);
  return found == std::end(kRules) ? nullptr : found;
}

StopRule parse_rule(std::string_view text, double tol) {
  const std::vector<std::string_view> parts = split(text, ':');
  std::string forms = "strict";
  for (const RuleKind& kind : kRules) {
    const auto most = static_cast<size_t>(std::ranges::count(kind.form, ':'));
    const size_t values = parts.size() - 1;
    if (parts[0] == kind.name() && (values == most || (values + 1 == most && kind.form.ends_with(']')))) {
      return {kind.reason, values > 0 ? parse_value(parts[1], text, kind.largest) : tol,
              values > 1 ? parse_value(parts[2], text, 1) : 1};
    }
    forms += fmt::format("{}{}", &kind == std::end(kRules) - 1 ? " or " : ", ", kind.form);
  }
  throw Error(ErrorCode::kUsage, "stop", fmt::format("'{}' is not a stop rule; write {}", text, forms));
}

}  // namespace

const char* help_of_stop() {
  static const std::string& help = *new std::string([] {  // never destroyed
    std::string text = "Comma-separated stop rules: strict (no label changed; always on)";
    for (const RuleKind& kind : kRules) text += fmt::format(", {} ({})", kind.form, kind.means);
    return text + ".";
  }());
  return help.c_str();
}

std::string_view name_of(StopReason reason) {
  const auto number = static_cast<size_t>(reason);
  if (const RuleKind* rule = find_rule(reason)) return rule->name();
  return number < kReasons.size() ? kReasons[number] : "";
}

StopReason stop_reason_named(std::string_view name) {
  std::string known;
  for (uint8_t number = 0; !name_of(StopReason{number}).empty(); ++number) {
    if (name_of(StopReason{number}) == name) return StopReason{number};
    known += fmt::format(" {}", name_of(StopReason{number}));
  }
  throw Error(ErrorCode::kUsage, "stop_reason", fmt::format("'{}' is not a reason to stop; they are{}", name, known));
}

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
    if (find_rule(rule.reason)->holds(rule, state)) return rule.reason;
  }
  return std::nullopt;
}

PassLimits limits_of(const std::vector<StopRule>& rules, const RuleScale& scale) {
  PassLimits limits(kPassesBetweenLooks);
  for (const StopRule& rule : rules) {
    const RuleKind& kind = *find_rule(rule.reason);
    if (kind.widen == nullptr) {
      limits.passes = 1;
    } else {
      kind.widen(rule, scale, limits);
    }
  }
  return limits;
}

bool any_needs(const std::vector<StopRule>& rules, RuleNeed need) {
  return std::ranges::any_of(rules, [&](const StopRule& rule) { return find_rule(rule.reason)->need == need; });
}

}  // namespace manymeans
