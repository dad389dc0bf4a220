#include "fit_parts.h"

#include "python_comm.h"
#include "texts.h"

#include <nanobind/stl/tuple.h>

#include <memory>
#include <tuple>
#include <utility>

namespace manymeans::python {
namespace nb = nanobind;
namespace {

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
  if (model.label_sum) result["digest"] = model.digest();  // the labels of other ranks are not there later
  result["cluster_centers"] = to_numpy(std::move(model.prototypes));
  result["labels"] = to_numpy(std::move(model.labels));
  result["counts"] = to_numpy(std::move(model.counts));
  result["weights"] = to_numpy(std::move(model.weights));
  return result;
}

}  // namespace

void set_option(const char*, ByteSize& member, nb::handle value) {
  if (nb::isinstance<nb::str>(value)) {
    member = parse_byte_size(nb::cast<std::string>(value));
  } else {
    member.bytes = nb::cast<int64_t>(value);
  }
}

void check_all_used(const nb::dict& values, size_t used) {
  if (used != values.size())
    throw Error(ErrorCode::kInternal, "options", "there is one that the library does not have");
}

FitOptions options_of(const nb::dict& values) {
  return options_from<FitOptions>(values, [](auto& options, auto&& set) { for_each_option(options, set); });
}

bool is_brief_fit(const PointsView& points, const FitOptions& options, int64_t max_iterations) {
  double clusters = 0;
  for (const int64_t k : options.k) clusters += static_cast<double>(k);
  const double rows = static_cast<double>(points.n) * static_cast<double>(points.d);
  return is_brief(rows * clusters * static_cast<double>(options.models) * static_cast<double>(max_iterations + 10));
}

GivenHooks::GivenHooks(const nb::dict& given)
    : initial_(value_of<std::optional<AnyArray>>(given, "initial")), waiting_(given["callback"]) {
  hooks_.progress = waiting_.progress();
  hooks_.abort = &waiting_.abort();
  if (initial_) hooks_.initial = points_of(*initial_);
  if (const nb::object ranks = given["ranks"]; !ranks.is_none()) share_with(ranks);
  const auto checkpoint = value_of<std::optional<std::tuple<nb::bytes, int64_t, bool>>>(given, "checkpoint");
  if (!checkpoint) return;
  hooks_.checkpoint = {bytes_of(std::get<0>(*checkpoint)), std::get<1>(*checkpoint), std::get<2>(*checkpoint)};
}

// What is raised on this rank is an error on the others.
void GivenHooks::share_with(const nb::object& ranks) {
  hooks_.comm = std::make_shared<PythonComm>(ranks);
  if (!hooks_.progress) return;
  hooks_.progress = [this, ask = hooks_.progress](const Progress& progress) {
    const bool go_on = ask(progress);
    if (waiting_.has_raised()) throw Error(ErrorCode::kInterrupted, "callback", "it raised an exception");
    return go_on;
  };
}

nb::dict as_dict(FitResult& result) {
  nb::dict out;
  out["interrupted"] = result.interrupted;
  out["metric"] = std::string(name_of(result.provenance.options.metric));
  out["warnings"] = to_texts(result.warnings);
  out["provenance"] = to_text(to_json(result.provenance));
  out["ranges"] = to_tuple(std::move(result.ranges));
  nb::list models;
  for (ModelResult& model : result.models) models.append(as_dict(model));
  out["models"] = models;
  return out;
}

Scaling scaling_in(const nb::dict& given) {
  Scaling scaling{value_named<Scale>("scale", nb::cast<std::string>(given["kind"])),
                  nb::cast<std::vector<double>>(given["offset"]), nb::cast<std::vector<double>>(given["divisor"])};
  if (!given.contains("log")) return scaling;  // of an older pickle
  for (nb::handle name : given["log"]) {
    scaling.logs.push_back(value_named<Logarithm>("log", nb::cast<std::string>(name)));
  }
  return scaling;
}

nb::dict dict_of(Scaling scaling) {
  nb::dict result;
  nb::list logs;
  for (const Logarithm log : scaling.logs) logs.append(std::string(name_of(log)));
  result["kind"] = std::string(name_of(scaling.kind));
  result["offset"] = std::move(scaling.offset);
  result["divisor"] = std::move(scaling.divisor);
  result["log"] = std::move(logs);
  return result;
}

ModelResult model_in(const nb::dict& model) {
  ModelResult result;
  result.k = nb::cast<int64_t>(model["k"]);
  result.k_requested = nb::cast<int64_t>(model["k_requested"]);
  result.seed = nb::cast<uint64_t>(model["seed"]);
  result.inertia = nb::cast<double>(model["inertia"]);
  result.iterations = nb::cast<int64_t>(model["n_iter"]);
  result.stop_reason = stop_reason_named(nb::cast<std::string>(model["stop_reason"]));
  result.prototypes = matrix_of(nb::cast<AnyArray>(model["cluster_centers"]));
  result.counts = vector_of<int64_t>(model["counts"]);
  result.weights = vector_of<double>(model["weights"]);
  if (model["labels"].is_none()) return result;
  const auto labels = nb::cast<nb::ndarray<const uint32_t, nb::ndim<1>, nb::c_contig>>(model["labels"]);
  result.labels = Labels(static_cast<int64_t>(labels.shape(0)), result.k_requested);
  result.labels.write(0, result.labels.size(), labels.data());
  return result;
}

RegressionSummary regression_in(const nb::dict& model) {
  RegressionSummary summary;
  summary.r2 = nb::cast<double>(model["r2"]);
  summary.bic = nb::cast<double>(model["bic"]);
  if (!model["standard_errors"].is_none()) {  // of an older file
    summary.standard_errors = matrix_of(nb::cast<AnyArray>(model["standard_errors"]));
    for (const double r2 : vector_of<double>(model["cluster_r2"])) summary.clusters.push_back({.r2 = r2});
  }
  summary.gate = {matrix_of(nb::cast<AnyArray>(model["means"])), vector_of<double>(model["feature_scales"]),
                  vector_of<double>(model["weights"])};
  return summary;
}

}  // namespace manymeans::python
