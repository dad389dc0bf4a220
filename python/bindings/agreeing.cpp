// What the members of an ensemble agree on.
#include <manymeans/consensus.h>

#include "arrays.h"
#include "module.h"
#include "texts.h"
#include "waiting.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

namespace manymeans::python {
namespace nb = nanobind;
namespace {

using CountArray = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Members, and the arrays that their views point to.
struct Members {
  std::vector<AnyArray> centers, labels;
  std::vector<CountArray> counts;
  std::vector<ConsensusMember> views;
};

LabelsView labels_view(const AnyArray& labels) {
  return {labels.data(), static_cast<int64_t>(labels.size()), static_cast<int>(labels.itemsize())};
}

Members members_of(const nb::list& given) {
  Members members;
  for (const nb::handle one : given) {
    const auto values = nb::cast<nb::dict>(one);
    members.centers.push_back(nb::cast<AnyArray>(values["centers"]));
    members.counts.push_back(nb::cast<CountArray>(values["counts"]));
    const CountArray& counts = members.counts.back();
    ConsensusMember view{.prototypes = points_of(members.centers.back()),
                         .counts = {counts.data(), counts.size()},
                         .inertia = value_of<double>(values, "inertia")};
    if (!values["labels"].is_none()) {
      members.labels.push_back(nb::cast<AnyArray>(values["labels"]));
      view.labels = labels_view(members.labels.back());
    }
    members.views.push_back(view);
  }
  return members;
}

ConsensusOptions options_of(const nb::dict& wanted) {
  ConsensusOptions options;
  options.k = value_of<int64_t>(wanted, "k");
  options.method = value_named<ConsensusMethod>("method", value_of<std::string>(wanted, "method"));
  options.fits = value_of<int64_t>(wanted, "fits");
  options.pairs = value_of<int64_t>(wanted, "pairs");
  options.seed = value_of<uint64_t>(wanted, "seed");
  options.metric = value_named<Metric>("metric", value_of<std::string>(wanted, "metric"));
  options.backend = value_of<std::string>(wanted, "backend");
  options.threads = value_of<int>(wanted, "threads");
  return options;
}

nb::dict as_dict(Consensus found) {
  nb::dict result;
  result["digest"] = found.digest();
  result["labels"] = to_numpy(std::move(found.labels));
  result["votes"] = to_numpy(std::move(found.votes));
  result["counts"] = to_numpy(std::move(found.counts));
  result["cluster_centers"] = to_numpy(std::move(found.prototypes));
  result["n_models"] = found.members;
  result["between"] = to_numpy(std::move(found.between));
  result["mean_between"] = found.mean_between;
  result["ambiguous"] = found.ambiguous;
  result["pairs"] = found.pairs;
  result["warnings"] = to_texts(found.warnings);
  return result;
}

// `members`: dicts of centers, counts, inertia and labels (None: found from the points). Labels are unsigned.
nb::dict consensus_dict(const nb::object& points, bool bfloat16, const nb::list& members, const nb::dict& wanted) {
  const PointsView view = points.is_none() ? PointsView() : points_of(points, bfloat16);
  const Members given = members_of(members);
  ConsensusOptions options = options_of(wanted);
  Waiting waiting;
  options.abort = &waiting.abort();
  Consensus found;
  waiting.run([&] { found = consensus(view, given.views, options); });
  return as_dict(std::move(found));
}

}  // namespace

void add_agreeing(nb::module_& module) {
  module.def("consensus", &consensus_dict, nb::arg("points").none(), nb::arg("bfloat16"), nb::arg("members"),
             nb::arg("wanted"));
}

}  // namespace manymeans::python
