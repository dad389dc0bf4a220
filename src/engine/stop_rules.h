// The stop rules that a user can ask for: docs/developer/contract.md, "Iterating".
#pragma once

#include <manymeans/points.h>
#include <manymeans/result.h>

#include "backend/pass_limits.h"
#include "prototype/centroid.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace manymeans {

/// One rule that a user asked for.
struct StopRule {
  StopReason reason = StopReason::kNotBegun;  ///< which rule it is
  double value = 0;                           ///< the first number after its name; of tol the option tol
  double share = 1;                           ///< the second number
};

/// Parses one rule, as "labels:0.01", or a comma-separated list of them. "strict" and tol = 0 add no rule.
/// Throws Error(kUsage).
std::vector<StopRule> parse_stop_rules(const std::string& text, double tol);

/// The state that the rules look at after an update.
struct StopState {
  const Matrix* before = nullptr;  ///< prototypes that the last pass used
  const Matrix* after = nullptr;   ///< prototypes after the update, same number
  double changed_share = 1;        ///< changed labels / rows in the last pass
  bool first_pass = false;
  std::optional<double> inertia_before;  ///< of the pass before the last
  std::optional<double> inertia_now;     ///< of the last pass
  double reported_inertia = 0;           ///< the same in the units of the weights, as a result reports it
  double mean_variance = 0;              ///< of the columns
  const Prototype* prototype = &centroid();
  ThreadPool* pool = nullptr;  ///< for the shifts; null: the calling thread
};

/// The reason of the first rule that holds.
std::optional<StopReason> first_rule_that_holds(const std::vector<StopRule>& rules, const StopState& state);

/// The size of a fit as far as stop rules depend on it.
struct RuleScale {
  int64_t rows = 0;
  int64_t max_clusters = 0;  ///< of one model
  int64_t width = 0;         ///< parameters of a prototype
  double mean_variance = 0;
};

/// Passes between two looks at a signal, at most.
constexpr int kPassesBetweenLooks = 64;

/// Returns how far a session may go before a rule could hold. Where it continues, first_rule_that_holds() would have
/// found none. A rule that only the engine can judge allows one pass.
PassLimits limits_of(const std::vector<StopRule>& rules, const RuleScale& scale);

/// The need of a rule that costs a reading of the points.
enum class RuleNeed : uint8_t {
  kNothing,
  kVariance,  ///< mean_variance, once a fit
  kInertia,   ///< the inertias, in every iteration
};
bool any_needs(const std::vector<StopRule>& rules, RuleNeed need);

}  // namespace manymeans
