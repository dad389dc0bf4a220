// manymeans regress: rows of features and a target in, an ensemble of clusters with a linear model each out.
#include <manymeans/manymeans.h>

#include "commands/commands.h"
#include "fitting/fit_job.h"
#include "fitting/linear_summary.h"
#include "flags/checkpoint_flags.h"
#include "flags/fit_flags.h"
#include "flags/flag_values.h"
#include "flags/initial_file.h"
#include "output/cluster_report.h"
#include "output/equations.h"
#include "output/fit_report.h"
#include "output/progress_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <memory>
#include <optional>
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
  int64_t folds = 0;         // of a cross-validation; 0: none
  bool summarises = false;   // on all ranks: for --summary
};

// A fit, and what was computed from it.
struct Regressed {
  RegressResult result;
  std::vector<Trait> traits;        // of the best model of the first k
  std::vector<HeldOutR2> held_out;  // of each k in the order of the options; empty: not asked for

  FitResult& fit() { return result.fit; }
};

const JobHelp kHelp = {
    .scale =
        "Scale the features (not the target): none, standard (mean 0, deviation 1), minmax (0 to 1) or robust (median "
        "0, distance of the quartiles 1). The "
        "equations are printed in the units of DATA all the same; an --init file and the model file are in scaled "
        "units.",
    .model = "Write all models to this .npz file, for 'manymeans predict', 'manymeans describe' and numpy.load.",
    .labels =
        "Write for the best models of each k which model each row belongs to, to this .npy, .csv or .parquet file, "
        "or as csv to a pipe ('-' for standard output): N values for one k, a column for each k for several.",
    .append = "a column 'cluster', the model that predicts a row best (empty for rows that were left out),",
    .summary =
        "Write the clusters of the best model of the first k to this .csv or .json file, or as csv to a pipe: rows, "
        "root mean square residual (spread), R2, coefficients with their standard errors, and the means of all "
        "columns with their differences to the means of all rows, in the units of DATA.",
    .page = "Write a page about the models to this .html file, with charts, which needs nothing but a browser.",
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
  app.add_option("--folds", number_into("--folds", command.folds, 2),
                 "Cross-validate: hold out each of COUNT parts of the rows, fit the others, and print the R2 of what "
                 "--gating nearest and prior of 'predict' make of the rows held out. COUNT further fits. Left out: no.")
      .type_name("COUNT")
      .group("Clustering");
}

// Standard errors are in the units of the file, whatever the scaling.
RegressionRows rows_of(const JobPoints& points) {
  return RegressionRows::with_target(points.view, -1, {points.scaling.offset, points.scaling.divisor});
}

// Warnings of the library count columns from 0. These have the names of the points' columns, if there are some.
void name_columns(const std::vector<std::string>& names, std::vector<std::string>& warnings) {
  constexpr std::string_view kBefore = "the columns ", kAfter = " (counted from 0)";
  if (names.empty()) return;
  for (std::string& text : warnings) {
    const size_t begin = text.find(kBefore), end = text.find(kAfter);
    if (begin == std::string::npos || end == std::string::npos || end < begin) continue;
    std::string named;
    for (size_t i = begin + kBefore.size(); i < end;) {
      size_t number = 0;
      const auto [stop, problem] = std::from_chars(text.data() + i, text.data() + end, number);
      const bool is_column = problem == std::errc() && number < names.size() && !text.substr(0, i).ends_with("and ");
      if (is_column) named += "'" + names[number] + "'";
      if (!is_column) named += text[i];
      i = is_column ? static_cast<size_t>(stop - text.data()) : i + 1;
    }
    text = text.substr(0, begin + kBefore.size()) + named + text.substr(end + kAfter.size());
  }
}

