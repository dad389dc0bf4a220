// What fit and regress have in common: options out of dicts, hooks, results as dicts.
#pragma once

#include <manymeans/manymeans.h>

#include "arrays.h"
#include "waiting.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>

namespace manymeans::python {

template <class T>
void set_option(const char* name, T& member, nanobind::handle value) {
  if constexpr (NamedValue<T>) {
    member = value_named<T>(name, nanobind::cast<std::string>(value));
  } else {
    member = nanobind::cast<T>(value);
  }
}
void set_option(const char* name, ByteSize& member, nanobind::handle value);

/// What sets one option from a dict where that has it, and counts it, for for_each_option and its like.
inline auto option_setter(const nanobind::dict& values, size_t& used) {
  return [&](const OptionInfo& info, auto& member) {
    if (!values.contains(info.name)) return;
    ++used;
    try {
      set_option(info.name, member, values[info.name]);
    } catch (const nanobind::cast_error&) {
      const auto shown = nanobind::cast<std::string>(nanobind::repr(values[info.name]));
      throw Error(ErrorCode::kUsage, info.name, "is " + shown + ", which is of a wrong type or out of range");
    }
  };
}
/// Throws Error(kInternal) unless all values of the dict were used.
void check_all_used(const nanobind::dict& values, size_t used);

/// What all values of the dict are for; visit(options, set) goes over the options as for_each_option does.
template <class Options, class Visit>
Options options_from(const nanobind::dict& values, Visit&& visit) {
  Options options;
  size_t used = 0;
  visit(options, option_setter(values, used));
  check_all_used(values, used);
  return options;
}
/// Those of a fit.
FitOptions options_of(const nanobind::dict& values);

/// Were every model to take all of its iterations, of at most `max_iterations`.
bool is_brief_fit(const PointsView& points, const FitOptions& options, int64_t max_iterations);

/// `given`: FitHooks, any of which may be None, as the package passes them.
class GivenHooks {
 public:
  explicit GivenHooks(const nanobind::dict& given);
  Waiting& waiting() { return waiting_; }
  const FitHooks& hooks() const { return hooks_; }

 private:
  void share_with(const nanobind::object& ranks);

  std::optional<AnyArray> initial_;
  Waiting waiting_;
  FitHooks hooks_;
};

nanobind::dict as_dict(FitResult& result);

/// A scaling of its kind, offsets, divisors and, where there are some, names of logarithms.
Scaling scaling_in(const nanobind::dict& given);
nanobind::dict dict_of(Scaling scaling);

/// A model of what Python keeps of it; without labels where they are None. Labels are uint32, and a fit has returned
/// them.
ModelResult model_in(const nanobind::dict& model);
/// What else there is of a linear model.
RegressionSummary regression_in(const nanobind::dict& model);

}  // namespace manymeans::python
