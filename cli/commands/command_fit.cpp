// manymeans fit: points in, an ensemble of models out.
#include <manymeans/manymeans.h>

#include "commands/commands.h"
#include "flags/checkpoint_flags.h"
#include "flags/fit_flags.h"
#include "flags/flag_values.h"
#include "flags/initial_file.h"
#include "flags/read_flags.h"
#include "output/fit_report.h"
#include "output/output_files.h"
#include "output/progress_line.h"
#include "output/stream_outputs.h"
#include "streams/device_watch.h"
#include "streams/standard_streams.h"
#include "streams/stop_signal.h"

#include <chrono>
#include <memory>

namespace manymeans::cli {
namespace {

struct FitCommand {
  std::string data;
  FitOptions options;
  ReadOptions reading;
  Scale scale = Scale::kNone;
  std::string model, labels;  // outputs; empty: not asked for
  CheckpointOptions checkpoint;
  bool json = false, quiet = false;
  bool k_given = false;
  bool streams_labels = false;  // to standard output
};

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
    "      May be killed at any time: the same command goes on where it was.\n\n"
    "The answer depends on the points, the options and the seed only: not on\n"
    "--threads, --backend, --algorithm or --strategy. Ctrl-C stops after the current\n"
    "pass and writes what was asked for (exit code 5); a second Ctrl-C ends at once.\n"
    "Exit codes: 0 done, 2 usage, 3 bad data, 4 no such device, out of memory or disk\n"
    "full, 5 interrupted, 1 a bug.";

// Points as they go into the fit, and what keeps them in memory.
struct ScaledPoints {
  Dataset dataset;
  Scaling scaling;
  Dataset scaled;
  PointsView view;
  std::vector<std::pair<std::string, double>> seconds;
};

ScaledPoints read_and_scale(const FitCommand& command, ProgressLine& line) {
  using Clock = std::chrono::steady_clock;
  const auto seconds_since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  ScaledPoints points;
  auto begin = Clock::now();
  line.show("reading " + command.data);
  points.dataset = read_points(command.data, command.reading);
  points.view = points.dataset.view;
  points.seconds.emplace_back("read", seconds_since(begin));
  const auto warn_of = [&](const std::vector<std::string>& texts) {
    points.dataset.warnings.insert(points.dataset.warnings.end(), texts.begin(), texts.end());
  };
  const int64_t memory = command.options.memory.bytes;
  warn_of(row_number_warnings(points.dataset, memory));
  if (command.scale == Scale::kNone) {
    warn_of(dominance_warnings(points.dataset, points.view, memory));
    return points;
  }
  const int threads = command.options.threads;
  begin = Clock::now();
  line.show("scaling");
  points.scaling = naming_file(command.data, points.dataset,
                               [&] { return find_scaling(points.view, command.scale, threads, memory); });
  points.scaled = scale_points(points.view, points.scaling, threads, memory);
  points.view = points.scaled.view;
  warn_of(dominance_warnings(points.dataset, points.view, memory));
  points.dataset.view.data = nullptr;  // its shape stays, for messages
  points.dataset.owner.reset();
  points.seconds.emplace_back("scale", seconds_since(begin));
  return points;
}

// Everything that can be found wrong without the points, so that nobody waits for it.
void check_early(const FitCommand& command, bool initial_file) {
  check(command.options);
  if (initial_file && command.options.k.size() > 1) {
    throw Error(ErrorCode::kUsage, "--init", "a file of prototypes needs a single k, several were given");
  }
  CommandFiles files = {.outputs = {{"--model", command.model, {".npz"}},
                                    {"--labels", command.labels, {".npy", ".csv"}},
                                    {"--checkpoint", command.checkpoint.path, {}}},
                        .inputs = {command.data, command.reading.weights},
                        .prints = (command.json || !command.quiet) && !command.streams_labels};
  if (initial_file) files.inputs.push_back(command.options.init);
  check_files(files);
  check_checkpoint(command.checkpoint);
  const float origin = 0;  // one point, one prototype: is the backend there, and does it know the algorithm?
  predict({&origin, 1, 1}, {&origin, 1, 1},
          {.backend = command.options.backend, .algorithm = command.options.algorithm, .threads = 1});
}

// What a fit that threw leaves behind: what to say of its checkpoint, and what its error is called.
[[noreturn]] void leave_failed_fit(const FitCommand& command, bool overdue) {
  // The fit was in good order, and its checkpoint says how far it came.
  if (overdue || (!devices_answer() && !command.quiet)) announce_going_on(command.checkpoint);
  if (!overdue) throw;
  throw Error(ErrorCode::kInterrupted, "interrupted", "stopped by a signal within a pass; no output was written");
}

FitResult run_fit(FitCommand& command, ScaledPoints& points, bool initial_file, ProgressLine& line) {
  FitHooks hooks;
  Dataset initial;
  if (initial_file) {
    initial =
        read_initial(command.options.init, command.k_given ? command.options.k[0] : 0, points.view.d, command.scale);
    command.options.k = {initial.view.n};
    hooks.initial = initial.view;
  }
  hooks.cancel = &defer_stop_signals();
  hooks.checkpoint = command.checkpoint;
  if (line.on()) {  // what is shown costs a little to compute
    hooks.pause = 0.05;
    hooks.progress = [&](const Progress& progress) {
      line.update(progress, command.options);
      return true;
    };
  }
  // Its passes may take minutes, and nobody needs the labels of an oracle that badly.
  if (command.options.backend == "reference") hooks.abort = &overdue_stop();
  FitResult result;
  const DeviceWatch watch(command.options.backend);
  try {
    result = naming_file(command.data, points.dataset,
                         [&] { return fit(points.view, points.dataset.weights, command.options, hooks); });
  } catch (const Error& error) {
    const bool overdue = hooks.abort != nullptr && error.code() == ErrorCode::kInterrupted && overdue_stop();
    leave_failed_fit(command, overdue);
  }
  auto& seconds = result.provenance.seconds;
  seconds.insert(seconds.begin(), points.seconds.begin(), points.seconds.end());
  for (const std::string& warning : initial.warnings) points.dataset.warnings.push_back(warning);
  result.warnings.insert(result.warnings.begin(), points.dataset.warnings.begin(), points.dataset.warnings.end());
  return result;
}

void write_results(const FitCommand& command, const ScaledPoints& points, const FitResult& result) {
  for (const std::string& warning : result.warnings) warn(warning);
  std::vector<OutputJob> jobs;
  std::vector<std::string> written;
  const auto add_file = [&](const std::string& path, const std::function<void()>& write) {
    if (path.empty()) return;
    jobs.push_back({path, [&written, &path, write] {
                      write();
                      written.push_back(path);
                    }});
  };
  add_file(command.model, [&] {
    save_model(command.model, result, points.scaling, points.dataset.column_names, points.dataset.source);
  });
  add_file(command.labels, [&] { write_labels(command.labels, result); });
  if (command.json) {
    jobs.push_back({"standard output", [&] { print_json(to_json(result) + "\n"); }});
  } else if (!command.quiet) {
    jobs.push_back({command.streams_labels ? "standard error" : "standard output",
                    [&] { print_beside(command.streams_labels, fit_report(command.data, result, written)); }});
  }
  write_outputs(jobs);
}

int run(FitCommand& command) {
  command.streams_labels = use_standard_output({{"--labels", &command.labels}}, command.json);
  ProgressLine line(!command.quiet && !command.json);
  const bool initial_file = names_initial_file(command.options.init);
  command.reading.threads = command.options.threads;
  command.reading.memory = command.options.memory.bytes;
  check_early(command, initial_file);
  if (!command.quiet) announce_resuming(command.checkpoint);
  ScaledPoints points = read_and_scale(command, line);
  const FitResult result = run_fit(command, points, initial_file, line);
  line.erase();
  if (result.interrupted && !command.quiet) announce_going_on(command.checkpoint);
  write_results(command, points, result);
  const int exit_code = defer_stop_signals() ? static_cast<int>(ErrorCode::kInterrupted) : 0;
  if (exit_code == 0 && !result.interrupted) remove_checkpoint(command.checkpoint);
  return exit_code;
}

void bind_outputs(CLI::App& app, FitCommand& command) {
  add_file_flag(app, "--model", command.model,
                "Write all models to this .npz file, for 'manymeans predict' and numpy.load.")
      ->group("Output");
  add_file_flag(app, "--labels", command.labels,
                "Write the labels of the best model of each k to this .npy or .csv file, or as csv to a pipe ('-' for "
                "standard output): N values for one k, a column for each k for several.")
      ->group("Output");
  app.add_flag("--json", command.json, "Print the summary as one JSON object instead of a table.")->group("Output");
  app.add_flag("--quiet", command.quiet, "Print no progress and no table; warnings and errors remain.")
      ->group("Output");
}

}  // namespace

void add_fit_command(CLI::App& program, int& exit_code) {
  CLI::App* app = program.add_subcommand("fit", "Fit an ensemble of k-means models to a file of points.");
  const auto command = std::make_shared<FitCommand>();
  add_file_argument(*app, "DATA", command->data, kDataHelp);
  bind_fit_flags(*app, command->options);
  bind_read_flags(*app, command->reading);
  add_file_flag(*app, "--weights", command->reading.weights,
                "Weights of the points: a column of DATA (name or number), or a file of N numbers.")
      ->type_name("COLUMN|FILE")
      ->group("Reading");
  const auto set_scale = [command](const CLI::results_t& texts) {
    check_choice("--scale", texts.front(), {"none", "standard", "minmax"});
    command->scale = scale_from_name(texts.front()).value();
    return true;
  };
  app->add_option("--scale", set_scale,
                  "Scale the columns: none, standard (mean 0, deviation 1) or minmax (0 to 1). Prototypes, inertia and "
                  "an --init file are in scaled units; predict applies the same scaling.")
      ->type_name("NAME")
      ->default_str("none")
      ->group("Reading");
  bind_outputs(*app, *command);
  bind_checkpoint_flags(*app, command->checkpoint);
  app->footer(kExamples);
  app->callback([app, command, &exit_code] {
    command->k_given = app->count("-k") > 0;
    exit_code = run(*command);
  });
}

}  // namespace manymeans::cli
