#include "report/shown_model.h"

#include <manymeans/criteria.h>
#include <manymeans/error.h>

#include "core/all_labels.h"
#include "core/data_type.h"
#include "core/random.h"
#include "core/threads.h"
#include "data/gather.h"
#include "data/input.h"
#include "engine/criteria_of_input.h"
#include "report/chart.h"
#include "report/markup.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <queue>
#include <utility>

namespace manymeans::report {
namespace {

const FitResult& fit_of(const ReportInput& input) {
  if (input.fit == nullptr || input.fit->models.empty()) {
    throw Error(ErrorCode::kUsage, "report", "there are no models to report of");
  }
  return *input.fit;
}

size_t shown_index(const ReportInput& input) {
  const int64_t first = input.chosen != nullptr ? input.chosen->k : input.fit->models[0].k_requested;
  const int64_t best = input.fit->best(input.k > 0 ? input.k : first);
  if (best < 0) throw Error(ErrorCode::kInterrupted, "report", "there is nothing to report: no model had begun");
  return static_cast<size_t>(best);
}

// The rows with the least random numbers, of each of some groups.
class LeastRows {
 public:
  LeastRows(size_t groups, int64_t most) : groups_(groups), most_(static_cast<size_t>(most)) {}
  void add(size_t group, uint64_t number, int64_t row) {
    auto& least = groups_[group];
    if (least.size() < most_) {
      least.emplace(number, row);
    } else if (most_ > 0 && std::pair(number, row) < least.top()) {
      least.pop();
      least.emplace(number, row);
    }
  }
  std::vector<int64_t> take(size_t group) {
    std::vector<int64_t> rows;
    for (auto& least = groups_[group]; !least.empty(); least.pop()) rows.push_back(least.top().second);
    std::ranges::sort(rows);
    return rows;
  }

