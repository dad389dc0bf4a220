#include "output/fit_report.h"

#include <manymeans/models_by_k.h>

#include "output/output_files.h"
#include "output/text_table.h"

#include <fmt/format.h>

namespace manymeans::cli {
namespace {

std::vector<std::string> row_of(const FitResult& result, const ModelsOfK& of, const ReportStyle& style) {
  const auto& [k, models, index] = of;
  std::vector<std::string> row = {fmt::format("{}", k), fmt::format("{}", models)};
  const auto add = [&](std::vector<std::string> cells) { row.insert(row.end(), cells.begin(), cells.end()); };
  if (index < 0) {
    row.resize(row.size() + 2 + style.columns.size(), "-");
    add({"-", "not begun", "-", "-"});
    return row;
  }
  const ModelResult& best = result.models[static_cast<size_t>(index)];
  if (best.k != k) row[0] = fmt::format("{} of {}", best.k, k);
  add({fmt::format("{}", best.seed), fmt::format("{:.7g}", best.inertia)});
  for (const ReportStyle::Column& column : style.columns) row.push_back(column.cell(static_cast<size_t>(index)));
  add({fmt::format("{}", best.iterations), std::string(name_of(best.stop_reason)), shown_duration(best.seconds),
       best.digest()});
  return row;
}

// "times: read 1.20s, fit 3.40s (passes 3.00s)"; a name such as "fit: passes" is a part of "fit".
std::string times(const Provenance& from) {
  std::vector<std::string> phases;
  std::vector<std::string> parts;
  for (const auto& [name, seconds] : from.seconds) {
    const size_t colon = name.find(": ");
    auto& list = colon == std::string::npos ? phases : parts;
    list.push_back(name.substr(colon == std::string::npos ? 0 : colon + 2) + " " + shown_duration(seconds));
  }
  const std::string out = fmt::format("times: {}", fmt::join(phases, ", "));
  return parts.empty() ? out : fmt::format("{} ({})", out, fmt::join(parts, ", "));
}

}  // namespace

ReportStyle points_style(const FitResult& result) {
  return {.rows = size_of_points(result.provenance.rows, result.provenance.columns)};
}

std::string heading_of(const std::string& data, const FitResult& result, const ReportStyle& style) {
  const Provenance& from = result.provenance;
  return fmt::format("{}: {}, {}; backend {}{}, {} thread{}\n", data, style.rows, name_of(from.type), from.backend,
                     from.instruction_set.empty() ? "" : " (" + from.instruction_set + ")", from.threads,
                     from.threads == 1 ? "" : "s");
}

std::string ending_of(const FitResult& result, const std::vector<std::string>& files) {
  return "\n" + times(result.provenance) + "\n" + lines_of(files);
}

std::string fit_report(const std::string& data, const FitResult& result, const std::vector<std::string>& files,
                       const ReportStyle& style) {
  std::string out = heading_of(data, result, style) + "\n";
  std::vector<std::string> titles = {"k", "models", "best seed", style.inertia};
  for (const ReportStyle::Column& column : style.columns) titles.push_back(column.title);
  for (const char* title : {"iterations", "stop", "time", "digest"}) titles.emplace_back(title);
  std::vector<std::vector<std::string>> rows = {titles};
  for (const ModelsOfK& of : models_by_k(result)) rows.push_back(row_of(result, of, style));
  out += format_table("rrrr" + std::string(style.columns.size(), 'r') + "rlrl", rows);
  out += style.details;
  return out + fmt::format("\ndigest of the ensemble: {}", result.digest()) + ending_of(result, files);
}

}  // namespace manymeans::cli
