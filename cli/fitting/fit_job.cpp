#include "fitting/fit_job.h"

#include <manymeans/choose_columns.h>

#include "core/os/process.h"
#include "fitting/other_columns.h"
#include "fitting/target_column.h"
#include "flags/checkpoint_flags.h"
#include "flags/flag_values.h"
#include "flags/initial_file.h"
#include "flags/read_flags.h"
#include "flags/reworded.h"
#include "output/fit_to_try.h"
#include "output/stream_outputs.h"
#include "ranks/ranks.h"
#include "ranks/shared_rows.h"
#include "streams/device_watch.h"
#include "streams/standard_streams.h"
#include "streams/stop_signal.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace manymeans::cli {
namespace {

// Handles a fit that threw: announces its checkpoint, and names its error.
[[noreturn]] void leave_failed_fit(const FitJob& job, bool stopped, bool overdue) {
  // The fit was in good order, and its checkpoint says how far it came.
  const bool can_go_on = stopped || !devices_answer();
  if ((overdue && job.leads()) || (can_go_on && !job.quiet)) announce_going_on(job.checkpoint);
  if (!overdue) throw;
  throw Error(ErrorCode::kInterrupted, "interrupted", "stopped by a signal within a pass; no output was written");
}

// Names the file, and the flag that does away with the NaN of tables and arrays.
template <class Work>
auto naming_job_file(const FitJob& job, const Dataset& points, Work&& work) {
  try {
    return naming_file(job.data.name(), points, work);
  } catch (const Error& error) {
    if (points.view.place.space == kSparseSpace) throw;
    throw reworded(error, [](std::string what) {
      constexpr std::string_view kGeneral = " is NaN; every value must be finite (remove or fill such rows first)";
      const size_t at = what.find(kGeneral);
      if (at == std::string::npos) return what;
      return what.replace(at, kGeneral.size(),
                          " is NaN; every value must be finite: --missing drops such rows, or fills them");
    });
  }
}

// A table that cannot be fitted often has several columns of that kind: all of them in one message, and what to try.
Error about_all_columns(const FitJob& job, const Error& error) {
  const std::string& path = job.data.path;
  // Other advice, on decimal commas or a format, comes first.
  const bool of_column = std::string_view(error.what()).find("--exclude") != std::string_view::npos;
  if (!of_column || job.ranks || !job.data.shards.empty() || path == "-") return error;
  try {
    const TableSummary table = describe_table(path, job.reading);
    const std::string problems = problems_of(job.reading, table);
    if (problems.empty()) return error;
    const std::string command = job.target.empty() ? fit_to_try(path, job.reading, table) : "";
    return reworded(error, [&](const std::string& what) {
      return fmt::format("{}; of all columns: {}{}", what, problems, command.empty() ? "" : "; try: " + command);
    });
  } catch (const Error&) {
    return error;  // it is no table
  }
}

ScaleRules scale_rules(const FitJob& job, const Dataset& points) {
  ScaleRules rules = job.scale;
  if (job.logs.empty()) return rules;
  rules.logs = columns_of_points(points, job.logs, "--log");
  if (job.target.empty() || std::ranges::find(rules.logs, points.view.d - 1) == rules.logs.end()) return rules;
  throw Error(ErrorCode::kUsage, "--log", "names the target, which stays as it is; take its logarithm in the table");
}

Scaling find_job_scaling(const FitJob& job, const FitOptions& options, const ScaleRules& rules,
                         const PointsView& points) {
  const int64_t memory = options.memory.bytes;
  Comm& ranks = job.comm();
  Scaling scaling = find_scaling(points, rules, options.threads, memory, ranks);
  if (!job.target.empty()) {
    scaling.offset.back() = 0;
    scaling.divisor.back() = 1;
  }
  return scaling;
}

}  // namespace

void end_phase(const char* name, Phases& phases) {
  double rest = seconds_since_start();
  for (const auto& [phase, seconds] : phases) {
    if (phase.find(':') == std::string::npos) rest -= seconds;  // the other phases are parts of phases
  }
  phases.emplace_back(name, rest);
}

void share_job(const std::string& command, FitJob& job, FitOptions& options) {
  join_ranks();  // so that they say together what is wrong with the files
  job.data.find(command);
  std::vector<NamedFile> inputs;
  for (const std::string& path : job.data.all()) inputs.push_back({"DATA", path});
  job.ranks = share_rows(inputs, job.reading, options.threads);
  if (job.leads()) return;
  job.quiet = true;
  job.json = false;
  job.model.clear();
  job.summary.clear();
}

