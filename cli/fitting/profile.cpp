#include "fitting/profile.h"

#include "output/text_table.h"
#include "streams/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace manymeans::cli {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// For each row of the file which row of the points it is; -1: it was left out.
std::vector<int64_t> rows_of_file(const Dataset& points) {
  std::vector<int64_t> rows(static_cast<size_t>(points.view.n + std::ssize(points.dropped)));
  size_t next = 0;
  int64_t row = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool left_out = next < points.dropped.size() && points.dropped[next] == static_cast<int64_t>(i);
    next += left_out ? 1 : 0;
    rows[i] = left_out ? -1 : row++;
  }
  return rows;
}

// Which columns of the points of a table are texts of a column.
std::vector<bool> texts_of(const Dataset& table) {
  std::vector<bool> texts;
  for (const ColumnRule& rule : table.source.rules) {
    texts.insert(texts.end(), rule.categorical ? rule.categories.size() : 1, rule.categorical);
  }
  texts.resize(static_cast<size_t>(table.view.d));
  return texts;
}

struct Moments {
  double mass = 0, mean = kNone;
};

// Of the values at these places, which are no gaps.
template <class Weight>
Moments moments_of(const std::vector<double>& values, const std::vector<size_t>& places, Weight&& weight) {
  Moments found;
  double sum = 0;
  for (const size_t i : places) {
    found.mass += weight(i);
    sum += weight(i) * (values[i] - values[places[0]]);  // of small numbers, which round less
  }
  if (found.mass > 0) found.mean = values[places[0]] + sum / found.mass;
  return found;
}

ProfileTrait trait_of(const ProfileColumn& column, const std::vector<double>& weights, const ModelResult& model) {
  const auto clusters = static_cast<size_t>(model.k);
  std::vector<size_t> known;
  std::vector<std::vector<size_t>> own(clusters);
  for (size_t i = 0; i < column.values.size(); ++i) {
    if (std::isnan(column.values[i])) continue;
    known.push_back(i);
    own[model.labels[static_cast<int64_t>(i)]].push_back(i);
  }
  const auto weight = [&](size_t i) { return weights.empty() ? 1 : weights[i]; };
  const auto once = [](size_t) { return 1.0; };
  const Moments all = moments_of(column.values, known, once);
  double variance = 0;
  for (const size_t i : known) variance += std::pow(column.values[i] - all.mean, 2) / all.mass;
  ProfileTrait trait{column.name, column.is_text, moments_of(column.values, known, weight).mean, {}, {}};
  for (size_t k = 0; k < clusters; ++k) {
    trait.means.push_back(moments_of(column.values, own[k], weight).mean);
    const auto rows = static_cast<double>(own[k].size());
    const double error = std::sqrt(variance / rows * (all.mass - rows) / (all.mass - 1));
    const double z = (moments_of(column.values, own[k], once).mean - all.mean) / error;
    trait.z.push_back(own[k].empty() ? kNone : error > 0 ? z : 0);
  }
  return trait;
}

}  // namespace

std::vector<ProfileColumn> read_profile(const FitJob& job, const JobPoints& points,
                                        const std::vector<std::string>& columns) {
  const std::vector<int64_t> rows = rows_of_file(points.dataset);
  std::vector<ProfileColumn> found;
  for (const std::string& entry : columns) {
    ReadOptions reading = job.reading;
    reading.columns = {entry};
    reading.exclude = {};
    reading.weights.clear();
    reading.id.clear();
    reading.numeric_only = false;
    reading.dtype = DataType::kFloat64;
    reading.rules.missing = Missing::kDrop;
    reading.rules.one_hot = true;
    const Dataset table = job.data.read(reading);
    const std::vector<int64_t> kept = rows_of_file(table);
    if (kept.size() != rows.size()) throw Error(ErrorCode::kBadData, job.data.name(), "was changed while it was read");
    const std::vector<bool> texts = texts_of(table);
    const auto* values = static_cast<const double*>(table.view.data);
    for (int64_t j = 0; j < table.view.d; ++j) {
      const auto at = static_cast<size_t>(j);
      ProfileColumn& column = found.emplace_back();
      column.name = at < table.column_names.size() ? table.column_names[at] : column_label(table, j + 1);
      column.is_text = texts[at];
      column.values.assign(static_cast<size_t>(points.view.n), kNone);
      for (size_t i = 0; i < rows.size(); ++i) {
        if (rows[i] >= 0 && kept[i] >= 0) {
          column.values[static_cast<size_t>(rows[i])] = values[kept[i] * table.view.d + j];
        }
      }
    }
  }
  return found;
}

std::vector<ProfileTrait> profile_traits(const std::vector<ProfileColumn>& columns, const JobPoints& points,
                                         const ModelResult& model) {
  std::vector<ProfileTrait> traits;
  for (const ProfileColumn& column : columns) traits.push_back(trait_of(column, points.dataset.weights, model));
  return traits;
}

std::vector<ClusterColumn> columns_of(const std::vector<ProfileTrait>& traits) {
  std::vector<ClusterColumn> columns;
  for (const ProfileTrait& trait : traits) {
    columns.push_back({trait.is_text ? trait.name : trait.name + " (mean)", trait.means});
    if (trait.is_text) {
      ClusterColumn& lift = columns.emplace_back(ClusterColumn{trait.name + " (lift)", {}});
      for (const double mean : trait.means) lift.values.push_back(mean / trait.overall);
    }
    columns.push_back({trait.name + " (z)", trait.z});
  }
  return columns;
}

std::string profile_table(const std::vector<ProfileTrait>& traits, const ModelResult& model) {
  constexpr size_t kMax = 3;
  constexpr double kMinSurprise = 2;
  std::vector<std::vector<std::string>> rows = {{"cluster", "rows", "profile: mean or share in the cluster"}};
  for (size_t k = 0; k < model.counts.size(); ++k) {
    std::vector<const ProfileTrait*> order;
    for (const ProfileTrait& trait : traits) {
      if (std::fabs(trait.z[k]) >= kMinSurprise) order.push_back(&trait);
    }
    std::ranges::stable_sort(
        order, [k](const ProfileTrait* a, const ProfileTrait* b) { return std::fabs(a->z[k]) > std::fabs(b->z[k]); });
    order.resize(std::min(order.size(), kMax));
    std::string number = fmt::format("{}", k), count = fmt::format("{}", model.counts[k]);
    if (order.empty()) rows.push_back({number, count, "-"});
    for (const ProfileTrait* trait : order) {
      rows.push_back({std::exchange(number, ""), std::exchange(count, ""),
                      fmt::format("{}: {:.4g}, all rows {:.4g} (z {:+.1f})", printable(trait->name, Newlines::kEscaped),
                                  trait->means[k], trait->overall, trait->z[k])});
    }
  }
  return "\n" + format_table("rrl", std::move(rows));
}

}  // namespace manymeans::cli
