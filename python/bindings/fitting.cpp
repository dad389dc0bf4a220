// fit, search and initialise.
#include <manymeans/manymeans.h>

#include "arrays.h"
#include "fit_parts.h"
#include "module.h"
#include "python_comm.h"
#include "texts.h"
#include "waiting.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

namespace manymeans::python {
namespace nb = nanobind;
namespace {

nb::dict fit_points(const nb::object& points, bool bfloat16, const nb::object& weights, const nb::dict& options,
                    const nb::dict& given) {
  const PointsView view = points_of(points, bfloat16);
  const std::span<const double> given_weights = values_of(weights);
  const FitOptions fit_options = options_of(options);
  GivenHooks hooks(given);
  FitResult result;
  // MPI may want to be called by one thread only, so that of ranks the calling one does the work.
  hooks.waiting().run([&] { result = fit(view, given_weights, fit_options, hooks.hooks()); },
                      hooks.hooks().comm || is_brief_fit(view, fit_options, fit_options.max_iter));
  return as_dict(result);
}

nb::dict search_points(const nb::object& points, bool bfloat16, const nb::object& weights, const nb::dict& options,
                       const nb::dict& given) {
  const PointsView view = points_of(points, bfloat16);
  const std::span<const double> given_weights = values_of(weights);
  const auto search_options =
      options_from<SearchOptions>(options, [](auto& all, auto&& set) { for_each_search_option(all, set); });
  GivenHooks hooks(given);
  SearchResult result;
  hooks.waiting().run([&] { result = search(view, given_weights, search_options, hooks.hooks()); });
  nb::dict out = as_dict(result.fit);
  const auto models = nb::cast<nb::list>(out["models"]);
  for (size_t i = 0; i < result.searches.size(); ++i) {
    nb::list steps;
    for (const SearchStep& step : result.searches[i].steps) {
      steps.append(nb::make_tuple(step.round, step.seconds, step.inertia));
    }
    nb::object model = models[i];
    model["rounds"] = result.searches[i].rounds;
    model["search"] = steps;
  }
  return out;
}

// What this rank has failed with before it was in the library, for those that are.
void give_up(const nb::object& ranks, int code, const std::string& text) {
  PythonComm(ranks).abort(Error(static_cast<ErrorCode>(code), "fit", text));
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
  const ModelResult result = model_in(model);
  std::string digest;
  Waiting().run([&] { digest = result.digest(); });
  return digest;
}

}  // namespace

void add_fitting(nb::module_& module) {
  module.def("fit", &fit_points, nb::arg("points"), nb::arg("bfloat16"), nb::arg("weights").none(), nb::arg("options"),
             nb::arg("hooks"));
  module.def("search", &search_points, nb::arg("points"), nb::arg("bfloat16"), nb::arg("weights").none(),
             nb::arg("options"), nb::arg("hooks"));
  module.def("give_up", &give_up, nb::arg("ranks"), nb::arg("code"), nb::arg("text"));
  module.def("initialise", &initial_prototypes, nb::arg("points"), nb::arg("bfloat16"), nb::arg("weights").none(),
             nb::arg("options"));
  module.def("digest", &digest_of, nb::arg("model"));
  module.def(
      "combined_digest", [](const std::vector<std::string>& models) { return combined_digest(models); },
      nb::arg("models"));
  module.def(
      "decides_the_answer", [](nb::handle option) { return decides_the_answer(bytes_of(option)); }, nb::arg("option"));
  module.def("parse_k_list", [](nb::handle text) { return parse_k_list(bytes_of(text)); }, nb::arg("text"));
}

}  // namespace manymeans::python
