#include "output/consensus_report.h"

#include "output/model_description.h"
#include "output/text_table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace manymeans::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMaxClusters = 20;  // in the table; the JSON has all

// Agreement for the rows of each cluster, and for all rows.
struct Agreement {
  std::vector<double> mean;  // NaN where there are no rows
  double mean_of_all = 0;
  int64_t unanimous = 0;
};

Agreement agreement_of(const Consensus& found) {
  std::vector<int64_t> votes(found.counts.size());
  Agreement result;
  int64_t all = 0;
  for (int64_t row = 0; row < found.labels.size(); ++row) {
    const int64_t its = found.votes[row];
    votes[found.labels[row]] += its;
    all += its;
    result.unanimous += its == found.members;
  }
  const auto share = [&](int64_t count, int64_t rows) {
    return static_cast<double>(count) / (static_cast<double>(rows) * static_cast<double>(found.members));
  };
  for (size_t k = 0; k < votes.size(); ++k) result.mean.push_back(share(votes[k], found.counts[k]));
  result.mean_of_all = share(all, found.labels.size());
  return result;
}

std::string percent(double share) {
  return fmt::format("{:.4g} %", 100 * share);
}

std::string text_of_clusters(const Consensus& found, const Agreement& agreement) {
  std::vector<std::vector<std::string>> rows = {{"cluster", "rows", "share", "agreement"}};
  for (size_t k = 0; k < found.counts.size() && k < kMaxClusters; ++k) {
    const double share = static_cast<double>(found.counts[k]) / static_cast<double>(found.labels.size());
    rows.push_back({std::to_string(k), std::to_string(found.counts[k]), percent(share),
                    found.counts[k] > 0 ? percent(agreement.mean[k]) : "-"});
  }
  std::string out = format_table("rrrr", rows);
  if (std::ssize(found.counts) > kMaxClusters) {
    out += fmt::format("... and {} more; --json has all\n", std::ssize(found.counts) - kMaxClusters);
  }
  return out;
}

}  // namespace

std::string consensus_text(const ConsensusReport& report) {
  const Consensus& found = report.found;
  const Agreement agreement = agreement_of(found);
  std::string out = fmt::format("{}: {}, k = {}, {} models\n\n", report.data,
                                size_of_points(report.rows, report.columns), found.counts.size(), found.members) +
                    text_of_clusters(found, agreement);
  out += fmt::format("\nagreement: {} of the votes; all models agree on {} of {} points ({})\n",
                     percent(agreement.mean_of_all), agreement.unanimous, found.labels.size(),
                     percent(static_cast<double>(agreement.unanimous) / static_cast<double>(found.labels.size())));
  if (!std::isnan(found.mean_between)) {
    out +=
        fmt::format("between models: adjusted Rand index {:.4f} on average; {} of {} pairs of points are ambiguous\n",
                    found.mean_between, percent(found.ambiguous), found.pairs);
  }
  return out + fmt::format("digest {}\n", found.digest());
}

std::string consensus_json(const ConsensusReport& report) {
  const Consensus& found = report.found;
  const Agreement agreement = agreement_of(found);
  const auto path = [](const std::string& name) { return name.empty() ? Json(nullptr) : Json(name); };
  Json clusters = Json::array(), between = Json::array();
  for (const double mean : agreement.mean) clusters.push_back(json_number(mean));
  const auto members = static_cast<std::ptrdiff_t>(found.members);
  for (auto row = found.between.begin(); row != found.between.end(); row += members) {
    between.push_back(std::vector<double>(row, row + members));
  }
  return text_of({{"n_rows", report.rows},
                  {"n_columns", report.columns},
                  {"k", found.counts.size()},
                  {"method", report.method},
                  {"models", found.members},
                  {"counts", found.counts},
                  {"agreement", agreement.mean_of_all},
                  {"agreement_of_clusters", std::move(clusters)},
                  {"unanimous", agreement.unanimous},
                  {"pairs", found.pairs},
                  {"mean_between", json_number(found.mean_between)},
                  {"ambiguous", json_number(found.ambiguous)},
                  {"between", std::move(between)},
                  {"digest", found.digest()},
                  {"labels", path(report.labels)},
                  {"agreement_file", path(report.agreement)},
                  {"warnings", report.warnings}});
}

}  // namespace manymeans::cli
