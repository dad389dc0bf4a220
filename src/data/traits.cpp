// Clusters by columns that were not fitted.
#include <manymeans/error.h>
#include <manymeans/summary.h>

#include "core/all_labels.h"
#include "core/fp_environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <utility>

namespace manymeans {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Sums {
  double weight = 0, squares = 0, weighted = 0;  // of weights, of their squares, of the weighted values less their mean
  double low = INFINITY, high = -INFINITY;

  // A mean of zeros alone is no -1e-17.
  double mean(double of_all) const { return weight > 0 ? std::clamp(of_all + weighted / weight, low, high) : kNaN; }
};

// Values of the rows of the fit, one column after the other.
std::vector<std::vector<double>> columns_of(const Dataset& table, const Dataset& points, int64_t rows) {
  if (table.view.n != rows + std::ssize(points.dropped)) {
    throw Error(ErrorCode::kUsage, "profile",
                fmt::format("has {} rows, the points have {}; a value for each of them is right", table.view.n,
                            rows + std::ssize(points.dropped)));
  }
  std::vector<std::vector<double>> columns(static_cast<size_t>(table.view.d));
  const auto* values = static_cast<const double*>(table.view.data);
  auto dropped = points.dropped.begin();
  for (int64_t row = 0; row < table.view.n; ++row, values += table.view.d) {
    if (dropped != points.dropped.end() && *dropped == row) {
      ++dropped;
      continue;
    }
    for (size_t j = 0; j < columns.size(); ++j) columns[j].push_back(values[j]);
  }
  return columns;
}

// A row without any of the texts has a gap.
void leave_out_gaps(std::span<std::vector<double>> texts) {
  for (size_t row = 0; row < texts[0].size(); ++row) {
    if (std::ranges::any_of(texts, [&](const auto& text) { return text[row] == 1; })) continue;
    for (auto& text : texts) text[row] = kNaN;
  }
}

}  // namespace

ColumnOfClusters describe_column(std::span<const double> values, std::span<const uint32_t> labels,
                                 std::span<const double> weights, int64_t clusters) {
  const FpEnvironmentGuard guard;
  if (labels.size() != values.size() || (!weights.empty() && weights.size() != values.size())) {
    throw Error(ErrorCode::kUsage, "profile", "values, labels and weights must be as many");
  }
  std::vector<size_t> known;
  for (size_t row = 0; row < values.size(); ++row) {
    if (!std::isnan(values[row])) known.push_back(row);
  }
  const auto weight_of = [&](size_t row) { return weights.empty() ? 1.0 : weights[row]; };
  Sums all;
  double lowest = INFINITY, highest = -INFINITY;  // of rows that weigh something
  for (const size_t row : known) {
    if (weight_of(row) > 0) lowest = std::min(lowest, values[row]), highest = std::max(highest, values[row]);
    all.weight += weight_of(row);
    all.squares += weight_of(row) * weight_of(row);
    all.weighted += weight_of(row) * values[row];
  }
  const double mean = all.weighted / all.weight;
  std::vector<Sums> of(static_cast<size_t>(clusters));
  double variance = 0;
  for (const size_t row : known) {
    const double weight = weight_of(row), apart = values[row] - mean;
    Sums& own = of.at(labels[row]);
    own.weight += weight;
    own.squares += weight * weight;
    own.weighted += weight * apart;
    own.low = std::min(own.low, values[row]), own.high = std::max(own.high, values[row]);
    variance += weight * (apart * apart);
  }
  variance /= all.weight;
  const double rows = all.weight * all.weight / all.squares;  // of equal weight that tell as much (Kish 1965)
  ColumnOfClusters found{{mean, std::sqrt(variance)}, {}, {}};
  for (const Sums& own : of) {
    found.means.push_back(own.mean(mean));
    const double factor = own.squares / own.weight * (1 / own.weight - 2 / all.weight) + 1 / rows;
    const double error = std::sqrt(variance * std::max(0.0, factor) * rows / (rows - 1));
    const bool nothing = lowest == highest || own.weight == all.weight;
    found.surprise.push_back(own.weight == 0 ? kNaN : nothing ? 0 : own.weighted / own.weight / error);
  }
  return found;
}

