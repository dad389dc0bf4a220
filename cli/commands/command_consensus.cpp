// manymeans consensus: clusters on which the models of a file agree.
#include <manymeans/manymeans.h>

#include "commands/commands.h"
#include "flags/data_files.h"
#include "flags/flag_values.h"
#include "flags/model_columns.h"
#include "flags/read_flags.h"
#include "flags/stored_models.h"
#include "output/consensus_report.h"
#include "output/output_files.h"
#include "output/progress_line.h"
#include "output/stream_outputs.h"
#include "streams/device_watch.h"
#include "streams/standard_streams.h"
#include "streams/stop_signal.h"

#include <memory>

namespace manymeans::cli {
namespace {

struct ConsensusCommand {
  std::string model;
  DataFiles data;
  ReadOptions reading;
  ConsensusOptions options;
  std::string labels, agreement;  // empty: not asked for
  bool json = false, quiet = false;
};

const char* const kExamples =
    "Examples:\n"
    "  manymeans fit points.csv -k 10..20 --models 5 --model many.npz\n"
    "  manymeans consensus many.npz points.csv -k 15 --labels labels.csv\n"
    "      55 models vote on 15 clusters.\n"
    "  manymeans fit points.csv -k 15 --models 50 --model same.npz\n"
    "  manymeans consensus same.npz points.csv -k 15 --method matched \\\n"
    "      --labels l.npy --agreement a.npy\n"
    "      For each point also the share of the models that agree on its cluster.\n\n"
    "Each point gets the cluster for which most models vote. With the method\n"
    "centroids the centroids of all models are clustered, weighted by their points,\n"
    "and a model votes for the cluster into which its centroid came; models may be of\n"
    "any k. With matched the clusters of each model of this k are matched one to one\n"
    "to those of the model of least inertia.\n"
    "Models are compared by pairs of points: the adjusted Rand index is 1 where two\n"
    "models put the same pairs together, about 0 for chance. A pair is ambiguous that\n"
    "more than a tenth and fewer than nine tenths of the models put together. Points\n"
    "are labelled some thousand at a time, so no labels of a model are kept.\n"
    "The answer depends on MODEL, the points and the options: not on --threads or\n"
    "--backend. docs/user/consensus.md says when not to trust it.\n"
    "Exit codes: 0 done, 2 usage, 3 bad data, 4 no such device, out of memory or disk\n"
    "full, 5 interrupted, 1 a bug.";

// Those that vote.
std::vector<ConsensusMember> members_of(const ConsensusCommand& command, const ModelFile& file) {
  if (file.linear()) {
    throw Error(ErrorCode::kUsage, "MODEL",
                fmt::format("'{}' holds linear models; centroids of 'manymeans fit' are needed", command.model));
  }
  const bool matched = command.options.method == ConsensusMethod::kMatched;
  std::vector<ConsensusMember> members;
  for (const StoredModel& model : file.models) {
    if (matched && model.prototypes.rows() != command.options.k) continue;
    members.push_back({model.prototypes.view(), model.counts, model.inertia, {}});
  }
  if (!members.empty()) return members;
  throw Error(ErrorCode::kUsage, "-k",
              fmt::format("is {}, and '{}' holds no models of so many clusters; --method centroids takes those of any",
                          command.options.k, command.model));
}

Dataset read_scaled(const ConsensusCommand& command, const ModelFile& file) {
  Dataset points = read_like_fit(command.data, command.reading, points_of_fit(file));
  for (auto& text : outside_warnings(points, file.ranges, file.scaling)) points.warnings.push_back(std::move(text));
  naming_file(command.data.name(), points,
              [&] { scale_read(points, file.scaling, command.options.threads, command.reading.memory); });
  return points;
}

std::vector<OutputJob> output_jobs(const ConsensusCommand& command, const ConsensusReport& report,
                                   const FileRows& rows) {
  std::vector<OutputJob> jobs;
  if (!command.labels.empty()) {
    jobs.push_back({command.labels, [&command, &report, rows] {
                      write_labels(command.labels, report.found.labels, self_comm(), rows);
                    }});
  }
  if (!command.agreement.empty()) {
    jobs.push_back({command.agreement, [&command, &report, rows] {
                      std::vector<double> shares;
                      const int64_t count = report.found.labels.size();
                      for (int64_t row = 0; row < count; ++row) shares.push_back(report.found.agreement(row));
                      write_values(command.agreement, shares, "agreement", self_comm(), rows);
                    }});
  }
  return jobs;
}

void check_command(ConsensusCommand& command, bool streams) {
  check_id(command.reading, {&command.labels, &command.agreement}, false);
  std::vector<std::string> inputs = command.data.all();
  inputs.push_back(command.model);
  check_files(
      {.outputs = {{"--labels", command.labels, kTableEndings}, {"--agreement", command.agreement, kTableEndings}},
       .inputs = inputs,
       .prints = (command.json || !command.quiet) && !streams});
}

int run(ConsensusCommand& command) {
  command.data.find("consensus");
  const bool streams =
      use_standard_output({{"--labels", &command.labels}, {"--agreement", &command.agreement}}, command.json);
  check_command(command, streams);
  ProgressLine line(!command.quiet && !command.json);
  command.reading.threads = command.options.threads;
  const ModelFile file = read_model_argument("consensus", command.model, command.data.path);
  const std::vector<ConsensusMember> members = members_of(command, file);
  command.options.metric = file.metric;
  line.show("reading " + command.data.name());
  const Dataset points = read_scaled(command, file);
  line.show(fmt::format("labelling by {} models", members.size()));
  ConsensusReport report{.data = command.data.name(),
                         .rows = points.file_rows,
                         .columns = points.view.d,
                         .method = std::string(name_of(command.options.method)),
                         .labels = command.labels,
                         .agreement = command.agreement,
                         .warnings = points.warnings};
  const DeviceWatch watch(command.options.backend);
  report.found =
      naming_file(command.data.name(), points, [&] { return consensus(points.view, members, command.options); });
  report.warnings.insert(report.warnings.end(), report.found.warnings.begin(), report.found.warnings.end());
  line.erase();
  for (const std::string& warning : report.warnings) warn(warning);
  OutputReport print;
  if (command.json) {
    print = {"standard output", [&](const auto&) { print_json(consensus_json(report)); }};
  } else if (!command.quiet) {
    print = {streams ? "standard error" : "standard output",
             [&](const auto& written) { print_beside(streams, consensus_text(report) + lines_of(written)); }};
  }
  defer_stop_signals();  // files appear whole or not at all
  write_outputs(output_jobs(command, report, file_rows(points)), print);
  return defer_stop_signals() ? static_cast<int>(ErrorCode::kInterrupted) : 0;
}

void bind_consensus_flags(const Command& app, ConsensusCommand& command) {
  app.add_option("-k,--clusters", number_into("-k,--clusters", command.options.k, 1),
                 "Clusters of the consensus; models may have more or fewer.")
      .type_name("K")
      .required()
      .group("Consensus");
  const auto set_method = [&command](const std::string& text) {
    command.options.method = choice_named<ConsensusMethod>("--method", text);
  };
  app.add_option("--method", set_method,
                 "centroids (all centroids are clustered; models of any k) or matched (clusters of the models of this "
                 "k, one to one).")
      .type_name("NAME")
      .default_str("centroids")
      .group("Consensus");
  app.add_option("--fits", number_into("--fits", command.options.fits, 1),
                 "Fits of the centroids; the one with the lowest inertia counts.")
      .type_name("COUNT")
      .default_str("10")
      .group("Consensus");
  app.add_option("--pairs", number_into("--pairs", command.options.pairs, 0),
                 "Pairs of points by which models are compared; 0: none.")
      .type_name("COUNT")
      .default_str("100000")
      .group("Consensus");
  const auto set_seed = [&command](const std::string& text) {
    command.options.seed = parse_number<uint64_t>("--seed", text);
  };
  app.add_option("--seed", set_seed, "Seed of the fits and of the pairs.")
      .type_name("SEED")
      .default_str("0")
      .group("Consensus");
  app.add_option("--backend,--device", command.options.backend, "Where to compute. Never changes the answer.")
      .type_name("NAME")
      .default_str("auto")
      .group("Consensus");
  app.add_option("--threads", number_into("--threads", command.options.threads, 0), "Threads; 0: all usable ones.")
      .type_name("COUNT")
      .default_str("0")
      .group("Consensus");
}

}  // namespace

void add_consensus_command(Program& program, int& exit_code) {
  const Command app = program.add_command("consensus", "Find the clusters on which the models of a file agree.");
  const auto command = std::make_shared<ConsensusCommand>();
  add_file_argument(app, "MODEL", command->model, "Model file (.npz) that 'manymeans fit --model' has written.");
  bind_data_argument(app, command->data);
  bind_consensus_flags(app, *command);
  bind_shard_flag(app, command->data);
  bind_read_flags(app, command->reading);
  bind_id_flag(app, command->reading, "--labels or --agreement FILE.csv or .parquet, which is needed");
  add_file_flag(
      app, "--labels", command->labels,
      "Write the clusters to this .npy, .csv or .parquet file, or as csv to a pipe ('-' for standard output).")
      .group("Output");
  add_file_flag(app, "--agreement", command->agreement,
                "Write the share of the models that vote for each point's cluster to this .npy, .csv or .parquet file, "
                "or as csv to a pipe.")
      .group("Output");
  app.add_flag("--json", command->json, "Print one JSON object instead of text.").group("Output");
  app.add_flag("--quiet", command->quiet, "Print nothing but warnings and errors.").group("Output");
  app.footer(kExamples);
  app.callback([command, &exit_code] { exit_code = run(*command); });
}

}  // namespace manymeans::cli
