// The page: its parts in their order, the summary of the run, and the style of all.
#include <manymeans/report.h>
#include <manymeans/tree.h>

#include "core/fp_environment.h"
#include "core/mapped_range.h"
#include "report/markup.h"
#include "report/page_style.h"
#include "report/parts.h"
#include "report/shown_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <type_traits>

namespace manymeans {
namespace report {
namespace {

using Rows = std::vector<std::vector<std::string>>;

template <class T>
std::string option_text(const T& value) {
  if constexpr (std::is_enum_v<T> || std::is_same_v<T, ByteSize>) {
    return std::string(name_of(value));
  } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
    return fmt::format("{}", fmt::join(value, ", "));
  } else {
    return fmt::format("{}", value);
  }
}
std::string option_text(const std::optional<uint64_t>& value) {
  return value ? fmt::format("{}", *value) : "none";
}

// "3 clusters of penguins.csv", and without a name "3 clusters".
std::string title_of(const ShownModel& shown) {
  const std::string clusters = counted(shown.k(), "cluster");
  return shown.input.name.empty() ? clusters : clusters + " of " + shortened(shown.input.name, 80);
}

std::string headline(const ShownModel& shown) {
  const ReportInput& input = shown.input;
  const Provenance& from = shown.fit.provenance;
  std::string text = fmt::format("<h1>{}</h1>\n<p class=\"lead\">", escaped(title_of(shown)));
  text += fmt::format("{} of {}. ", counted(from.rows, "row"), counted(from.columns, "column"));
  if (input.chosen != nullptr) {
    const bool clear = input.chosen->status != ChoiceStatus::kUnclear;
    const std::string answer = clear ? fmt::format("k = {}", input.chosen->k) : input.chosen->answer;
    text += fmt::format("{}<strong>{}</strong>: {}. ", clear ? "Recommended: " : "The answer: ", answer,
                        escaped(input.chosen->reason));
  }
  return text + fmt::format("This page shows the best model of k = {}.</p>\n", shown.model.k_requested);
}

std::string warnings_part(const FitResult& fit) {
  constexpr size_t kMax = 20;
  std::string items;
  for (size_t i = 0; i < std::min(fit.warnings.size(), kMax); ++i) {
    items += "<li>" + escaped(shortened(fit.warnings[i], 400)) + "</li>\n";
  }
  if (fit.warnings.size() > kMax) items += fmt::format("<li>and {} more</li>\n", fit.warnings.size() - kMax);
  if (fit.interrupted) items += "<li>The run ended early; the page shows what there was by then.</li>\n";
  return items.empty() ? "" : "<div class=\"warn\"><strong>Warnings</strong><ul>" + items + "</ul></div>\n";
}

std::string run_part(const ShownModel& shown) {
  const FitResult& fit = shown.fit;
  const Provenance& from = fit.provenance;
  Rows rows = {{"inertia", fmt::format("{:.7g}", shown.model.inertia)},
               {"seed", fmt::format("{}", shown.model.seed)},
               {"digest of the model", shown.digest_of(shown.model)},
               shown.input.tree != nullptr ? std::vector<std::string>{"digest of the tree", shown.input.tree_digest}
                                           : std::vector<std::string>{"digest of the ensemble", shown.digest_of_all()},
               {"models", fmt::format("{}", fit.models.size())},
               {"iterations, stop", fmt::format("{}, {}", shown.model.iterations, name_of(shown.model.stop_reason))},
               {"points", fmt::format("{} x {}, {}", from.rows, from.columns, name_of(from.type))},
               {"scaling", std::string(name_of(shown.input.scaling.kind))},
               {"version", from.version}};
  if (const std::string logs = shown.logs(); !logs.empty()) rows.push_back({"logarithms", logs});
  if (from.threads > 0) {  // else the fit was loaded, and nothing is known of its run
    rows.push_back({"backend", from.backend + (from.instruction_set.empty() ? "" : " (" + from.instruction_set + ")")});
    rows.push_back({"threads", fmt::format("{}", from.threads)});
    rows.push_back({"passes over the points", fmt::format("{}", from.passes)});
  }
  if (shown.input.times) {
    for (const auto& [phase, seconds] : from.seconds) rows.push_back({"time, " + phase, shown_duration(seconds)});
  }
  Rows options;
  const auto add = [&](const OptionInfo& info, const auto& value) {
    const bool known = from.threads > 0 || decides_the_answer(info.name);
    if (known) options.push_back({info.name, shortened(option_text(value), 200)});
  };
  if (const RegressResult* lines = shown.input.regression) {
    RegressOptions all = lines->options;
    static_cast<FitOptions&>(all) = from.options;
    for_each_regress_option(all, add);
    options.push_back({"degree", fmt::format("{}", lines->terms.degree)});
    if (lines->terms.degree > 1) options.push_back({"products", fmt::format("{}", lines->terms.products)});
  } else if (shown.input.tree != nullptr) {
    for_each_tree_option(*shown.input.tree, add);
  } else {
    for_each_option(from.options, add);
  }
  return section("Run", "The digest is the same for equal answers, on every machine.",
                 table({"", ""}, rows, 2) + folded("All options", table({"option", "value"}, options, 2)));
}

std::string without_points(const ShownModel& shown) {
  if (shown.has_points() || shown.input.regression != nullptr) return {};
  return "<p class=\"note\">The points were not given, so that centroids, silhouettes and rows are not shown.</p>\n";
}

std::string body_of(const ShownModel& shown) {
  return headline(shown) + sentences_part(shown) + cards_part(shown) + warnings_part(shown.fit) +
         without_points(shown) + criteria_part(shown.input) + sizes_part(shown) +
         (shown.input.regression != nullptr ? models_part(shown) : map_part(shown)) + heat_map_part(shown) +
         silhouettes_part(shown) + parallel_part(shown) + tree_part(shown) + agreement_part(shown) +
         search_part(shown) + members_part(shown) +
         folded("Details of the run", centroids_part(shown) + passes_part(shown) + run_part(shown));
}

constexpr std::string_view kHead =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n";

}  // namespace
}  // namespace report

std::string html_report(const ReportInput& input) {
  const FpEnvironmentGuard guard;
  const report::ShownModel shown(input);
  const std::string style = fmt::format("<style>\n{}</style>\n", report::kPageStyle);
  const std::string body = "<div class=\"manymeans\"><main>\n" + report::body_of(shown) + "</main></div>\n";
  if (input.points.data != nullptr) check_mapped(input.points.data);
  if (!input.whole) return style + body;
  return fmt::format("{}<title>{}</title>\n{}</head>\n<body>\n{}</body>\n</html>\n", report::kHead,
                     report::escaped(report::title_of(shown)), style, body);
}

}  // namespace manymeans
