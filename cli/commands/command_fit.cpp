// manymeans fit: points in, an ensemble of models out.
#include <manymeans/manymeans.h>

#include "commands/commands.h"
#include "fitting/fit_job.h"
#include "flags/checkpoint_flags.h"
#include "flags/fit_flags.h"
#include "flags/initial_file.h"
#include "output/fit_report.h"
#include "output/progress_line.h"

#include <memory>

namespace manymeans::cli {
namespace {

struct FitCommand {
  FitJob job;
  FitOptions options;
  bool k_given = false;
};

const JobHelp kHelp = {
    .scale =
        "Scale the columns: none, standard (mean 0, deviation 1) or minmax (0 to 1). Prototypes, inertia and an "
        "--init file are in scaled units; predict applies the same scaling.",
    .model = "Write all models to this .npz file, for 'manymeans predict' and numpy.load.",
    .labels =
        "Write the labels of the best model of each k to this .npy or .csv file, or as csv to a pipe ('-' for "
        "standard output): N values for one k, a column for each k for several."};

const char* const kExamples =
    "Examples:\n"
    "  manymeans fit points.csv -k 8\n"
    "      Fits one model and prints its summary.\n"
    "  manymeans fit points.npy -k 64 --models 16 --seed 1 --model out.npz \\\n"
    "      --labels labels.npy\n"
    "      Fits 16 models and writes all of them, and the labels of the best.\n"
    "  manymeans fit table.csv.gz -k 2..20:2 --numeric-only --scale standard --json\n"
    "      Compares ten numbers of clusters; one JSON object on standard output.\n"
    "  manymeans fit points.npy --init out.npz -k 64 --max-iter 1000\n"
    "      Goes on from the best model of an earlier fit.\n"
    "  manymeans fit points.npy -k 5000 --model out.npz --checkpoint run.ckpt \\\n"
    "      --resume\n"
    "      May be killed at any time: the same command goes on where it was.\n"
    "  manymeans fit --shard 'part-*.parquet' -k 64\n"
    "      Fits the rows of several files, as if they were one file.\n"
    "  mpirun -n 8 manymeans fit points.npy -k 64 --model out.npz\n"
    "      Shares the rows among eight processes, on one machine or on several.\n\n"
    "The answer depends on the points, the options and the seed only: not on\n"
    "--threads, --backend, --algorithm, --strategy or how many processes share it.\n"
    "Ctrl-C stops after the current pass and writes what was asked for (exit code 5);\n"
    "a second Ctrl-C ends at once.\n"
    "Exit codes: 0 done, 2 usage, 3 bad data, 4 no such device, out of memory or disk\n"
    "full, 5 interrupted, 1 a bug.";

std::vector<std::string> centroid_inits() {
  std::vector<std::string> methods;
  for (const Choice& method : build_info().inits) methods.push_back(method.name);
  return methods;
}

FitResult run_fit(FitCommand& command, JobPoints& points, bool initial_file, ProgressLine& line) {
  Dataset initial;
  if (initial_file) {
    initial = read_initial({.path = command.options.init,
                            .k = command.k_given ? command.options.k[0] : 0,
                            .d = points.view.d,
                            .scale = command.job.scale});
    command.options.k = {initial.view.n};
    for (const std::string& warning : initial.warnings) points.dataset.warnings.push_back(warning);
  }
  FitResult result;
  run_job(command.job, command.options, points, line, [&](FitHooks hooks) {
    hooks.initial = initial.view;
    result = fit(points.view, points.dataset.weights, command.options, hooks);
  });
  add_reading(command.job, points, result.provenance, result.warnings);
  return result;
}

void write_results(const FitJob& job, const JobPoints& points, const FitResult& result) {
  write_job(
      job, result.warnings,
      {.model =
           [&] { save_model(job.model, result, points.scaling, points.dataset.column_names, points.dataset.source); },
       .labels = [&] { write_labels(job.labels, result, job.comm(), file_rows(points.dataset)); },
       .json = [&] { return to_json(result); },
       .report =
           [&](const std::vector<std::string>& files) {
             return fit_report(job.data.name(), result, files, points_style(result));
           }});
}

int run(FitCommand& command) {
  FitJob& job = command.job;
  share_job("fit", job, command.options);
  const bool initial_file = names_initial_file(command.options.init, centroid_inits());
  check(command.options);
  check_job(job, command.options, initial_file);
  const float origin = 0;  // one point, one prototype: is the backend there, and does it know the algorithm?
  predict({&origin, 1, 1}, {&origin, 1, 1},
          {.backend = command.options.backend, .algorithm = command.options.algorithm, .threads = 1});
  ProgressLine line(!job.quiet && !job.json);
  if (!job.quiet) announce_resuming(job.checkpoint);
  JobPoints points = read_job_points(job, command.options, line);
  const FitResult result = run_fit(command, points, initial_file, line);
  line.erase();
  if (result.interrupted && !job.quiet) announce_going_on(job.checkpoint);
  write_results(job, points, result);
  return end_job(job, result.interrupted);
}

}  // namespace

void add_fit_command(CLI::App& program, int& exit_code) {
  CLI::App* app = program.add_subcommand("fit", "Fit an ensemble of k-means models to a file of points.");
  const auto command = std::make_shared<FitCommand>();
  bind_data_argument(*app, command->job.data);
  bind_fit_flags(*app, command->options);
  bind_job_flags(*app, command->job, kHelp);
  app->footer(kExamples);
  app->callback([app, command, &exit_code] {
    command->k_given = app->count("-k") > 0;
    exit_code = run(*command);
  });
}

}  // namespace manymeans::cli
