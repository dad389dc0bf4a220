// fit_tree.
#include <manymeans/manymeans.h>

#include "arrays.h"
#include "fit_parts.h"
#include "module.h"
#include "texts.h"
#include "waiting.h"

#include <utility>
#include <vector>

namespace manymeans::python {
namespace nb = nanobind;
namespace {

// The dict of a fit of the leaves, and another one of the nodes.
nb::tuple fit_nodes(const nb::object& points, bool bfloat16, const nb::object& weights, const nb::dict& options,
                    const nb::dict& given) {
  const PointsView view = points_of(points, bfloat16);
  const std::span<const double> given_weights = values_of(weights);
  const auto tree_options =
      options_from<TreeOptions>(options, [](auto& all, auto&& set) { for_each_tree_option(all, set); });
  GivenHooks hooks(given);
  TreeResult result;
  std::string digest;
  hooks.waiting().run([&] {
    result = fit_tree(view, given_weights, tree_options, hooks.hooks());
    digest = result.digest();
  });
  std::vector<int64_t> nodes;
  std::vector<double> inertias;
  for (const TreeLevel& level : result.levels) {
    nodes.push_back(level.nodes);
    inertias.push_back(level.inertia);
  }
  nb::dict tree;
  tree["digest"] = to_text(digest);
  tree["moved"] = result.moved;
  tree["vectors"] = to_numpy(std::move(result.vectors));
  tree["parents"] = to_numpy(std::move(result.parents));
  tree["nodes"] = to_numpy(std::move(nodes));
  tree["inertias"] = to_numpy(std::move(inertias));
  return nb::make_tuple(as_dict(result.fit), tree);
}

}  // namespace

void add_fitting_tree(nb::module_& module) {
  module.def("fit_tree", &fit_nodes, nb::arg("points"), nb::arg("bfloat16"), nb::arg("weights").none(),
             nb::arg("options"), nb::arg("hooks"));
}

}  // namespace manymeans::python
