// Random fits of production size, each computed in several ways that must give the same bits. ./dev fuzz answers
//
// Everything follows from a seed and the number of a case; --case NUMBER does one again. What is about to be done is
// said before it is done, and a case that hangs or ends its process is named.
#include "fuzz/answers/supervisor.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

namespace {

using namespace manymeans::fuzz;

constexpr const char* kUsage = R"(usage: manymeans_answers [MINUTES] [OPTIONS]
  MINUTES             until no case is begun any more; default 10
  --backend NAME      cpu (default): the cpu backend with itself and the reference; cuda: with the cpu backend
  --seed SEED         of all cases; default: the time
  --case NUMBER       only this one, and every way of it told
  --cases COUNT       as many, instead of MINUTES
  --first NUMBER      begin with this one
  --threads COUNT     at most so many threads, whatever a case says
  --seconds SECONDS   that a case may take, about; default 20
  --most-values COUNT N x D at most; default 400000000
  --hang SECONDS      after which a fit is taken to hang; default 600
  --found FILE        add failures to it
  --steps             tell every way
  --list              tell cases and ways, and do nothing
  --fault NAME        do something wrong, to see it found: bound, label, hang, crash
)";

[[noreturn]] void refuse(const std::string& what) {
  fmt::print(stderr, "manymeans_answers: {}\n{}", what, kUsage);
  std::exit(2);
}

double number_of(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= 0)) refuse("'" + text + "' is not a number");
  return value;
}

Fault fault_of(const std::string& name) {
  if (name == "bound") return Fault::kBound;
  if (name == "label") return Fault::kLabel;
  if (name == "hang") return Fault::kHang;
  if (name == "crash") return Fault::kCrash;
  refuse("there is no fault '" + name + "'");
}

// Whether `name` is an option that takes this value.
bool take(const std::string& name, const std::string& value, Plan& plan) {
  const auto whole = [&] { return static_cast<int64_t>(number_of(value)); };
  if (name == "--backend") {
    if (value != "cpu" && value != "cuda") refuse("there is no backend '" + value + "' to be tested");
    plan.limits.cuda = value == "cuda";
  } else if (name == "--seed") {
    plan.seed = std::strtoull(value.c_str(), nullptr, 10);
  } else if (name == "--case") {
    plan.first = whole();
    plan.cases = 1;
    plan.settings.steps = true;
  } else if (name == "--cases") {
    plan.cases = whole();
  } else if (name == "--first") {
    plan.first = whole();
  } else if (name == "--threads") {
    plan.settings.max_threads = static_cast<int>(whole());
  } else if (name == "--seconds") {
    plan.limits.seconds = number_of(value);
  } else if (name == "--most-values") {
    plan.limits.max_values = whole();
  } else if (name == "--hang") {
    plan.hang_seconds = number_of(value);
  } else if (name == "--found") {
    plan.found = value;
  } else if (name == "--fault") {
    plan.settings.fault = fault_of(value);
  } else {
    return false;
  }
  return true;
}

Plan plan_of(int argc, char** argv) {
  Plan plan;
  plan.seed = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) % 1'000'000'000;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    if (name == "--help") {
      fmt::print("{}", kUsage);
      std::exit(0);
    }
    if (name == "--list") {
      plan.list = true;
    } else if (name == "--steps") {
      plan.settings.steps = true;
    } else if (!name.starts_with("-")) {
      plan.minutes = number_of(name);
    } else if (i + 1 == arguments.size() || !take(name, arguments[i + 1], plan)) {
      refuse("'" + name + "' is no option, or lacks its value");
    } else {
      ++i;
    }
  }
  if (plan.cases == 0 && plan.minutes == 0) plan.minutes = 10;
  plan.reproduce =
      fmt::format("{} --backend {} --seed {} --seconds {} --most-values {}", argv[0], plan.limits.cuda ? "cuda" : "cpu",
                  plan.seed, plan.limits.seconds, plan.limits.max_values);
  return plan;
}

void list_cases(const Plan& plan) {
  for (int64_t number = plan.first; number < plan.first + std::max<int64_t>(1, plan.cases); ++number) {
    const FuzzCase drawn = draw_case(plan.seed, number, plan.limits);
    fmt::print("case {}: {}\n", number, drawn.text());
    for (const Way& way : drawn.ways) fmt::print("    {:6.2f} s {}\n", rough_seconds(drawn, way), way.text());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Plan plan = plan_of(argc, argv);
  if (plan.list) {
    list_cases(plan);
    return 0;
  }
  fmt::print("again: {} --first {}\n", plan.reproduce, plan.first);
  try {
    return run_cases(plan) == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "manymeans_answers: {}\n", error.what());
    return 1;
  }
}
