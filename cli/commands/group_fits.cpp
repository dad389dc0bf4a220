#include "commands/group_fits.h"

#include <manymeans/models_by_k.h>

#include "flags/checkpoint_flags.h"
#include "flags/initial_file.h"
#include "output/cluster_report.h"
#include "output/output_files.h"
#include "output/progress_line.h"
#include "output/text_table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace manymeans::cli {
namespace {

constexpr const char* kFlag = "--group-by";
constexpr std::string_view kGroup = "{group}";  // in --model: the value of a group

// The rows of all groups, one group behind the other. Groups come in the order of their first rows.
struct GroupedTable {
  std::vector<std::string> names;
  std::vector<int64_t> groups = {0};  // offsets
  std::vector<int64_t> rows;          // of the points, from 0
  std::vector<std::byte> values;
  std::vector<double> weights;
  std::vector<size_t> fitted = {};  // the groups that have models

  PointsView view(const PointsView& points) const { return {values.data(), points.n, points.d, points.type}; }
  int64_t count(size_t group) const { return groups[group + 1] - groups[group]; }
  PointsView view_of(size_t group, const PointsView& points) const {
    const auto first = static_cast<size_t>(groups[group] * points.d) * size_of(points.type);
    return {values.data() + first, count(group), points.d, points.type};
  }
  std::span<const double> weights_of(size_t group) const {
    if (weights.empty()) return {};
    return std::span(weights).subspan(static_cast<size_t>(groups[group]), static_cast<size_t>(count(group)));
  }
};

void refuse_flags(const FitCommand& command, bool initial_file) {
  const FitJob& job = command.job;
  const std::vector<std::pair<const char*, bool>> one_fit = {{"--append", !job.append.path.empty()},
                                                             {"--report", !job.page.empty()},
                                                             {"--profile", !job.profile.empty()},
                                                             {"--init FILE", initial_file},
                                                             {"--search", command.task == FitTask::kSearch},
                                                             {"--optimal", command.task == FitTask::kOptimal},
                                                             {"--id", !job.reading.id.empty()}};
  for (const auto& [flag, given] : one_fit) {
    if (given)
      throw Error(ErrorCode::kUsage, flag, "is for one fit, and --group-by makes one of each group; leave it out");
  }
  if (!job.data.shards.empty()) {
    throw Error(ErrorCode::kUsage, "--shard", "does not go together with --group-by, whose column is read in one file");
  }
  if (job.ranks) throw Error(ErrorCode::kUsage, kFlag, "is for one process; several share the rows here");
  const size_t name = job.model.rfind('/') + 1;  // 0 without a folder
  const size_t group = job.model.find(kGroup);
  if (job.model.empty() || (group != std::string::npos && group >= name)) return;
  throw Error(
      ErrorCode::kUsage, "--model",
      fmt::format("is '{}'; with --group-by its file name, not its folder, needs {{group}} in the place of each "
                  "group's value: model-{{group}}.npz",
                  job.model));
}

// A file for the model of each group, in one folder. Bytes that are no letters, digits, '-', '_' or '.' become %2F
// and so on, an empty value %. So no value leaves the folder, and no two values share a file.
std::string model_path(const std::string& pattern, const std::string& group) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
  std::string value = group.empty() ? "%" : "";
  for (const char c : group) {
    value += kPlain.find(c) != kPlain.npos ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  std::string path = pattern;
  for (size_t at = path.find(kGroup); at != path.npos; at = path.find(kGroup, at + value.size())) {
    path.replace(at, kGroup.size(), value);
  }
  return path;
}

void check_models(const FitJob& job, const GroupedTable& table) {
  CommandFiles files = files_of(job);
  files.outputs.erase(files.outputs.begin());
  for (const std::string& name : table.names) {
    files.outputs.push_back({"--model", model_path(job.model, name), {".npz"}});
  }
  check_files(files);
}

void write_models(const FitJob& job, const JobPoints& points, const GroupedTable& table, const EachResult& result) {
  size_t failed = 0;
  std::optional<Error> first;
  for (const size_t g : table.fitted) {
    try {
      save_model(model_path(job.model, table.names[g]), result.fits[g], points.scaling, points.dataset.column_names,
                 points.dataset.source);
    } catch (const Error& error) {
      ++failed;
      if (!first) first = error;
    }
  }
  if (!first) return;
  throw Error(
      first->code(), "--model",
      fmt::format("{} of {} model files were not written; the first: {}", failed, table.fitted.size(), first->what()));
}

// The number of each row's group.
std::vector<size_t> groups_of_rows(const Dataset& data, std::vector<std::string>& names) {
  std::unordered_map<std::string_view, size_t> known;
  std::vector<size_t> found;
  auto dropped = data.dropped.begin();
  for (int64_t row = 0; row < std::ssize(data.ids); ++row) {
    if (dropped != data.dropped.end() && *dropped == row) {
      ++dropped;
      continue;
    }
    const std::string& name = data.ids[static_cast<size_t>(row)];
    const auto [at, is_new] = known.emplace(name, names.size());
    if (is_new) names.push_back(name);
    found.push_back(at->second);
  }
  return found;
}

GroupedTable group_rows(const JobPoints& points) {
  GroupedTable table;
  const std::vector<size_t> group_of = groups_of_rows(points.dataset, table.names);
  table.groups.resize(table.names.size() + 1);
  for (const size_t group : group_of) ++table.groups[group + 1];
  for (size_t g = 1; g < table.groups.size(); ++g) table.groups[g] += table.groups[g - 1];
  std::vector<int64_t> next(table.groups.begin(), table.groups.end() - 1);
  const size_t row_bytes = static_cast<size_t>(points.view.d) * size_of(points.view.type);
  const std::vector<double>& weights = points.dataset.weights;
  table.rows.resize(group_of.size());
  table.values.resize(points.view.bytes());
  table.weights.resize(weights.size());
  const auto* from = static_cast<const std::byte*>(points.view.data);
  for (size_t row = 0; row < group_of.size(); ++row) {
    const auto to = static_cast<size_t>(next[group_of[row]]++);
    table.rows[to] = static_cast<int64_t>(row);
    std::memcpy(table.values.data() + to * row_bytes, from + row * row_bytes, row_bytes);
    if (!weights.empty()) table.weights[to] = weights[row];
  }
  return table;
}

// "[points] row 3, ..." speaks of a row of the group, and for users of the file.
Error about_group(const ProblemError& error, const GroupedTable& table) {
  const auto group = static_cast<size_t>(error.problem());
  long long row = 0;
  int end = 0;
  if (std::sscanf(error.text(), "[points] row %lld%n", &row, &end) == 1) {
    const int64_t of_table = table.rows[static_cast<size_t>(table.groups[group] + row - 1)];
    return {error.code(), "points", fmt::format("row {}{}", of_table + 1, error.text() + end)};
  }
  return {error.code(), kFlag, fmt::format("group '{}': {}", table.names[group], error.text())};
}

bool has_models(const FitResult& fit) {
  return !fit.models.empty() && std::ranges::all_of(models_by_k(fit), [](const ModelsOfK& of) { return of.best >= 0; });
}

// Finds the groups that have models. If a signal came before others began, their rows are left out as rows of gaps are.
void find_fitted(GroupedTable& table, EachResult& result, Dataset& data) {
  std::vector<int64_t> number(table.rows.size(), -1);  // of the rows that have labels
  for (size_t g = 0; g < result.fits.size(); ++g) {
    if (!has_models(result.fits[g])) continue;
    table.fitted.push_back(g);
    for (int64_t i = table.groups[g]; i < table.groups[g + 1]; ++i) {
      number[static_cast<size_t>(table.rows[static_cast<size_t>(i)])] = 0;
    }
  }
  if (table.fitted.size() == result.fits.size()) return;
  const std::string when =
      fmt::format("stopped when {} of {} groups had models", table.fitted.size(), table.names.size());
  if (table.fitted.empty()) throw Error(ErrorCode::kInterrupted, "interrupted", when + "; no output was written");
  result.warnings.push_back(when + "; the outputs have these");
  std::vector<int64_t> dropped;
  int64_t labelled = 0;
  auto row = number.begin();
  auto gap = data.dropped.begin();
  for (int64_t at = 0; at < std::ssize(data.ids); ++at) {
    const bool is_gap = gap != data.dropped.end() && *gap == at;
    if (is_gap || *row < 0) {
      dropped.push_back(at);
    } else {
      *row = labelled++;
    }
    is_gap ? void(++gap) : void(++row);
  }
  for (int64_t& of_points : table.rows) of_points = number[static_cast<size_t>(of_points)];
  data.dropped = std::move(dropped);
}

// As if one fit had made the labels, in the order of the points.
FitResult joined_labels(const GroupedTable& table, const EachResult& result) {
  FitResult joined;
  int64_t count = 0;
  for (const size_t g : table.fitted) count += table.count(g);
  std::vector<uint32_t> labels(static_cast<size_t>(count));
  for (const ModelsOfK& of : models_by_k(result.fits[table.fitted[0]])) {
    for (const size_t g : table.fitted) {
      const FitResult& fit = result.fits[g];
      const Labels& mine = fit.models[static_cast<size_t>(fit.best(of.k))].labels;
      for (int64_t i = 0; i < mine.size(); ++i) {
        labels[static_cast<size_t>(table.rows[static_cast<size_t>(table.groups[g] + i)])] = mine[i];
      }
    }
    ModelResult& model = joined.models.emplace_back();
    model.k = model.k_requested = of.k;
    model.stop_reason = StopReason::kMaxIter;  // it has begun
    model.labels = Labels(std::ssize(labels), of.k);
    model.labels.write(0, std::ssize(labels), labels.data());
  }
  return joined;
}

void write_group_labels(const FitJob& job, const JobPoints& points, const FitResult& joined) {
  FileRows rows = file_rows(points.dataset);
  if (job.labels.ends_with(".npy")) rows.ids = {};  // which has no place for them
  write_labels(job.labels, joined, self_comm(), rows);
}

void write_summaries(const FitCommand& command, const JobPoints& points, const GroupedTable& table,
                     const EachResult& result) {
  const FitOptions& options = command.options;
  std::vector<ClusterReport> reports;
  for (const size_t g : table.fitted) {
    const FitResult& fit = result.fits[g];
    const ModelResult& model = fit.models[static_cast<size_t>(fit.best(options.k[0]))];
    ClusterReport& report = reports.emplace_back();
    report.summary = summarise(table.view_of(g, points.view), table.weights_of(g), model,
                               {points.scaling, options.threads, options.memory.bytes, options.metric});
    report.group = table.names[g];
    report.k = model.k_requested;
    report.seed = model.seed;
    report.columns = names_of_columns(points);
  }
  write_clusters(command.job.summary, reports, points.dataset.id_name);
}

std::string table_of(const GroupedTable& table, const EachResult& result) {
  std::vector<std::vector<std::string>> cells = {
      {"group", "rows", "k", "best seed", "inertia", "iterations", "digest"}};
  for (const size_t g : table.fitted) {
    for (const ModelsOfK& of : models_by_k(result.fits[g])) {
      const ModelResult& best = result.fits[g].models[static_cast<size_t>(of.best)];
      cells.push_back({table.names[g], fmt::format("{}", table.count(g)), fmt::format("{}", best.k),
                       fmt::format("{}", best.seed), fmt::format("{:.7g}", best.inertia),
                       fmt::format("{}", best.iterations), best.digest()});
    }
  }
  return format_table("lrrrrrl", cells);
}

// Each group has the object of a fit. To parse their texts would take several times their size in memory.
std::string json_of(const GroupedTable& table, const EachResult& result, const std::vector<std::string>& warnings,
                    const std::string& model) {
  using Json = nlohmann::ordered_json;
  const auto dump = [](const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); };
  std::string text = "{\"warnings\": " + dump(warnings) + ",\n\"groups\": [";
  for (const size_t g : table.fitted) {
    text += fmt::format("{}\n{{\n  \"group\": {},", g == table.fitted[0] ? "" : ",", dump(table.names[g]));
    if (!model.empty()) text += fmt::format("\n  \"model_file\": {},", dump(model_path(model, table.names[g])));
    text.append(to_json(result.fits[g]).substr(1));
  }
  return text + "\n]}";
}

