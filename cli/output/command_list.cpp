#include "output/command_list.h"

#include <manymeans/consensus.h>
#include <manymeans/io.h>
#include <manymeans/options.h>
#include <manymeans/regress.h>
#include <manymeans/tree.h>

#include <algorithm>
#include <string_view>

namespace manymeans::cli {
namespace {

// Values of flags that are names: check_choice() and the completion scripts read them here.
struct Values {
  std::string_view flag;
  std::vector<std::string> choices;
};
template <NamedValue Value>
std::vector<std::string> texts_of() {
  return {names_of<Value>().begin(), names_of<Value>().end()};
}
const std::vector<Values>& known_values() {
  static const std::vector<Values> all = {
      {"--init", {"auto", "k-means++", "k-means||", "random", "first"}},
      {"--empty", texts_of<EmptyPolicy>()},
      {"--algorithm", {"auto", "matrix", "bounds", "kdtree", "brute"}},
      {"--backend", {"auto", "cpu", "reference", "cuda", "opencl"}},
      {"--strategy", texts_of<Strategy>()},
      {"--metric", texts_of<Metric>()},
      {"--dtype", {"float32", "float64", "float16", "bfloat16", "uint8", "int8"}},
      {"--header", {"yes", "no", "auto"}},
      {"--decimal", {".", ","}},
      {"--missing", {"error", "drop", "mean", "median"}},
      {"--categories", {"error", "drop", "onehot"}},
      {"--scale", texts_of<Scale>()},
      {"--intercept", {"true", "false"}},
      {"--gating", texts_of<Gating>()},
      {"--method", texts_of<ConsensusMethod>()},
      {"--quota", texts_of<LeafQuota>()},
  };
  return all;
}

}  // namespace

std::string full_help(const ListedOption& option) {
  return option.default_value.empty() ? option.help : option.help + " [default: " + option.default_value + "]";
}

std::string short_help(const ListedOption& option) {
  const std::string& text = option.help;
  const size_t end = std::min({text.find(';'), text.find(": "), text.find(". "), text.size()});
  std::string clause = text.substr(0, end);
  if (clause.ends_with('.')) clause.pop_back();
  return clause;
}

std::vector<std::string> choices_of(std::string_view flag) {
  const auto known = std::ranges::find(known_values(), flag, &Values::flag);
  return known != known_values().end() ? known->choices : std::vector<std::string>();
}

std::vector<std::string> choices_of(const ListedOption& option) {
  for (const std::string& flag : option.flags) {
    if (std::vector<std::string> choices = choices_of(flag); !choices.empty()) return choices;
  }
  return {};
}

bool takes_file(const ListedOption& option) {
  return option.value.find("FILE") != std::string::npos || option.help.find("or a file") != std::string::npos;
}

}  // namespace manymeans::cli
