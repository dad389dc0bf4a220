#include "flags/fit_flags.h"

#include "flags/flag_values.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace manymeans::cli {
namespace {

// How the text of a flag becomes the value of an option; one overload for each type that options have.
void set(const char*, const std::string& text, std::string& value) {
  value = text;
}
void set(const char*, const std::string& text, std::vector<int64_t>& value) {
  value = parse_k_list(text);
}
void set(const char* flag, const std::string& text, std::optional<uint64_t>& value) {
  value = parse_number<uint64_t>(flag, text);
}
void set(const char*, const std::string& text, ByteSize& value) {
  value = parse_byte_size(text);
}
void set(const char* flag, const std::string& text, bool& value) {
  check_choice(flag, text);
  value = text == "true";
}
template <NamedValue Value>
void set(const char* flag, const std::string& text, Value& value) {
  value = choice_named<Value>(flag, text);
}
template <class Number>
  requires(!NamedValue<Number>)
void set(const char* flag, const std::string& text, Number& value) {
  value = parse_number<Number>(flag, text);
}

std::string shown_default(const std::vector<int64_t>& value) {
  const bool range = value.size() > 2 && value.back() - value.front() == std::ssize(value) - 1;
  if (range && std::ranges::is_sorted(value)) return fmt::format("{}..{}", value.front(), value.back());
  return fmt::format("{}", fmt::join(value, ","));
}
std::string shown_default(const std::optional<uint64_t>&) {
  return {};
}
template <NamedValue Value>
std::string shown_default(Value value) {
  return std::string(name_of(value));
}
std::string shown_default(ByteSize value) {
  return name_of(value);
}
template <class Value>
  requires(!NamedValue<Value>)
std::string shown_default(const Value& value) {
  return fmt::format("{}", value);
}

// Adds the flag of an option, wherever for_each_option or its like visits it.
auto binder(const Command& app) {
  return [&app](const OptionInfo& about, auto& value) {
    const auto store = [flag = about.flags, &value](const std::string& text) { set(flag, text, value); };
    return app.add_option(about.flags, store, about.help)
        .type_name(about.value)
        .default_str(shown_default(value))
        .group("Clustering");
  };
}

}  // namespace

void bind_fit_flags(const Command& app, FitOptions& options) {
  for_each_option(options, binder(app));
}

void bind_regress_flags(const Command& app, RegressOptions& options) {
  for_each_regress_option(options, binder(app));
}

void bind_search_flags(const Command& app, SearchOptions& options) {
  const auto bind = binder(app);
  for_each_search_option(options, [&](const OptionInfo& about, auto& value) {
    const std::string_view name = about.name;
    if (name == "min_size" || name == "max_size") return;  // which a search knows nothing of
    bind(about, value);
  });
}

void bind_tree_flags(const Command& app, TreeOptions& options) {
  for_each_tree_option(options, binder(app));
}

std::function<bool()> bind_flags_of_searching_fit(const Command& app, SearchOptions& options) {
  const auto bind = binder(app);
  const std::array flags = {
      bind(OptionInfo{"search_time", "--search", "SECONDS",
                      "Before the fit, search for the best model for this time, as 'manymeans search --time' does."},
           options.search_time),
      bind(OptionInfo{"rounds", "--search-rounds", "COUNT",
                      "Before the fit, search for this number of rounds, as 'manymeans search --rounds' does. The "
                      "answer then depends on points, options and seed only."},
           options.rounds)};
  for (const Flag& flag : flags) flag.default_str("");  // without them there is no search
  return [flags] { return std::ranges::any_of(flags, [](const Flag& flag) { return flag.given(); }); };
}

void bind_choose_flags(const Command& app, FitOptions& fit, ChooseOptions& options) {
  const auto bind = binder(app);
  for_each_option(fit, [&](OptionInfo about, auto& value) {
    const std::string_view name = about.name;
    if (name == "min_size" || name == "max_size" || name == "model_seed") return;
    if (name == "k")
      about.help = "Numbers to choose from: a range 2..20, with a step 2..20:2, or a list. 1 is judged, too.";
    if (name == "models") about.help = "Models for each k, from different seeds; the best by inertia is judged.";
    if (name == "seed") about.help = "Seed of models, reference data and sample.";
    if (name == "init")
      about.help = "auto, k-means++, k-means||, random or first. auto: k-means++ up to k = 5000, k-means|| above.";
    if (name == "time_limit") {
      about.help =
          "Limit of fits and criteria together. After it, k is chosen by the criteria so far, and a warning names the "
          "others. 0: no limit.";
    }
    bind(about, value);
  });
  bind(
      OptionInfo{"references", "--references", "COUNT",
                 "Data sets without clusters, uniform in the box of the points (or directions all around), for the gap "
                 "statistic; a tenth of the models is fitted to each. 0: no gap statistic."},
      options.references);
  bind(OptionInfo{"bootstraps", "--bootstraps", "COUNT",
                  "Members for each k that see different halves of the points, for stability and the valley between "
                  "clusters; an even number. 0: none, and no k is clear."},
       options.bootstraps);
  bind(OptionInfo{"sample", "--sample", "ROWS",
                  "Rows in the sample for the silhouette by Euclidean distances; 0: none."},
       options.sample);
}

}  // namespace manymeans::cli
