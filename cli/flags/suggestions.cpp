#include "flags/suggestions.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace manymeans::cli {
namespace {

// A word of other programs, in lower case with dashes, and our flags for it. The first flag that the command has
// counts.
struct Synonym {
  std::string_view word;
  std::vector<std::string_view> flags;
};
const std::vector<Synonym>& synonyms() {
  static const std::vector<Synonym> all = {
      {"k", {"--clusters"}},
      {"n-clusters", {"--clusters"}},  // scikit-learn
      {"n-components", {"--clusters"}},
      {"ncentroids", {"--clusters"}},  // faiss
      {"centroids", {"--clusters"}},
      {"centers", {"--clusters"}},  // R
      {"n-init", {"--models"}},
      {"nredo", {"--models"}},
      {"nstart", {"--models"}},
      {"replicates", {"--models"}},
      {"runs", {"--models"}},
      {"restarts", {"--models"}},
      {"niter", {"--max-iter"}},
      {"n-iter", {"--max-iter"}},
      {"iter-max", {"--max-iter"}},
      {"iterations", {"--max-iter"}},
      {"epochs", {"--max-iter"}},
      {"n-jobs", {"--threads"}},
      {"jobs", {"--threads"}},
      {"j", {"--threads"}},
      {"num-threads", {"--threads"}},
      {"cpus", {"--threads"}},
      {"random-state", {"--seed"}},
      {"random-seed", {"--seed"}},
      {"gpu", {"--backend cuda"}},
      {"cuda", {"--backend cuda"}},
      {"sample-weight", {"--weights"}},
      {"usecols", {"--columns"}},
      {"drop", {"--exclude"}},
      {"drop-columns", {"--exclude"}},
      {"ignore", {"--exclude"}},
      {"na-values", {"--missing"}},
      {"fillna", {"--missing"}},
      {"impute", {"--missing"}},
      {"dummies", {"--categories onehot"}},
      {"one-hot", {"--categories onehot"}},
      {"onehot", {"--categories onehot"}},
      {"index-col", {"--id"}},
      {"standardize", {"--scale standard"}},
      {"normalize", {"--scale standard"}},
      {"spherical", {"--metric cosine"}},  // faiss
      {"balanced", {"--max-size"}},
      {"size-min", {"--min-size"}},  // k-means-constrained
      {"size-max", {"--max-size"}},
      {"max-k", {"--clusters"}},
      {"kmax", {"--clusters"}},
      {"timeout", {"--time-limit"}},
      {"alpha", {"--ridge"}},
      {"fit-intercept", {"--intercept"}},
      {"y", {"--target"}},
      {"output", {"--model", "--labels"}},
      {"out", {"--model", "--labels"}},
      {"o", {"--model", "--labels"}},
      {"save", {"--model", "--labels"}},
      {"silent", {"--quiet"}},
      {"type", {"--dtype"}},
  };
  return all;
}

// Why a command lacks a flag that others have; without a command, why none has a flag of other programs.
struct Lack {
  std::string_view command, flag, reason;
};
constexpr std::string_view kSearchesAnySize = "keeps to no sizes of clusters: 'manymeans fit' without a search does";
constexpr std::string_view kJudgesAnySize =
    "judges clusters of any size: 'manymeans fit' keeps to sizes, with the k that was chosen";
constexpr std::string_view kModelsOfAnySize = "fits linear models of any number of rows";
constexpr std::string_view kFindsDelimiter =
    "finds out itself which of comma, tab, semicolon and blank separates fields";
constexpr Lack kLacks[] = {
    {"regress", "metric", "compares residuals, not angles"},
    {"search", "min-size", kSearchesAnySize},
    {"search", "max-size", kSearchesAnySize},
    {"choose", "min-size", kJudgesAnySize},
    {"choose", "max-size", kJudgesAnySize},
    {"regress", "min-size", kModelsOfAnySize},
    {"regress", "max-size", kModelsOfAnySize},
    {"choose", "weights", "counts every row once: its criteria are not defined for weights"},
    {"choose", "model-seed", "fits several models for every k: --seed is the seed of all"},
    {"", "sep", kFindsDelimiter},
    {"", "separator", kFindsDelimiter},
    {"", "delimiter", kFindsDelimiter},
    {"tree", "models", "makes one tree: other seeds make others"},
    {"tree", "model-seed", "has many fits: --seed is the seed of all"},
    {"tree", "time-limit", "ends with its last level: --sample and --max-iter make it shorter"},
};

struct OtherCommand {
  std::string_view word, command;
};
constexpr OtherCommand kOtherCommands[] = {
    {"cluster", "fit"},      {"kmeans", "fit"},      {"train", "fit"},         {"regression", "regress"},
    {"assign", "predict"},   {"label", "predict"},   {"apply", "predict"},     {"transform", "predict --distances"},
    {"summary", "describe"}, {"show", "describe"},   {"head", "describe"},     {"export", "convert"},
    {"diff", "compare"},     {"benchmark", "bench"}, {"help", "--help"},       {"version", "--version"},
    {"devices", "info"},     {"elbow", "choose"},    {"hierarchical", "tree"},
};

std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text.substr(std::min(text.find_first_not_of('-'), text.size()))) {
    if (c == '=') break;
    out += c == '_' ? '-' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

// Characters that are wrong, missing or too many, and neighbours that changed places.
size_t slips(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> least(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        least[i][j] = i + j;
        continue;
      }
      least[i][j] = std::min({least[i - 1][j] + 1, least[i][j - 1] + 1, least[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) least[i][j] = std::min(least[i][j], least[i - 2][j - 2] + 1);
    }
  }
  return least[a.size()][b.size()];
}

std::string question(const std::optional<std::string>& meant) {
  return meant ? fmt::format("; did you mean {}?", *meant) : std::string();
}

bool has_flag(const ListedCommand& command, std::string_view flag) {
  const std::string_view name = flag.substr(0, flag.find(' '));
  return std::ranges::any_of(command.options, [&](const ListedOption& option) {
    return std::ranges::find(option.flags, name) != option.flags.end();
  });
}

std::optional<std::string> synonym_of(const ListedCommand& command, const std::string& word) {
  for (const Synonym& synonym : synonyms()) {
    if (synonym.word != word) continue;
    std::string found;
    for (const std::string_view flag : synonym.flags) {
      if (has_flag(command, flag)) found += fmt::format("{}{}", found.empty() ? "" : " or ", flag);
    }
    if (!found.empty()) return found;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> nearest_word(std::string_view text, const std::vector<std::string>& words) {
  constexpr size_t kLongest = 40;  // a novel is no slip
  const std::string wanted = plain(text);
  if (wanted.empty() || wanted.size() > kLongest) return std::nullopt;
  const std::string* best = nullptr;
  size_t least = std::max<size_t>(1, wanted.size() / 3) + 1;
  if (wanted.size() < 2) least = 1;  // any word of one letter is a slip away from any other
  for (const std::string& word : words) {
    const std::string other = plain(word);
    const bool begins =
        wanted.size() > 2 && (other.starts_with(wanted) || (other.size() > 2 && wanted.starts_with(other)));
    const size_t away = begins ? std::min<size_t>(1, slips(wanted, other)) : slips(wanted, other);
    if (away >= least) continue;
    least = away;
    best = &word;
  }
  return best == nullptr ? std::nullopt : std::optional(*best);
}

std::string flag_suggestion(const ListedCommand& command, const std::string& flag) {
  for (const Lack& lack : kLacks) {
    const bool is_meant = lack.command.empty() || lack.command == command.name;
    if (is_meant && lack.flag == plain(flag)) return fmt::format("; '{}' {}", command.name, lack.reason);
  }
  if (const auto known = synonym_of(command, plain(flag))) return question(known);
  std::vector<std::string> flags;
  for (const ListedOption& option : command.options) {
    for (const std::string& name : option.flags) {
      if (name.starts_with("--")) flags.push_back(name);
    }
  }
  return question(nearest_word(flag, flags));
}

std::string files_suggestion(const ListedCommand& command, const std::vector<std::string>& words) {
  const auto is_file = [](const std::string& word) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(word, ignored);
  };
  if (words.empty() || !has_flag(command, "--shard") || !std::ranges::all_of(words, is_file)) return {};
  return "; several files are one table with --shard and their pattern in quotes: 'part-*.csv'";
}

std::string command_suggestion(const ListedCommand& program, const std::string& word) {
  for (const OtherCommand& other : kOtherCommands) {
    if (other.word == plain(word)) return question(fmt::format("'manymeans {}'", other.command));
  }
  std::vector<std::string> names;
  for (const ListedCommand& command : program.commands) names.push_back(command.name);
  if (const auto near = nearest_word(word, names)) return question(fmt::format("'manymeans {}'", *near));
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(word, ignored)) return {};
  return fmt::format("; to cluster this file: 'manymeans fit {}'", word);
}

std::string choice_suggestion(const std::string& text, const std::vector<std::string>& choices) {
  const auto near = nearest_word(text, choices);
  return near ? fmt::format("; did you mean '{}'?", *near) : std::string();
}

}  // namespace manymeans::cli
