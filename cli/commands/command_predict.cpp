// manymeans predict: labels of points by a model that was fitted before.
#include <manymeans/manymeans.h>

#include "commands/commands.h"
#include "flags/flag_values.h"
#include "flags/read_flags.h"
#include "flags/stored_models.h"
#include "output/model_columns.h"
#include "output/output_files.h"
#include "output/progress_line.h"
#include "output/stream_outputs.h"
#include "streams/device_watch.h"
#include "streams/standard_streams.h"
#include "streams/stop_signal.h"

#include <nlohmann/json.hpp>

#include <memory>

namespace manymeans::cli {
namespace {

struct PredictCommand {
  std::string model, data;
  ReadOptions reading;
  PredictOptions options;
  int64_t k = 0;  // 0: the only one
  std::string labels, distances;
  bool json = false, quiet = false;
};

const char* const kExamples =
    "Examples:\n"
    "  manymeans predict out.npz new.csv --labels labels.npy\n"
    "  manymeans predict out.npz new.csv -k 16 --labels labels.csv --distances d.npy\n\n"
    "The best model of the chosen k gives each point the label of its nearest\n"
    "prototype. The scaling of the fit is stored in MODEL and applied first;\n"
    "distances are Euclidean and in scaled units. MODEL knows the columns of its fit:\n"
    "they are picked by name where DATA names its columns, else by their place in a\n"
    "file of as many columns, so --columns and --numeric-only need not be repeated.\n"
    "Points are read in the number type of the model, so the points of a fit get the\n"
    "labels of that fit.\n"
    "Exit codes: 0 done, 2 usage, 3 bad data, 4 no such device, out of memory or disk\n"
    "full, 5 interrupted, 1 a bug.";

struct Outcome {
  int64_t k = 0;
  int64_t columns = 0;
  Prediction prediction;
  std::vector<int64_t> counts;
  std::vector<std::string> warnings;
};

Outcome label_points(const PredictCommand& command, ProgressLine& line) {
  const ModelFile file = load_model(command.model);
  const StoredModel& model = choose_model(file, command.model, command.k, WhichK::kAskedFor);
  line.show("reading " + command.data);
  Dataset points = read_like_model(command.data, command.reading, file, model);
  Matrix scaled;
  if (file.scaling.kind != Scale::kNone) {
    scaled = apply_scaling(points.view, file.scaling, command.options.threads);
    points.view = scaled.view();
    points.owner.reset();
  }
  line.show("predicting");
  const DeviceWatch watch(command.options.backend);
  Outcome outcome;
  outcome.k = model.k;
  outcome.columns = points.view.d;
  outcome.warnings = points.warnings;
  outcome.prediction =
      naming_file(command.data, points, [&] { return predict(points.view, model.prototypes.view(), command.options); });
  outcome.counts.resize(static_cast<size_t>(model.k));
  for (int64_t row = 0; row < points.view.n; ++row) ++outcome.counts[outcome.prediction.labels[row]];
  return outcome;
}

std::string summary_json(const PredictCommand& command, const Outcome& outcome) {
  nlohmann::ordered_json json = {{"n_rows", outcome.prediction.labels.size()},
                                 {"n_columns", outcome.columns},
                                 {"k", outcome.k},
                                 {"counts", outcome.counts},
                                 {"model", command.model},
                                 {"labels", command.labels},
                                 {"distances", nullptr},
                                 {"warnings", outcome.warnings}};
  if (!command.distances.empty()) json["distances"] = command.distances;
  // Paths need not be UTF-8; JSON must be.
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string summary_text(const PredictCommand& command, const Outcome& outcome) {
  const auto [least, most] = std::ranges::minmax(outcome.counts);
  std::string out =
      fmt::format("{}: {} points of {} columns, k = {}, {} to {} points in a cluster\nwrote {}\n", command.data,
                  outcome.prediction.labels.size(), outcome.columns, outcome.k, least, most, command.labels);
  return command.distances.empty() ? out : out + fmt::format("wrote {}\n", command.distances);
}

void run(PredictCommand& command) {
  const bool streams =
      use_standard_output({{"--labels", &command.labels}, {"--distances", &command.distances}}, command.json);
  ProgressLine line(!command.quiet && !command.json);
  command.reading.threads = command.options.threads;
  command.options.distances = !command.distances.empty();
  check_files({.outputs = {{"--labels", command.labels, {".npy", ".csv"}},
                           {"--distances", command.distances, {".npy", ".csv"}}},
               .inputs = {command.model, command.data},
               .prints = (command.json || !command.quiet) && !streams});
  const Outcome outcome = label_points(command, line);
  line.erase();
  for (const std::string& warning : outcome.warnings) warn(warning);
  std::vector<OutputJob> jobs = {{command.labels, [&] { write_labels(command.labels, outcome.prediction.labels); }}};
  if (!command.distances.empty()) {
    jobs.push_back(
        {command.distances, [&] { write_values(command.distances, outcome.prediction.distances, "distance"); }});
  }
  if (command.json) {
    jobs.push_back({"standard output", [&] { print_json(summary_json(command, outcome)); }});
  } else if (!command.quiet) {
    jobs.push_back({streams ? "standard error" : "standard output",
                    [&] { print_beside(streams, summary_text(command, outcome)); }});
  }
  defer_stop_signals();  // files appear whole or not at all
  write_outputs(jobs);
}

}  // namespace

void add_predict_command(CLI::App& program, int& exit_code) {
  CLI::App* app = program.add_subcommand("predict", "Label points by a model that 'fit' has written.");
  const auto command = std::make_shared<PredictCommand>();
  add_file_argument(*app, "MODEL", command->model, "Model file (.npz) that 'manymeans fit --model' has written.");
  add_file_argument(*app, "DATA", command->data, kDataHelp);
  app->add_option("-k,--clusters", number_into("-k,--clusters", command->k, 1),
                  "Which k of MODEL to use; needed when it holds several.")
      ->type_name("K")
      ->group("Prediction");
  app->add_option("--backend", command->options.backend, "Where to compute. Never changes the answer.")
      ->type_name("NAME")
      ->default_str("auto")
      ->group("Prediction");
  app->add_option("--threads", number_into("--threads", command->options.threads, 0), "Threads; 0: all usable ones.")
      ->type_name("COUNT")
      ->default_str("0")
      ->group("Prediction");
  bind_read_flags(*app, command->reading);
  add_file_flag(*app, "--labels", command->labels,
                "Write the labels to this .npy or .csv file, or as csv to a pipe ('-' for standard output).")
      ->required()
      ->group("Output");
  add_file_flag(*app, "--distances", command->distances,
                "Write the distance of each point to its prototype to this .npy or .csv file, or as csv to a pipe.")
      ->group("Output");
  app->add_flag("--json", command->json, "Print one JSON object instead of a line of text.")->group("Output");
  app->add_flag("--quiet", command->quiet, "Print nothing but warnings and errors.")->group("Output");
  app->footer(kExamples);
  app->callback([command, &exit_code] {
    run(*command);
    exit_code = defer_stop_signals() ? static_cast<int>(ErrorCode::kInterrupted) : 0;
  });
}

}  // namespace manymeans::cli