void bind_job_flags(const Command& app, FitJob& job, const JobHelp& help) {
  bind_shard_flag(app, job.data, " Text may need --dtype: float64 is always safe.");
  bind_read_flags(app, job.reading, help.type_left_out);
  bind_table_flags(app, job.reading);
  if (help.names) {
    add_file_flag(
        app, "--names", job.names,
        "Names of the columns of DATA, if it has none (.npz, .npy): a text file, a name on each line. --columns and "
        "other flags of this group take them.")
        .group("Reading");
  }
  if (help.summary != nullptr) bind_profile_flag(app, job.profile);
  bind_id_flag(app, job.reading,
               help.summary != nullptr ? kIdAndCards : "--labels FILE.csv or .parquet, which is needed");
  if (help.weights) {
    add_file_flag(app, "--weights", job.reading.weights,
                  "Weights of the points: a column of DATA (name or number), or a file of N numbers.")
        .type_name("COLUMN|FILE")
        .group("Reading");
  }
  const auto set_scale = [&job](const std::string& text) { job.scale = choice_named<Scale>("--scale", text); };
  app.add_option("--scale", set_scale, help.scale).type_name("NAME").default_str("none").group("Reading");
  app.add_option(
         "--log", [&job](const std::string& text) { job.logs = split_at_commas("--log", text); },
         "Take the logarithm of these columns before --scale, in the form of --columns: of 1 + x where the minimum "
         "is 0. For columns with a long tail, such as prices and counts. 'predict' does the same. Their means are "
         "shown in the units of DATA, as geometric means.")
      .type_name("LIST")
      .group("Reading");
  add_file_flag(app, "--model", job.model, help.model).group("Output");
  add_file_flag(app, "--labels", job.labels, help.labels).group("Output");
  if (help.append != nullptr) bind_append_flags(app, job.append, help.append);
  if (help.summary != nullptr) add_file_flag(app, "--summary", job.summary, help.summary).group("Output");
  if (help.page != nullptr) add_file_flag(app, "--report", job.page, help.page).group("Output");
  app.add_flag("--json", job.json, "Print the summary as one JSON object instead of a table.").group("Output");
  app.add_flag("--quiet", job.quiet, "Print no progress and no table; warnings and errors remain.").group("Output");
  if (help.checkpoint) bind_checkpoint_flags(app, job.checkpoint, help.time_limits);
}

void note_given(const Command& app, FitJob& job) {
  job.k_given = app.given("-k");
  job.models_given = app.given("--models");
}

CommandFiles files_of(const FitJob& job) {
  CommandFiles files = {.outputs = {{"--model", job.model, {".npz"}},
                                    {"--labels", job.labels, kTableEndings},
                                    {"--append", job.append.path, kAppendEndings},
                                    {"--summary", job.summary, {".csv", ".json"}},
                                    {"--report", job.page, {".html"}},
                                    {"--checkpoint", job.checkpoint.path, {}}},
                        .inputs = job.data.all(),
                        .prints = (job.json || !job.quiet) && !job.streams_table};
  files.outputs.insert(files.outputs.end(), job.others.begin(), job.others.end());
  files.inputs.push_back(job.reading.weights);
  files.inputs.push_back(job.names);
  return files;
}

void check_job(FitJob& job, const FitOptions& options, bool initial_file) {
  job.streams_table = use_standard_output(
      {{"--labels", &job.labels}, {"--append", &job.append.path}, {"--summary", &job.summary}}, job.json);
  job.reading.threads = options.threads;
  job.reading.memory = options.memory.bytes;
  if (!job.names.empty()) job.reading.names = read_names(job.names);
  for (const std::string& column : job.profile) {  // which --exclude may name, too
    if (std::ranges::find(job.reading.columns, column) != job.reading.columns.end()) {
      throw Error(ErrorCode::kUsage, "--profile",
                  fmt::format("names '{}', as --columns does; cards show what is fitted: leave it out of one", column));
    }
    if (std::ranges::find(job.reading.exclude, column) == job.reading.exclude.end()) {
      job.reading.exclude.push_back(column);
    }
  }
  check_id(job.reading, {&job.labels, &job.append.path}, job.ranks != nullptr, job.describes);
  CommandFiles files = files_of(job);
  if (initial_file) files.inputs.push_back(options.init);
  check_files(files);
  check_append(job.append, job.data, job.reading, job.ranks != nullptr);
  check_checkpoint(job.checkpoint);
  if (!job.page.empty() && job.ranks) {
    throw Error(ErrorCode::kUsage, "--report",
                "needs all rows in one process; write a model, and report of a fit without mpirun");
  }
  if (initial_file && job.ranks) check_shareable({"--init", options.init});
}

