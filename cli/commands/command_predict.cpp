// manymeans predict: labels and targets of points by a model that was fitted before.
#include <manymeans/manymeans.h>

#include "commands/commands.h"
#include "flags/append_flags.h"
#include "flags/data_files.h"
#include "flags/flag_values.h"
#include "flags/model_columns.h"
#include "flags/read_flags.h"
#include "flags/reworded.h"
#include "flags/stored_models.h"
#include "flags/tree_nodes.h"
#include "output/output_files.h"
#include "output/progress_line.h"
#include "output/stream_outputs.h"
#include "output/text_table.h"
#include "ranks/ranks.h"
#include "ranks/shared_rows.h"
#include "streams/device_watch.h"
#include "streams/standard_streams.h"
#include "streams/stop_signal.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace manymeans::cli {
namespace {

struct PredictCommand {
  std::string model;
  DataFiles data;
  ReadOptions reading;
  PredictOptions options;
  int64_t k = 0;                                // 0: the only one
  std::optional<Gating> gating = std::nullopt;  // none: nearest
  std::string labels, distances, predictions;   // empty: not asked for
  std::string tree;                             // empty: all prototypes are compared
  int64_t n_probe = 8;
  AppendFlags append = {};
  bool json = false, quiet = false;
  std::shared_ptr<Comm> ranks = nullptr;  // that share the points; null: there is one

  Comm& comm() const { return ranks ? *ranks : self_comm(); }
};

const char* const kExamples =
    "Examples:\n"
    "  manymeans predict out.npz new.csv --labels labels.npy\n"
    "  manymeans predict out.npz new.csv -k 16 --labels labels.csv --distances d.npy\n"
    "  manymeans predict out.npz new.csv --append clustered.csv --append-distances\n"
    "  manymeans predict lines.npz new.csv --predictions y.csv --gating prior\n"
    "  mpirun -n 8 manymeans predict out.npz new.npy --labels labels.npy\n"
    "      Shares the rows among eight processes, on one machine or on several.\n\n"
    "The best model of the chosen k gives each point the label of its nearest\n"
    "prototype. The scaling of the fit is stored in MODEL and applied first;\n"
    "distances are Euclidean and in scaled units. MODEL knows the columns of its fit:\n"
    "they are picked by name where DATA names its columns, else by their place in a\n"
    "file of as many columns, so --columns and --numeric-only need not be repeated.\n"
    "Points are read in the number type of the model, so the points of a fit get the\n"
    "labels of that fit. A warning says so where most of them lie far outside the\n"
    "points of the fit: unscaled rows, other units, swapped columns.\n\n"
    "Linear models of 'manymeans regress': --predictions needs the features only.\n"
    "--labels and --distances need the target, too: a row gets the label of the model\n"
    "with the smallest residual, and its distance is the size of that residual.\n"
    "--gating chooses the model that predicts an unknown target;\n"
    "docs/user/regression.md says when each choice is right.\n"
    "Exit codes: 0 done, 2 usage, 3 bad data, 4 no such device, out of memory or disk\n"
    "full, 5 interrupted, 1 a bug.";

struct Outcome {
  int64_t k = 0;
  int64_t rows = 0, columns = 0;
  Prediction prediction = {};
  Matrix targets = {};  // predicted ones
  std::vector<int64_t> counts = {};
  std::optional<Gating> gating = std::nullopt;  // of targets
  std::vector<std::string> warnings;
  Dataset points = {};  // without their values

