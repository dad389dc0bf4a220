#include "fitting/other_columns.h"

#include <manymeans/error.h>
#include <manymeans/summary.h>

#include "flags/flag_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>

namespace manymeans::cli {
namespace {

constexpr int64_t kMaxRows = 200'000;  // of a file that is read again for a guess
constexpr size_t kMaxTries = 3;

// A number with a point is a measurement, not a name.
bool may_name(const std::string& text) {
  const bool digits = text.find_first_not_of("0123456789.+-eE") == text.npos;
  return !text.empty() && !(digits && text.find('.') != text.npos);
}

bool are_names(const std::vector<std::string>& texts) {
  const std::unordered_set<std::string_view> distinct(texts.begin(), texts.end());
  return distinct.size() == texts.size() && std::ranges::all_of(texts, may_name);
}

// A pipe is read once.
bool reads_again(const DataFiles& data) {
  return std::ranges::all_of(data.all(), [](const std::string& path) {
    std::error_code ignored;
    return path != "-" && std::filesystem::is_regular_file(points_file(path), ignored);
  });
}

std::vector<std::string> left_out(const SourceColumns& source) {
  std::vector<std::string> columns;
  for (int64_t number = 1; number <= source.count && columns.size() < kMaxTries; ++number) {
    if (std::ranges::find(source.numbers, number) == source.numbers.end()) columns.push_back(fmt::format("{}", number));
  }
  return columns;
}

}  // namespace

Dataset read_profile(const FitJob& job) {
  if (job.profile.empty()) return {};
  if (job.ranks) throw Error(ErrorCode::kUsage, "--profile", "is for one process; several share the rows here");
  if (!reads_again(job.data)) {
    throw Error(ErrorCode::kUsage, "--profile",
                fmt::format("reads DATA once more, and '{}' is no file that can be; name one", job.data.name()));
  }
  if (job.data.shards.empty() && is_sparse_file(job.data.path, job.reading)) {
    throw Error(ErrorCode::kUsage, "--profile", fmt::format("is for tables, and '{}' is sparse", job.data.path));
  }
  try {
    return job.data.read(options_of_traits(job.profile, job.reading));
  } catch (const Error& error) {
    constexpr std::string_view kColumns = "[columns] ", kAdvice = "with --exclude";
    const std::string_view what = error.what();
    if (what.starts_with(kColumns)) {
      throw Error(error.code(), "--profile", fmt::format("{}: {}", job.data.name(), what.substr(kColumns.size())));
    }
    const size_t at = what.find(kAdvice);  // of the readers, who know no other way
    if (at == what.npos) throw;
    throw Error(error.code(), "--profile",
                fmt::format("{}of --profile{}", what.substr(0, at), what.substr(at + kAdvice.size())));
  }
}

std::vector<std::string> read_names(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(ErrorCode::kBadData, path, "cannot be opened; a text file of names is needed");
  std::vector<std::string> names;
  std::unordered_set<std::string> known;
  for (std::string line; std::getline(file, line); names.push_back(line)) {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (names.empty() && line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
    if (line.ends_with('\r')) line.pop_back();
    const auto refuse = [&](const std::string& what) {
      throw Error(ErrorCode::kBadData, path, fmt::format("line {} {}", names.size() + 1, what));
    };
    if (line.find_first_of(std::string_view("\0\r", 2)) != line.npos)
      refuse("is no text of UTF-8 with a name on each line");
    if (line.find_first_not_of(" \t") == line.npos) {
      std::string rest;
      if (file >> rest) refuse("has no name");
      break;  // empty lines at the end name nothing
    }
    if (!known.insert(line).second) refuse(fmt::format("has the name '{}' again; names must differ", shown(line)));
  }
  if (names.empty()) throw Error(ErrorCode::kBadData, path, "has no names; a name on each line is needed");
  return names;
}

Error about_names(const FitJob& job, const Error& error) {
  constexpr std::string_view kNames = "[names] ";
  const std::string_view what = error.what();
  if (!what.starts_with(kNames)) return error;
  const bool of_file = error.code() == ErrorCode::kBadData;
  return {error.code(), of_file ? job.names : "--names", std::string(what.substr(kNames.size()))};
}

RowNames find_row_names(const FitJob& job, const Dataset& points) {
  if (!points.ids.empty()) return {points.ids, points.id_name};
  if (job.ranks || points.source.numbers.empty() || points.file_rows > kMaxRows || !reads_again(job.data)) return {};
  for (const std::string& column : left_out(points.source)) {
    ReadOptions options = options_of_traits({fmt::format("{}", points.source.numbers[0])}, job.reading);
    options.id = column;
    try {
      Dataset read = job.data.read(options);
      if (are_names(read.ids)) return {std::move(read.ids), read.id_name};
    } catch (const Error&) {  // lists, or a file that is gone: rows have numbers
    }
  }
  return {};
}

}  // namespace manymeans::cli
