#include "ranks/shared_rows.h"

#include <manymeans/error.h>
#include <manymeans/fit.h>
#include <manymeans/info.h>

#include "ranks/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>

namespace manymeans::cli {

void check_shareable(const NamedFile& input) {
  if (input.path.empty()) return;
  std::error_code ignored;
  const std::string file = points_file(input.path);
  const bool good = !std::filesystem::exists(file, ignored) || std::filesystem::is_regular_file(file, ignored);
  if (input.path != "-" && good) return;
  throw Error(ErrorCode::kUsage, input.name,
              fmt::format("'{}' is no file that several ranks can read; write a file first", input.path));
}

std::shared_ptr<Comm> share_rows(const std::vector<NamedFile>& inputs, ReadOptions& reading, int& threads) {
  std::shared_ptr<Comm> ranks = join_ranks();
  if (!ranks) return nullptr;
  const int sharing = ranks_on_same_processors(*ranks);
  for (const NamedFile& input : inputs) check_shareable(input);
  reading.part = {ranks->rank(), ranks->size()};
  if (threads == 0) threads = std::max(1, build_info().threads / sharing);
  return ranks;
}

void check_same_reading(Comm& ranks, const Dataset& points, const ScaleRules& rules) {
  std::vector<int64_t> mine = {points.file_rows, static_cast<int64_t>(rules.kind), std::ssize(rules.logs)};
  mine.insert(mine.end(), rules.logs.begin(), rules.logs.end());
  mine.insert(mine.end(), points.source.numbers.begin(), points.source.numbers.end());
  const std::vector<std::vector<int64_t>> all = ranks.gather(std::span<const int64_t>(mine));
  const auto other = std::ranges::find_if(all, [&](const auto& its) { return its != all[0]; });
  if (other == all.end()) return;
  const auto rank = other - all.begin();
  if ((*other)[0] != all[0][0]) {
    throw Error(ErrorCode::kBadData, "ranks",
                fmt::format("rank 0 found {} rows, rank {} found {}; all ranks have to see the same files", all[0][0],
                            rank, (*other)[0]));
  }
  throw Error(
      ErrorCode::kUsage, "ranks",
      fmt::format(
          "rank 0 was given other columns, or another scale or logarithm, than rank {}; give all ranks the same "
          "options",
          rank));
}

namespace {

// Adds the sentences that are not there yet, each before the one that follows it.
void merge_warnings(std::vector<std::string>& all, const std::vector<std::string>& more) {
  auto place = all.end();
  for (auto warning = more.rbegin(); warning != more.rend(); ++warning) {
    const auto found = std::ranges::find(all, *warning);
    place = found == all.end() ? all.insert(place, *warning) : found;
  }
}

}  // namespace

std::vector<std::string> warnings_of_all(Comm* ranks, const std::vector<std::string>& mine) {
  if (ranks == nullptr) return mine;
  std::string text;
  for (const std::string& warning : mine) text += warning + '\0';
  std::vector<std::string> all;
  for (const std::vector<char>& part : ranks->gather(std::span<const char>(text))) {
    std::vector<std::string> warnings;
    for (auto at = part.begin(); at != part.end();) {
      const auto end = std::find(at, part.end(), '\0');
      warnings.emplace_back(at, end);
      at = end + 1;
    }
    merge_warnings(all, warnings);
  }
  return ranks->rank() == 0 ? all : std::vector<std::string>();
}

}  // namespace manymeans::cli
