// How alike two clusterings are.
#include <manymeans/compare.h>

#include "arrays.h"
#include "module.h"
#include "waiting.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

namespace manymeans::python {
namespace nb = nanobind;
namespace {

using LabelArray = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using CentreArray = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

std::vector<std::tuple<int64_t, int64_t, int64_t>> tuples_of(const std::vector<LabelCell>& cells) {
  std::vector<std::tuple<int64_t, int64_t, int64_t>> result;
  for (const LabelCell& cell : cells) result.emplace_back(cell.a, cell.b, cell.rows);
  return result;
}

nb::dict labels_compared(const LabelArray& a, const LabelArray& b) {
  LabelComparison found;
  Waiting waiting;
  waiting.run([&] { found = compare_labels({a.data(), a.size()}, {b.data(), b.size()}, &waiting.abort()); });
  nb::dict result;
  result["rows"] = found.rows;
  result["left_out"] = found.left_out;
  result["adjusted_rand"] = found.adjusted_rand;
  result["moved"] = found.moved;
  result["pairs"] = tuples_of(found.pairs);
  result["moves"] = tuples_of(found.moves);
  return result;
}

std::vector<std::tuple<int64_t, int64_t, double>> centres_matched(const CentreArray& a, const CentreArray& b) {
  std::vector<PrototypeMatch> matches;
  Waiting waiting;
  waiting.run([&] {
    matches = match_prototypes({a.data(), a.size()}, {b.data(), b.size()}, static_cast<int64_t>(a.shape(1)),
                               &waiting.abort());
  });
  std::vector<std::tuple<int64_t, int64_t, double>> result;
  for (const PrototypeMatch& match : matches) result.emplace_back(match.a, match.b, match.distance);
  return result;
}

}  // namespace

void add_comparing(nb::module_& module) {
  module.def("compare_labels", &labels_compared, nb::arg("a"), nb::arg("b"));
  module.def("match_prototypes", &centres_matched, nb::arg("a"), nb::arg("b"));
}

}  // namespace manymeans::python
