// predict, transform and scaling.
#include <manymeans/manymeans.h>

#include "arrays.h"
#include "fit_parts.h"
#include "module.h"
#include "sparse_arrays.h"
#include "texts.h"
#include "waiting.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>

namespace manymeans::python {
namespace nb = nanobind;
namespace {

// How many times as fast as a processor's core a device is, by its matrix units and in binary64.
constexpr double kLabelsFaster = 1000, kDistancesFaster = 20;

bool brief(const PointsView& points, const Predictor& predictor, double faster) {
  const double work = static_cast<double>(points.n) * static_cast<double>(points.d);
  return is_brief(work * static_cast<double>(predictor.clusters()) / (points.on_device() ? faster : 1));
}

// Address, device and stream of an array that has the type and the size of the result, or none.
ResultRoom room_in(const nb::handle& given) {
  if (given.is_none()) return {};
  const auto [address, device, stream] = nb::cast<std::tuple<uintptr_t, int, uintptr_t>>(given);
  return {reinterpret_cast<void*>(address), {"cuda", device, reinterpret_cast<void*>(stream)}};
}

// The options that all functions here have. The names of the dict are the names of PredictOptions.
PredictOptions options_in(const nb::dict& wanted, Waiting& waiting) {
  PredictOptions options;
  options.backend = value_of<std::string>(wanted, "backend");
  options.threads = value_of<int>(wanted, "threads");
  options.room = room_in(wanted["room"]);
  options.abort = &waiting.abort();
  return options;
}

nb::tuple predict_points(const Predictor& predictor, const nb::object& points, bool bfloat16, const nb::dict& wanted) {
  const PointsView view = points_of(points, bfloat16);
  Waiting waiting;
  PredictOptions options = options_in(wanted, waiting);
  options.distances = value_of<bool>(wanted, "distances");
  options.inertia = value_of<bool>(wanted, "inertia");
  options.weights = values_of(wanted["weights"]);
  Prediction result;
  waiting.run([&] { result = predictor.predict(view, options); }, brief(view, predictor, kLabelsFaster));
  const nb::object found = options.distances ? to_numpy(std::move(result.distances)) : nb::none();
  const nb::object labels = options.room ? nb::none() : to_numpy(std::move(result.labels));
  return nb::make_tuple(labels, found, result.inertia);
}

nb::object transform_points(const Predictor& predictor, const nb::object& points, bool bfloat16,
                            const nb::dict& wanted) {
  const PointsView view = points_of(points, bfloat16);
  Waiting waiting;
  const PredictOptions options = options_in(wanted, waiting);
  Matrix result;
  waiting.run([&] { result = predictor.transform(view, options); }, brief(view, predictor, kDistancesFaster));
  return options.room ? nb::none() : to_numpy(std::move(result));
}

// `tree`: the vectors of its nodes, their parents, and n_probe.
nb::object predict_by_walk(const nb::dict& tree, const nb::object& points, bool bfloat16, const nb::dict& wanted) {
  const PointsView view = points_of(points, bfloat16), vectors = points_of(tree["vectors"], false);
  const auto parents =
      nb::cast<nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(tree["parents"]);
  const auto n_probe = value_of<int64_t>(tree, "n_probe");
  Waiting waiting;
  const PredictOptions options = options_in(wanted, waiting);
  Labels labels;
  waiting.run(
      [&] { labels = manymeans::predict_by_walk(view, vectors, {parents.data(), parents.size()}, n_probe, options); });
  return options.room ? nb::none() : to_numpy(std::move(labels));
}

// Names are only read for a warning.
nb::list warn_of_outside(const nb::object& points, bool bfloat16, const nb::object& ranges, const nb::dict& scaling,
                         nb::handle names) {
  Dataset table;
  table.view = points_of(points, bfloat16);
  const ColumnRanges fitted = ranges_in(ranges);
  const Scaling its = scaling_in(scaling);
  if (outside_warnings(table, fitted, its).empty()) return {};
  table.column_names = all_bytes_of(names);
  return to_texts(outside_warnings(table, fitted, its));
}

nb::object scale_points(const nb::object& points, bool bfloat16, const nb::dict& given, int threads) {
  const PointsView view = points_of(points, bfloat16);
  const Scaling scaling = scaling_in(given);
  Matrix result;
  Waiting().run([&] { result = apply_scaling(view, scaling, threads); });
  return to_numpy(std::move(result));
}

nb::dict scaling_of(const nb::object& points, bool bfloat16, const std::string& kind, std::vector<int64_t> logs,
                    int threads) {
  const PointsView view = points_of(points, bfloat16);
  const ScaleRules rules(value_named<Scale>("scale", kind), std::move(logs));
  Scaling found;
  Waiting().run([&] { found = find_scaling(view, rules, threads); });
  return dict_of(std::move(found));
}

nb::object unit_rows(const nb::object& points, bool bfloat16, int threads) {
  const PointsView view = points_of(points, bfloat16);
  Matrix result;
  Waiting().run([&] { result = rows_of_length_one(view, threads); });
  return to_numpy(std::move(result));
}

nb::object unit_values(const SparseArray& points, int threads) {
  auto result = std::make_shared<Matrix>();
  Waiting().run([&] { *result = values_of_length_one(points.sparse(), threads); });
  const PointsView view = result->view();
  const auto type = view.type == DataType::kFloat64 ? nb::dtype<double>() : nb::dtype<float>();
  return numpy_view(view.data, {static_cast<size_t>(view.d)}, type, result);
}

nb::list choices(const std::vector<Choice>& all) {
  nb::list result;
  for (const Choice& choice : all) {
    nb::dict one;
    one["name"] = choice.name;
    one["description"] = choice.description;
    one["available"] = choice.available;
    result.append(one);
  }
  return result;
}

nb::dict info_dict(bool devices) {
  const Info found = devices ? info() : build_info();
  nb::dict result;
  result["version"] = found.version;
  result["compiler"] = found.compiler;
  result["build_type"] = found.build_type;
  result["threads"] = found.threads;
  result["available_memory"] = found.available_memory;
  result["backends"] = choices(found.backends);
  result["instruction_sets"] = choices(found.instruction_sets);
  result["inits"] = choices(found.inits);
  result["readers"] = choices(found.readers);
  result["writers"] = choices(found.writers);
  result["devices"] = found.devices;
  return result;
}

}  // namespace

void add_predicting(nb::module_& module) {
  nb::class_<Predictor>(module, "Predictor")
      .def(
          "__init__",
          [](Predictor* place, const AnyArray& prototypes) { new (place) Predictor(points_of(prototypes)); },
          nb::arg("prototypes").noconvert())
      .def(
          "holds",
          [](const Predictor& predictor, const AnyArray& prototypes) { return predictor.holds(points_of(prototypes)); },
          nb::arg("prototypes").noconvert())
      .def("predict", &predict_points, nb::arg("points"), nb::arg("bfloat16"), nb::arg("wanted"))
      .def("transform", &transform_points, nb::arg("points"), nb::arg("bfloat16"), nb::arg("wanted"));
  module.def("predict_by_walk", &predict_by_walk, nb::arg("tree"), nb::arg("points"), nb::arg("bfloat16"),
             nb::arg("wanted"));
  module.def("outside_warnings", &warn_of_outside, nb::arg("points"), nb::arg("bfloat16"), nb::arg("ranges"),
             nb::arg("scaling"), nb::arg("names"));
  module.def("find_scaling", &scaling_of, nb::arg("points"), nb::arg("bfloat16"), nb::arg("kind"), nb::arg("logs"),
             nb::arg("threads"));
  module.def("apply_scaling", &scale_points, nb::arg("points"), nb::arg("bfloat16"), nb::arg("scaling"),
             nb::arg("threads"));
  module.def("rows_of_length_one", &unit_rows, nb::arg("points"), nb::arg("bfloat16"), nb::arg("threads"));
  module.def("values_of_length_one", &unit_values, nb::arg("points"), nb::arg("threads"));
  module.def("info", &info_dict, nb::arg("devices"));
  module.def("explain_missing_cuda", &explain_missing_cuda, nb::arg("why"));
}

}  // namespace manymeans::python