std::string heading_of(const std::string& data, const JobPoints& points, const GroupedTable& table) {
  return fmt::format("{}: {}, {} group{} by '{}'\n\n", data, size_of_points(points.view.n, points.view.d),
                     table.names.size(), table.names.size() == 1 ? "" : "s", file_rows(points.dataset).id_name);
}

JobPoints read_groups(FitJob& job, const std::string& column, const FitOptions& options, ProgressLine& line) {
  if (is_sparse_file(job.data.path, job.reading)) {
    throw Error(ErrorCode::kUsage, kFlag,
                fmt::format("{} is a sparse matrix, in which no column names groups; a table is right", job.data.path));
  }
  job.reading.id = column;
  try {
    JobPoints points = read_job_points(job, options, line);
    if (points.dataset.id_name.empty()) points.dataset.id_name = "column " + column;  // a number, where it has no name
    return points;
  } catch (const Error& error) {
    constexpr std::string_view kId = "[id] ";
    const std::string text = error.what();
    if (!text.starts_with(kId)) throw;
    throw Error(error.code(), kFlag, text.substr(kId.size()));
  }
}

EachResult fit_groups(const FitCommand& command, const JobPoints& points, const GroupedTable& table,
                      ProgressLine& line) {
  EachOptions options;
  static_cast<FitOptions&>(options) = command.options;
  EachResult result;
  run_job(command.job, options, points, line, [&](FitHooks hooks) {
    hooks.labels = LabelsOf::kBest;
    try {
      result = fit_each(table.view(points.view), table.weights, table.groups, options, hooks);
    } catch (const ProblemError& error) {
      throw about_group(error, table);
    }
  });
  return result;
}

