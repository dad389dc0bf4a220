// An ensemble of k-means models by the three OpenCL strategies of study 1, chapter 5.
//
//   ensemble_opencl --strategy concatenated|task|data --contention high|reduced --group 256 --per-item 16
//                   --rows N --columns D --clusters K --models M --iterations I --type float32|int32 --device 0
//                   --seed 1 --points uniform|mixture --judge reference
//
// Task: a work-group takes a model. Data: a launch takes a model. Concatenated: one pass takes all models. --contention
// is for concatenated alone (figures 5-4 and 5-5). The study's work-groups have 256 work-items. --per-item is its
// POINTS_PER_WORK_ITEM. Its experiments (section 7.1) have 1M rows, K = 10, 10 iterations.
// The seconds measure the iterations. Building the kernels and copying the points come before.
#include "founding/device_ensemble.h"

namespace manymeans::founding {
namespace {

class StrategyEnsemble final : public DeviceEnsemble {
 public:
  StrategyEnsemble(OpenClSession& session, const EnsembleOptions& options, const std::vector<float>& points,
                   const std::string& strategy, bool rotated)
      : DeviceEnsemble(session, options, points), strategy_(strategy), rotated_(rotated ? 1 : 0) {}

 private:
  void compute_statistics(cl_mem labels) override {
    const auto& [points, models, sums, counts] = arrays();
    const auto group = static_cast<size_t>(options().group), tasks = static_cast<size_t>(options().shape.models);
    const auto n = static_cast<cl_int>(options().shape.rows), per_item = static_cast<cl_int>(options().per_item);
    const size_t groups = options().groups_for((options().shape.rows + per_item - 1) / per_item);
    if (strategy_ == "task") {
      session().launch("task_parallel", tasks, group, points, models, sums, counts, labels, n);
    } else if (strategy_ == "data") {
      for (cl_int m = 0; m < static_cast<cl_int>(tasks); ++m) {
        session().launch("data_parallel", groups, group, points, models, sums, counts, labels, n, per_item, m);
      }
    } else {
      session().launch("concatenated_parallel", groups, group, points, models, sums, counts, labels, n, per_item,
                       rotated_);
    }
  }

  std::string strategy_;
  cl_int rotated_;
};

bool run(Arguments& arguments) {
  const EnsembleOptions options = read_ensemble_options(arguments);
  const std::string strategy = arguments.word("strategy", {"concatenated", "task", "data"});
  const std::string contention = arguments.word("contention", {"high", "reduced"});
  arguments.check_all_used();
  const bool concatenated = strategy == "concatenated";
  const std::vector<float> points = make_ensemble_points(options);
  const int64_t models_in_local_memory = concatenated ? options.shape.models : 1;
  check_group(options.device, options.group, options.local_bytes(models_in_local_memory * options.shape.clusters));
  OpenClSession session(options.device, kEnsembleKernels, options.defines() + (concatenated ? " -DCONCATENATED" : ""));
  StrategyEnsemble ensemble(session, options, points, strategy, contention == "reduced");
  const EnsembleRun result = ensemble.fit(first_models(options, points));
  const RunVerdict verdict = check_ensemble(options, points, result);
  ResultLine line(arguments.program(), options.shape);
  line.add("strategy", strategy);
  if (concatenated) line.add("contention", contention);
  options.add_to(line);
  // Each group that labels for a model reads its points once: for all models together only if concatenated.
  line.add("point_bytes_of_iteration",
           static_cast<int64_t>(points.size() * sizeof(float)) * (concatenated ? 1 : options.shape.models));
  line.add("device", session.facts().name);
  line.add("seconds", result.seconds);
  line.add("iterations", options.shape.iterations);
  return verdict.print(line);
}

}  // namespace
}  // namespace manymeans::founding

int main(int argc, char** argv) {
  return manymeans::founding::run_program(argc, argv, manymeans::founding::run);
}
