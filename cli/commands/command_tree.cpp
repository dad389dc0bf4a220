// manymeans tree: points in, very many clusters by levels out.
#include <manymeans/manymeans.h>

#include "commands/commands.h"
#include "fitting/fit_job.h"
#include "flags/checkpoint_flags.h"
#include "flags/fit_flags.h"
#include "flags/flag_values.h"
#include "output/fit_report.h"
#include "output/text_table.h"

#include <fmt/format.h>

#include <memory>

namespace manymeans::cli {
namespace {

struct TreeCommand {
  FitJob job;
  TreeOptions options;
  std::string tree, centroids;  // outputs; empty: not asked for
};

const JobHelp kHelp = {
    .scale =
        "Scale the columns: none, standard (mean 0, deviation 1), minmax (0 to 1), robust (median 0, distance of the "
        "quartiles 1) or unit (rows of length 1). Centroids and inertia are in "
        "scaled units; predict applies the same scaling.",
    .model = "Write the leaves as a model to this .npz file, for 'manymeans predict' and numpy.load.",
    .labels =
        "Write the leaf of each row to this .npy, .csv or .parquet file, or as csv to a pipe ('-' for standard "
        "output).",
    .names = true,
    .time_limits = false};

const char* const kExamples =
    "Examples:\n"
    "  manymeans tree base.fvecs -k 40000 --centroids lists.fvecs --labels l.npy\n"
    "      Makes the lists of an index: 40,000 centroids, and the list of each row.\n"
    "  manymeans tree base.npy -k 4096 --max-size 500 --tree nodes.npz\n"
    "      No list has more than 500 rows. The nodes are id, parent, level, vector.\n"
    "  manymeans tree base.npy -k 1000000 --sample 20000000 --refine 1 --model m.npz\n"
    "      Makes the tree of a sample. The flat fit and the labels have all rows.\n"
    "  manymeans tree base.npy -k 100000 --model leaves.npz --tree nodes.npz\n"
    "      Then 'manymeans predict leaves.npz new.npy --tree nodes.npz' labels fast.\n"
    "  mpirun -n 8 manymeans tree base.fbin -k 100000 --model m.npz\n"
    "      Shares the rows among eight processes, on one machine or on several.\n"
    "  manymeans tree base.npy -k 1000000 --model m.npz --checkpoint run.ckpt \\\n"
    "      --resume\n"
    "      May be killed at any time: the same command continues, to the same answer.\n\n"
    "A node is split by an exact fit of its rows, and children get leaves in\n"
    "proportion to their rows or inertia (--quota). All splits of a level are one\n"
    "batch. The leaves then begin a flat fit of all rows, for --refine iterations. A\n"
    "tree takes a fraction of the time of 'manymeans fit' where k is 1,000 or more;\n"
    "the inertia is a little higher. docs/user/trees.md says when to use which.\n\n"
    "The answer depends on the points, the options and the seed only: not on\n"
    "--threads, --backend, --algorithm, --memory or how many processes share it.\n"
    "Ctrl-C before the last level ends without an answer, and with --max-size or\n"
    "--min-size at any time. Else the flat fit ends early. The exit code is 5.\n"
    "--checkpoint saves the state in all cases.\n"
    "Exit codes: 0 done, 2 usage, 3 bad data, 4 no such device, out of memory or disk\n"
    "full, 5 interrupted, 1 a bug.";

std::string report_of(const TreeCommand& command, const TreeResult& result, const std::vector<std::string>& files) {
  const ModelResult& leaves = result.fit.models[0];
  std::vector<std::vector<std::string>> levels = {{"level", "nodes", "inertia"}};
  for (size_t i = 0; i < result.levels.size(); ++i) {
    const TreeLevel& level = result.levels[i];
    levels.push_back({fmt::format("{}", i), fmt::format("{}", level.nodes), fmt::format("{:.7g}", level.inertia)});
  }
  levels.push_back({"leaves", fmt::format("{}", leaves.k), fmt::format("{:.7g}", leaves.inertia)});
  const TreeBalance balance = result.balance();
  return heading_of(command.job.data.name(), result.fit, points_style(result.fit)) + "\n" +
         format_table("rrr", levels) +
         fmt::format(
             "\nrows of a leaf: {} to {}; coefficient of variation {:.3f}, max/mean {:.3f}; {} empty, {} rows "
             "moved\ndigest of the tree: {}",
             balance.smallest, balance.largest, balance.variation, balance.max_to_mean, balance.empty, result.moved,
             result.digest()) +
         ending_of(result.fit, files);
}

void write_centroids(const std::string& path, const Matrix& prototypes, const std::vector<std::string>& names) {
  Dataset centroids;
  centroids.view = prototypes.view();
  centroids.column_names = names;
  write_points(path, centroids);
}

int run(TreeCommand& command) {
  FitJob& job = command.job;
  share_job("tree", job, command.options);
  if (!job.leads()) {
    command.tree.clear();
    command.centroids.clear();
  }
  check(command.options);
  job.others = {{"--tree", command.tree, {".npz", ".parquet"}}, {"--centroids", command.centroids, {}}};
  check_job(job, command.options, false);
  if (command.tree.ends_with(".parquet")) check_points_path(command.tree);  // the build decides if it can be written
  if (!command.centroids.empty()) check_points_path(command.centroids);
  ProgressLine line(!job.quiet && !job.json);
  if (!job.quiet) announce_resuming(job.checkpoint);
  JobPoints points = read_job_points(job, command.options, line);
  if (!command.centroids.empty()) check_centroids_path(command.centroids, points.view.type);
  TreeResult result;
  run_job(job, command.options, points, line, [&](const FitHooks& hooks) {
    result = fit_tree(points.view, points.dataset.weights, command.options, hooks);
  });
  add_reading(job, points, result.fit.provenance, result.fit.warnings);
  line.erase();
  if (result.fit.interrupted && !job.quiet) announce_going_on(job.checkpoint);
  const Matrix& prototypes = result.fit.models[0].prototypes;
  write_job(
      job, result.fit.warnings,
      {.model =
           [&] { save_model(job.model, result, points.scaling, points.dataset.column_names, points.dataset.source); },
       .labels = [&] { write_labels(job.labels, result.fit, job.comm(), file_rows(points.dataset)); },
       .others = {[&] { save_tree(command.tree, result); },
                  [&] { write_centroids(command.centroids, prototypes, points.dataset.column_names); }},
       .json =
           [&] {
             end_points(points, result.fit.provenance.seconds);
             return to_json(result);
           },
       .report =
           [&](const std::vector<std::string>& files) {
             end_points(points, result.fit.provenance.seconds);
             return report_of(command, result, files);
           }});
  return end_job(job, result.fit.interrupted);
}

}  // namespace

void add_tree_command(Program& program, int& exit_code) {
  const Command app = program.add_command("tree", "Find very many clusters by a tree of exact fits.");
  const auto command = std::make_shared<TreeCommand>();
  bind_data_argument(app, command->job.data);
  bind_tree_flags(app, command->options);
  bind_job_flags(app, command->job, kHelp);
  add_file_flag(app, "--tree", command->tree,
                "Write all nodes to this .npz or .parquet file: id, parent, level and vector.")
      .group("Output");
  add_file_flag(app, "--centroids", command->centroids,
                "Write the centroids of the leaves to this file, in a format that 'manymeans info' lists as a writer: "
                ".npy, .fvecs, .parquet and more.")
      .group("Output");
  app.footer(kExamples);
  app.callback([command, &exit_code] { exit_code = run(*command); });
}

}  // namespace manymeans::cli
