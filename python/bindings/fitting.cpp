// fit and initialise.
#include <manymeans/manymeans.h>

#include "arrays.h"
#include "module.h"
#include "texts.h"
#include "waiting.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>

namespace manymeans::python {
namespace nb = nanobind;
namespace {

template <class T>
void set_option(T& member, nb::handle value) {
  member = nb::cast<T>(value);
}
void set_option(EmptyPolicy& member, nb::handle value) {
  const auto name = nb::cast<std::string>(value);
  const auto policy = empty_policy_from_name(name);
  if (!policy) throw Error(ErrorCode::kUsage, "empty", "is '" + name + "'; must be farthest, keep, drop or error");
  member = *policy;
}
void set_option(Strategy& member, nb::handle value) {
  const auto name = nb::cast<std::string>(value);
  const auto strategy = strategy_from_name(name);
  if (!strategy) throw Error(ErrorCode::kUsage, "strategy", "is '" + name + "'; must be concatenated, data or task");
  member = *strategy;
}

void set_option(ByteSize& member, nb::handle value) {
  if (nb::isinstance<nb::str>(value)) {
    member = parse_byte_size(nb::cast<std::string>(value));
  } else {
    member.bytes = nb::cast<int64_t>(value);
  }
}

FitOptions options_of(const nb::dict& values) {
  FitOptions options;
  size_t used = 0;
  for_each_option(options, [&](const OptionInfo& info, auto& member) {
    if (!values.contains(info.name)) return;
    ++used;
    try {
      set_option(member, values[info.name]);
    } catch (const nb::cast_error&) {
      const auto shown = nb::cast<std::string>(nb::repr(values[info.name]));
      throw Error(ErrorCode::kUsage, info.name, "is " + shown + ", which is of a wrong type or out of range");
    }
  });
  if (used != values.size()) throw Error(ErrorCode::kInternal, "options", "there is one that fit() does not have");
  return options;
}

nb::dict as_dict(ModelResult& model) {
  nb::dict result;
  result["k"] = model.k;
  result["k_requested"] = model.k_requested;
  result["replica"] = model.replica;
  result["seed"] = model.seed;
  result["init"] = model.init;
  result["inertia"] = model.inertia;
  result["n_iter"] = model.iterations;
  result["stop_reason"] = std::string(name_of(model.stop_reason));
  result["seconds"] = model.seconds;
  result["cluster_centers"] = to_numpy(std::move(model.prototypes));
  result["labels"] = to_numpy(std::move(model.labels));
  result["counts"] = to_numpy(std::move(model.counts));
  result["weights"] = to_numpy(std::move(model.weights));
  return result;
}

nb::dict as_dict(FitResult& result) {
  nb::dict out;
  out["interrupted"] = result.interrupted;
  out["warnings"] = to_texts(result.warnings);
  out["provenance"] = to_text(to_json(result.provenance));
  nb::list models;
  for (ModelResult& model : result.models) models.append(as_dict(model));
  out["models"] = models;
  return out;
}

// `given`: FitHooks, any of which may be None.
nb::dict fit_points(const nb::object& points, bool bfloat16, const nb::object& weights, const nb::dict& options,
                    const nb::dict& given) {
  const PointsView view = points_of(points, bfloat16);
  const std::span<const double> given_weights = values_of(weights);
  const FitOptions fit_options = options_of(options);
  const auto initial = value_of<std::optional<AnyArray>>(given, "initial");
  const auto checkpoint = value_of<std::optional<std::tuple<nb::bytes, int64_t, bool>>>(given, "checkpoint");
  Waiting waiting(given["callback"]);
  FitHooks hooks;
  hooks.progress = waiting.progress();
  hooks.abort = &waiting.abort();
  if (initial) hooks.initial = points_of(*initial);
  if (checkpoint) {
    hooks.checkpoint = {bytes_of(std::get<0>(*checkpoint)), std::get<1>(*checkpoint), std::get<2>(*checkpoint)};
  }
  FitResult result;
  waiting.run([&] { result = fit(view, given_weights, fit_options, hooks); });
  return as_dict(result);
}

nb::tuple initial_prototypes(const nb::object& points, bool bfloat16, const nb::object& weights,
                             const nb::dict& options) {
  const PointsView view = points_of(points, bfloat16);
  const std::span<const double> given_weights = values_of(weights);
  const FitOptions fit_options = options_of(options);
  Waiting waiting;
  FitHooks hooks;
  hooks.abort = &waiting.abort();
  Initialisation result;
  waiting.run([&] { result = initialise(view, given_weights, fit_options, hooks); });
  return nb::make_tuple(to_numpy(std::move(result.prototypes)), to_numpy(std::move(result.rows)),
                        to_texts(result.warnings));
}

// The digest of a model, from what Python keeps of it. The labels are those that a fit has returned.
std::string digest_of(const nb::dict& model) {
  ModelResult result;
  result.k = nb::cast<int64_t>(model["k"]);
  result.inertia = nb::cast<double>(model["inertia"]);
  result.iterations = nb::cast<int64_t>(model["n_iter"]);
  const auto reason = nb::cast<std::string>(model["stop_reason"]);
  while (name_of(result.stop_reason) != reason) {
    if (result.stop_reason == StopReason::kInterrupted) throw Error(ErrorCode::kUsage, "stop_reason", reason);
    result.stop_reason = static_cast<StopReason>(static_cast<int>(result.stop_reason) + 1);
  }
  result.prototypes = matrix_of(nb::cast<AnyArray>(model["cluster_centers"]));
  const auto labels = nb::cast<nb::ndarray<const uint32_t, nb::ndim<1>, nb::c_contig>>(model["labels"]);
  result.labels = Labels(static_cast<int64_t>(labels.shape(0)), nb::cast<int64_t>(model["k_requested"]));
  result.labels.write(0, result.labels.size(), labels.data());
  std::string digest;
  Waiting().run([&] { digest = result.digest(); });
  return digest;
}

}  // namespace

void add_fitting(nb::module_& module) {
  module.def("fit", &fit_points, nb::arg("points"), nb::arg("bfloat16"), nb::arg("weights").none(), nb::arg("options"),
             nb::arg("hooks"));
  module.def("initialise", &initial_prototypes, nb::arg("points"), nb::arg("bfloat16"), nb::arg("weights").none(),
             nb::arg("options"));
  module.def("digest", &digest_of, nb::arg("model"));
  module.def(
      "combined_digest", [](const std::vector<std::string>& models) { return combined_digest(models); },
      nb::arg("models"));
  module.def("parse_k_list", [](nb::handle text) { return parse_k_list(bytes_of(text)); }, nb::arg("text"));
}

}  // namespace manymeans::python
