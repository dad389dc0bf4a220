// manymeans fit: points in, an ensemble of models out.
#include <manymeans/manymeans.h>

#include "commands/commands.h"
#include "fitting/fit_job.h"
#include "flags/checkpoint_flags.h"
#include "flags/fit_flags.h"
#include "flags/initial_file.h"
#include "output/cluster_report.h"
#include "output/fit_report.h"
#include "output/progress_line.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>

namespace manymeans::cli {
namespace {

struct FitCommand {
  FitJob job;
  FitOptions options;
  bool k_given = false;
  bool summarises = false;  // the clusters, for somebody
  bool always = false;      // however many points there are
};

const JobHelp kHelp = {
    .scale =
        "Scale the columns: none, standard (mean 0, deviation 1) or minmax (0 to 1). Prototypes, inertia and an "
        "--init file are in scaled units; predict applies the same scaling.",
    .model = "Write all models to this .npz file, for 'manymeans predict' and numpy.load.",
    .labels =
        "Write the labels of the best model of each k to this .npy, .csv or .parquet file, or as csv to a pipe ('-' "
        "for "
        "standard output): N values for one k, a column for each k for several.",
    .append = "a column 'cluster' (for several k a column for each: k8, k16), empty for rows that were left out,",
    .summary =
        "Write what the clusters of the best model (of the first k) are like to this .csv or .json file: size, spread, "
        "and of each column the centroid and its difference to the mean."};

const char* const kExamples =
    "Examples:\n"
    "  manymeans fit points.csv -k 8\n"
    "      Fits one model and prints its summary.\n"
    "  manymeans fit points.npy -k 64 --models 16 --seed 1 --model out.npz \\\n"
    "      --labels labels.npy\n"
    "      Fits 16 models and writes all of them, and the labels of the best.\n"
    "  manymeans fit table.csv.gz -k 2..20:2 --numeric-only --scale standard --json\n"
    "      Compares ten numbers of clusters; one JSON object on standard output.\n"
    "  manymeans fit table.csv -k 5 --scale standard --append clustered.csv \\\n"
    "      --summary clusters.csv\n"
    "      Writes the table again with a column 'cluster', and what each is like.\n"
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
                            .scale = command.job.scale,
                            .metric = command.options.metric});
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

// What the clusters are like; of neither, nobody asked or there are none.
struct Clusters {
  std::optional<ClusterReport> report;
  std::optional<Error> error = std::nullopt;
  std::string note = {};  // in the place of the report
};

// A summary reads the points twice more, which would be felt beside the fit of very many points on a device.
constexpr int64_t kMostValues = 100'000'000;

ClusterReport summarise_model(const FitCommand& command, const JobPoints& points, const ModelResult& model) {
  const Dataset& data = points.dataset;
  const SummaryOptions options{points.scaling, command.options.threads, command.options.memory.bytes,
                               command.options.metric};
  ClusterReport report;
  report.summary = summarise(points.view, data.weights, model, options, command.job.comm());
  report.k = model.k_requested;
  report.ks = std::ssize(command.options.k);
  report.seed = model.seed;
  for (int64_t j = 0; j < points.view.d; ++j) {
    const auto at = static_cast<size_t>(j);
    const bool numbered = std::ssize(data.source.numbers) == points.view.d;
    report.columns.push_back(at < data.column_names.size()
                                 ? data.column_names[at]
                                 : fmt::format("column {}", numbered ? data.source.numbers[at] : j + 1));
  }
  return report;
}

// Of the best model of the first k. A summary that fails does not take the fit with it.
Clusters summarise_best(const FitCommand& command, const JobPoints& points, FitResult& result) {
  const int64_t best = result.best(command.options.k[0]);
  if (!command.summarises || best < 0) return {};
  const Provenance& from = result.provenance;
  if (!command.always && from.rows > kMostValues / from.columns) {
    return {.report = {}, .note = "\nno summary of the clusters of so many points; --summary FILE takes the time\n"};
  }
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  Clusters clusters;
  try {
    clusters.report = summarise_model(command, points, result.models[static_cast<size_t>(best)]);
  } catch (const Error& error) {
    if (command.job.ranks) throw;  // which are out of step
    clusters.error = error;
    if (command.job.summary.empty()) {
      result.warnings.push_back(std::string("the clusters could not be summarised: ") + error.what());
    }
  }
  result.provenance.seconds.emplace_back("summary", std::chrono::duration<double>(Clock::now() - begin).count());
  return clusters;
}

void write_summary(const FitJob& job, const Clusters& clusters) {
  if (clusters.error) throw *clusters.error;
  if (!clusters.report) {
    throw Error(ErrorCode::kInterrupted, job.summary, "there are no clusters: the model of this k had not begun");
  }
  write_clusters(job.summary, *clusters.report);
}

// The points of a fit get the labels of that fit, so that only their distances are new.
void append_labels(const FitCommand& command, const JobPoints& points, const FitResult& result) {
  const AppendFlags& flags = command.job.append;
  const std::vector<NamedLabels> best = best_labels(flags.path, result);
  std::vector<AppendedColumn> columns;
  std::vector<std::vector<double>> distances(best.size());
  for (size_t i = 0; i < best.size(); ++i) {
    const ModelResult& model = result.models[static_cast<size_t>(best[i].model)];
    columns.push_back({best.size() == 1 ? "cluster" : best[i].name, &model.labels, {}});
    if (!flags.distances) continue;
    PredictOptions options{.threads = command.options.threads, .metric = command.options.metric, .distances = true};
    options.backend = command.options.backend;
    distances[i] = predict(points.view, model.prototypes.view(), options).distances;
    columns.push_back({best.size() == 1 ? "distance" : best[i].name + "_distance", nullptr, distances[i]});
  }
  flags.write(points.dataset, columns);
}

void write_results(const FitCommand& command, const JobPoints& points, const FitResult& result,
                   const Clusters& clusters) {
  const FitJob& job = command.job;
  const ClusterReport* report = clusters.report ? &*clusters.report : nullptr;
  write_job(
      job, result.warnings,
      {.model =
           [&] { save_model(job.model, result, points.scaling, points.dataset.column_names, points.dataset.source); },
       .labels = [&] { write_labels(job.labels, result, job.comm(), file_rows(points.dataset)); },
       .append = [&] { append_labels(command, points, result); },
       .summary = [&] { write_summary(job, clusters); },
       .json = [&] { return with_clusters(to_json(result), report); },
       .report =
           [&](const std::vector<std::string>& files) {
             ReportStyle style = points_style(result);
             style.details = report == nullptr ? clusters.note : cluster_table(*report);
             return fit_report(job.data.name(), result, files, style);
           }});
}

int run(FitCommand& command) {
  FitJob& job = command.job;
  command.always = !job.summary.empty();
  command.summarises = command.always || job.json || !job.quiet;
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
  FitResult result = run_fit(command, points, initial_file, line);
  line.show("summarising");
  const Clusters clusters = summarise_best(command, points, result);
  line.erase();
  if (result.interrupted && !job.quiet) announce_going_on(job.checkpoint);
  write_results(command, points, result, clusters);
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
