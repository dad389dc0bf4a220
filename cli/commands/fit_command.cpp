// `fit`, `search` and `choose`: points in, an ensemble of models out.
#include "commands/fit_command.h"

#include "fitting/other_columns.h"
#include "flags/checkpoint_flags.h"
#include "flags/initial_file.h"
#include "output/choice_report.h"
#include "output/cluster_report.h"
#include "output/fit_report.h"
#include "output/progress_line.h"
#include "streams/printable.h"
#include "streams/stop_signal.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

namespace manymeans::cli {
namespace {

std::vector<std::string> centroid_inits() {
  std::vector<std::string> methods;
  for (const Choice& method : build_info().inits) methods.push_back(method.name);
  return methods;
}

// The rounds that give a model again.
std::string rounds_of(const SearchResult& result, size_t model) {
  if (model >= result.searches.size()) return "";
  const std::string& init = result.fit.models[model].init;
  return init == "optimal" ? init : fmt::format("{}", result.searches[model].rounds);
}

// What the search gained over a run of k-means; nothing where it found the optimum without one.
std::string gain_of(const SearchResult& result, size_t model) {
  if (model >= result.searches.size()) return "";
  const SearchSummary& search = result.searches[model];
  const bool optimal = result.fit.models[model].init == "optimal";
  return optimal || search.steps.empty() ? "-" : fmt::format("{:.2f} %", 100 * search.gain());
}

struct Found {
  SearchResult result;                           // of a fit without searches; of a choice the model of its k alone
  std::optional<ChosenK> chosen = std::nullopt;  // of a choice

