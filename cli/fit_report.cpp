#include "fit_report.h"

#include "progress_line.h"
#include "text_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace manymeans::cli {
namespace {

// The values of k that were asked for, each once, in order.
std::vector<int64_t> requested_k(const FitResult& result) {
  std::vector<int64_t> ks;
  for (const ModelResult& model : result.models) {
    if (std::ranges::find(ks, model.k_requested) == ks.end()) ks.push_back(model.k_requested);
  }
  return ks;
}

std::vector<std::string> row_of(const FitResult& result, int64_t k) {
  const int64_t models =
      std::ranges::count_if(result.models, [&](const ModelResult& model) { return model.k_requested == k; });
  const int64_t index = result.best(k);
  if (index < 0) return {fmt::format("{}", k), fmt::format("{}", models), "-", "-", "-", "not begun", "-", "-"};
  const ModelResult& best = result.models[static_cast<size_t>(index)];
  return {best.k == k ? fmt::format("{}", k) : fmt::format("{} of {}", best.k, k),
          fmt::format("{}", models),
          fmt::format("{}", best.seed),
          fmt::format("{:.7g}", best.inertia),
          fmt::format("{}", best.iterations),
          std::string(name_of(best.stop_reason)),
          shown_duration(best.seconds),
          best.digest()};
}

}  // namespace

std::string fit_report(const std::string& data, const FitResult& result, const std::vector<std::string>& files) {
  const Provenance& from = result.provenance;
  std::string out = fmt::format("{}: {} points of {} columns, {}; backend {}{}, {} thread{}\n\n", data, from.rows,
                                from.columns, name_of(from.type), from.backend,
                                from.instruction_set.empty() ? "" : " (" + from.instruction_set + ")", from.threads,
                                from.threads == 1 ? "" : "s");
  std::vector<std::vector<std::string>> rows;
  for (const int64_t k : requested_k(result)) rows.push_back(row_of(result, k));
  out +=
      format_table({"k", "models", "best seed", "inertia", "iterations", "stop", "time", "digest"}, "rrrrrlrl", rows);
  out += fmt::format("\ndigest of all {} models: {}\n", result.models.size(), result.digest());
  out += "times:";
  for (const auto& [phase, seconds] : from.seconds) out += fmt::format(" {} {}", phase, shown_duration(seconds));
  out += "\n";
  for (const std::string& file : files) out += fmt::format("wrote {}\n", file);
  return out;
}

}  // namespace manymeans::cli