// With those of some groups. JSON has all, each in the object of its group.
std::vector<std::string> warnings_of(const JobPoints& points, const GroupedTable& table, const EachResult& result) {
  constexpr size_t kMaxOfGroups = 5;
  std::vector<std::string> warnings = points.dataset.warnings;
  warnings.insert(warnings.end(), result.warnings.begin(), result.warnings.end());
  size_t count = 0;
  for (const size_t g : table.fitted) {
    for (const std::string& text : result.fits[g].warnings) {
      if (++count <= kMaxOfGroups) warnings.push_back(fmt::format("group '{}': {}", table.names[g], text));
    }
  }
  if (count > kMaxOfGroups) {
    warnings.push_back(fmt::format("{} more warnings of groups; --json has all", count - kMaxOfGroups));
  }
  return warnings;
}

}  // namespace

int run_group_fits(FitCommand& command, const std::string& column) {
  FitJob& job = command.job;
  share_job(command.name, job, command.options);
  check(static_cast<const FitOptions&>(command.options));
  std::vector<std::string> inits;
  for (const Choice& method : build_info().inits) inits.push_back(method.name);
  refuse_flags(command, names_initial_file(command.options.init, inits));
  check_job(job, command.options, false);
  ProgressLine line(!job.quiet && !job.json);
  if (!job.quiet) announce_resuming(job.checkpoint);
  JobPoints points = read_groups(job, column, command.options, line);
  GroupedTable table = group_rows(points);
  if (!job.model.empty()) check_models(job, table);
  EachResult result = fit_groups(command, points, table, line);
  line.erase();
  if (result.interrupted && !job.quiet) announce_going_on(job.checkpoint);
  find_fitted(table, result, points.dataset);
  const std::vector<std::string> warnings = warnings_of(points, table, result);
  write_job(job, warnings,
            {.model = [&] { write_models(job, points, table, result); },
             .labels = [&] { write_group_labels(job, points, joined_labels(table, result)); },
             .summary = [&] { write_summaries(command, points, table, result); },
             .json = [&] { return json_of(table, result, warnings, job.model); },
             .report =
                 [&](const std::vector<std::string>& files) {
                   return heading_of(job.data.name(), points, table) + table_of(table, result) + lines_of(files);
                 }});
  return end_job(job, result.interrupted);
}

}  // namespace manymeans::cli