  void take_rows(Dataset& read) {
    points = std::move(read);
    points.owner.reset();
    points.view.data = nullptr;
  }
  FileRows rows_of_file() const { return file_rows(points); }
};

// Calls work(), which may complain of the points, where this rank has any; all ranks throw what the first one does.
template <class Work>
void use_points(const PredictCommand& command, const Dataset& points, Work&& work) {
  const int64_t rows_before = command.reading.part.begin(points.file_rows);
  check_together(command.comm(), [&] {
    if (points.view.n > 0) naming_file(command.data.name(), points, work, rows_before);
  });
}

// Points as they go into a model.
Dataset read_scaled(const PredictCommand& command, const PointsOfFit& fit, const ModelFile& file, ProgressLine& line) {
  const Scaling& scaling = file.scaling;
  line.show("reading " + command.data.name());
  Dataset points = read_like_fit(command.data, command.reading, fit);
  check_same_reading(command.comm(), points, scaling.kind);
  const int64_t targets = fit.columns == points_of_fit(file).columns ? 1 : 0;
  expand_terms(points, file.terms, targets, command.options.threads);
  if (command.comm().rank() == 0) {  // its rows speak for all
    for (auto& text : outside_warnings(points, file.ranges, scaling)) points.warnings.push_back(text);
  }
  use_points(command, points, [&] {  // features alone have no target behind them
    scale_read(points, scaling.first(points.view.d), command.options.threads, command.reading.memory);
  });
  line.show("predicting");
  return points;
}

// Linear models need the target for residuals alone.
Dataset read_with_residuals(const PredictCommand& command, const PointsOfFit& fit, const ModelFile& file,
                            ProgressLine& line) {
  try {
    return read_scaled(command, fit, file, line);
  } catch (const Error& error) {
    if (std::string_view(error.what()).find("the model was fitted to") == std::string_view::npos) throw;
    throw reworded(error, [](const std::string& text) {
      return text + "; the target is the last of them, and --predictions alone needs none";
    });
  }
}

// Counts the labels of all rows of all ranks.
void count_labels(Outcome& outcome, Comm& comm) {
  outcome.counts.resize(static_cast<size_t>(outcome.k));
  for (int64_t row = 0; row < outcome.prediction.labels.size(); ++row) {
    ++outcome.counts[outcome.prediction.labels[row]];
  }
  comm.sum(outcome.counts);
}

// Labels by a walk of the nodes that end with these leaves.
Labels walk(const PredictCommand& command, const PointsView& points, const PointsView& leaves,
            const PredictOptions& options) {
  const TreeNodes nodes = read_nodes(command.tree, leaves.type);
  const PointsView& vectors = nodes.vectors.view;
  const auto* end = static_cast<const std::byte*>(vectors.data) + vectors.bytes();
  if (vectors.d != leaves.d || vectors.n < leaves.n || nodes.leaves() != leaves.n ||
      std::memcmp(end - leaves.bytes(), leaves.data, leaves.bytes()) != 0) {
    throw Error(ErrorCode::kUsage, "--tree",
                fmt::format("'{}' does not end with the leaves of '{}'; 'manymeans tree' writes both at once",
                            command.tree, command.model));
  }
  if (points.place.space == kSparseSpace) {
    throw Error(ErrorCode::kUsage, "--tree",
                fmt::format("is for dense points, and '{}' is sparse; leave it out", command.data.name()));
  }
  try {
    return predict_by_walk(points, vectors, nodes.parents, command.n_probe, options);
  } catch (const Error& error) {
    const std::string_view what = error.what();
    if (!what.starts_with("[parents] ") && !what.starts_with("[initial prototypes] ")) throw;
    throw about_nodes(command.tree, error);
  }
}

Outcome use_centroids(const PredictCommand& command, const ModelFile& file, const StoredModel& model,
                      ProgressLine& line) {
  if (!command.predictions.empty() || command.gating) {
    throw Error(ErrorCode::kUsage, command.predictions.empty() ? "--gating" : "--predictions",
                fmt::format("is for linear models, '{}' holds centroids; --labels is right", command.model));
  }
  Dataset points = read_scaled(command, points_of_fit(file), file, line);
  const PointsView view = points.view;
  const DeviceWatch watch(command.options.backend);
  PredictOptions options = command.options;
  options.metric = file.metric;
  Outcome outcome{.k = model.k, .rows = points.file_rows, .columns = view.d, .warnings = points.warnings};
  use_points(command, points, [&] {
    const PointsView prototypes = model.prototypes.view();
    if (command.tree.empty()) {
      outcome.prediction = predict(view, prototypes, options);
    } else {
      outcome.prediction.labels = walk(command, view, prototypes, options);
    }
  });
  count_labels(outcome, command.comm());
  outcome.take_rows(points);
  return outcome;
}

Outcome use_linear_models(const PredictCommand& command, const ModelFile& file, const StoredModel& model,
                          ProgressLine& line) {
  if (command.data.shards.empty() && is_sparse_file(command.data.path, command.reading)) {
    throw Error(ErrorCode::kUsage, command.data.path, "is sparse, and linear models read no sparse points");
  }
  if (!command.tree.empty()) {
    throw Error(ErrorCode::kUsage, "--tree", fmt::format("is for leaves, '{}' holds linear models", command.model));
  }
  if (!command.append.path.empty()) {
    throw Error(
        ErrorCode::kUsage, "--append",
        fmt::format("is for centroids, '{}' holds linear models; --labels and --predictions are right", command.model));
  }
  if (command.gating && command.predictions.empty()) {
    throw Error(ErrorCode::kUsage, "--gating", "says how targets are predicted; it needs --predictions");
  }
  const bool residuals = !command.labels.empty() || !command.distances.empty();
  Dataset points = residuals ? read_with_residuals(command, points_of_fit(file), file, line)
                             : read_scaled(command, features_of_fit(file), file, line);
  const int64_t features = model.prototypes.columns() - 1;
  const Gating gating = command.gating.value_or(Gating::kNearest);
  const DeviceWatch watch(command.options.backend);
  Outcome outcome{.k = model.k, .rows = points.file_rows, .columns = features, .warnings = points.warnings};
  outcome.targets = Matrix(0, gating == Gating::kColumns ? model.k : 1, DataType::kFloat64);
  use_points(command, points, [&] {
    if (residuals) {
      outcome.prediction =
          regress_labels(RegressionRows::with_target(points.view), model.prototypes.view(), command.options);
    }
    if (command.predictions.empty()) return;
    outcome.gating = gating;
    if (residuals) {
      std::vector<int64_t> places(static_cast<size_t>(features));
      std::iota(places.begin(), places.end(), 0);
      keep_columns(points, places);
    }
    outcome.targets =
        regress_predict(points.view, model.prototypes.view(), model.regression->gate, gating, command.options);
  });
  if (residuals) count_labels(outcome, command.comm());
  outcome.take_rows(points);
  return outcome;
}

// Ranks that were told different things would write a mixture of them, so that their collectives carry this.
uint64_t hash_of(const PredictCommand& command, const StoredModel& model) {
  const std::span<const std::byte> bytes = model.prototypes.bytes();
  const std::string outputs =
      fmt::format("{} {} {} {} {} {}", command.labels, command.distances, command.predictions,
                  name_of(command.gating.value_or(Gating::kNearest)), command.tree, command.n_probe);
  const std::hash<std::string_view> hash;
  return hash(outputs) * 31 + hash({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

Outcome use_model(const PredictCommand& command, ProgressLine& line) {
  const ModelFile file = read_model_argument("predict", command.model, command.data.path);
  const StoredModel& model = choose_model(file, command.model, command.k, WhichK::kAskedFor);
  command.comm().set_options(hash_of(command, model));
  return file.linear() ? use_linear_models(command, file, model, line) : use_centroids(command, file, model, line);
}

std::string summary_json(const PredictCommand& command, const Outcome& outcome) {
  const auto path = [](const std::string& name) {
    return name.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(name);
  };
  nlohmann::ordered_json json = {{"n_rows", outcome.rows},
                                 {"n_columns", outcome.columns},
                                 {"k", outcome.k},
                                 {"counts", outcome.counts},
                                 {"model", command.model},
                                 {"labels", path(command.labels)},
                                 {"distances", path(command.distances)},
                                 {"warnings", outcome.warnings}};
  if (!command.append.path.empty()) json["append"] = command.append.path;
  if (!command.tree.empty()) {
    json["tree"] = command.tree;
    json["n_probe"] = command.n_probe;
  }
  if (!command.predictions.empty()) json["predictions"] = command.predictions;
  if (outcome.gating) json["gating"] = std::string(name_of(*outcome.gating));
  // Paths need not be UTF-8; JSON must be.
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

// Which model predicts a row; a choice that was left open is said with the others.
std::string gating_text(const PredictCommand& command, const Outcome& outcome) {
  if (!outcome.gating || outcome.k == 1) return {};
  const std::string_view used = name_of(*outcome.gating);
  if (command.gating) return fmt::format("predicted with --gating {}\n", used);
  std::vector<std::string_view> others;
  std::ranges::copy_if(names_of<Gating>(), std::back_inserter(others),
                       [&](std::string_view name) { return name != used; });
  return fmt::format("predicted with --gating {}, the default; {} would predict otherwise\n", used,
                     fmt::join(others, " and "));
}

std::string summary_text(const PredictCommand& command, const Outcome& outcome,
                         const std::vector<std::string>& written) {
  std::string out =
      fmt::format("{}: {}, k = {}", command.data.name(), size_of_points(outcome.rows, outcome.columns), outcome.k);
  constexpr size_t kMaxCounts = 20;
  const std::vector<int64_t>& counts = outcome.counts;
  if (!counts.empty() && counts.size() <= kMaxCounts) {
    out += fmt::format(", points by cluster: {}", fmt::join(counts, ", "));
  } else if (!counts.empty()) {
    const auto [least, most] = std::ranges::minmax(counts);
    out += fmt::format(", {} to {} points in a cluster", least, most);
  }
  if (!command.tree.empty()) {
    out += fmt::format("\nlabels come from a walk of {} with --n-probe {}; a nearer leaf may exist", command.tree,
                       command.n_probe);
  }
  return out + "\n" + gating_text(command, outcome) + lines_of(written);
}

// A matrix of all rows of the file: those that were left out are NaN.
Matrix with_gaps(const Matrix& targets, std::span<const int64_t> dropped) {
  const size_t k = static_cast<size_t>(targets.columns());
  Matrix all(targets.rows() + std::ssize(dropped), targets.columns(), DataType::kFloat64);
  auto from = targets.values<double>().begin();
  auto to = all.values<double>().begin();
  auto gap = dropped.begin();
  for (int64_t row = 0; row < all.rows(); ++row, to += static_cast<std::ptrdiff_t>(k)) {
    if (gap != dropped.end() && *gap == row) {
      std::fill_n(to, k, std::numeric_limits<double>::quiet_NaN());
      ++gap;
    } else {
      std::copy_n(from, k, to);
      from += static_cast<std::ptrdiff_t>(k);
    }
  }
  return all;
}

void write_targets(const std::string& path, const Matrix& targets, const FileRows& rows, Comm& comm) {
  if (targets.columns() == 1) return write_values(path, targets.values<double>(), "prediction", comm, rows);
  const Matrix all = with_gaps(targets, rows.dropped);
  Dataset table;
  table.view = all.view();
  for (int64_t k = 0; k < targets.columns(); ++k) table.column_names.push_back(fmt::format("model_{}", k));
  write_points(path, table, comm);
}

std::vector<OutputJob> output_jobs(const PredictCommand& command, const Outcome& outcome) {
  std::vector<OutputJob> jobs;
  const auto add = [&](const std::string& path, const std::function<void()>& write) {
    if (!path.empty()) jobs.push_back({path, write});
  };
  Comm& comm = command.comm();
  add(command.labels, [&] { write_labels(command.labels, outcome.prediction.labels, comm, outcome.rows_of_file()); });
  add(command.distances,
      [&] { write_values(command.distances, outcome.prediction.distances, "distance", comm, outcome.rows_of_file()); });
  add(command.append.path, [&] {
    std::vector<AppendedColumn> columns = {{"cluster", &outcome.prediction.labels, {}}};
    if (command.append.distances) columns.push_back({"distance", nullptr, outcome.prediction.distances});
    command.append.write(outcome.points, columns);
  });
  add(command.predictions, [&] { write_targets(command.predictions, outcome.targets, outcome.rows_of_file(), comm); });
  return jobs;
}

// Finds the files. Each rank predicts its rows, and the first one does the rest.
void share(PredictCommand& command) {
  join_ranks();  // so that they say together what is wrong with the files
  command.data.find("predict");
  std::vector<NamedFile> inputs = {{"MODEL", command.model}};
  for (const std::string& path : command.data.all()) inputs.push_back({"DATA", path});
  command.ranks = share_rows(inputs, command.reading, command.options.threads);
  if (command.comm().rank() == 0) return;
  command.quiet = true;
  command.json = false;
}

int run(PredictCommand& command) {
  share(command);
  const bool streams = use_standard_output({{"--labels", &command.labels},
                                            {"--distances", &command.distances},
                                            {"--append", &command.append.path},
                                            {"--predictions", &command.predictions}},
                                           command.json);
  ProgressLine line(!command.quiet && !command.json);
  command.reading.threads = command.options.threads;
  command.options.distances = !command.distances.empty() || command.append.distances;
  if (command.labels.empty() && command.distances.empty() && command.predictions.empty() &&
      command.append.path.empty()) {
    throw Error(ErrorCode::kUsage, "--labels",
                "is needed, or --append, or --predictions with linear models: a file to write to");
  }
  if (!command.tree.empty() && command.options.distances) {
    throw Error(ErrorCode::kUsage, "--tree", "finds labels alone; leave it out to get distances");
  }
  check_id(command.reading, {&command.labels, &command.distances, &command.append.path}, command.ranks != nullptr);
  std::vector<std::string> inputs = command.data.all();
  inputs.push_back(command.model);
  inputs.push_back(command.tree);
  check_files({.outputs = {{"--labels", command.labels, kTableEndings},
                           {"--distances", command.distances, kTableEndings},
                           {"--append", command.append.path, kAppendEndings},
                           {"--predictions", command.predictions, kTableEndings}},
               .inputs = inputs,
               .prints = (command.json || !command.quiet) && !streams});
  check_append(command.append, command.data, command.reading, command.ranks != nullptr);
  Outcome outcome = use_model(command, line);
  outcome.warnings = warnings_of_all(command.ranks.get(), outcome.warnings);
  line.erase();
  for (const std::string& warning : outcome.warnings) warn(warning);
  OutputReport report;
  if (command.json) {
    report = {"standard output", [&](const auto&) { print_json(summary_json(command, outcome)); }};
  } else if (!command.quiet) {
    report = {streams ? "standard error" : "standard output",
              [&](const auto& written) { print_beside(streams, summary_text(command, outcome, written)); }};
  }
  defer_stop_signals();  // files appear whole or not at all
  write_outputs(output_jobs(command, outcome), report, command.ranks != nullptr);
  // And a rank that could not write is heard.
  return static_cast<int>(
      command.comm().max(defer_stop_signals() ? static_cast<int64_t>(ErrorCode::kInterrupted) : int64_t{0}));
}

}  // namespace

void add_predict_command(Program& program, int& exit_code) {
  const Command app = program.add_command("predict", "Label points, or predict targets, by a fitted model.");
  const auto command = std::make_shared<PredictCommand>();
  add_file_argument(app, "MODEL", command->model,
                    "Model file (.npz) that --model of 'manymeans fit', 'tree' or 'regress' has written.");
  bind_data_argument(app, command->data);
  app.add_option("-k,--clusters", number_into("-k,--clusters", command->k, 1),
                 "Which k of MODEL to use; required if it holds several.")
      .type_name("K")
      .group("Prediction");
  const Flag tree =
      add_file_flag(
          app, "--tree", command->tree,
          "Nodes (.npz, .parquet) that 'manymeans tree --tree' has written with MODEL: go down from the root, "
          "and compare points with the leaves below --n-probe nodes alone. For 10,000 leaves and more.")
          .group("Prediction");
  app.add_option("--n-probe", number_into("--n-probe", command->n_probe, 1),
                 "With --tree: nodes of each level that are kept, the nearest. Few are fast; many find more of the "
                 "nearest leaves.")
      .type_name("COUNT")
      .default_str("8")
      .group("Prediction")
      .needs(tree);
  const auto set_gating = [command](const std::string& text) {
    command->gating = choice_named<Gating>("--gating", text);
  };
  app.add_option("--gating", set_gating,
                 "How --predictions chooses among linear models: nearest (the model of the cluster whose mean is "
                 "nearest in scaled features), prior (the mean of all models, weighted by their clusters) or columns "
                 "(what each model predicts, a column each).")
      .type_name("NAME")
      .default_str("nearest")
      .group("Prediction");
  app.add_option("--backend,--device", command->options.backend, "Where to compute. Never changes the answer.")
      .type_name("NAME")
      .default_str("auto")
      .group("Prediction");
  app.add_option("--threads", number_into("--threads", command->options.threads, 0), "Threads; 0: all usable ones.")
      .type_name("COUNT")
      .default_str("0")
      .group("Prediction");
  bind_shard_flag(app, command->data);
  bind_read_flags(app, command->reading);
  bind_id_flag(app, command->reading, kIdOutputs);
  add_file_flag(app, "--labels", command->labels,
                "Write the labels to this .npy, .csv or .parquet file, or as csv to a pipe ('-' for standard output).")
      .group("Output");
  add_file_flag(
      app, "--distances", command->distances,
      "Write the distance of each point to its prototype to this .npy, .csv or .parquet file, or as csv to a pipe.")
      .group("Output");
  add_file_flag(
      app, "--predictions", command->predictions,
      "Write the targets that linear models predict to this .npy, .csv or .parquet file, or as csv to a pipe.")
      .group("Output");
  bind_append_flags(app, command->append, "a column 'cluster', empty for rows that were left out,");
  app.add_flag("--json", command->json, "Print one JSON object instead of a line of text.").group("Output");
  app.add_flag("--quiet", command->quiet, "Print nothing but warnings and errors.").group("Output");
  app.footer(kExamples);
  app.callback([command, &exit_code] { exit_code = run(*command); });
}

}  // namespace manymeans::cli
