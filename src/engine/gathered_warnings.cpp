#include "engine/gathered_warnings.h"

#include "init/init.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace manymeans {
namespace {

constexpr size_t kNamed = 3;  // models that a gathered warning names in addition to its first

struct Kind {
  std::string first;
  int64_t others = 0;
  std::vector<std::string> models = {};  // that have it: the first few, each once
};

bool is_digit(char character) {
  return character >= '0' && character <= '9';
}

// The text with '#' for every number, and for every list of numbers.
std::string without_numbers(std::string_view text) {
  std::string kind;
  for (size_t at = 0; at < text.size(); ++at) {
    if (!is_digit(text[at])) {
      kind += text[at];
      continue;
    }
    while (at + 1 < text.size() && is_digit(text[at + 1])) ++at;
    if (kind.ends_with("#, ")) {
      kind.resize(kind.size() - 2);
    } else {
      kind += '#';
    }
  }
  return kind;
}

void add(Kind& kind, const std::string& text, const std::string& model) {
  if (kind.models.empty()) {
    kind.first = text;
  } else {
    ++kind.others;
  }
  const bool known = std::ranges::find(kind.models, model) != kind.models.end();
  if (!known && kind.models.size() < kNamed + 2) kind.models.push_back(model);
}

std::string text_of(const Kind& kind) {
  if (kind.others == 0) return kind.first;
  std::string out = fmt::format("{} ({} more like this", kind.first, kind.others);
  if (kind.models.size() == 1) return out + ", of the same model)";
  const size_t named = std::min(kind.models.size(), kNamed + 1);
  out += ": " + fmt::format("{}", fmt::join(kind.models.begin() + 1, kind.models.begin() + named, "; "));
  return out + (kind.models.size() > named ? "; ...)" : ")");
}

}  // namespace

std::vector<std::string> gathered_warnings(std::span<const Member> members) {
  std::vector<Kind> kinds;
  std::unordered_map<std::string, size_t> places;
  for (const Member& member : members) {
    for (const std::string& text : member.warnings) {
      const auto [place, is_new] = places.try_emplace(without_numbers(text), kinds.size());
      if (is_new) kinds.emplace_back();
      add(kinds[place->second], text, member.title());
    }
  }
  std::vector<std::string> result;
  for (const Kind& kind : kinds) result.push_back(text_of(kind));
  return result;
}

void collect(std::vector<Member>& members, FitResult& result) {
  for (std::string& warning : gathered_warnings(members)) result.warnings.push_back(std::move(warning));
  int64_t not_begun = 0;
  for (Member& member : members) {
    if (member.result.prototypes.empty()) {  // whatever a checkpoint knows of it
      ++not_begun;
      member.result.stop_reason = StopReason::kNotBegun;
      member.result.k = member.result.k_requested;
      member.result.iterations = 0;
    }
    result.models.push_back(std::move(member.result));
  }
  if (not_begun > 0) {
    result.warnings.push_back(
        fmt::format("{} of {} models had not begun when the fit was stopped", not_begun, members.size()));
  }
}

void advise_ranks(std::span<const Member> members, int ranks, FitResult& result) {
  int64_t k = 0;
  for (const Member& member : members) {
    if (member.result.init == "k-means++") k = std::max(k, member.result.k_requested);
  }
  if (auto advice = advice_for_ranks(k, ranks)) result.warnings.push_back(std::move(*advice));
}

}  // namespace manymeans
