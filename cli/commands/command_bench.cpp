// manymeans bench: how fast this machine is.
#include <manymeans/error.h>
#include <manymeans/fit.h>
#include <manymeans/io.h>

#include "commands/commands.h"
#include "commands/noise.h"
#include "flags/flag_values.h"
#include "output/text_table.h"
#include "streams/standard_streams.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

namespace manymeans::cli {
namespace {

const char* const kExamples =
    "Examples:\n"
    "  manymeans bench -n 200000 -d 16 -k 100\n"
    "      Seconds of ten iterations on noise of this shape, by algorithm.";

struct BenchCommand {
  int threads = 0;
  int64_t rows = 100'000, columns = 16, clusters = 64;
  int models = 1;
};

void time_algorithms(const BenchCommand& command) {
  constexpr int64_t kMaxTreeColumns = 32;
  const std::vector<float> values = noise(command.rows * command.columns);
  const PointsView points{values.data(), command.rows, command.columns};
  FitOptions options;
  options.k = {command.clusters};
  options.models = command.models;
  options.init = "random";
  options.tol = 0;
  options.max_iter = 10;
  options.threads = command.threads;
  std::vector<std::vector<std::string>> table = {{"algorithm", "time", "an iteration", "digest"}};
  for (const char* algorithm : {"auto", "matrix", "bounds", "kdtree"}) {
    if (std::string_view(algorithm) == "kdtree" && command.columns > kMaxTreeColumns) continue;
    options.algorithm = algorithm;
    const FitResult result = fit(points, {}, options);
    double seconds = 0, passes = 0;
    for (const auto& [phase, taken] : result.provenance.seconds) {
      if (phase == "upload" || phase == "fit") seconds += taken;
      if (phase == "fit: passes") passes += taken;
    }
    const auto count = static_cast<double>(result.provenance.passes);
    table.push_back({algorithm, shown_duration(seconds), shown_duration(passes / count), result.digest()});
  }
  print(format_table("lrrl", table));
}

void check(const BenchCommand& command) {
  constexpr int64_t kMaxValues = int64_t{1} << 33;
  if (command.rows > kMaxValues / command.columns) {
    throw Error(ErrorCode::kUsage, "-n,--rows",
                fmt::format("rows times columns may be at most {} here, found {} x {}", kMaxValues, command.rows,
                            command.columns));
  }
}

}  // namespace

void add_bench_command(Program& program, int& exit_code) {
  const Command app = program.add_command("bench", "Time the algorithms.");
  const auto command = std::make_shared<BenchCommand>();
  const auto add = [app](const char* flag, auto& value, int64_t least, const char* type, const char* help) {
    return app.add_option(flag, number_into(flag, value, least), help)
        .type_name(type)
        .default_str(std::to_string(value))
        .group("Timing");
  };
  add("--threads", command->threads, 0, "COUNT", "Threads; 0: all usable ones.");
  add("-n,--rows", command->rows, 1, "COUNT", "Rows of the artificial points.");
  add("-d,--columns", command->columns, 1, "COUNT", "Their columns.");
  add("-k,--clusters", command->clusters, 1, "K", "Clusters of a model.");
  add("-m,--models", command->models, 1, "COUNT", "Models.");
  app.footer(kExamples);
  app.callback([command, &exit_code] {
    check(*command);
    time_algorithms(*command);
    exit_code = 0;
  });
}

}  // namespace manymeans::cli