ReadOptions options_of_traits(const std::vector<std::string>& columns, const ReadOptions& points) {
  ReadOptions options;
  options.format = points.format;
  options.dtype = DataType::kFloat64;
  options.columns = columns;
  options.names = points.names;
  options.rules = {.missing = Missing::kValue,
                   .missing_value = kNaN,
                   .one_hot = true,
                   .max_categories = points.rules.max_categories};
  options.decimal = points.decimal;
  options.header = points.header;
  options.threads = points.threads;
  options.memory = points.memory;
  return options;
}

std::vector<Trait> traits_of(const Dataset& columns, const Dataset& points, const ModelResult& model,
                             std::vector<std::string>& warnings) {
  const std::vector<uint32_t> labels = all_labels(model.labels);
  std::vector<std::vector<double>> values = columns_of(columns, points, model.labels.size());
  std::vector<Trait> traits;
  size_t j = 0, column = 0;
  const SourceColumns& source = columns.source;
  const auto warn_of = [&](size_t at, const char* what) {
    std::string label = column_label(columns, static_cast<int64_t>(at) + 1);
    if (!source.rules.empty() && !source.names.empty()) {  // not that of a text
      label = fmt::format("column {} ('{}')", source.numbers[column], source.names[column]);
    }
    warnings.push_back(fmt::format("{} of the profile holds {}, so no card shows it", label, what));
  };
  const auto describe = [&](bool is_text) {
    const int64_t number = source.numbers.size() == values.size() ? source.numbers[j] : static_cast<int64_t>(j) + 1;
    const std::string name = columns.column_names.empty() ? fmt::format("column {}", number) : columns.column_names[j];
    const size_t at = j++;
    const std::vector<double>& own = values[at];
    if (is_text && std::ranges::find(own, 1.0) == own.end()) return;  // a text of rows that were left out
    if (std::ranges::all_of(own, [](double value) { return std::isnan(value); })) warn_of(at, "gaps alone");
    if (std::ranges::any_of(own, [](double value) { return std::isinf(value); })) warn_of(at, "an infinity");
    traits.push_back({name, describe_column(own, labels, points.weights, model.k), is_text, column});
  };
  for (const ColumnRule& rule : source.rules) {
    const size_t before = traits.size();
    if (rule.categorical) leave_out_gaps(std::span(values).subspan(j, rule.categories.size()));
    for (size_t left = rule.categorical ? rule.categories.size() : 1; left > 0; --left) describe(rule.categorical);
    if (traits.size() == before) warn_of(j - 1, "gaps alone");
    ++column;
  }
  for (; j < values.size(); ++column) describe(false);  // a file of plain numbers has no rules
  return traits;
}

std::vector<size_t> surprising(std::span<const Trait> traits, size_t cluster) {
  std::vector<size_t> order, found, others;
  const auto size = [&](size_t at) { return std::fabs(traits[at].columns.surprise[cluster]); };
  for (size_t at = 0; at < traits.size(); ++at) {
    if (!std::isnan(size(at))) order.push_back(at);
  }
  std::ranges::stable_sort(order, std::greater<>(), size);
  std::set<size_t> columns;
  for (const size_t at : order) (columns.insert(traits[at].column).second ? found : others).push_back(at);
  for (const size_t at : others) {
    if (std::ssize(found) < kMaxApart && size(at) >= kMinSurprise) found.push_back(at);
  }
  std::ranges::stable_sort(found, std::greater<>(), size);
  return found;
}

std::string surprise_text(const Trait& trait, size_t cluster) {
  constexpr double kMaxChance = kMinSurprise - 0.05;  // what is written as "2.0" is no chance
  const auto& [all, means, surprise] = trait.columns;
  const double lift = means[cluster] / all.mean,
               apart = all.deviation > 0 ? (means[cluster] - all.mean) / all.deviation : 0;
  return (trait.is_text ? fmt::format("{:.{}f} times", lift, lift < 1 ? 2 : 1) : fmt::format("{:+.1f} sd", apart)) +
         fmt::format(", z {:+.1f}{}", surprise[cluster],
                     std::fabs(surprise[cluster]) < kMaxChance ? ": may be chance" : "");
}

}  // namespace manymeans
