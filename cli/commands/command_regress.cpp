// manymeans regress: rows of features and a target in, an ensemble of clusters with a linear model each out.
#include <manymeans/manymeans.h>

#include "commands/commands.h"
#include "fitting/fit_job.h"
#include "flags/checkpoint_flags.h"
#include "flags/fit_flags.h"
#include "flags/flag_values.h"
#include "flags/initial_file.h"
#include "output/equations.h"
#include "output/fit_report.h"
#include "output/progress_line.h"

#include <fmt/format.h>

#include <memory>
#include <set>
#include <string>
#include <utility>

namespace manymeans::cli {
namespace {

struct RegressCommand {
  FitJob job;
  RegressOptions options;
  bool no_products = false;
  std::string initial_file;  // empty: options.init is a method
};

const JobHelp kHelp = {
    .scale =
        "Scale the features (not the target): none, standard (mean 0, deviation 1) or minmax (0 to 1). The "
        "equations are printed in the units of DATA all the same; an --init file and the model file are in scaled "
        "units.",
    .model = "Write all models to this .npz file, for 'manymeans predict', 'manymeans describe' and numpy.load.",
    .labels =
        "Write for the best models of each k which model each row belongs to, to this .npy, .csv or .parquet file, "
        "or as csv to a pipe ('-' for standard output): N values for one k, a column for each k for several.",
    .type_left_out =
        "float64, 8 bytes a value in memory, since coefficients have the type of the values and least squares far from "
        "zero need it. float32 takes half of that, and nothing for a .npy of its own type, which is read in place; "
        "narrower types are fitted as float32."};

const char* const kExamples =
    "Examples:\n"
    "  manymeans regress bikes.csv --target cnt --columns temp,hum -k 3\n"
    "      Finds three linear models of cnt and prints their equations.\n"
    "  manymeans regress bikes.csv --target cnt --columns temp,hum -k 2..8 \\\n"
    "      --models 16\n"
    "      Compares seven numbers of models: take the k at which R2 stops to rise.\n"
    "  manymeans regress sensors.npy --target 9 -k 5 --models 16 --model out.npz\n"
    "  manymeans describe out.npz\n"
    "  manymeans predict out.npz new.npy --predictions y.npy\n"
    "      The target is column 9, the features are all others.\n"
    "  mpirun -n 8 manymeans regress sensors.npy --target 9 -k 5\n"
    "      Shares the rows among eight processes, on one machine or on several.\n\n"
    "A cluster is a linear model: a row belongs to the model that predicts its target\n"
    "best, and a model is the least squares of its rows. So clusters may lie in the\n"
    "same place, where k-means could not tell them apart. 'error' is the sum of the\n"
    "squared residuals, R2 is 1 - error / (sum of squares of the target around its\n"
    "mean); both get better with every further model. The lowest BIC says which k is\n"
    "best where the models are far apart beside the noise; where they overlap, it\n"
    "falls with every k. Give --models 16 or more: one start alone often ends in a\n"
    "poor optimum. Features are all columns but the target, unless --columns names\n"
    "them. Read docs/user/regression.md before you predict with such models.\n\n"
    "The answer depends on the rows, the options and the seed only: not on --threads,\n"
    "--backend, --algorithm, --strategy or how many processes share it. Ctrl-C stops\n"
    "after the current pass and writes what was asked for (exit code 5); a second\n"
    "Ctrl-C ends at once.\n"
    "Exit codes: 0 done, 2 usage, 3 bad data, 4 no such device, out of memory or disk\n"
    "full, 5 interrupted, 1 a bug.";

void bind_terms(const Command& app, RegressCommand& command) {
  app.add_option(
         "--degree", number_into("--degree", command.job.terms.degree, 1),
         "1: models of the features. 2: of their squares and products, too, which are made before --scale: x^2, "
         "x*y.")
      .type_name("NUMBER")
      .default_str("1")
      .group("Clustering");
  app.add_flag("--no-products", command.no_products, "With --degree 2: squares alone.").group("Clustering");
}

// Standard errors are in the units of the file, whatever the scaling.
RegressionRows rows_of(const JobPoints& points) {
  return RegressionRows::with_target(points.view, -1, {points.scaling.offset, points.scaling.divisor});
}

RegressResult run_regress(RegressCommand& command, JobPoints& points, ProgressLine& line) {
  Dataset initial;
  if (!command.initial_file.empty()) {
    initial = read_job_initial(command.job, command.initial_file, command.options, points);
  }
  RegressResult result;
  run_job(command.job, command.options, points, line, [&](FitHooks hooks) {
    hooks.initial = initial.view;
    result = regress(rows_of(points), points.dataset.weights, command.options, hooks);
    result.terms = command.job.terms;
  });
  add_reading(command.job, points, result.fit.provenance, result.fit.warnings);
  return result;
}

// Returns the equations of the best model, if there is one k and they are few enough to read.
std::string equations(const JobPoints& points, const RegressResult& result) {
  constexpr int64_t kMax = 20;
  std::set<int64_t> ks;
  for (const ModelResult& model : result.fit.models) ks.insert(model.k_requested);
  const int64_t index = ks.size() == 1 ? result.fit.best(*ks.begin()) : -1;
  if (index < 0) return {};
  const ModelResult& model = result.fit.models[static_cast<size_t>(index)];
  if (model.k > kMax) return {};
  const RegressionSummary& summary = result.summaries[static_cast<size_t>(index)];
  const int64_t columns = features_of_terms(points.view.d - 1, result.terms) + 1;
  return "\n" + equation_table({model.prototypes, model.counts, summary, model.inertia, points.scaling},
                               equation_names(points.column_names, points.dataset.source, columns, result.terms));
}

ReportStyle regress_style(const JobPoints& points, const RegressResult& result) {
  const int64_t terms = points.view.d - 1, features = features_of_terms(terms, result.terms);
  const std::string made = terms == features ? "" : fmt::format(" ({} terms)", terms);
  return {.rows = fmt::format("{} rows of {} feature{}{} and a target", result.fit.provenance.rows, features,
                              features == 1 ? "" : "s", made),
          .inertia = "error",
          .columns = {{"R2", [&](size_t i) { return fmt::format("{:.6f}", result.summaries[i].r2); }},
                      {"BIC", [&](size_t i) { return fmt::format("{:.7g}", result.summaries[i].bic); }}},
          .details = equations(points, result)};
}

void write_results(const FitJob& job, JobPoints& points, RegressResult& result) {
  write_job(
      job, result.fit.warnings,
      {.model = [&] { save_model(job.model, result, points.scaling, points.column_names, points.dataset.source); },
       .labels = [&] { write_labels(job.labels, result.fit, job.comm(), file_rows(points.dataset)); },
       .json =
           [&] {
             end_points(points, result.fit.provenance.seconds);
             return to_json(result);
           },
       .report =
           [&](const std::vector<std::string>& files) {
             end_points(points, result.fit.provenance.seconds);
             return fit_report(job.data.name(), result.fit, files, regress_style(points, result));
           }});
}

int run(RegressCommand& command) {
  FitJob& job = command.job;
  share_job("regress", job, command.options);
  const bool initial_file = names_initial_file(command.options.init, {"auto", "random-subsets", "kmeans", "kmeans-x"});
  check_job(job, command.options, initial_file);
  job.terms.products = !command.no_products;
  check_terms(1, job.terms);
  if (command.no_products && job.terms.degree == 1) {
    throw Error(ErrorCode::kUsage, "--no-products", "leaves out products of --degree 2; give that, or leave it out");
  }
  if (!job.reading.dtype) job.reading.dtype = DataType::kFloat64;  // models are of the points' type
  if (initial_file) command.initial_file = std::exchange(command.options.init, "auto");
  check(command.options);
  const std::vector<float> origin(2);  // one row, one model: is the backend there, and does it know the algorithm?
  const PointsView row(origin.data(), 1, 2);
  regress_labels(RegressionRows::with_target(row), row,
                 {.backend = command.options.backend, .algorithm = command.options.algorithm, .threads = 1});
  ProgressLine line(!job.quiet && !job.json);
  if (!job.quiet) announce_resuming(job.checkpoint);
  JobPoints points = read_job_points(job, command.options, line);
  RegressResult result = run_regress(command, points, line);
  line.erase();
  if (result.fit.interrupted && !job.quiet) announce_going_on(job.checkpoint);
  write_results(job, points, result);
  return end_job(job, result.fit.interrupted);
}

}  // namespace

void add_regress_command(Program& program, int& exit_code) {
  const Command app = program.add_command("regress", "Fit clusters that are linear models of a target.");
  const auto command = std::make_shared<RegressCommand>();
  bind_data_argument(app, command->job.data);
  const auto set_target = [command](const std::string& text) {
    command->job.target = text;
    if (!text.empty()) return;
    throw Error(ErrorCode::kUsage, "--target", "is empty; the name of a column or its number is needed");
  };
  app.add_option("--target", set_target,
                 "The column that is predicted from the others: a name, or a number from 1. --columns names the "
                 "features alone.")
      .required()
      .type_name("COLUMN")
      .group("Clustering");
  bind_regress_flags(app, command->options);
  bind_terms(app, *command);
  bind_job_flags(app, command->job, kHelp);
  app.footer(kExamples);
  app.callback([app, command, &exit_code] {
    note_given(app, command->job);
    exit_code = run(*command);
  });
}

}  // namespace manymeans::cli
