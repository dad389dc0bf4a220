// manymeans bench: how fast this machine is, and costs for the choice of algorithms.
#include <manymeans/calibrate.h>
#include <manymeans/error.h>
#include <manymeans/fit.h>
#include <manymeans/io.h>

#include "commands/commands.h"
#include "flags/flag_values.h"
#include "output/output_files.h"
#include "output/text_table.h"
#include "streams/standard_streams.h"

#include <fmt/format.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

namespace manymeans::cli {
namespace {

const char* const kExamples =
    "Examples:\n"
    "  manymeans bench -n 200000 -d 16 -k 100\n"
    "      Seconds of ten iterations on noise of this shape, by algorithm.\n"
    "  manymeans bench --calibrate\n"
    "      Measures this machine; later fits choose by what was measured.\n\n"
    "The costs file is one JSON object, also printed. Fits look for it where\n"
    "MANYMEANS_CPU_COSTS says, else in manymeans/cpu_costs.json under\n"
    "$XDG_CONFIG_HOME or ~/.config. It never changes an answer, and can be deleted at\n"
    "any time. Let nothing else run meanwhile; where several machines share a home,\n"
    "give each its own file.";

struct BenchCommand {
  bool calibrate = false;
  std::string out;
  int threads = 0;
  int64_t rows = 100'000, columns = 16, clusters = 64;
  int models = 1;
};

void calibrate(const BenchCommand& command) {
  const bool usual = command.out.empty();
  const std::string path = usual ? default_costs_path() : command.out;
  if (path.empty()) {
    throw Error(ErrorCode::kUsage, "--out", "neither XDG_CONFIG_HOME nor HOME says where to write; name a file");
  }
  if (!usual) check_files({.outputs = {{"--out", path, {}}}, .inputs = {}, .prints = true});
  const std::string text = measure_costs(
      command.threads, [](std::string_view what) { print_error_stream(fmt::format("measuring: {}\n", what)); });
  write_costs(path, text);
  print_error_stream(fmt::format("wrote {}\n", path));
  print(text);
}

std::vector<float> noise(int64_t count) {
  std::mt19937_64 random(1);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) {  // nearly normal: four uniform numbers
    float sum = 0;
    for (uint64_t bits = random(), i = 0; i < 4; ++i, bits >>= 16) sum += static_cast<float>(bits & 0xffff) / 65536.0F;
    value = sum - 2;
  }
  return values;
}

void time_algorithms(const BenchCommand& command) {
  constexpr int64_t kMostTreeColumns = 32;
  const std::vector<float> values = noise(command.rows * command.columns);
  const PointsView points{values.data(), command.rows, command.columns};
  FitOptions options;
  options.k = {command.clusters};
  options.models = command.models;
  options.init = "random";
  options.tol = 0;
  options.max_iter = 10;
  options.threads = command.threads;
  std::vector<std::vector<std::string>> table = {{"algorithm", "seconds", "an iteration", "digest"}};
  for (const char* algorithm : {"auto", "matrix", "bounds", "kdtree"}) {
    if (std::string_view(algorithm) == "kdtree" && command.columns > kMostTreeColumns) continue;
    options.algorithm = algorithm;
    const FitResult result = fit(points, {}, options);
    double seconds = 0, passes = 0;
    for (const auto& [phase, taken] : result.provenance.seconds) {
      if (phase == "upload" || phase == "fit") seconds += taken;
      if (phase == "fit: passes") passes += taken;
    }
    const auto count = static_cast<double>(result.provenance.passes);
    table.push_back(
        {algorithm, fmt::format("{:.4f}", seconds), fmt::format("{:.5f}", passes / count), result.digest()});
  }
  print(format_table("lrrl", table));
}

template <class Number>
CLI::callback_t at_least_one(const char* flag, Number& value) {
  return [flag, &value](const CLI::results_t& texts) {
    value = parse_number<Number>(flag, texts.front());
    if (value < 1) throw Error(ErrorCode::kUsage, flag, fmt::format("must be at least 1, found {}", value));
    return true;
  };
}

CLI::callback_t threads_into(int& value) {
  return [&value](const CLI::results_t& texts) {
    value = parse_number<int>("--threads", texts.front());
    if (value < 0) throw Error(ErrorCode::kUsage, "--threads", fmt::format("must be at least 0, found {}", value));
    return true;
  };
}

void check(const BenchCommand& command) {
  if (!command.calibrate && !command.out.empty()) {
    throw Error(ErrorCode::kUsage, "--out", "is for --calibrate, whose costs it takes; give both or none");
  }
  constexpr int64_t kMostValues = int64_t{1} << 33;
  if (command.rows > kMostValues / command.columns) {
    throw Error(ErrorCode::kUsage, "-n,--rows",
                fmt::format("rows times columns may be at most {} here, found {} x {}", kMostValues, command.rows,
                            command.columns));
  }
}

}  // namespace

void add_bench_command(CLI::App& program, int& exit_code) {
  CLI::App* app = program.add_subcommand("bench", "Time the algorithms, or measure this machine for them.");
  const auto command = std::make_shared<BenchCommand>();
  app->add_flag("--calibrate", command->calibrate,
                "Measure what the choice of algorithms needs to know, and what this machine does at best, and write "
                "it to the costs file. Takes less than half a minute.")
      ->group("Measuring");
  add_file_flag(*app, "--out", command->out, "Write the costs to this file instead.")->group("Measuring");
  app->add_option("--threads", threads_into(command->threads), "Threads; 0: all usable ones.")
      ->type_name("COUNT")
      ->default_str("0")
      ->group("Measuring");
  app->add_option("-n,--rows", at_least_one("-n,--rows", command->rows), "Rows of the points that are made up.")
      ->type_name("COUNT")
      ->default_str("100000")
      ->group("Timing");
  app->add_option("-d,--columns", at_least_one("-d,--columns", command->columns), "Their columns.")
      ->type_name("COUNT")
      ->default_str("16")
      ->group("Timing");
  app->add_option("-k,--clusters", at_least_one("-k,--clusters", command->clusters), "Clusters of a model.")
      ->type_name("K")
      ->default_str("64")
      ->group("Timing");
  app->add_option("-m,--models", at_least_one("-m,--models", command->models), "Models.")
      ->type_name("COUNT")
      ->default_str("1")
      ->group("Timing");
  app->footer(kExamples);
  app->callback([command, &exit_code] {
    check(*command);
    if (command->calibrate) {
      calibrate(*command);
    } else {
      time_algorithms(*command);
    }
    exit_code = 0;
  });
}

}  // namespace manymeans::cli