  FitResult& fit() { return result.fit; }
  const FitResult& fit() const { return result.fit; }
};

// The first fit of a choice is the fit of the points. The others serve to judge it.
FitHooks counting_fits(FitHooks hooks) {
  if (!hooks.progress) return hooks;
  hooks.progress = [show = hooks.progress, fits = 1, last = 0.0](const Progress& progress) mutable {
    if (progress.seconds < last) ++fits;
    last = progress.seconds;
    const std::string phase = fits > 1 ? fmt::format("judge: fit {}, {}", fits, progress.phase) : "";
    Progress shown = progress;
    if (fits > 1) shown.phase = phase;
    return show(shown);
  };
  return hooks;
}

ChosenK choose(const FitCommand& command, const JobPoints& points, const FitHooks& hooks) {
  ChooseOptions options = command.choice;
  options.fit = command.options;
  for (const std::string& name : names_of_columns(points)) {
    options.column_names.push_back(printable(name, Newlines::kEscaped));
  }
  // The default list may exceed the number of rows, so it is cut.
  if (!command.job.k_given) std::erase_if(options.fit.k, [&](int64_t k) { return k > points.view.n; });
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  ChosenK chosen = choose_k(points.view, options, counting_fits(hooks));
  auto& seconds = chosen.fit.provenance.seconds;
  double fitted = 0;
  for (const auto& [phase, time] : seconds) {
    if (phase.find(':') == std::string::npos) fitted += time;  // the other phases are parts of a fit
  }
  seconds.emplace_back("judge", std::chrono::duration<double>(Clock::now() - begin).count() - fitted);
  if (chosen.evidence.empty() || chosen.fit.best(chosen.k) < 0) {
    throw Error(ErrorCode::kInterrupted, "interrupted",
                "stopped before a model had begun, so there is nothing to judge");
  }
  return chosen;
}

// Returns the model of the chosen k, which the outputs hold.
FitResult recommended(ChosenK& chosen) {
  FitResult result;
  result.models = {chosen.fit.models[static_cast<size_t>(chosen.fit.best(chosen.k))]};
  result.provenance = chosen.fit.provenance;
  result.ranges = chosen.fit.ranges;
  result.warnings = chosen.warnings;
  result.interrupted = chosen.interrupted;
  return result;
}

// What has no meaning where the clusters are the best of all.
void check_optimal(const FitCommand& command) {
  const auto refuse = [](const char* flag, const char* why) {
    throw Error(ErrorCode::kUsage, "--optimal", fmt::format("does not go together with {}: {}", flag, why));
  };
  const FitOptions& options = command.options;
  if (command.job.ranks) refuse("mpirun", "one process needs all rows");
  if (options.models > 1) refuse("--models", "no model is better than the optimum");
  if (options.init != "auto") refuse("--init", "the optimum is what the fit begins with");
  if (options.empty == EmptyPolicy::kKeep || options.empty == EmptyPolicy::kError) {
    refuse("--empty", "clusters that distinct values are too few for are dropped");
  }
  if (options.balanced()) refuse("--min-size and --max-size", "the optimal clusters have any size");
  if (options.metric != Metric::kEuclidean) refuse("--metric", "the optimum is of Euclidean distances");
}

// Where distinct values are fewer than k, each has its own cluster.
FitResult fit_optimal(const FitCommand& command, const JobPoints& points, const FitHooks& hooks) {
  if (points.view.d != 1) {
    throw Error(ErrorCode::kUsage, "--optimal",
                fmt::format("is for one column, and {} has {} columns; --columns chooses one", command.job.data.name(),
                            points.view.d));
  }
  SearchOptions options = command.options;
  options.empty = EmptyPolicy::kDrop;
  FitResult result = search(points.view, points.dataset.weights, options, hooks).fit;
  for (const ModelResult& model : result.models) {
    if (model.init == "optimal" || model.stop_reason == StopReason::kNotBegun) continue;
    result.warnings.push_back(fmt::format("the optimum of k = {} was not found in time; this model begins with {}",
                                          model.k_requested, model.init));
  }
  return result;
}

Found run_fit(FitCommand& command, JobPoints& points, bool initial_file, ProgressLine& line) {
  Dataset initial;
  if (initial_file) initial = read_job_initial(command.job, command.options.init, command.options, points);
  Found found;
  run_job(command.job, command.options, points, line, [&](FitHooks hooks) {
    hooks.initial = initial.view;
    if (command.job.page.empty()) hooks.labels = LabelsOf::kBest;  // the page compares the labels of all models
    switch (command.task) {
      case FitTask::kFit: found.fit() = fit(points.view, points.dataset.weights, command.options, hooks); break;
      case FitTask::kSearch: found.result = search(points.view, points.dataset.weights, command.options, hooks); break;
      case FitTask::kOptimal: found.fit() = fit_optimal(command, points, hooks); break;
      case FitTask::kChoose: found.chosen = choose(command, points, hooks); break;
    }
  });
  if (found.chosen) {
    found.fit() = recommended(*found.chosen);
    command.options.k = {found.chosen->k};
  }
  if (points.scaling.any()) {
    for (auto& text : initial_warnings(initial, found.fit().ranges)) points.dataset.warnings.push_back(text);
  }
  add_reading(command.job, points, found.fit().provenance, found.fit().warnings);
  if (found.chosen) {
    found.chosen->fit.provenance = found.fit().provenance;
    found.chosen->fit.warnings = found.fit().warnings;
  }
  return found;
}

// A report on the clusters, or an error. Both are empty if no report is required or there are no clusters.
struct Clusters {
  std::optional<ClusterReport> report;
  std::optional<Error> error = std::nullopt;
  std::string note = {};  // instead of the report
};

// A summary reads the points twice more. For very many points on a device this takes long compared with the fit.
constexpr int64_t kMaxValues = 100'000'000;

// The number in the file of a row of the points; both from 0.
int64_t file_row(const Dataset& points, int64_t row) {
  for (const int64_t dropped : points.dropped) row += dropped <= row ? 1 : 0;
  return row;
}

// Rows that several ranks have dropped leave no numbers.
std::function<std::string(int64_t)> row_namer(const FitJob& job, const JobPoints& points) {
  if (job.ranks && points.dataset.source.drops_gaps) return {};
  return [&points](int64_t row) {
    const int64_t at = file_row(points.dataset, row);
    const std::vector<std::string>& names = points.row_names.names;
    return names.empty() ? fmt::format("{}", at + 1) : names[static_cast<size_t>(at)];
  };
}

ClusterReport summarise_model(const FitCommand& command, const JobPoints& points, const ModelResult& model,
                              std::vector<std::string>& warnings) {
  const Dataset& data = points.dataset;
  const SummaryOptions options{points.scaling, command.options.threads, command.options.memory.bytes,
                               command.options.metric};
  ClusterReport report;
  report.summary = summarise(points.view, data.weights, model, options, command.job.comm());
  report.k = model.k_requested;
  report.ks = std::ssize(command.options.k);
  report.seed = model.seed;
  report.columns = names_of_columns(points);
  if (!command.job.profile.empty()) report.traits = traits_of(points.profile, data, model, warnings);
  report.id_name = points.row_names.column;
  report.row_name = row_namer(command.job, points);
  return report;
}

// Summarises the best model of the first k. A summary that fails does not take the fit with it.
Clusters summarise_best(const FitCommand& command, const JobPoints& points, FitResult& result) {
  const int64_t best = result.best(command.options.k[0]);
  if (!command.summarises || best < 0) return {};
  const Provenance& from = result.provenance;
  if (!command.always && from.rows > kMaxValues / from.columns) {
    return {.report = {},
            .note = "\nno summary of the clusters, because there are many points; --summary FILE writes it\n"};
  }
  Clusters clusters;
  try {
    clusters.report = summarise_model(command, points, result.models[static_cast<size_t>(best)], result.warnings);
  } catch (const Error& error) {
    if (command.job.ranks) throw;  // which are out of step
    clusters.error = error;
    if (command.job.summary.empty()) {
      result.warnings.push_back(std::string("the clusters could not be summarised: ") + error.what());
    }
  }
  end_phase("summary", result.provenance.seconds);
  return clusters;
}

void write_summary(const FitJob& job, const Clusters& clusters) {
  if (clusters.error) throw *clusters.error;
  if (!clusters.report) {
    throw Error(ErrorCode::kInterrupted, job.summary, "there are no clusters: the model of this k had not begun");
  }
  write_clusters(job.summary, {&*clusters.report, 1});
}

// The points of a fit get the labels of that fit, so that only their distances are new.
void append_clusters(const FitCommand& command, const JobPoints& points, const FitResult& result) {
  append_labels(command.job, points, result, [&](const ModelResult& model) {
    PredictOptions options{.threads = command.options.threads, .metric = command.options.metric, .distances = true};
    options.backend = command.options.backend;
    return predict(points.view, model.prototypes.view(), options).distances;
  });
}

void write_page(const FitCommand& command, const JobPoints& points, const Found& found, const Clusters& clusters) {
  const std::vector<std::string> names = names_of_columns(points);
  ReportInput input;
  input.name = command.job.data.name();
  input.fit = found.chosen ? &found.chosen->fit : &found.fit();
  input.searches = found.result.searches;
  input.chosen = found.chosen ? &*found.chosen : nullptr;
  input.points = points.view;
  input.weights = points.dataset.weights;
  input.scaling = points.scaling;
  input.column_names = names;
  if (clusters.report) input.traits = clusters.report->traits;
  input.row_name = row_namer(command.job, points);
  input.threads = command.options.threads;
  write_text(command.job.page, html_report(input));
}

// `clusters`: a JSON object whose members come last.
std::string json_of(const Found& found, std::string_view clusters) {
  std::string json = found.chosen                    ? choice_json(*found.chosen, found.fit())
                     : found.result.searches.empty() ? to_json(found.fit())
                                                     : to_json(found.result);
  // Before the last brace. To parse the text of thousands of models would take several times its size in memory.
  json.resize(json.size() - 2);
  return json.append(",").append(clusters.substr(1));
}

std::string report_of(const FitCommand& command, const Found& found, const std::vector<std::string>& files,
                      const std::string& details) {
  if (found.chosen) return choice_report(command.job.data.name(), *found.chosen, found.fit(), {files, details});
  ReportStyle style = points_style(found.fit());
  if (command.task == FitTask::kSearch) {
    style.columns.push_back({"gain", [&](size_t i) { return gain_of(found.result, i); }});
    style.columns.push_back({"rounds", [&](size_t i) { return rounds_of(found.result, i); }});
  }
  style.details = details;
  return fit_report(command.job.data.name(), found.fit(), files, style);
}

void write_results(const FitCommand& command, JobPoints& points, Found& found, const Clusters& clusters) {
  const FitJob& job = command.job;
  FitResult& result = found.fit();
  const ClusterReport* report = clusters.report ? &*clusters.report : nullptr;
  write_job(
      job, result.warnings,
      {.model =
           [&] { save_model(job.model, result, points.scaling, points.dataset.column_names, points.dataset.source); },
       .labels = [&] { write_labels(job.labels, result, job.comm(), file_rows(points.dataset)); },
       .append = [&] { append_clusters(command, points, result); },
       .summary = [&] { write_summary(job, clusters); },
       .page = [&] { write_page(command, points, found, clusters); },
       .json =
           [&] {
             const std::string about_clusters = clusters_json(report);  // which takes its time, as files do
             end_points(points, result.provenance.seconds);
             return json_of(found, about_clusters);
           },
       .report =
           [&](const std::vector<std::string>& files) {
             end_points(points, result.provenance.seconds);
             return report_of(command, found, files, report == nullptr ? clusters.note : cluster_cards(*report));
           }});
}

}  // namespace

int run_fit_command(FitCommand& command) {
  FitJob& job = command.job;
  command.always = !job.summary.empty();
  command.summarises = command.always || job.json || !job.quiet || (!job.page.empty() && !job.profile.empty());
  job.describes = command.summarises || !job.page.empty();
  share_job(command.name, job, command.options);
  const bool initial_file = names_initial_file(command.options.init, centroid_inits());
  if (command.task == FitTask::kSearch) {
    if (job.ranks) {
      throw Error(ErrorCode::kUsage, "--search",
                  "is for one process that has all rows, and several share them here; leave out mpirun");
    }
    check(command.options);
  } else {
    check(static_cast<const FitOptions&>(command.options));
  }
  if (command.task == FitTask::kOptimal) check_optimal(command);
  if (command.task == FitTask::kChoose && initial_file) {
    throw Error(ErrorCode::kUsage, "--init", "names a file, and there cannot be prototypes for every k; name a method");
  }
  check_job(job, command.options, initial_file);
  const float origin = 0;  // one point, one prototype: is the backend there, and does it know the algorithm?
  predict({&origin, 1, 1}, {&origin, 1, 1},
          {.backend = command.options.backend, .algorithm = command.options.algorithm, .threads = 1});
  ProgressLine line(!job.quiet && !job.json);
  if (!job.quiet) announce_resuming(job.checkpoint);
  JobPoints points = read_job_points(job, command.options, line);
  if (job.describes) points.row_names = find_row_names(job, points.dataset);
  Found found = run_fit(command, points, initial_file, line);
  line.show("summarising");
  const Clusters clusters = summarise_best(command, points, found.fit());
  line.erase();
  if (found.fit().interrupted && !job.quiet) announce_going_on(job.checkpoint);
  write_results(command, points, found, clusters);
  return end_job(job, found.fit().interrupted);
}

}  // namespace manymeans::cli