JobPoints read_job_points(const FitJob& job, const FitOptions& options, ProgressLine& line) {
  JobPoints points;
  end_phase("start", points.seconds);
  line.show("reading " + job.data.name());
  try {
    points.profile = read_profile(job);
    points.dataset =
        job.target.empty() ? job.data.read_any(job.reading) : read_with_target(job.data, job.reading, job.target);
  } catch (const Error& error) {
    throw about_all_columns(job, about_column(about_names(job, error), job.reading.weights, kWeightsAdvice));
  }
  const ScaleRules rules = scale_rules(job, points.dataset);
  if (job.ranks) check_same_reading(*job.ranks, points.dataset, rules);
  points.view = points.dataset.view;
  points.column_names = points.dataset.column_names;
  end_phase("read", points.seconds);
  const auto warn_of = [&](const std::vector<std::string>& texts) {
    points.dataset.warnings.insert(points.dataset.warnings.end(), texts.begin(), texts.end());
  };
  const int64_t memory = options.memory.bytes;
  Comm& ranks = job.comm();
  // Linear models are the same whatever the columns' units are.
  const bool sparse = points.view.place.space == kSparseSpace;  // a look at its columns would take all zeros
  const auto warn_of_dominance = [&] {
    if (job.target.empty() && !sparse) warn_of(dominance_warnings(points.dataset, points.view, memory, ranks));
  };
  if (!sparse) warn_of(row_number_warnings(points.dataset, memory, ranks));
  if (!sparse && job.target.empty()) warn_of(earlier_cluster_warnings(points.dataset, ranks));
  if (job.terms.degree > 1) {
    line.show("making terms");
    expand_terms(points.dataset, job.terms, 1, options.threads, memory);
    points.view = points.dataset.view;
    end_phase("terms", points.seconds);
  }
  const bool scales = rules.kind != Scale::kNone || !rules.logs.empty();
  if (!scales) warn_of_dominance();
  end_phase("warnings", points.seconds);
  if (!scales) return points;
  line.show("scaling");
  naming_job_file(job, points.dataset, [&] {
    points.scaling = find_job_scaling(job, options, rules, points.view);
    check_together(ranks, [&] {  // each its own rows, which it counts from the first of them
      const auto scale = [&] { return scale_points(points.view, points.scaling, options.threads, memory); };
      points.scaled =
          naming_file(job.data.name(), points.dataset, scale, job.reading.part.begin(points.dataset.file_rows));
    });
  });
  points.view = points.scaled.view;
  warn_of(filled_log_warnings(points.dataset, points.scaling));
  warn_of_dominance();
  if (!sparse) {                         // of sparse points columns stay where they are
    points.dataset.view.data = nullptr;  // its shape stays, for messages
    points.dataset.owner.reset();
  }
  end_phase("scale", points.seconds);
  return points;
}

Dataset read_job_initial(const FitJob& job, const std::string& path, FitOptions& options, JobPoints& points) {
  InitialFile wanted{.path = path,
                     .like = points_of_fit(points.dataset),
                     .scaling = points.scaling,
                     .kind = job.target.empty() ? ModelKind::kCentroids : ModelKind::kLinear,
                     .metric = options.metric,
                     .terms = job.terms,
                     .header = job.reading.header};
  if (job.terms.degree > 1) wanted.like.source.names = {};
  if (job.k_given) wanted.k = options.k;
  if (job.models_given) wanted.models = options.models;
  InitialModels initial = read_initial(wanted);
  options.k = std::move(initial.k);
  options.models = initial.models;
  std::ranges::copy(initial.rows.warnings, std::back_inserter(points.dataset.warnings));
  return std::move(initial.rows);
}

