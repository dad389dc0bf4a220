// Shards, and fits of what they answer.
#include <manymeans/manymeans.h>

#include "arrays.h"
#include "fit_parts.h"
#include "module.h"
#include "texts.h"
#include "waiting.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

namespace manymeans::python {
namespace nb = nanobind;
namespace {

std::span<const std::byte> view_of(const nb::bytes& bytes) {
  return {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()};
}

nb::bytes to_bytes(const Bytes& bytes) {
  return nb::bytes(bytes.data(), bytes.size());
}

void make_shard(RowShard* place, const nb::object& points, bool bfloat16, const nb::object& weights,
                const nb::dict& options) {
  const RowShardOptions how{value_of<std::string>(options, "backend"), value_of<std::string>(options, "algorithm"),
                            value_of<int>(options, "threads")};
  new (place) RowShard(points_of(points, bfloat16), values_of(weights), value_of<int64_t>(options, "first_row"), how);
}

// On the calling thread: a process that asks several shards at once has one for each.
nb::bytes answer(RowShard& shard, const nb::bytes& question) {
  Bytes found;
  Waiting().run([&] { found = shard.answer(view_of(question)); }, true);
  return to_bytes(found);
}

nb::bytes merge(const nb::bytes& a, const nb::bytes& b) {
  Bytes merged;
  Waiting().run([&] { merged = merge_answers(view_of(a), view_of(b)); }, true);
  return to_bytes(merged);
}

// What it returns may be any object; that of another type is an error of whoever wrote the function.
Bytes ask_python(const nb::object& ask, std::span<const std::byte> question) {
  const nb::gil_scoped_acquire with_gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  const nb::object said = ask(nb::bytes(question.data(), question.size()));
  if (!nb::isinstance<nb::bytes>(said)) {
    throw Error(ErrorCode::kUsage, "ask", "it returns no bytes; give back what the answers of all shards merge to");
  }
  const std::span<const std::byte> bytes = view_of(nb::cast<nb::bytes>(said));
  return {bytes.begin(), bytes.end()};
}

nb::dict fit_all_shards(const nb::object& ask, const nb::dict& options, const nb::dict& given) {
  FitOptions fit_options;
  size_t used = 0;
  for_each_option(fit_options, option_setter(options, used));
  check_all_used(options, used);
  GivenHooks hooks(given);
  FitResult result;
  const Ask asks = [&](std::span<const std::byte> question) { return ask_python(ask, question); };
  hooks.waiting().run([&] { result = fit_shards(asks, fit_options, hooks.hooks()); }, true);
  return as_dict(result);
}

std::vector<PointsView> views_of(const std::vector<AnyArray>& arrays) {
  std::vector<PointsView> views;
  for (const AnyArray& array : arrays) views.push_back(points_of(array));
  return views;
}

nb::bytes question_of_statistics(const nb::bytes& scan_question, const nb::bytes& scan,
                                 const std::vector<AnyArray>& models, const std::vector<AnyArray>& previous) {
  return to_bytes(statistics_question({view_of(scan_question), view_of(scan)}, views_of(models), views_of(previous)));
}

nb::list statistics_of(const nb::bytes& question, const nb::bytes& answer) {
  nb::list result;
  for (ClusterStatistics& model : read_statistics({view_of(question), view_of(answer)})) {
    const uint64_t halves[] = {static_cast<uint64_t>(model.label_sum), static_cast<uint64_t>(model.label_sum >> 64)};
    nb::dict one;
    one["counts"] = to_numpy(std::move(model.counts));
    one["weights"] = to_numpy(std::move(model.weights));
    one["changed"] = model.changed;
    one["label_sum"] = (nb::int_(halves[1]) << nb::int_(64)) | nb::int_(halves[0]);
    result.append(one);
  }
  return result;
}

nb::list solve_all(const nb::bytes& question, const nb::bytes& answer) {
  nb::list result;
  for (Matrix& prototypes : solve({view_of(question), view_of(answer)})) {
    result.append(to_numpy(std::move(prototypes)));
  }
  return result;
}

}  // namespace

void add_sharding(nb::module_& module) {
  nb::class_<RowShard>(module, "RowShard")
      .def("__init__", &make_shard, nb::arg("points"), nb::arg("bfloat16"), nb::arg("weights").none(),
           nb::arg("options"))
      .def("answer", &answer, nb::arg("question"));
  module.def("merge_answers", &merge, nb::arg("a"), nb::arg("b"));
  module.def("fit_shards", &fit_all_shards, nb::arg("ask"), nb::arg("options"), nb::arg("hooks"));
  module.def("shape_question", [] { return to_bytes(shape_question()); });
  module.def(
      "scan_question", [](const nb::bytes& shape) { return to_bytes(scan_question(view_of(shape))); },
      nb::arg("shape"));
  module.def("statistics_question", &question_of_statistics, nb::arg("scan_question"), nb::arg("scan"),
             nb::arg("models"), nb::arg("previous"));
  module.def("read_statistics", &statistics_of, nb::arg("question"), nb::arg("answer"));
  module.def("solve", &solve_all, nb::arg("question"), nb::arg("answer"));
}

}  // namespace manymeans::python