 private:
  std::vector<std::priority_queue<std::pair<uint64_t, int64_t>>> groups_;
  size_t most_;
};

// Draw 0 of this purpose is the sample of criteria().
uint64_t number_of(uint64_t seed, int64_t row) {
  constexpr uint32_t kDraw = 1;
  return random_u64(seed, static_cast<uint64_t>(row), kDraw, Purpose::kCriterionRow);
}

}  // namespace

std::string centroid_text(const ModelSummary& summary, int64_t k, int64_t j) {
  return value_text(summary.centroids.at(k, j), summary.columns[static_cast<size_t>(j)].deviation, 6);
}

std::vector<int64_t> compared_rows(const Labels& labels) {
  return spread_rows(labels.size(), std::min(labels.size(), kMaxCompared));
}

std::vector<int64_t> labels_at(const Labels& labels, const std::vector<int64_t>& rows) {
  std::vector<int64_t> found;
  found.reserve(rows.size());
  for (const int64_t row : rows) found.push_back(labels[row]);
  return found;
}

std::vector<const ModelResult*> begun_models(const FitResult& fit, int64_t k) {
  std::vector<const ModelResult*> models;
  for (const ModelResult& model : fit.models) {
    if (model.k_requested == k && !model.labels.empty()) models.push_back(&model);
  }
  std::ranges::stable_sort(models, {}, &ModelResult::inertia);
  return models;
}

std::vector<const ModelResult*> best_models(const FitResult& fit) {
  std::map<int64_t, const ModelResult*> best;
  for (const ModelResult& model : fit.models) {
    if (model.labels.empty()) continue;
    const ModelResult*& known = best[model.k_requested];
    if (known == nullptr || model.inertia < known->inertia) known = &model;
  }
  std::vector<const ModelResult*> models;
  for (const auto& [k, model] : best) models.push_back(model);
  return models;
}

ShownModel::ShownModel(const ReportInput& given)
    : input(given), fit(fit_of(given)), model(fit.models[shown_index(given)]), index(shown_index(given)) {
  const double all = std::accumulate(model.weights.begin(), model.weights.end(), 0.0);
  for (const double weight : model.weights) shares.push_back(all > 0 ? weight / all : 0);
  clusters.resize(shares.size());
  std::iota(clusters.begin(), clusters.end(), size_t{0});
  std::ranges::stable_sort(clusters, [&](size_t a, size_t b) { return shares[a] > shares[b]; });
  rank.resize(clusters.size());
  for (size_t i = 0; i < clusters.size(); ++i) rank[clusters[i]] = i;
  if (clusters.size() > kMaxClusters) clusters.resize(kMaxClusters);
  const auto d = static_cast<size_t>(model.prototypes.columns());
  for (size_t j = 0; j < d; ++j) {
    columns.push_back(j < input.column_names.size() ? input.column_names[j] : fmt::format("column {}", j + 1));
  }
  short_names = shortened_apart(columns, kMaxLetters);
  if (input.points.data != nullptr) read_points();
}

void ShownModel::read_points() {
  if (input.points.n != model.labels.size() || input.points.d != model.prototypes.columns()) {
    throw Error(ErrorCode::kUsage, "points",
                fmt::format("are {} rows of {} columns, the model is of {} rows of {} columns", input.points.n,
                            input.points.d, model.labels.size(), model.prototypes.columns()));
  }
  const Metric metric = fit.provenance.options.metric;
  summary = summarise(input.points, input.weights, model,
                      {.scaling = input.scaling, .threads = input.threads, .metric = metric});
  choose_columns();
  if (metric != Metric::kEuclidean) return;  // what follows draws rows as they are
  const std::vector<uint32_t> labels = all_labels(model.labels);
  LeastRows least(1, kMaxDots);
  for (int64_t row = 0; row < input.points.n; ++row) least.add(0, number_of(model.seed, row), row);
  dots.rows = least.take(0);
  for (const int64_t row : dots.rows) dots.cluster.push_back(labels[static_cast<size_t>(row)]);
  dot_values = gather_rows(input.points, dots.rows);
  find_bands(labels);
}

// Those in which clusters differ most: by the sum of the squared differences, each cluster as heavy as it is.
void ShownModel::choose_columns() {
  std::vector<double> apartness(columns.size());
  for (size_t k = 0; k < shares.size(); ++k) {
    for (size_t j = 0; j < columns.size(); ++j) {
      const double difference = summary->differences.at(static_cast<int64_t>(k), static_cast<int64_t>(j));
      if (shares[k] > 0) apartness[j] += shares[k] * difference * difference;
    }
  }
  apart.resize(columns.size());
  std::iota(apart.begin(), apart.end(), size_t{0});
  std::ranges::stable_sort(apart, [&](size_t a, size_t b) { return apartness[a] > apartness[b]; });
  if (apart.size() > kMaxColumns) apart.resize(kMaxColumns);
  std::ranges::sort(apart);
}

void ShownModel::find_bands(const std::vector<uint32_t>& labels) {
  constexpr int64_t kMaxWork = int64_t{2'000'000'000};  // rows times clusters times columns
  const int64_t work = model.k * input.points.d * std::ssize(clusters);
  band_rows = std::clamp<int64_t>(kMaxWork / std::max<int64_t>(1, work), 50, kMaxBandRows);
  std::vector<size_t> place(shares.size(), clusters.size());
  for (size_t i = 0; i < clusters.size(); ++i) place[clusters[i]] = i;
  LeastRows least(clusters.size(), band_rows);
  for (size_t row = 0; row < labels.size(); ++row) {
    const size_t at = place[labels[row]];
    if (at < clusters.size())
      least.add(at, number_of(model.seed, static_cast<int64_t>(row)), static_cast<int64_t>(row));
  }
  std::vector<int64_t> rows;
  std::vector<size_t> begins;
  for (size_t i = 0; i < clusters.size(); ++i) {
    begins.push_back(rows.size());
    const std::vector<int64_t> own = least.take(i);
    rows.insert(rows.end(), own.begin(), own.end());
  }
  begins.push_back(rows.size());
  ThreadPool pool(thread_count(input.threads));
  const Input prepared = prepare_input(input.points, {}, pool);
  const std::vector<double> all = squared_silhouettes(prepared, labels, rows, pool);
  if (all.empty() || std::isnan(all[0])) return;  // all rows are in one cluster
  for (size_t i = 0; i < clusters.size(); ++i) {
    bands.emplace_back(all.begin() + static_cast<int64_t>(begins[i]),
                       all.begin() + static_cast<int64_t>(begins[i + 1]));
    std::ranges::sort(bands.back(), std::greater<>());
  }
}

std::string ShownModel::which_clusters() const {
  if (clusters.size() == shares.size())
    return shares.size() == 1 ? "the only cluster" : fmt::format("all {} clusters", shares.size());
  return fmt::format("the {} largest of {} clusters", clusters.size(), counted(std::ssize(shares)));
}

std::string ShownModel::which_columns() const {
  if (apart.size() == columns.size())
    return columns.size() == 1 ? "the only column" : fmt::format("all {} columns", columns.size());
  return fmt::format("the {} of {} columns in which clusters differ most", apart.size(), counted(std::ssize(columns)));
}

std::string ShownModel::colour(size_t cluster) const {
  return colour_of(rank[cluster]);
}

std::string ShownModel::digest_of(const ModelResult& one) const {
  const auto at = static_cast<size_t>(&one - fit.models.data());
  return at < input.digests.size() ? input.digests[at] : one.digest();
}

std::string ShownModel::digest_of_all() const {
  return input.digests.empty() ? fit.digest() : combined_digest(input.digests);
}

double ShownModel::in_units(double value, size_t column) const {
  const Scaling& scaling = input.scaling;
  return scaling.offset.empty() ? value : value * scaling.divisor[column] + scaling.offset[column];
}

std::string ShownModel::logs() const {
  std::vector<std::string> names;
  for (size_t j = 0; j < columns.size(); ++j) {
    if (input.scaling.has_log(j)) names.push_back(input.scaling.name(columns[j], j));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string ShownModel::units() const {
  const bool by_angle = fit.provenance.options.metric != Metric::kEuclidean;
  return by_angle || input.scaling.kind == Scale::kUnit ? "of rows of length one" : "in original units";
}

std::string ShownModel::about_logs() const {
  if (!summary || summary->logs.empty()) return {};
  return fmt::format(" Means are geometric where the fit took a logarithm: {}.", logs());
}

}  // namespace manymeans::report