Regressed run_regress(RegressCommand& command, JobPoints& points, ProgressLine& line) {
  Dataset initial;
  if (!command.initial_file.empty()) {
    initial = read_job_initial(command.job, command.initial_file, command.options, points);
  }
  Regressed found;
  run_job(command.job, command.options, points, line, [&](FitHooks hooks) {
    hooks.initial = initial.view;
    found.result = regress(rows_of(points), points.dataset.weights, command.options, hooks);
    found.result.terms = command.job.terms;
    if (command.folds == 0 || found.fit().interrupted) return;
    hooks.progress = {};
    line.show("cross-validating");
    found.held_out = cross_validate(rows_of(points), points.dataset.weights, command.options, command.folds, hooks);
  });
  name_columns(points.dataset.column_names, found.fit().warnings);
  add_reading(command.job, points, found.fit().provenance, found.fit().warnings);
  if (command.folds > 0) end_phase("cross-validate", found.fit().provenance.seconds);
  return found;
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

// Of the k of this model.
const HeldOutR2& held_out_of(const RegressCommand& command, const Regressed& found, size_t model) {
  const int64_t k = found.result.fit.models[model].k_requested;
  return found.held_out[static_cast<size_t>(std::ranges::find(command.options.k, k) - command.options.k.begin())];
}

std::string about_r2(const RegressCommand& command, const Regressed& found) {
  if (found.held_out.empty()) {
    return "\nR2: each row by the model that suits its target best; --folds 5 predicts rows held out\n";
  }
  return fmt::format(
      "\nR2 nearest, R2 prior: of rows held out in {} folds, as 'predict --gating' nearest or\n"
      "prior predicts them; 0 is as good as the mean of the target\n",
      command.folds);
}

ReportStyle regress_style(const RegressCommand& command, const JobPoints& points, const Regressed& found) {
  const RegressResult& result = found.result;
  const int64_t terms = points.view.d - 1, features = features_of_terms(terms, result.terms);
  const std::string made = terms == features ? "" : fmt::format(" ({} terms)", terms);
  ReportStyle style = {.rows = fmt::format("{} rows of {} feature{}{} and a target", result.fit.provenance.rows,
                                           features, features == 1 ? "" : "s", made),
                       .inertia = "error",
                       .columns = {{"R2", [&](size_t i) { return fmt::format("{:.6f}", result.summaries[i].r2); }}}};
  if (!found.held_out.empty()) {
    style.columns.push_back(
        {"R2 nearest", [&](size_t i) { return fmt::format("{:.6f}", held_out_of(command, found, i).nearest); }});
    style.columns.push_back(
        {"R2 prior", [&](size_t i) { return fmt::format("{:.6f}", held_out_of(command, found, i).prior); }});
  }
  style.columns.push_back({"BIC", [&](size_t i) { return fmt::format("{:.7g}", result.summaries[i].bic); }});
  style.details = equations(points, result);
  if (!found.traits.empty()) {
    style.details +=
        profile_table(found.traits, result.fit.models[static_cast<size_t>(result.fit.best(command.options.k[0]))]);
  }
  style.details += about_r2(command, found);
  return style;
}

std::string held_out_json(const RegressCommand& command, const Regressed& found) {
  const auto number = [](double r2) { return std::isfinite(r2) ? fmt::format("{}", r2) : "null"; };
  std::string text;
  for (size_t i = 0; i < found.held_out.size(); ++i) {
    text += fmt::format("{}{{\"k\": {}, \"nearest\": {}, \"prior\": {}}}", i == 0 ? "" : ", ", command.options.k[i],
                        number(found.held_out[i].nearest), number(found.held_out[i].prior));
  }
  return fmt::format("\"folds\": {}, \"r2_held_out\": [{}]", command.folds, text);
}

void append_models(const RegressCommand& command, const JobPoints& points, const FitResult& result) {
  append_labels(command.job, points, result, [&](const ModelResult& model) {
    PredictOptions options{.threads = command.options.threads, .distances = true};
    options.backend = command.options.backend;
    return regress_labels(RegressionRows::with_target(points.view), model.prototypes.view(), options).distances;
  });
}

void write_page(const RegressCommand& command, const JobPoints& points, const Regressed& found) {
  const RegressResult& result = found.result;
  std::vector<std::string> names = names_of_columns(points);
  for (size_t j = 0; j < names.size(); ++j) names[j] = points.scaling.name(names[j], j);
  ReportInput input;
  input.name = command.job.data.name();
  input.fit = &result.fit;
  input.regression = &result;
  input.scaling = points.scaling;
  input.scaling.logs.clear();  // names have them
  input.column_names = names;
  input.traits = found.traits;
  input.threads = command.options.threads;
  write_text(command.job.page, html_report(input));
}

// Of the best model of the first k, by all ranks together; none where it had not begun.
std::optional<ClusterReport> summarise_best(const RegressCommand& command, const JobPoints& points,
                                            const Regressed& found) {
  const int64_t best = found.result.fit.best(command.options.k[0]);
  if (!command.summarises || best < 0) return std::nullopt;
  ClusterReport report = summarise_models(points, found.result, static_cast<size_t>(best), command.job.comm());
  report.traits = found.traits;
  return report;
}

void write_summary(const FitJob& job, const std::optional<ClusterReport>& clusters) {
  if (clusters) return write_clusters(job.summary, {&*clusters, 1});
  throw Error(ErrorCode::kInterrupted, job.summary, "there are no clusters: the model of this k had not begun");
}

void write_results(const RegressCommand& command, JobPoints& points, Regressed& found,
                   const std::optional<ClusterReport>& clusters) {
  const FitJob& job = command.job;
  RegressResult& result = found.result;
  write_job(
      job, result.fit.warnings,
      {.model = [&] { save_model(job.model, result, points.scaling, points.column_names, points.dataset.source); },
       .labels = [&] { write_labels(job.labels, result.fit, job.comm(), file_rows(points.dataset)); },
       .append = [&] { append_models(command, points, result.fit); },
       .summary = [&] { write_summary(job, clusters); },
       .page = [&] { write_page(command, points, found); },
       .json =
           [&] {
             end_points(points, result.fit.provenance.seconds);
             std::string json = to_json(result);
             json.resize(json.size() - 2);  // the last brace and the line end before it
             return json + ",\n  " + held_out_json(command, found) + "\n}";
           },
       .report =
           [&](const std::vector<std::string>& files) {
             end_points(points, result.fit.provenance.seconds);
             return fit_report(job.data.name(), result.fit, files, regress_style(command, points, found));
           }});
}

void check_folds(const RegressCommand& command, bool initial_file) {
  const auto refuse = [](const char* what, const char* why) {
    throw Error(ErrorCode::kUsage, "--folds", fmt::format("does not go together with {}: {}", what, why));
  };
  if (command.folds == 0) return;
  if (initial_file) refuse("--init FILE", "its models may have seen the rows that are held out");
  if (command.job.ranks) refuse("mpirun", "one process needs all rows");
}

int run(RegressCommand& command) {
  FitJob& job = command.job;
  command.summarises = !job.summary.empty();
  share_job("regress", job, command.options);
  const bool initial_file = names_initial_file(command.options.init, {"auto", "random-subsets", "kmeans", "kmeans-x"});
  check_folds(command, initial_file);
  check_job(job, command.options, initial_file);
  job.terms.products = !command.no_products;
  check_terms(1, job.terms);
  if (job.scale == Scale::kUnit) {
    throw Error(ErrorCode::kUsage, "--scale", "unit divides whole rows, which have the target, too; scale columns");
  }
  if (!job.logs.empty() && job.terms.degree > 1) {
    throw Error(ErrorCode::kUsage, "--log",
                "is for --degree 1: squares and products are made of the columns as they are; take logarithms in the "
                "table");
  }
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
  Regressed found = run_regress(command, points, line);
  const int64_t best = found.fit().best(command.options.k[0]);
  if (best >= 0 && !job.profile.empty()) {
    FitResult& fit = found.fit();
    found.traits = traits_of(points.profile, points.dataset, fit.models[static_cast<size_t>(best)], fit.warnings);
  }
  const std::optional<ClusterReport> clusters = summarise_best(command, points, found);
  line.erase();
  if (found.fit().interrupted && !job.quiet) announce_going_on(job.checkpoint);
  write_results(command, points, found, clusters);
  return end_job(job, found.fit().interrupted);
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