void run_job(const FitJob& job, const FitOptions& options, const JobPoints& points, ProgressLine& line,
             const std::function<void(const FitHooks&)>& work) {
  FitHooks hooks;
  hooks.cancel = &defer_stop_signals();
  hooks.checkpoint = job.checkpoint;
  hooks.comm = job.ranks;
  if (line.on()) {  // what is shown costs a little to compute
    hooks.pause = 0.05;
    hooks.progress = [&](const Progress& progress) {
      line.update(progress, options);
      return true;
    };
  }
  // Its passes may take minutes, and the labels of an oracle are not worth that wait.
  if (options.backend == "reference") hooks.abort = &overdue_stop();
  const DeviceWatch watch(options.backend, /*saves=*/true);
  try {
    naming_job_file(job, points.dataset, [&] { work(hooks); });
  } catch (const Error& error) {
    const bool stopped = error.code() == ErrorCode::kInterrupted;
    leave_failed_fit(job, stopped, stopped && hooks.abort != nullptr && overdue_stop());
  }
}

void add_reading(const FitJob& job, const JobPoints& points, Provenance& provenance,
                 std::vector<std::string>& warnings) {
  provenance.seconds.insert(provenance.seconds.begin(), points.seconds.begin(), points.seconds.end());
  warnings.insert(warnings.begin(), points.dataset.warnings.begin(), points.dataset.warnings.end());
  warnings = warnings_of_all(job.ranks.get(), warnings);
}

std::vector<std::string> names_of_columns(const JobPoints& points) {
  const Dataset& data = points.dataset;
  const bool numbered = std::ssize(data.source.numbers) == points.view.d;
  std::vector<std::string> names;
  for (int64_t j = 0; j < points.view.d; ++j) {
    const auto at = static_cast<size_t>(j);
    names.push_back(at < data.column_names.size()
                        ? data.column_names[at]
                        : fmt::format("column {}", numbered ? data.source.numbers[at] : j + 1));
  }
  return names;
}

void append_labels(const FitJob& job, const JobPoints& points, const FitResult& result,
                   const std::function<std::vector<double>(const ModelResult& model)>& distances_of) {
  const std::vector<NamedLabels> best = best_labels(job.append.path, result);
  std::vector<AppendedColumn> columns;
  std::vector<std::vector<double>> distances(best.size());
  for (size_t i = 0; i < best.size(); ++i) {
    const ModelResult& model = result.models[static_cast<size_t>(best[i].model)];
    columns.push_back({best.size() == 1 ? "cluster" : best[i].name, &model.labels, {}});
    if (!job.append.distances) continue;
    distances[i] = distances_of(model);
    columns.push_back({best.size() == 1 ? "distance" : best[i].name + "_distance", nullptr, distances[i]});
  }
  job.append.write(points.dataset, columns);
}

void write_job(const FitJob& job, const std::vector<std::string>& warnings, const JobOutputs& outputs) {
  if (!job.leads()) {  // all else is the first rank's, which also says what is written
    if (!job.labels.empty()) outputs.labels();
    return;
  }
  for (const std::string& warning : warnings) warn(warning);
  std::vector<OutputJob> jobs;
  const auto add_file = [&](const std::string& path, const std::function<void()>& write) {
    if (!path.empty()) jobs.push_back({path, write});
  };
  add_file(job.model, outputs.model);
  add_file(job.labels, outputs.labels);
  add_file(job.append.path, outputs.append);
  add_file(job.summary, outputs.summary);
  add_file(job.page, outputs.page);
  for (size_t i = 0; i < job.others.size(); ++i) add_file(job.others[i].path, outputs.others[i]);
  OutputReport report;
  if (job.json) {
    report = {"standard output", [&](const auto&) { print_json(outputs.json() + "\n"); }};
  } else if (!job.quiet) {
    report = {job.streams_table ? "standard error" : "standard output",
              [&](const auto& written) { print_beside(job.streams_table, outputs.report(written)); }};
  }
  write_outputs(jobs, report);
}

void end_points(JobPoints& points, Phases& phases) {
  end_phase("write", phases);
  points.scaled = {};
  points.dataset.owner.reset();
  points.dataset.weights = {};
  points.view.data = nullptr;
  end_phase("end", phases);
}

int end_job(const FitJob& job, bool interrupted) {
  int64_t exit_code = defer_stop_signals() ? static_cast<int>(ErrorCode::kInterrupted) : 0;
  if (job.ranks) exit_code = job.ranks->max(exit_code);  // and a rank that could not write is heard
  if (exit_code == 0 && !interrupted && job.leads()) remove_checkpoint(job.checkpoint);
  return static_cast<int>(exit_code);
}

}  // namespace manymeans::cli
