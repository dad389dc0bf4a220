// An ensemble of k-means models by the three OpenCL kd-tree forms of study 1, chapter 6.
//
//   tree_opencl --form distributed|direct|replicated --leaf 1024 --group 256 --per-item 16
//               --rows N --columns D --clusters K --models M --iterations I --type float32|int32 --device 0
//               --seed 1 --points uniform|mixture --judge reference
//
// Direct: a work-group takes a leaf. Distributed: a work-group spans leaves. Replicated: each work-item has sums, and
// kernels join them. --leaf is the most points of a leaf. The study does not say how many it took. All three are the
// study's concatenated parallelism. The host maps centroids to leaves in each iteration. The seconds include that, and
// its copies. mapped_share is the share of distances that are computed. The study speaks of its pruning factor.
#include "founding/device_ensemble.h"
#include "founding/leaf_mapping.h"

namespace manymeans::founding {
namespace {

class TreeEnsemble final : public DeviceEnsemble {
 public:
  TreeEnsemble(OpenClSession& session, const EnsembleOptions& options, const FoundingTree& tree,
               const std::string& form)
      : DeviceEnsemble(session, options, tree.points), tree_(tree), form_(form) {
    const auto lists = static_cast<size_t>(options.shape.models * tree.leaves);
    leaf_first_ = session.make_buffer_of(tree.leaf_first);
    first_ = session.make_buffer((lists + 1) * sizeof(int32_t));
    mapped_ = session.make_buffer(lists * static_cast<size_t>(options.shape.clusters) * sizeof(int32_t));
    if (form != "replicated") return;
    own_sums_ = session.make_buffer(options.values() * items() * sizeof(float));
    own_counts_ = session.make_buffer(options.centroids() * items() * sizeof(int32_t));
  }

  /// Of one iteration, on average.
  double mapping_seconds() const { return mapping_seconds_ / static_cast<double>(mappings_); }
  double mapped_share() const { return static_cast<double>(mapped_centroids_) / static_cast<double>(all_centroids_); }

 private:
  // Algorithm 5. The new centroids come to the host, and the mapping goes to the device.
  void compute_statistics(cl_mem labels) override {
    const std::vector<float> models_now = models();
    const ElapsedTime watch;
    const LeafMapping mapping = map_centroids(tree_, models_now, options().shape.clusters);
    mapping_seconds_ += watch.seconds();
    ++mappings_;
    mapped_centroids_ += static_cast<int64_t>(mapping.mapped.size());
    all_centroids_ += options().shape.models * tree_.leaves * options().shape.clusters;
    session().write(first_, mapping.first);
    session().write(mapped_, mapping.mapped);
    launch(labels);
  }

  void launch(cl_mem labels) {
    const auto& [points, models, sums, counts] = arrays();
    const auto group = static_cast<size_t>(options().group), leaves = static_cast<size_t>(tree_.leaves);
    const auto per_item = static_cast<cl_int>(options().per_item);
    if (form_ == "direct") {
      session().launch("direct_access", leaves, group, points, leaf_first_, first_, mapped_, models, sums, counts,
                       labels);
    } else if (form_ == "distributed") {
      const int64_t places = tree_.leaves * tree_.largest_leaf();
      session().launch("distributed_access", options().groups_for((places + per_item - 1) / per_item), group, points,
                       leaf_first_, first_, mapped_, models, sums, counts, labels, static_cast<cl_int>(tree_.leaves),
                       per_item);
    } else {
      session().launch("replicated_access", leaves, group, points, leaf_first_, first_, mapped_, models, own_sums_,
                       own_counts_, labels);
      const auto all = static_cast<cl_int>(items());
      session().launch("join_sums", options().values(), group, own_sums_, sums, all);
      session().launch("join_counts", options().centroids(), group, own_counts_, counts, all);
    }
  }

  size_t items() const { return static_cast<size_t>(tree_.leaves * options().group); }

  const FoundingTree& tree_;
  std::string form_;
  cl_mem leaf_first_ = nullptr, first_ = nullptr, mapped_ = nullptr, own_sums_ = nullptr, own_counts_ = nullptr;
  double mapping_seconds_ = 0;
  int64_t mappings_ = 0, mapped_centroids_ = 0, all_centroids_ = 0;
};

bool run(Arguments& arguments) {
  const EnsembleOptions options = read_ensemble_options(arguments);
  const std::string form = arguments.word("form", {"distributed", "direct", "replicated"});
  const int64_t leaf_rows = arguments.whole("leaf", 1024);
  arguments.check_all_used();
  const std::vector<float> points = make_ensemble_points(options);
  check_group(options.device, options.group, options.local_bytes(options.shape.models * options.shape.clusters));
  OpenClSession session(options.device, kTreeKernels, options.defines());
  const ElapsedTime watch;
  const FoundingTree tree = make_founding_tree(points, options.shape.columns, leaf_rows);
  const double tree_seconds = watch.seconds();
  TreeEnsemble ensemble(session, options, tree, form);
  const EnsembleRun result = ensemble.fit(first_models(options, points));
  const RunVerdict verdict = check_ensemble(options, tree.points, result);
  ResultLine line(arguments.program(), options.shape);
  line.add("form", form);
  options.add_to(line);
  line.add("leaves", tree.leaves);
  line.add("device", session.facts().name);
  line.add("tree_seconds", tree_seconds);
  line.add("mapping_seconds_of_iteration", ensemble.mapping_seconds());
  line.add("mapped_share", ensemble.mapped_share());
  line.add("seconds", result.seconds);
  line.add("iterations", options.shape.iterations);
  return verdict.print(line);
}

}  // namespace
}  // namespace manymeans::founding

int main(int argc, char** argv) {
  return manymeans::founding::run_program(argc, argv, manymeans::founding::run);
}
