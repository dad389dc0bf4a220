// The optimal clusters of numbers.
#include <manymeans/optimal_1d.h>

#include "arrays.h"
#include "module.h"
#include "waiting.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace manymeans::python {
namespace nb = nanobind;
namespace {

// Rows of arrays, filled up where a row has fewer clusters than another one.
struct PackedModels {
  std::vector<int64_t> k = {}, sizes = {};
  std::vector<double> inertia = {};
  std::vector<int64_t> iterations = {};
  std::vector<std::string> stop_reasons = {}, digests = {};
  Matrix centres;
  Labels labels;

  PackedModels(const std::vector<ModelResult>& models, int64_t n) {
    const auto rows = std::ssize(models);
    int64_t most = 0;
    for (const ModelResult& model : models) most = std::max(most, model.k);
    sizes.resize(static_cast<size_t>(rows * most));
    centres = Matrix(rows, most, models[0].prototypes.type());
    labels = Labels(rows * n, most);
    std::vector<uint32_t> row(static_cast<size_t>(n));
    for (int64_t b = 0; b < rows; ++b) {
      const ModelResult& model = models[static_cast<size_t>(b)];
      k.push_back(model.k);
      inertia.push_back(model.inertia);
      iterations.push_back(model.iterations);
      stop_reasons.emplace_back(name_of(model.stop_reason));
      digests.push_back(model.digest());
      std::ranges::copy(model.counts, sizes.begin() + b * most);
      model.labels.read(0, n, row.data());
      labels.write(b * n, n, row.data());
      const auto fill = [&]<class T>(T) {
        const auto to = centres.values<T>().subspan(static_cast<size_t>(b * most), static_cast<size_t>(most));
        std::ranges::fill(to, std::numeric_limits<T>::quiet_NaN());
        std::ranges::copy(model.prototypes.values<T>(), to.begin());
      };
      centres.type() == DataType::kFloat64 ? fill(double{}) : fill(float{});
    }
  }
};

nb::dict optimal_dict(const nb::object& values, bool bfloat16, const nb::object& weights, const nb::dict& wanted) {
  const PointsView view = points_of(values, bfloat16);
  const std::span<const double> given = values_of(weights);
  Waiting waiting;
  Optimal1dOptions options;
  options.k = value_of<std::vector<int64_t>>(wanted, "k");
  options.threads = value_of<int>(wanted, "threads");
  options.abort = &waiting.abort();
  Optimal1d found;
  std::optional<PackedModels> packed;
  waiting.run([&] {
    found = optimal_1d(view, given, options);
    packed.emplace(found.models, view.d);
  });
  nb::dict result;
  result["k"] = to_numpy(std::move(packed->k));
  result["sizes"] = to_numpy(std::move(packed->sizes));
  result["inertia"] = to_numpy(std::move(packed->inertia));
  result["centers"] = to_numpy(std::move(packed->centres));
  result["labels"] = to_numpy(std::move(packed->labels));
  result["n_iter"] = to_numpy(std::move(packed->iterations));
  result["stop_reasons"] = packed->stop_reasons;
  result["digests"] = packed->digests;
  result["bic"] = to_numpy(std::move(found.bic));
  result["warnings"] = found.warnings;
  return result;
}

}  // namespace

void add_optimising(nb::module_& module) {
  module.def("optimal_1d", &optimal_dict, nb::arg("values"), nb::arg("bfloat16"), nb::arg("weights").none(),
             nb::arg("wanted"));
}

}  // namespace manymeans::python
